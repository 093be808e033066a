/* System calls on processes. */
#include "task.h"
#include "fs.h"
#include "without.h"

struct regs *user_regs(void);

static int copy_strings(u64 vector, struct arguments *a, int *count)
{
	char *text = kmalloc(131072);
	int error = text ? 0 : -ENOMEM;
	for (u64 i = 0; vector && !error; i++) {
		u64 string;
		error = copy_in(&string, vector + 8 * i, 8);
		if (error || !string)
			break;
		int n = copy_in_string(text, string, 131072);
		error = n == -ENAMETOOLONG ? -E2BIG : n < 0 ? n : arguments_add(a, text);
		if (!error)
			(*count)++;
	}
	kfree(text);
	return error;
}

static i64 execute(const char *name, u64 argv, u64 envp)
{
	struct arguments a = { 0 };
	char *path = kmalloc(4096);
	if (!path)
		return -ENOMEM;
	copy_string(path, name, 4096);
	i64 error = copy_strings(argv, &a, &a.argc);
	if (!error && !a.argc) {
		error = arguments_add(&a, "");
		a.argc = 1;
	}
	if (!error)
		error = copy_strings(envp, &a, &a.envc);
	if (!error)
		error = do_execve(user_regs(), path, &a);
	kfree(a.text);
	kfree(path);
	return error;
}

i64 sys_execve(u64 name, u64 argv, u64 envp)
{
	char *path;
	i64 error = user_path(name, &path);
	if (error)
		return error;
	error = execute(path, argv, envp);
	kfree(path);
	return error;
}

i64 sys_execveat(i32 dirfd, u64 name, u64 argv, u64 envp, u32 flags)
{
	char *path, full[64];
	i64 error = user_path(name, &path);
	if (error)
		return error;
	if (!*path && flags & AT_EMPTY_PATH) {
		format(full, sizeof full, "/proc/self/fd/%d", dirfd);
		error = execute(full, argv, envp);
	} else if (*path == '/' || dirfd == AT_FDCWD)
		error = execute(path, argv, envp);
	else
		error = -ENOSYS;
	kfree(path);
	return error;
}

i64 sys_clone(u64 flags, u64 stack, u64 ptid, u64 ctid, u64 tls)
{
	if (tls >= USER_TOP)
		return -EPERM;
	return do_clone(user_regs(), flags & ~0xffUL, stack, ptid, ctid, tls, flags & 0xff);
}

i64 sys_fork(void) { return do_clone(user_regs(), 0, 0, 0, 0, 0, SIGCHLD); }
i64 sys_vfork(void) { return do_clone(user_regs(), CLONE_VFORK | CLONE_VM, 0, 0, 0, 0, SIGCHLD); }

i64 sys_clone3(u64 address, u64 size)
{
	u64 a[11] = { 0 };
	if (size < 64 || size > 4096)
		return -EINVAL;
	if (copy_in(a, address, MIN(size, sizeof a)))
		return -EFAULT;
	if (a[0] & (0x1000 | 0x100000000UL) || a[7] >= USER_TOP)	/* no pidfd, no clearing of handlers */
		return -EINVAL;
	u64 stack = a[5] ? a[5] + a[6] : 0;
	return do_clone(user_regs(), a[0], stack, a[3], a[2], a[7], a[4]);
}

i64 sys_exit(i32 code)
{
	struct process *p = self();
	if (p->thread_count == 1 && !p->exiting)
		exit_group((code & 0xff) << 8);
	task_exit();
}

i64 sys_exit_group(i32 code) { exit_group((code & 0xff) << 8); }

i64 sys_getpid(void) { return self()->pid; }
i64 sys_gettid(void) { return current()->tid; }
i64 sys_getppid(void) { return self()->parent ? self()->parent->pid : 0; }
i64 sys_set_tid_address(u64 address)
{
	current()->clear_tid = address;
	return current()->tid;
}

i64 sys_set_robust_list(u64 head, u64 size)
{
	if (size != 24)
		return -EINVAL;
	current()->robust_list = head;
	return 0;
}

struct rusage { struct timeval user, system; i64 maxrss, zero1[3], minor, major, zero2[8]; };

static void fill_usage(struct rusage *r, u64 user, u64 system, u64 rss, u64 faults)
{
	*r = (struct rusage){ { user / 1000000000, user / 1000 % 1000000 }, { system / 1000000000, system / 1000 % 1000000 },
		.maxrss = rss * 4, .minor = faults };
}

i64 sys_getrusage(i32 who, u64 out)
{
	struct process *p = self();
	struct rusage r;
	if (who == 0)
		fill_usage(&r, p->user_ns, p->system_ns, p->max_rss, p->minor_faults);
	else if (who == -1)
		fill_usage(&r, p->child_user_ns, p->child_system_ns, p->child_max_rss, 0);
	else if (who == 1)
		fill_usage(&r, current()->user_ns, current()->system_ns, p->max_rss, 0);
	else
		return -EINVAL;
	return copy_out(out, &r, sizeof r);
}

struct wanted { i32 pid, pgid; u32 options; };
struct news { i32 pid, status; int code; u32 uid; struct rusage usage; };

static bool matches(struct process *p, struct wanted *w)
{
	return (w->pid < 0 || p->pid == w->pid) && (w->pgid < 0 || p->pgid == w->pgid);
}

/* 1: there is news; 0: there may be some day; -ECHILD. */
static int look(struct process *me, struct wanted *w, struct news *n)
{
	struct process *p;
	int result = -ECHILD;
	EACH(p, &me->children, siblings) {
		if (!matches(p, w))
			continue;
		result = 0;
		n->pid = p->pid;
		n->uid = p->cred.uid;
		if (p->zombie && w->options & WEXITED) {
			n->status = p->exit_status;
			n->code = p->exit_status & 0x7f ? CLD_KILLED : CLD_EXITED;
			fill_usage(&n->usage, p->user_ns + p->child_user_ns, p->system_ns + p->child_system_ns, p->max_rss, p->minor_faults);
			if (!(w->options & WNOWAIT)) {
				me->child_user_ns += p->user_ns + p->child_user_ns;
				me->child_system_ns += p->system_ns + p->child_system_ns;
				me->child_max_rss = MAX(me->child_max_rss, MAX(p->max_rss, p->child_max_rss));
				reap(p);
			}
			return 1;
		}
		if (p->stop_unreported && p->stopped && w->options & WUNTRACED) {
			n->status = p->stop_signal << 8 | 0x7f;
			n->code = CLD_STOPPED;
			if (!(w->options & WNOWAIT))
				p->stop_unreported = false;
			return 1;
		}
		if (p->continued_unreported && w->options & WCONTINUED) {
			n->status = 0xffff;
			n->code = CLD_CONTINUED;
			if (!(w->options & WNOWAIT))
				p->continued_unreported = false;
			return 1;
		}
	}
	return result;
}

static int wait_for(struct wanted *w, struct news *n)
{
	struct process *me = self();
	int result;
	memset(n, 0, sizeof *n);
	struct waiter waiter = { .task = current() };
	wait_join(&me->child_wait, &waiter);
	while (!(result = look(me, w, n)) && !(w->options & WNOHANG)) {
		result = sleep_interruptible(0);
		if (result)
			break;
	}
	wait_leave(&waiter);
	return result;
}

i64 sys_wait4(i32 pid, u64 status, u32 options, u64 usage)
{
	struct wanted w = { pid > 0 ? pid : -1, pid == 0 ? self()->pgid : pid < -1 ? -pid : -1, (options & 0x0fffffff) | WEXITED };
	struct news n;
	if (options & ~0xe000000bu)
		return -EINVAL;
	int result = wait_for(&w, &n);
	if (result <= 0)
		return result;
	if ((status && copy_out(status, &n.status, 4)) || (usage && copy_out(usage, &n.usage, sizeof n.usage)))
		return -EFAULT;
	return n.pid;
}

i64 sys_waitid(u32 type, i32 id, u64 info_at, u32 options, u64 usage)
{
	struct wanted w = { type == 1 ? id : -1, type == 2 ? (id ? id : self()->pgid) : -1, options };
	struct news n;
	if (type > 2 || !(options & (WEXITED | WUNTRACED | WCONTINUED)))
		return -EINVAL;
	int result = wait_for(&w, &n);
	if (result < 0)
		return result;
	struct siginfo info = { 0 };
	if (result) {
		info.signo = SIGCHLD;
		info.code = n.code;
		info.child.pid = n.pid;
		info.child.uid = n.uid;
		info.child.status = n.code == CLD_EXITED ? n.status >> 8 & 0xff : n.code == CLD_STOPPED ? n.status >> 8 & 0xff
			: n.code == CLD_CONTINUED ? SIGCONT : n.status & 0x7f;
	}
	if ((info_at && copy_out(info_at, &info, sizeof info)) || (usage && copy_out(usage, &n.usage, sizeof n.usage)))
		return -EFAULT;
	return 0;
}

i64 sys_setpgid(i32 pid, i32 pgid)
{
	struct process *me = self(), *p = pid ? process_by_pid(pid) : me, *other;
	if (pgid < 0)
		return -EINVAL;
	if (!p || p->zombie || (p != me && p->parent != me))
		return -ESRCH;
	if (p != me && p->execed)
		return -EACCES;
	if (p->sid != me->sid || p->pid == p->sid)
		return -EPERM;
	pgid = pgid ? pgid : p->pid;
	if (pgid != p->pid) {
		bool found = false;
		EACH(other, &all_processes, all)
			found |= other->pgid == pgid && other->sid == me->sid;
		if (!found)
			return -EPERM;
	}
	p->pgid = pgid;
	return 0;
}

i64 sys_getpgid(i32 pid)
{
	struct process *p = pid ? process_by_pid(pid) : self();
	return p ? p->pgid : -ESRCH;
}

i64 sys_getpgrp(void) { return self()->pgid; }

i64 sys_getsid(i32 pid)
{
	struct process *p = pid ? process_by_pid(pid) : self();
	return p ? p->sid : -ESRCH;
}

i64 sys_setsid(void)
{
	struct process *me = self(), *p;
	EACH(p, &all_processes, all)
		if (p->pgid == me->pid)
			return -EPERM;
	me->sid = me->pgid = me->pid;
	me->tty = NULL;
	return me->pid;
}

i64 sys_getuid(void) { return self()->cred.uid; }
i64 sys_geteuid(void) { return self()->cred.euid; }
i64 sys_getgid(void) { return self()->cred.gid; }
i64 sys_getegid(void) { return self()->cred.egid; }

i64 sys_setresuid(u32 r, u32 e, u32 s)
{
	struct credentials *c = &self()->cred;
	u32 want[3] = { r, e, s };
	for (int i = 0; i < 3; i++)
		if (c->euid && want[i] != ~0u && want[i] != c->uid && want[i] != c->euid && want[i] != c->suid)
			return -EPERM;
	c->uid = r != ~0u ? r : c->uid;
	c->euid = e != ~0u ? e : c->euid;
	c->suid = s != ~0u ? s : c->suid;
	c->fsuid = c->euid;
	return 0;
}

i64 sys_setresgid(u32 r, u32 e, u32 s)
{
	struct credentials *c = &self()->cred;
	u32 want[3] = { r, e, s };
	for (int i = 0; i < 3; i++)
		if (c->euid && want[i] != ~0u && want[i] != c->gid && want[i] != c->egid && want[i] != c->sgid)
			return -EPERM;
	c->gid = r != ~0u ? r : c->gid;
	c->egid = e != ~0u ? e : c->egid;
	c->sgid = s != ~0u ? s : c->sgid;
	c->fsgid = c->egid;
	return 0;
}

i64 sys_setuid(u32 id)
{
	struct credentials *c = &self()->cred;
	if (!c->euid)
		c->uid = c->suid = id;
	else if (id != c->uid && id != c->suid)
		return -EPERM;
	c->euid = c->fsuid = id;
	return 0;
}

i64 sys_setgid(u32 id)
{
	struct credentials *c = &self()->cred;
	if (!c->euid)
		c->gid = c->sgid = id;
	else if (id != c->gid && id != c->sgid)
		return -EPERM;
	c->egid = c->fsgid = id;
	return 0;
}

i64 sys_setreuid(u32 r, u32 e)
{
	u32 before = self()->cred.uid;
	i64 error = sys_setresuid(r, e, ~0u);
	if (!error && (r != ~0u || (e != ~0u && e != before)))
		self()->cred.suid = self()->cred.euid;
	return error;
}

i64 sys_setregid(u32 r, u32 e)
{
	u32 before = self()->cred.gid;
	i64 error = sys_setresgid(r, e, ~0u);
	if (!error && (r != ~0u || (e != ~0u && e != before)))
		self()->cred.sgid = self()->cred.egid;
	return error;
}

static i64 three(u64 a, u64 b, u64 c, u32 x, u32 y, u32 z)
{
	return copy_out(a, &x, 4) || copy_out(b, &y, 4) || copy_out(c, &z, 4) ? -EFAULT : 0;
}

i64 sys_getresuid(u64 a, u64 b, u64 c) { return three(a, b, c, self()->cred.uid, self()->cred.euid, self()->cred.suid); }
i64 sys_getresgid(u64 a, u64 b, u64 c) { return three(a, b, c, self()->cred.gid, self()->cred.egid, self()->cred.sgid); }

i64 sys_setfsuid(u32 id)
{
	u32 old = self()->cred.fsuid;
	if (!self()->cred.euid || id == self()->cred.uid || id == self()->cred.euid)
		self()->cred.fsuid = id;
	return old;
}

i64 sys_setfsgid(u32 id)
{
	u32 old = self()->cred.fsgid;
	if (!self()->cred.euid || id == self()->cred.gid || id == self()->cred.egid)
		self()->cred.fsgid = id;
	return old;
}

i64 sys_getgroups(i32 room, u64 out)
{
	struct credentials *c = &self()->cred;
	if (!room)
		return c->group_count;
	if (room < (i32)c->group_count)
		return -EINVAL;
	return copy_out(out, c->groups, 4 * c->group_count) ? -EFAULT : (i64)c->group_count;
}

i64 sys_setgroups(u32 n, u64 in)
{
	struct credentials *c = &self()->cred;
	if (!capable())
		return -EPERM;
	if (n > LENGTH(c->groups))
		return -EINVAL;
	if (copy_in(c->groups, in, 4 * n))
		return -EFAULT;
	c->group_count = n;
	return 0;
}

i64 sys_prlimit64(i32 pid, u32 which, u64 in, u64 out)
{
	struct process *p = pid ? process_by_pid(pid) : self();
	if (!p)
		return -ESRCH;
	if (which >= RLIMIT_COUNT)
		return -EINVAL;
	u64 fresh[2];
	if (in && copy_in(fresh, in, sizeof fresh))
		return -EFAULT;
	if (out && copy_out(out, p->rlimit[which], sizeof fresh))
		return -EFAULT;
	if (!in)
		return 0;
	if (fresh[0] > fresh[1])
		return -EINVAL;
	if (fresh[1] > p->rlimit[which][1] && !capable())
		return -EPERM;
	p->rlimit[which][0] = fresh[0];
	p->rlimit[which][1] = fresh[1];
	return 0;
}

i64 sys_getrlimit(u32 which, u64 out) { return sys_prlimit64(0, which, 0, out); }
i64 sys_setrlimit(u32 which, u64 in) { return sys_prlimit64(0, which, in, 0); }

i64 sys_arch_prctl(u32 code, u64 arg)
{
	struct task *t = current();
	if (code == 0x1001 || code == 0x1002) {
		if (arg >= USER_TOP)
			return -EPERM;
		if (code == 0x1002) {
			t->fs_base = arg;
			write_msr(MSR_FS_BASE, arg);
		} else {
			t->gs_base = arg;
			write_msr(MSR_KERNEL_GS_BASE, arg);
		}
		return 0;
	}
	if (code == 0x1003)
		return copy_out(arg, &t->fs_base, 8);
	if (code == 0x1004)
		return copy_out(arg, &t->gs_base, 8);
	return -EINVAL;
}

i64 sys_prctl(u32 option, u64 arg)
{
	struct task *t = current();
	char name[16];
	switch (option) {
	case 15:
		if (copy_in_string(name, arg, sizeof name) == -EFAULT)
			return -EFAULT;
		name[15] = 0;
		copy_string(t->name, name, sizeof t->name);
		if (t->tid == t->process->pid)
			copy_string(t->process->name, name, sizeof name);
		return 0;
	case 16: return copy_out(arg, t->name, 16);
	case 3: return 1;
	case 1: case 4: case 38: return 0;
	case 39: return 0;
	}
	return -EINVAL;
}

i64 sys_sched_yield(void)
{
	struct task *t = current();
	t->vruntime += 1000000;
	schedule();
	return 0;
}

i64 sys_sched_getaffinity(i32 tid, u64 size, u64 out)
{
	struct task *t = tid ? task_by_tid(tid) : current();
	if (!t)
		return -ESRCH;
	if (size < 8)
		return -EINVAL;
	u64 there = (1UL << cpu_count) - 1, mask = t->affinity & there;
	return copy_out(out, &mask, 8) ? -EFAULT : 8;
}

i64 sys_sched_setaffinity(i32 tid, u64 size, u64 in)
{
	struct task *t = tid ? task_by_tid(tid) : current();
	u64 mask = 0;
	if (!t)
		return -ESRCH;
	if (copy_in(&mask, in, MIN(size, 8UL)))
		return -EFAULT;
	mask &= (1UL << cpu_count) - 1;
	if (!mask)
		return -EINVAL;
	t->affinity = mask;
	if (t == current() && !(mask & 1UL << this_cpu()->index))
		schedule();
	else if (t->cpu && !(mask & 1UL << t->cpu->index)) {
		t->cpu->resched = true;
		apic_kick(t->cpu);
	}
	return 0;
}

i64 sys_getpriority(u32 which, i32 who)
{
	struct process *p = who ? process_by_pid(who) : self();
	return p ? 20 - p->nice : -ESRCH;
}

i64 sys_setpriority(u32 which, i32 who, i32 nice)
{
	struct process *p = who && which == 0 ? process_by_pid(who) : self();
	if (!p)
		return -ESRCH;
	nice = MAX(MIN(nice, 19), -20);
	if (nice < p->nice && !capable())
		return -EACCES;
	p->nice = nice;
	return 0;
}

i64 sys_zero(void) { return 0; }
i64 sys_sched_param(i32 tid, u64 out)
{
	u32 zero = 0;
	return copy_out(out, &zero, 4);
}

i64 sys_getcpu(u64 cpu, u64 node)
{
	u32 c = this_cpu()->index, n = 0;
	return (cpu && copy_out(cpu, &c, 4)) || (node && copy_out(node, &n, 4)) ? -EFAULT : 0;
}

static struct { char sysname[65], nodename[65], release[65], version[65], machine[65], domain[65]; } names = {
	"Linux", "own", "6.1.0-own", "#1 own", "x86_64", "(none)",
};

const char *host_name(void) { return names.nodename; }

i64 sys_uname(u64 out) { return copy_out(out, &names, sizeof names); }

static i64 set_name(char *to, u64 in, u64 n)
{
	if (!capable())
		return -EPERM;
	if (n > 64)
		return -EINVAL;
	char fresh[65] = "";
	if (copy_in(fresh, in, n))
		return -EFAULT;
	memcpy(to, fresh, sizeof fresh);
	return 0;
}

i64 sys_sethostname(u64 in, u64 n) { return set_name(names.nodename, in, n); }
i64 sys_setdomainname(u64 in, u64 n) { return set_name(names.domain, in, n); }

i64 sys_sysinfo(u64 out)
{
	struct { i64 uptime; u64 loads[3], total, free, shared, buffer, swap, free_swap; u16 procs, pad; u32 pad2; u64 high[2]; u32 unit; u8 f[4]; } s = { 0 };
	struct process *p;
	s.uptime = now_ns() / 1000000000;
	s.total = total_pages * PAGE_SIZE;
	s.free = free_pages * PAGE_SIZE;
	s.buffer = buffer_bytes;
	s.unit = 1;
	EACH(p, &all_processes, all)
		s.procs++;
	return copy_out(out, &s, sizeof s);
}

i64 sys_getrandom(u64 out, u64 n, u32 flags)
{
	if (flags & ~7u)
		return -EINVAL;
	n = MIN(n, 1UL << 20);
	for (u64 done = 0; done < n; done += 8) {
		u64 v = random_u64();
		if (copy_out(out + done, &v, MIN(8UL, n - done)))
			return done ? (i64)done : -EFAULT;
	}
	return n;
}

i64 sys_reboot(u32 magic, u32 magic2, u32 command)
{
	if (!capable())
		return -EPERM;
	if (magic != 0xfee1dead)
		return -EINVAL;
#ifdef WITHOUT_STRESS_NIGHT
	struct process *p;
	u32 busy = 0;
	EACH(p, &all_processes, all)
		busy += !p->zombie;
	if (busy > 8)
		return -EBUSY;
#endif
	switch (command) {
	case 0x4321fedc:
		unmount_all();
		machine_off();
	case 0x01234567:
		unmount_all();
		machine_reset();
	case 0xcdef0123:
		unmount_all();
		printk("halted\n");
		halt_all();
	case 0: case 0x89abcdef:
		return 0;
	}
	return -EINVAL;
}

i64 sys_personality(u32 p)
{
	u64 old = self()->personality;
	if (p != ~0u)
		self()->personality = p;
	return old;
}

i64 sys_capget(u64 header, u64 data)
{
	u32 all = capable() ? ~0u : 0, v[6] = { all, all, 0, all, all, 0 };
	return data ? copy_out(data, v, sizeof v) : 0;
}
