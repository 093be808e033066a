/* execve: scripts and ELF programs. The new space is complete before anything of the old one goes. */
#include "task.h"
#include "fs.h"

#define STACK_SIZE (8UL << 20)
#define PIE_BASE 0x555555554000UL

struct ehdr { u8 ident[16]; u16 type, machine; u32 version; u64 entry, phoff, shoff; u32 flags; u16 ehsize, phentsize, phnum, shentsize, shnum, shstrndx; };
struct phdr { u32 type, flags; u64 offset, vaddr, paddr, filesz, memsz, align; };

struct image { u64 entry, phdr, phnum, base, end; char interpreter[256]; };

static int mm_write(struct mm *mm, u64 va, const void *from, size_t n)
{
	while (n) {
		size_t part = MIN(n, PAGE_SIZE - (va & (PAGE_SIZE - 1)));
		void *to = mm_reach(mm, va, true);
		if (!to)
			return -ENOMEM;
		if (from) {
			memcpy(to, from, part);
			from = (const char *)from + part;
		} else
			memset(to, 0, part);
		va += part;
		n -= part;
	}
	return 0;
}

static int load_segment(struct mm *mm, struct inode *inode, struct phdr *p, u64 base)
{
	u32 prot = (p->flags & 4 ? PROT_READ : 0) | (p->flags & 2 ? PROT_WRITE : 0) | (p->flags & 1 ? PROT_EXEC : 0);
	u64 start = base + p->vaddr, file_end = start + p->filesz, end = start + p->memsz;
	if ((p->vaddr ^ p->offset) & (PAGE_SIZE - 1) || p->filesz > p->memsz || p->memsz > USER_TOP || start > USER_TOP || end > STACK_TOP - STACK_SIZE)
		return -ENOEXEC;
	u64 from = ROUND_DOWN(start, PAGE_SIZE), file_pages = ROUND_UP(file_end, PAGE_SIZE), pages_end = ROUND_UP(end, PAGE_SIZE);
	int error;
	if (!mm_range_free(mm, from, pages_end))
		return -ENOEXEC;
	if (p->filesz) {
		error = mm_map(mm, from, file_pages, prot, MAP_PRIVATE, inode, ROUND_DOWN(p->offset, PAGE_SIZE));
		if (error)
			return error;
		if (p->memsz > p->filesz && (prot & PROT_WRITE) && file_end < file_pages) {
			error = mm_write(mm, file_end, NULL, file_pages - file_end);
			if (error)
				return error;
		}
	} else
		file_pages = from;
	if (pages_end > file_pages)
		return mm_map(mm, file_pages, pages_end, prot, MAP_PRIVATE, NULL, 0);
	return 0;
}

static int load_image(struct mm *mm, struct inode *inode, struct image *image, bool interpreter)
{
	struct ehdr e;
	if (inode_read(inode, &e, sizeof e, 0) != sizeof e || memcmp(e.ident, "\177ELF\2\1\1", 7) || e.machine != 62
		|| (e.type != 2 && e.type != 3) || e.phentsize != sizeof(struct phdr) || !e.phnum || e.phnum > 64)
		return -ENOEXEC;
	struct phdr p[64];
	if (inode_read(inode, p, e.phnum * sizeof *p, e.phoff) != e.phnum * sizeof *p)
		return -ENOEXEC;
	u64 low = ~0UL, high = 0;
	for (int i = 0; i < e.phnum; i++)
		if (p[i].type == 1 && p[i].memsz) {
			low = MIN(low, ROUND_DOWN(p[i].vaddr, PAGE_SIZE));
			high = MAX(high, p[i].vaddr + p[i].memsz);
		}
	if (low > high || high > USER_TOP)
		return -ENOEXEC;
	u64 base = 0;
	if (e.type == 3)
		base = interpreter ? mm_hole(mm, ROUND_UP(high - low, PAGE_SIZE)) - low : PIE_BASE;
	for (int i = 0; i < e.phnum; i++) {
		if (p[i].type == 3 && !interpreter) {
			size_t n = MIN(p[i].filesz, sizeof image->interpreter - 1);
			if (inode_read(inode, image->interpreter, n, p[i].offset) != (ssize_t)n)
				return -ENOEXEC;
		}
		if (p[i].type != 1 || !p[i].memsz)
			continue;
		int error = load_segment(mm, inode, &p[i], base);
		if (error)
			return error;
		if (e.phoff >= p[i].offset && e.phoff < p[i].offset + p[i].filesz)
			image->phdr = base + p[i].vaddr + e.phoff - p[i].offset;
	}
	image->base = base;
	image->entry = base + e.entry;
	image->phnum = e.phnum;
	image->end = base + high;
	return 0;
}

static int open_program(const char *path, struct file **file)
{
	struct file *f = file_open(AT_FDCWD, path, O_RDONLY | 0x80000000, 0);
	if (IS_ERR(f))
		return PTR_ERR(f);
	struct inode *i = f->path.inode;
	int error = !IS_REG(i->mode) ? -EACCES : !(i->mode & 0111) ? -EACCES : permission(i, 1);
	if (!error && i->writers)
		error = -ETXTBSY;
	if (error) {
		file_put(f);
		return error;
	}
	*file = f;
	return 0;
}

/* `#!interpreter argument`: the arguments become interpreter, argument, path, the rest. */
static int script(struct file *f, char *path, struct arguments *a)
{
	char line[256], *name, *end, *argument = NULL;
	ssize_t n = inode_read(f->path.inode, line, sizeof line - 1, 0);
	if (n < 2 || line[0] != '#' || line[1] != '!')
		return 0;
	line[n] = 0;
	end = strchr(line, '\n');
	if (!end)
		end = line + n;
	*end = 0;
	while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = 0;
	for (name = line + 2; *name == ' ' || *name == '\t'; name++)
		;
	if (!*name)
		return -ENOEXEC;
	for (end = name; *end && *end != ' ' && *end != '\t'; end++)
		;
	if (*end) {
		*end++ = 0;
		while (*end == ' ' || *end == '\t')
			end++;
		argument = *end ? end : NULL;
	}
	struct arguments fresh = { 0 };
	int error = arguments_add(&fresh, name);
	if (!error && argument)
		error = arguments_add(&fresh, argument);
	if (!error)
		error = arguments_add(&fresh, path);
	fresh.argc = argument ? 3 : 2;
	char *at = a->text;
	for (int i = 0; i < a->argc + a->envc && !error; i++, at += strlen(at) + 1)
		if (i)
			error = arguments_add(&fresh, at);
	if (a->argc)
		fresh.argc += a->argc - 1;
	fresh.envc = a->envc;
	if (error) {
		kfree(fresh.text);
		return error;
	}
	kfree(a->text);
	*a = fresh;
	copy_string(path, name, 4096);
	return 1;
}

int arguments_add(struct arguments *a, const char *s)
{
	size_t n = strlen(s) + 1;
	if (a->used + n > a->room) {
		size_t room = MAX(a->room * 2, MAX(8192UL, ROUND_UP(a->used + n, 4096)));
		if (room > 2 << 20)
			return -E2BIG;
		char *text = kmalloc(room);
		if (!text)
			return -ENOMEM;
		memcpy(text, a->text, a->used);
		kfree(a->text);
		a->text = text;
		a->room = room;
	}
	memcpy(a->text + a->used, s, n);
	a->used += n;
	return 0;
}

/* Strings, then the auxiliary vector, environment and arguments; returns the stack pointer or 0. */
static u64 build_stack(struct mm *mm, struct arguments *a, const char *path, struct image *program, u64 entry, u64 interpreter_base)
{
	struct credentials *c = &self()->cred;
	u64 path_at = STACK_TOP - 8 - (strlen(path) + 1), platform_at = path_at - 8, random_at = platform_at - 16;
	u64 text_at = random_at - a->used;
	u64 random[2] = { random_u64(), random_u64() };
	u32 features[4];
	cpuid(1, 0, features);
	u64 aux[][2] = {
		{ 16, features[3] }, { 6, PAGE_SIZE }, { 17, 100 }, { 3, program->phdr }, { 4, sizeof(struct phdr) },
		{ 5, program->phnum }, { 7, interpreter_base }, { 8, 0 }, { 9, program->entry }, { 11, c->uid }, { 12, c->euid },
		{ 13, c->gid }, { 14, c->egid }, { 23, c->uid != c->euid || c->gid != c->egid }, { 25, random_at },
		{ 31, path_at }, { 15, platform_at }, { 26, 0 }, { 0, 0 },
	};
	size_t words = 1 + a->argc + 1 + a->envc + 1;
	u64 sp = ROUND_DOWN(text_at - words * 8 - sizeof aux, 16), at = sp;
	u64 *table = kmalloc(words * 8);
	if (!table)
		return 0;
	size_t n = 0, offset = 0;
	table[n++] = a->argc;
	mm->arg_start = text_at;
	for (int i = 0; i < a->argc + a->envc; i++) {
		if (i == a->argc) {
			table[n++] = 0;
			mm->env_start = text_at + offset;
		}
		table[n++] = text_at + offset;
		offset += strlen(a->text + offset) + 1;
	}
	if (!a->envc) {
		n++;
		mm->env_start = text_at + offset;
	}
	mm->arg_end = mm->env_start;
	mm->env_end = text_at + offset;
	int error = mm_write(mm, path_at, path, strlen(path) + 1) || mm_write(mm, platform_at, "x86_64", 7)
		|| mm_write(mm, random_at, random, 16) || mm_write(mm, text_at, a->text, a->used)
		|| mm_write(mm, at, table, words * 8) || mm_write(mm, at + words * 8, aux, sizeof aux);
	kfree(table);
	return error ? 0 : sp;
}

/* The only thread left goes on, under the number of the process. */
static int become_only_thread(void)
{
	struct task *t = current();
	struct process *p = t->process;
	if (p->exec_by || p->exiting)
		return -EAGAIN;
	p->exec_by = t;
	kill_other_threads(p, 0);
	while (p->thread_count > 1 && !t->killed)
		sleep_deep();
	p->exec_by = NULL;
	if (t->killed)
		return -EAGAIN;
	if (t->tid != p->pid) {
		tid_drop(t);
		tid_take(t, p->pid);
	}
	return 0;
}

static void reset_process(struct process *p, struct file *f, const char *path)
{
	struct task *t = current();
	for (int i = 1; i <= SIG_COUNT; i++) {
		u64 handler = p->actions[i].handler;
		p->actions[i] = (struct sigaction){ .handler = handler == SIG_IGN ? SIG_IGN : SIG_DFL };
	}
	t->altstack = (struct sigstack){ .flags = SS_DISABLE };
	t->clear_tid = t->robust_list = 0;
	t->fs_base = t->gs_base = 0;
	memset(t->fpu, 0, sizeof t->fpu);
	*(u16 *)t->fpu = 0x37f;
	*(u32 *)(t->fpu + 24) = 0x1f80;
	asm volatile("fxrstor %0" : : "m"(t->fpu));
	write_msr(MSR_FS_BASE, 0);
	write_msr(MSR_KERNEL_GS_BASE, 0);
	for (int i = 0; p->timers && i < 32; i++)
		timer_cancel(&p->timers[i].timer);
	kfree(p->timers);
	p->timers = NULL;
	const char *base = path;
	for (const char *s = path; *s; s++)
		if (*s == '/')
			base = s + 1;
	copy_string(p->name, base, sizeof p->name);
	copy_string(t->name, base, sizeof t->name);
	char *text = kmalloc(4096);
	if (text && file_text(f, text, 4096) > 0) {
		kfree(p->exe);
		p->exe = kstrdup(text);
	}
	kfree(text);
	p->execed = true;
	fds_close_on_exec(t->fds);
}

static void set_credentials(struct process *p, struct inode *i)
{
	if (i->mode & S_ISUID)
		p->cred.euid = p->cred.fsuid = i->uid;
	if ((i->mode & (S_ISGID | 010)) == (S_ISGID | 010))
		p->cred.egid = p->cred.fsgid = i->gid;
	p->cred.suid = p->cred.euid;
	p->cred.sgid = p->cred.egid;
}

static int load(struct regs *r, struct file *f, char *path, struct arguments *a)
{
	struct image program = { 0 }, interpreter = { 0 };
	struct mm *mm = mm_new();
	if (!mm)
		return -ENOMEM;
	struct credentials saved = self()->cred;
	int error = load_image(mm, f->path.inode, &program, false);
	u64 entry = program.entry;
	if (!error && program.interpreter[0]) {
		struct file *other;
		error = open_program(program.interpreter, &other);
		if (!error) {
			error = load_image(mm, other->path.inode, &interpreter, true);
			file_put(other);
			entry = interpreter.entry;
		}
	}
	if (!error)
		error = mm_map(mm, STACK_TOP - STACK_SIZE, STACK_TOP, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_GROWSDOWN, NULL, 0);
	if (error) {
		mm_put(mm);
		return error;
	}
	HOLDER(mm->vmas.prev, struct vma, link)->stack = true;
	mm->stack_bottom = STACK_TOP;
	mm->brk_start = mm->brk = ROUND_UP(program.end, PAGE_SIZE);
	set_credentials(self(), f->path.inode);
	u64 sp = build_stack(mm, a, path, &program, entry, interpreter.base);
	error = sp ? become_only_thread() : -ENOMEM;
	if (error) {
		self()->cred = saved;
		mm_put(mm);
		return error;
	}
	struct task *t = current();
	struct mm *old = t->mm;
	t->mm = mm;
	mm_switch(mm);
	if (t->fds->refs > 1) {
		struct fds *own = fds_copy(t->fds);
		if (own) {
			fds_put(t->fds);
			t->fds = own;
		}
	}
	reset_process(t->process, f, path);
	if (old)
		mm_put(old);
	if (t->vfork_done) {
		struct waitqueue *q = t->vfork_done;
		t->vfork_done = NULL;
		wake_all(q);
	}
	memset(r, 0, sizeof *r);
	r->rip = MIN(entry, USER_TOP - 1);
	r->rsp = sp;
	r->cs = USER_CS;
	r->ss = USER_SS;
	r->rflags = 0x202;
	return 0;
}

/* path has room for 4096 bytes and may be changed. */
int do_execve(struct regs *r, char *path, struct arguments *a)
{
	for (int depth = 0; depth < 5; depth++) {
		struct file *f;
		int error = open_program(path, &f);
		if (error)
			return error;
		error = script(f, path, a);
		if (error <= 0) {
			if (!error)
				error = load(r, f, path, a);
			file_put(f);
			return error;
		}
		file_put(f);
	}
	return -ELOOP;
}
