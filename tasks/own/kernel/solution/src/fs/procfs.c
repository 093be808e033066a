/* /proc: what ps, top, mount, free and their like read. Contents are made when a file is opened. */
#include "fs.h"
#include "text.h"
#include "tty.h"

/* Inode numbers: pid << 16 | kind << 8 | entry; the files of the top have pid 0. */
enum { TOP, TOP_FILE, PROCESS, PROCESS_FILE, FD_DIR, FD, NET_DIR, NET_FILE, SYS_DIR, SYS_FILE, TASK_DIR };

const char *host_name(void);
void net_proc(struct text *t, int which);

static struct superblock *super;
static const struct inode_ops dir_ops, link_ops, file_inode_ops;
static const struct file_ops dir_file_ops, text_ops;

void text_add(struct text *t, const char *fmt, ...)
{
	__builtin_va_list args;
	for (int round = 0; round < 2; round++) {
		__builtin_va_start(args, fmt);
		size_t n = format_list(t->at ? t->at + t->used : NULL, t->room - t->used, fmt, args);
		__builtin_va_end(args);
		if (t->used + n < t->room) {
			t->used += n;
			return;
		}
		size_t room = MAX(2 * t->room, t->used + n + 1024);
		char *more = kmalloc(room);
		if (!more)
			return;
		memcpy(more, t->at, t->used);
		kfree(t->at);
		t->at = more;
		t->room = room;
	}
}

static struct mm *mm_of(struct process *p)
{
	return link_empty(&p->threads) ? NULL : FIRST(&p->threads, struct task, thread_link)->mm;
}

static char state_of(struct process *p)
{
	struct task *t;
	char state = p->zombie ? 'Z' : p->stopped ? 'T' : 'S';
	EACH(t, &p->threads, thread_link) {
		if ((t->state == READY || t->state == RUNNING) && !p->stopped)
			return 'R';
		if (t->state == SLEEPING_DEEP)
			state = 'D';
	}
	return state;
}

static void put_stat(struct text *t, struct process *p)
{
	struct mm *mm = mm_of(p);
	text_add(t, "%d (%s) %c %d %d %d %lu %d 0 %lu 0 0 0 %lu %lu %lu %lu 20 %d %d 0 %lu %lu %lu 18446744073709551615 0 0 0 0 0 %lu %lu 0 0 0 0 17 0 0 0 0 0 0 0 0 0 0 0 0 0 0\n",
		p->pid, p->name, state_of(p), p->parent ? p->parent->pid : 0, p->pgid, p->sid, p->tty ? p->tty->rdev : 0,
		p->tty ? p->tty->foreground : -1, p->minor_faults, p->user_ns / 10000000, p->system_ns / 10000000,
		p->child_user_ns / 10000000, p->child_system_ns / 10000000, p->nice, p->thread_count, p->started_ns / 10000000,
		mm ? mm->mapped : 0, mm ? mm->rss : 0, p->pending.set, 0UL);
}

static void put_status(struct text *t, struct process *p)
{
	struct mm *mm = mm_of(p);
	char state = state_of(p);
	struct credentials *c = &p->cred;
	text_add(t, "Name:\t%s\nState:\t%c (%s)\nTgid:\t%d\nPid:\t%d\nPPid:\t%d\n", p->name, state,
		state == 'R' ? "running" : state == 'S' ? "sleeping" : state == 'Z' ? "zombie" : state == 'T' ? "stopped" : "disk sleep",
		p->pid, p->pid, p->parent ? p->parent->pid : 0);
	text_add(t, "Uid:\t%u\t%u\t%u\t%u\nGid:\t%u\t%u\t%u\t%u\n", c->uid, c->euid, c->suid, c->fsuid, c->gid, c->egid, c->sgid, c->fsgid);
	text_add(t, "VmSize:\t%8lu kB\nVmRSS:\t%8lu kB\nThreads:\t%d\n", mm ? mm->mapped / 1024 : 0, mm ? mm->rss * 4 : 0, p->thread_count);
	struct task *first = link_empty(&p->threads) ? NULL : FIRST(&p->threads, struct task, thread_link);
	u64 ignored = 0, caught = 0;
	for (int i = 1; i <= SIG_COUNT; i++) {
		ignored |= p->actions[i].handler == SIG_IGN ? SIGBIT(i) : 0;
		caught |= p->actions[i].handler > SIG_IGN ? SIGBIT(i) : 0;
	}
	text_add(t, "SigPnd:\t%016lx\nShdPnd:\t%016lx\nSigBlk:\t%016lx\nSigIgn:\t%016lx\nSigCgt:\t%016lx\n",
		first ? first->pending.set : 0, p->pending.set, first ? first->blocked : 0, ignored, caught);
}

static void put_memory(struct text *t, struct mm *mm, u64 from, u64 to)
{
	char part[256];
	while (from < to) {
		size_t n = MIN(to - from, sizeof part);
		if (copy_from_mm(mm, part, from, n))
			return;
		for (size_t i = 0; i < n; i++)
			text_add(t, "%c", part[i]);
		from += n;
	}
}

static void put_maps(struct text *t, struct mm *mm)
{
	struct vma *v;
	EACH(v, &mm->vmas, link)
		text_add(t, "%08lx-%08lx %c%c%c%c %08lx %02x:%02x %lu%s\n", v->start, v->end, v->prot & 1 ? 'r' : '-', v->prot & 2 ? 'w' : '-',
			v->prot & 4 ? 'x' : '-', v->flags & MAP_SHARED ? 's' : 'p', v->offset, v->inode ? (u32)(v->inode->sb->dev >> 8) : 0,
			v->inode ? (u32)(v->inode->sb->dev & 255) : 0, v->inode ? v->inode->ino : 0,
			v->stack ? "                          [stack]" : v->start >= mm->brk_start && v->end <= ROUND_UP(mm->brk, PAGE_SIZE) ? "                          [heap]" : "");
}

static const char *const process_files[] = { "stat", "status", "cmdline", "maps", "statm", "comm", "environ", "limits", "mounts", "oom_score_adj", "smaps", "mountinfo", "cgroup" };
static const char *const process_links[] = { "exe", "cwd", "root" };

static void process_file(struct text *t, struct process *p, u32 n)
{
	struct mm *mm = mm_of(p);
	switch (n) {
	case 0: put_stat(t, p); break;
	case 1: put_status(t, p); break;
	case 2: if (mm) put_memory(t, mm, mm->arg_start, mm->arg_end); break;
	case 3: case 10: if (mm) put_maps(t, mm); break;
	case 4: text_add(t, "%lu %lu 0 0 0 0 0\n", mm ? mm->mapped >> 12 : 0, mm ? mm->rss : 0); break;
	case 5: text_add(t, "%s\n", p->name); break;
	case 6: if (mm) put_memory(t, mm, mm->env_start, mm->env_end); break;
	case 7: text_add(t, "Max open files %lu %lu files\n", p->rlimit[RLIMIT_NOFILE][0], p->rlimit[RLIMIT_NOFILE][1]); break;
	case 9: text_add(t, "0\n"); break;
	case 8: case 11: {
		struct mount *m;
		EACH(m, &all_mounts, link)
			text_add(t, "%s %s %s %s,relatime 0 0\n", m->source, m->target, m->sb->type, m->sb->read_only ? "ro" : "rw");
		break;
	}
	}
}

static const char *const top_files[] = { "stat", "meminfo", "uptime", "loadavg", "cpuinfo", "version", "cmdline", "filesystems", "partitions", "devices", "interrupts", "swaps", "modules", "diskstats", "vmstat" };

static void put_cpus(struct text *t)
{
	struct process *p;
	u64 user = 0, system = 0, idle = 0;
	EACH(p, &all_processes, all) {
		user += p->user_ns;
		system += p->system_ns;
	}
	for (u32 i = 0; i < cpu_count; i++)
		idle += cpus[i].idle_ns;
	text_add(t, "cpu  %lu 0 %lu %lu 0 0 0 0 0 0\n", user / 10000000, system / 10000000, idle / 10000000);
	for (u32 i = 0; i < cpu_count; i++)
		text_add(t, "cpu%u %lu 0 0 %lu 0 0 0 0 0 0\n", i, cpus[i].busy_ns / 10000000, cpus[i].idle_ns / 10000000);
	text_add(t, "intr 0\nctxt %lu\nbtime %lu\nprocesses %lu\nprocs_running %u\nprocs_blocked 0\n", context_switches,
		(real_ns() - now_ns()) / 1000000000, forks_total, runnable_count());
}

static void put_cpuinfo(struct text *t)
{
	for (u32 i = 0; i < cpu_count; i++)
		text_add(t, "processor\t: %u\nvendor_id\t: own\nmodel name\t: x86-64\ncpu cores\t: %u\nflags\t\t: fpu tsc msr pae apic sse sse2 syscall nx lm\n\n", i, cpu_count);
}

static void top_file(struct text *t, u32 n)
{
	struct process *p;
	u32 count = 0;
	EACH(p, &all_processes, all)
		count++;
	switch (n) {
	case 0: put_cpus(t); break;
	case 1:
		text_add(t, "MemTotal:       %8lu kB\nMemFree:        %8lu kB\nMemAvailable:   %8lu kB\nBuffers:        %8lu kB\nCached:         %8lu kB\nSwapCached:            0 kB\nShmem:                 0 kB\nSReclaimable:          0 kB\nDirty:          %8lu kB\nSwapTotal:             0 kB\nSwapFree:              0 kB\n",
			total_pages * 4, free_pages * 4, memory_available() * 4, buffer_bytes / 1024, cached_pages * 4, dirty_page_count * 4);
		break;
	case 2: {
		u64 idle = 0;
		for (u32 i = 0; i < cpu_count; i++)
			idle += cpus[i].idle_ns;
		text_add(t, "%lu.%02lu %lu.%02lu\n", now_ns() / 1000000000, now_ns() / 10000000 % 100, idle / 1000000000, idle / 10000000 % 100);
		break;
	}
	case 3: text_add(t, "0.00 0.00 0.00 %u/%u %d\n", runnable_count(), count, self()->pid); break;
	case 4: put_cpuinfo(t); break;
	case 5: text_add(t, "Linux version 6.1.0-own (own kernel) #1\n"); break;
	case 6: text_add(t, "%s\n", command_line); break;
	case 7: text_add(t, "nodev\tproc\nnodev\ttmpfs\nnodev\tdevtmpfs\nnodev\tsysfs\n\text2\n"); break;
	case 8:
		text_add(t, "major minor  #blocks  name\n\n");
		for (int i = 0; i < disk_count; i++)
			text_add(t, " 254        %d %10lu %s\n", i, disks[i]->sectors / 2, disks[i]->name);
		break;
	case 9: text_add(t, "Character devices:\n  1 mem\n  4 ttyS\n  5 /dev/tty\n136 pts\n\nBlock devices:\n254 virtblk\n"); break;
	case 11: text_add(t, "Filename\t\t\t\tType\t\tSize\t\tUsed\t\tPriority\n"); break;
	}
}

static const char *const net_files[] = { "dev", "route", "arp", "tcp", "udp", "unix", "raw", "tcp6", "udp6", "raw6", "if_inet6" };
static const char *const sys_files[] = { "hostname", "osrelease", "ostype", "pid_max", "version" };

static void sys_file(struct text *t, u32 n)
{
	switch (n) {
	case 0: text_add(t, "%s\n", host_name()); break;
	case 1: text_add(t, "6.1.0-own\n"); break;
	case 2: text_add(t, "Linux\n"); break;
	case 3: text_add(t, "32768\n"); break;
	case 4: text_add(t, "#1 own\n"); break;
	}
}

static u64 number(int pid, u32 kind, u32 n) { return (u64)pid << 24 | kind << 16 | n; }
static int pid_of(struct inode *i) { return i->ino >> 24; }
static u32 kind_of(struct inode *i) { return i->ino >> 16 & 0xff; }
static u32 entry_of(struct inode *i) { return i->ino & 0xffff; }

static struct inode *node(int pid, u32 kind, u32 n, u32 mode)
{
	u64 ino = number(pid, kind, n);
	struct inode *i = inode_find(super, ino);
	if (i && (i->mode & S_IFMT) != (mode & S_IFMT)) {
		inode_put(i);
		i = NULL;
	}
	if (i)
		return i;
	i = inode_new(super, ino, mode);
	if (!i)
		return ERR_PTR(-ENOMEM);
	struct process *p = pid ? process_by_pid(pid) : NULL;
	if (p) {
		i->uid = p->cred.euid;
		i->gid = p->cred.egid;
	}
	i->nlink = IS_DIR(mode) ? 2 : 1;
	i->ops = IS_DIR(mode) ? &dir_ops : IS_LNK(mode) ? &link_ops : &file_inode_ops;
	i->fops = IS_DIR(mode) ? &dir_file_ops : IS_LNK(mode) ? NULL : &text_ops;
	return i;
}

static int find(const char *const *list, u32 count, const char *name)
{
	for (u32 i = 0; i < count; i++)
		if (!strcmp(list[i], name))
			return i;
	return -1;
}

static struct inode *one_of(const char *const *list, u32 count, const char *name, int pid, u32 kind)
{
	int n = find(list, count, name);
	return n < 0 ? ERR_PTR(-ENOENT) : node(pid, kind, n, S_IFREG | 0444);
}

static struct file *file_of(int pid, u32 fd)
{
	struct process *p = process_by_pid(pid);
	struct fds *f = p && !link_empty(&p->threads) ? FIRST(&p->threads, struct task, thread_link)->fds : NULL;
	return f && fd < (u32)f->room ? f->file[fd] : NULL;
}

static struct inode *lookup_top(const char *name)
{
	if (!strcmp(name, "self"))
		return node(0, TOP, 1, S_IFLNK | 0777);
	if (!strcmp(name, "thread-self"))
		return node(0, TOP, 3, S_IFLNK | 0777);
	if (!strcmp(name, "mounts"))
		return node(0, TOP, 2, S_IFLNK | 0777);
	if (!strcmp(name, "net"))
		return node(0, NET_DIR, 0, S_IFDIR | 0555);
	if (!strcmp(name, "sys"))
		return node(0, SYS_DIR, 0, S_IFDIR | 0555);
	int n = find(top_files, LENGTH(top_files), name);
	if (n >= 0)
		return node(0, TOP_FILE, n, S_IFREG | 0444);
	const char *end;
	u64 pid = parse_number(name, &end);
	if (*end || end == name || !process_by_pid(pid))
		return ERR_PTR(-ENOENT);
	return node(pid, PROCESS, 0, S_IFDIR | 0555);
}

static struct inode *lookup_process(int pid, const char *name)
{
	if (!process_by_pid(pid))
		return ERR_PTR(-ENOENT);
	int n = find(process_links, LENGTH(process_links), name);
	if (n >= 0)
		return node(pid, PROCESS, 1 + n, S_IFLNK | 0777);
	if (!strcmp(name, "fd"))
		return node(pid, FD_DIR, 0, S_IFDIR | 0500);
	if (!strcmp(name, "task"))
		return node(pid, TASK_DIR, 0, S_IFDIR | 0555);
	return one_of(process_files, LENGTH(process_files), name, pid, PROCESS_FILE);
}

static struct inode *lookup(struct inode *dir, const char *name)
{
	int pid = pid_of(dir);
	const char *end;
	u64 n;
	if (!strcmp(name, "..")) {
		u32 kind = kind_of(dir);
		if (kind == FD_DIR || kind == TASK_DIR)
			return node(pid, PROCESS, 0, S_IFDIR | 0555);
		if (kind == SYS_DIR && entry_of(dir))
			return node(0, SYS_DIR, 0, S_IFDIR | 0555);
		return inode_get(super->root);
	}
	switch (kind_of(dir)) {
	case TOP: return lookup_top(name);
	case PROCESS: return lookup_process(pid, name);
	case NET_DIR: return one_of(net_files, LENGTH(net_files), name, 0, NET_FILE);
	case SYS_DIR:
		if (!entry_of(dir))
			return strcmp(name, "kernel") ? ERR_PTR(-ENOENT) : node(0, SYS_DIR, 1, S_IFDIR | 0555);
		return one_of(sys_files, LENGTH(sys_files), name, 0, SYS_FILE);
	case TASK_DIR:
		n = parse_number(name, &end);
		if (*end || !task_by_tid(n))
			return ERR_PTR(-ENOENT);
		return node(pid, PROCESS, 0, S_IFDIR | 0555);
	case FD_DIR:
		n = parse_number(name, &end);
		if (*end || end == name || !file_of(pid, n))
			return ERR_PTR(-ENOENT);
		return node(pid, FD, n, S_IFLNK | 0700);
	}
	return ERR_PTR(-ENOENT);
}

static int put_list(struct file *f, struct dirent_sink *s, const char *const *list, u32 count, u8 type, u64 *at)
{
	for (u32 i = 0; i < count; i++, (*at)++) {
		if (*at < f->pos)
			continue;
		if (s->put(s, list[i], strlen(list[i]), 1000 + *at, type, *at + 1))
			return 1;
		f->pos = *at + 1;
	}
	return 0;
}

/* Entries from 1000 on are processes by number, or descriptors. */
static int put_numbers(struct file *f, struct dirent_sink *s, int kind, int pid)
{
	char name[16];
	f->pos = MAX(f->pos, 1000UL);
	for (; f->pos < 1000 + 32768; f->pos++) {
		u32 n = f->pos - 1000;
		if (kind == TOP ? !process_by_pid(n) : kind == FD_DIR ? !file_of(pid, n) : !(task_by_tid(n) && task_by_tid(n)->process && task_by_tid(n)->process->pid == pid))
			continue;
		int length = format(name, sizeof name, "%u", n);
		u64 ino = kind == TOP ? number(n, PROCESS, 0) : number(pid, FD, n);
		if (s->put(s, name, length, ino, kind == FD_DIR ? 10 : 4, f->pos + 1))
			return 1;
	}
	return 0;
}

static int getdents(struct file *f, struct dirent_sink *s)
{
	static const char *const dots[] = { ".", ".." }, *const top_dirs[] = { "net", "sys" }, *const top_links[] = { "self", "mounts" };
	static const char *const process_dirs[] = { "fd", "task" }, *const kernel[] = { "kernel" };
	struct inode *dir = f->path.inode;
	u64 at = 0;
	if (put_list(f, s, dots, 2, 4, &at))
		return 0;
	switch (kind_of(dir)) {
	case TOP:
		(void)(put_list(f, s, top_dirs, 2, 4, &at) || put_list(f, s, top_links, 2, 10, &at)
			|| put_list(f, s, top_files, LENGTH(top_files), 8, &at) || put_numbers(f, s, TOP, 0));
		break;
	case PROCESS:
		(void)(put_list(f, s, process_dirs, 2, 4, &at) || put_list(f, s, process_links, LENGTH(process_links), 10, &at)
			|| put_list(f, s, process_files, LENGTH(process_files), 8, &at));
		break;
	case NET_DIR: put_list(f, s, net_files, LENGTH(net_files), 8, &at); break;
	case SYS_DIR:
		entry_of(dir) ? put_list(f, s, sys_files, LENGTH(sys_files), 8, &at) : put_list(f, s, kernel, 1, 4, &at);
		break;
	case FD_DIR: put_numbers(f, s, FD_DIR, pid_of(dir)); break;
	case TASK_DIR: put_numbers(f, s, TASK_DIR, pid_of(dir)); break;
	}
	return 0;
}

static struct path *link_path(struct inode *i)
{
	struct process *p = process_by_pid(pid_of(i));
	struct task *t = p && !link_empty(&p->threads) ? FIRST(&p->threads, struct task, thread_link) : NULL;
	if (!t || !t->fs)
		return NULL;
	return entry_of(i) == 2 ? &t->fs->cwd : &t->fs->root;
}

static int readlink(struct inode *i, char *to, size_t room)
{
	int pid = pid_of(i);
	if (kind_of(i) == TOP) {
		if (entry_of(i) == 2)
			return format(to, room, "self/mounts");
		return entry_of(i) == 1 ? format(to, room, "%d", self()->pid) : format(to, room, "%d/task/%d", self()->pid, current()->tid);
	}
	if (kind_of(i) == FD) {
		struct file *f = file_of(pid, entry_of(i));
		if (!f)
			return -ENOENT;
		if (f->name)
			return format(to, room, "%s", f->name);
		int n = file_text(f, to, room);
		return n < 0 ? format(to, room, "file:[%lu]", f->path.inode->ino) : n;
	}
	struct process *p = process_by_pid(pid);
	if (entry_of(i) == 1)
		return p && p->exe ? format(to, room, "%s", p->exe) : -ENOENT;
	struct path *at = link_path(i);
	return at ? path_text(at, to, room) : -ENOENT;
}

static struct inode *follow(struct inode *i, struct mount **mount)
{
	if (kind_of(i) == FD) {
		struct file *f = file_of(pid_of(i), entry_of(i));
		if (!f)
			return ERR_PTR(-ENOENT);
		if (f->path.mount)
			*mount = f->path.mount;
		return inode_get(f->path.inode);
	}
	if (kind_of(i) == PROCESS && entry_of(i) > 1) {
		struct path *at = link_path(i);
		if (!at)
			return ERR_PTR(-ENOENT);
		*mount = at->mount;
		return inode_get(at->inode);
	}
	return NULL;
}

static int open(struct file *f)
{
	struct text *t = kmalloc(sizeof *t);
	struct inode *i = f->path.inode;
	struct process *p = process_by_pid(pid_of(i));
	if (!t)
		return -ENOMEM;
	f->data = t;
	switch (kind_of(i)) {
	case TOP_FILE: top_file(t, entry_of(i)); break;
	case NET_FILE: net_proc(t, entry_of(i)); break;
	case SYS_FILE: sys_file(t, entry_of(i)); break;
	case PROCESS_FILE:
		if (p)
			process_file(t, p, entry_of(i));
		break;
	}
	return 0;
}

static ssize_t read(struct file *f, struct uio *u, u64 *pos)
{
	struct text *t = f->data;
	if (*pos >= t->used)
		return 0;
	size_t n = MIN(u->left, t->used - *pos);
	if (uio_out(u, t->at + *pos, n))
		return -EFAULT;
	*pos += n;
	return n;
}

static ssize_t write(struct file *f, struct uio *u, u64 *pos)
{
	size_t n = u->left;
	u->left = 0;
	return n;
}

static void release(struct file *f)
{
	struct text *t = f->data;
	kfree(t->at);
	kfree(t);
}

static const struct inode_ops dir_ops = { .lookup = lookup };
static const struct inode_ops link_ops = { .readlink = readlink, .follow = follow };
static const struct inode_ops file_inode_ops = { 0 };
static const struct file_ops dir_file_ops = { .getdents = getdents };
static const struct file_ops text_ops = { .open = open, .read = read, .write = write, .release = release };

static int statfs(struct superblock *sb, u64 out[8])
{
	out[0] = 0x9fa0;
	return 0;
}

struct superblock *procfs(void)
{
	if (super)
		return super;
	super = kmalloc(sizeof *super);
	if (!super)
		return NULL;
	*super = (struct superblock){ .dev = 4, .block_size = 4096, .type = "proc", .statfs = statfs, .transient = true };
	super->root = node(0, TOP, 0, S_IFDIR | 0555);
	return super;
}
