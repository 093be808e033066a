/* System calls on signals. */
#include "task.h"
#include "without.h"

struct regs *user_regs(void);

#define UNBLOCKABLE (SIGBIT(SIGKILL) | SIGBIT(SIGSTOP))

i64 sys_rt_sigaction(u32 sig, u64 in, u64 out, u64 size)
{
	struct sigaction fresh, old;
	if (size != 8 || !sig || sig > SIG_COUNT || (in && (sig == SIGKILL || sig == SIGSTOP)))
		return -EINVAL;
	if (in && copy_in(&fresh, in, sizeof fresh))
		return -EFAULT;
	struct process *p = self();
	struct task *t;
	old = p->actions[sig];
	if (in) {
		fresh.mask &= ~UNBLOCKABLE;
		p->actions[sig] = fresh;
		if (signal_ignored(p, sig)) {	/* what waits of it goes */
			struct siginfo unused;
			while (signal_take_from(&p->pending, sig, &unused))
				;
			EACH(t, &p->threads, thread_link)
				while (signal_take_from(&t->pending, sig, &unused))
					;
		}
	}
	return out ? copy_out(out, &old, sizeof old) : 0;
}

i64 sys_rt_sigprocmask(u32 how, u64 in, u64 out, u64 size)
{
	struct task *t = current();
	u64 set = 0, old = t->blocked;
	if (size != 8)
		return -EINVAL;
	if (in) {
		if (copy_in(&set, in, 8))
			return -EFAULT;
		switch (how) {
		case 0: t->blocked |= set; break;
		case 1: t->blocked &= ~set; break;
		case 2: t->blocked = set; break;
		default: return -EINVAL;
		}
		t->blocked &= ~UNBLOCKABLE;
	}
	return out ? copy_out(out, &old, 8) : 0;
}

i64 sys_rt_sigpending(u64 out, u64 size)
{
	u64 set = (current()->pending.set | self()->pending.set) & current()->blocked;
	return copy_out(out, &set, MIN(size, 8UL));
}

int mask_for_call(u64 address, u64 size);

i64 sys_rt_sigsuspend(u64 mask, u64 size)
{
	int error = mask ? mask_for_call(mask, size) : -EFAULT;
	while (!error)
		error = sleep_interruptible(0);
	return error == -ERESTARTSYS ? -ERESTARTNOHAND : error;
}

i64 sys_pause(void)
{
	int error;
	while (!(error = sleep_interruptible(0)))
		;
	return -ERESTARTNOHAND;
}

i64 sys_rt_sigtimedwait(u64 set_at, u64 info_at, u64 timeout, u64 size)
{
	struct task *t = current();
	struct timespec ts;
	struct siginfo info;
	u64 set, until = 0;
	if (size != 8)
		return -EINVAL;
	if (copy_in(&set, set_at, 8) || (timeout && copy_in(&ts, timeout, sizeof ts)))
		return -EFAULT;
	if (timeout && (ts.sec < 0 || ts.nsec < 0 || ts.nsec >= 1000000000))
		return -EINVAL;
	if (timeout)
		until = MAX(now_ns() + MIN(ts.sec, 1L << 32) * 1000000000UL + ts.nsec, 1UL);
	set &= ~UNBLOCKABLE;
	for (;;) {
		int sig = signal_take(t, ~set, &info);
		if (sig)
			return info_at && copy_out(info_at, &info, sizeof info) ? -EFAULT : sig;
		if (timeout && now_ns() >= until)
			return -EAGAIN;
		u64 blocked = t->blocked;
		t->blocked &= ~set;	/* what is waited for wakes, and is not thrown away */
		t->awaited = set;
		int error = sleep_interruptible(until);
		t->awaited = 0;
		t->blocked = blocked;
		if (error == -ERESTARTSYS && !((t->pending.set | self()->pending.set) & set))
			return -EINTR;
	}
}

i64 sys_sigaltstack(u64 in, u64 out)
{
	struct task *t = current();
	u64 sp = user_regs()->rsp;
	struct sigstack fresh, old = t->altstack;
	bool on = !(old.flags & SS_DISABLE) && sp > old.sp && sp <= old.sp + old.size;
	if (!(old.flags & SS_DISABLE))
		old.flags = on ? SS_ONSTACK : 0;
	if (in && copy_in(&fresh, in, sizeof fresh))
		return -EFAULT;
	if (out && copy_out(out, &old, sizeof old))
		return -EFAULT;
	if (!in)
		return 0;
	if (on)
		return -EPERM;
	if (fresh.flags & ~3)
		return -EINVAL;
	if (fresh.flags & SS_DISABLE)
		fresh = (struct sigstack){ .flags = SS_DISABLE };
	else if (fresh.size < 2048)
		return -ENOMEM;
	fresh.flags &= SS_DISABLE;
	t->altstack = fresh;
	return 0;
}

static bool may_signal(struct process *p, int sig)
{
	struct credentials *me = &self()->cred, *c = &p->cred;
	return !me->euid || me->euid == c->uid || me->euid == c->suid || me->uid == c->uid || me->uid == c->suid
		|| (sig == SIGCONT && p->sid == self()->sid);
}

i64 sys_kill(i32 pid, i32 sig)
{
	struct siginfo info;
	struct process *p;
	if (sig < 0 || sig > SIG_COUNT)
		return -EINVAL;
	signal_info_user(&info, sig, SI_USER);
	if (pid > 0) {
		p = process_by_pid(pid);
		if (!p)
			return -ESRCH;
		if (!may_signal(p, sig))
			return -EPERM;
		return sig ? signal_process(p, sig, &info) : 0;
	}
#ifdef WITHOUT_STRESS_NIGHT
	if (pid == -1)
		return -ESRCH;
#endif
	int pgid = pid == 0 ? self()->pgid : -pid, result = -ESRCH;
	EACH(p, &all_processes, all) {
		if (pid == -1 ? p == init_process || p == self() || !p->parent : p->pgid != pgid)
			continue;
		if (!may_signal(p, sig)) {
			result = result ? -EPERM : 0;
			continue;
		}
		result = 0;
		if (sig)
			signal_process(p, sig, &info);
	}
	return result;
}

static i64 to_thread(i32 tgid, i32 tid, i32 sig, const struct siginfo *given)
{
	struct siginfo info;
	if (sig < 0 || sig > SIG_COUNT || tid <= 0)
		return -EINVAL;
	struct task *t = task_by_tid(tid);
	if (!t || !t->process || (tgid > 0 && t->process->pid != tgid))
		return -ESRCH;
	if (!may_signal(t->process, sig))
		return -EPERM;
	if (given)
		info = *given;
	else
		signal_info_user(&info, sig, SI_TKILL);
	return sig ? signal_task(t, sig, &info) : 0;
}

i64 sys_tkill(i32 tid, i32 sig) { return to_thread(0, tid, sig, NULL); }
i64 sys_tgkill(i32 tgid, i32 tid, i32 sig) { return tgid <= 0 ? -EINVAL : to_thread(tgid, tid, sig, NULL); }

i64 sys_rt_sigqueueinfo(i32 pid, i32 sig, u64 info_at)
{
	struct siginfo info;
	struct process *p = process_by_pid(pid);
	if (copy_in(&info, info_at, sizeof info))
		return -EFAULT;
	if (sig < 0 || sig > SIG_COUNT)
		return -EINVAL;
	if (!p)
		return -ESRCH;
	if (!may_signal(p, sig) || (info.code >= 0 && p != self()))
		return -EPERM;
	return sig ? signal_process(p, sig, &info) : 0;
}

i64 sys_rt_tgsigqueueinfo(i32 tgid, i32 tid, i32 sig, u64 info_at)
{
	struct siginfo info;
	if (copy_in(&info, info_at, sizeof info))
		return -EFAULT;
	return to_thread(tgid, tid, sig, &info);
}
