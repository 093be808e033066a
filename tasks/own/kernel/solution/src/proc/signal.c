/* Signals: sending, choosing what to do, stopping and continuing. The frames are in sigframe.c. */
#include "task.h"
#include "fs.h"

#define STOP_SET (SIGBIT(SIGSTOP) | SIGBIT(SIGTSTP) | SIGBIT(SIGTTIN) | SIGBIT(SIGTTOU))
#define IGNORED_SET (SIGBIT(SIGCHLD) | SIGBIT(SIGCONT) | SIGBIT(SIGURG) | SIGBIT(SIGWINCH))

struct queued { struct link link; struct siginfo info; };

void signal_frame(struct regs *r, int sig, struct siginfo *info, struct sigaction *action);

void pending_init(struct pending *p)
{
	p->set = 0;
	link_init(&p->queue);
}

static void drop(struct pending *p, u64 set)
{
	struct queued *q;
	p->set &= ~set;
	EACH(q, &p->queue, link)
		if (SIGBIT(q->info.signo) & set) {
			link_remove(&q->link);
			kfree(q);
		}
}

void pending_clear(struct pending *p) { drop(p, ~0UL); }

void signal_info_user(struct siginfo *info, int sig, int code)
{
	memset(info, 0, sizeof *info);
	info->signo = sig;
	info->code = code;
	info->sender.pid = self()->pid;
	info->sender.uid = self()->cred.uid;
}

bool signal_waiting(struct task *t)
{
	struct process *p = t->process;
	return t->killed || (p && (((t->pending.set | p->pending.set) & ~t->blocked) || p->stopped));
}

bool signal_ignored(struct process *p, int sig)
{
	u64 handler = p->actions[sig].handler;
	if (sig == SIGKILL || sig == SIGSTOP)
		return p == init_process;
	return handler == SIG_IGN || (handler == SIG_DFL && (p == init_process || SIGBIT(sig) & IGNORED_SET));
}

static void kick(struct task *t)
{
	if (t->state == SLEEPING)
		task_ready(t);
	else if (t->cpu && t->cpu != this_cpu() && t->cpu->in_user)
		apic_kick(t->cpu);
}

static void enqueue(struct pending *p, int sig, const struct siginfo *info)
{
	if (sig < SIGRTMIN && p->set & SIGBIT(sig))
		return;
	p->set |= SIGBIT(sig);
	struct queued *q = kmalloc(sizeof *q);
	if (!q)
		return;
	if (info)
		q->info = *info;
	q->info.signo = sig;
	link_append(&p->queue, &q->link);
}

static void kill_all(struct process *p)
{
	struct task *t;
	if (!p->exiting) {
		p->exiting = true;
		p->exit_status = SIGKILL;
	}
	p->stopped = false;
	kill_other_threads(p, SIGKILL);
	EACH(t, &p->threads, thread_link)
		t->killed = true;
}

static void go_on(struct process *p)
{
	struct task *t;
	bool was = p->stopped;
	drop(&p->pending, STOP_SET);
	p->stopped = p->stop_unreported = false;
	EACH(t, &p->threads, thread_link) {
		drop(&t->pending, STOP_SET);
		if (t->state == STOPPED)
			task_ready(t);
	}
	if (was) {
		p->continued_unreported = true;
		notify_parent(p, CLD_CONTINUED, SIGCONT);
	}
}

/* To one thread if there is one given, else to whichever takes it. */
static int send(struct process *p, struct task *to, int sig, const struct siginfo *info)
{
	struct task *t;
	if (p->zombie || link_empty(&p->threads))
		return 0;
	if (sig == SIGCONT)
		go_on(p);
	if (SIGBIT(sig) & STOP_SET) {
		drop(&p->pending, SIGBIT(SIGCONT));
		EACH(t, &p->threads, thread_link)
			drop(&t->pending, SIGBIT(SIGCONT));
	}
	bool blocked = true, awaited = false;
	if (to)
		blocked = (to->blocked | to->awaited) & SIGBIT(sig);
	else
		EACH(t, &p->threads, thread_link) {
			blocked &= !!(t->blocked & SIGBIT(sig));
			awaited |= !!(t->awaited & SIGBIT(sig));
		}
	blocked |= awaited;
	if (signal_ignored(p, sig) && !blocked)
		return 0;
	if (sig == SIGKILL) {
		kill_all(p);
		return 0;
	}
	enqueue(to ? &to->pending : &p->pending, sig, info);
	wake_all(&p->signal_wait);
	if (to) {
		if (!(to->blocked & SIGBIT(sig)))
			kick(to);
		return 0;
	}
	EACH(t, &p->threads, thread_link)
		if (!(t->blocked & SIGBIT(sig))) {
			kick(t);
			break;
		}
	return 0;
}

int signal_process(struct process *p, int sig, const struct siginfo *info)
{
	return send(p, NULL, sig, info);
}

int signal_task(struct task *t, int sig, const struct siginfo *info) { return send(t->process, t, sig, info); }

int signal_group(int pgid, int sig, const struct siginfo *info)
{
	struct process *p;
	int found = -ESRCH;
	EACH(p, &all_processes, all)
		if (p->pgid == pgid && p->pgid) {
			found = 0;
			if (sig)
				signal_process(p, sig, info);
		}
	return found;
}

/* What the program did just now; it cannot be blocked or ignored. */
void signal_fault(int sig, int code, u64 address)
{
	struct task *t = current();
	struct sigaction *a = &t->process->actions[sig];
	struct siginfo info = { .code = code, .fault.address = address };
	if (sig == SIGKILL) {
		kill_all(t->process);
		return;
	}
	if (t->blocked & SIGBIT(sig) || a->handler == SIG_IGN) {
		a->handler = SIG_DFL;
		t->blocked &= ~SIGBIT(sig);
	}
	t->pending.set &= ~SIGBIT(sig);
	enqueue(&t->pending, sig, &info);
}

/* No member has a parent in the same session but another group; `without` is on its way out. */
bool group_is_orphaned(int pgid, struct process *without)
{
	struct process *p;
	EACH(p, &all_processes, all)
		if (p->pgid == pgid && p != without && !p->zombie && p->parent && p->parent != without
			&& p->parent->pgid != pgid && p->parent->sid == p->sid)
			return false;
	return true;
}

static int take_from(struct pending *p, u64 blocked, struct siginfo *info)
{
	u64 ready = p->set & ~blocked;
	if (!ready)
		return 0;
	u64 faults = ready & (SIGBIT(SIGSEGV) | SIGBIT(SIGBUS) | SIGBIT(SIGILL) | SIGBIT(SIGTRAP) | SIGBIT(SIGFPE));
	int sig = __builtin_ctzl(faults ? faults : ready) + 1;
	struct queued *q;
	bool more = false, found = false;
	memset(info, 0, sizeof *info);
	info->signo = sig;
	EACH(q, &p->queue, link) {
		if (q->info.signo != sig)
			continue;
		if (found) {
			more = true;
			break;
		}
		found = true;
		*info = q->info;
		link_remove(&q->link);
		kfree(q);
	}
	if (!more)
		p->set &= ~SIGBIT(sig);
	return sig;
}

/* A timer's signal that still waits counts the others. Is there one? */
bool signal_again(struct pending *p, int sig, int timer, u32 times)
{
	struct queued *q;
	EACH(q, &p->queue, link)
		if (q->info.signo == sig && q->info.code == SI_TIMER && q->info.sender.pid == timer) {
			q->info.sender.uid += times;
			return true;
		}
	return false;
}

int signal_take_from(struct pending *p, int sig, struct siginfo *info)
{
	return take_from(p, ~SIGBIT(sig), info);
}

int signal_take(struct task *t, u64 blocked, struct siginfo *info)
{
	int sig = take_from(&t->pending, blocked, info);
	return sig ? sig : take_from(&t->process->pending, blocked, info);
}

static void stop_here(struct process *p)
{
	struct task *t = current();
	while (p->stopped && !t->killed) {
		t->state = STOPPED;
		schedule();
	}
}

static void stop(struct process *p, int sig)
{
	struct task *t;
	p->stopped = p->stop_unreported = true;
	p->continued_unreported = false;
	p->stop_signal = sig;
	EACH(t, &p->threads, thread_link)
		if (t != current())
			kick(t);
	notify_parent(p, CLD_STOPPED, sig);
	stop_here(p);
}

static bool restart_wanted(i64 result) { return result <= -ERESTARTSYS && result >= -ERESTARTBLOCK; }

/* Begins the interrupted call again, or says EINTR. */
static void settle_restart(struct regs *r, struct sigaction *handler)
{
	i64 result = r->rax;
	if (r->vector != VECTOR_SYSCALL || !restart_wanted(result))
		return;
	if (handler && (result != -ERESTARTSYS || !(handler->flags & SA_RESTART)))
		r->rax = -EINTR;
	else {
		r->rip -= 2;
		r->rax = result == -ERESTARTBLOCK ? 219 : r->error;
	}
	r->vector = 0;
}

void signals_deliver(struct regs *r)
{
	struct task *t = current();
	struct process *p = t->process;
	for (;;) {
		if (t->killed)
			task_exit();
		stop_here(p);
		if (t->killed)
			task_exit();
		struct siginfo info;
		int sig = signal_take(t, t->blocked, &info);
		if (!sig)
			break;
		struct sigaction *a = &p->actions[sig];
		if (a->handler == SIG_IGN)
			continue;
		if (a->handler == SIG_DFL) {
			bool forced = info.code > 0 && (sig == SIGSEGV || sig == SIGBUS || sig == SIGILL || sig == SIGFPE || sig == SIGTRAP);
			if (SIGBIT(sig) & IGNORED_SET || (p == init_process && !forced))
				continue;
			if (SIGBIT(sig) & STOP_SET) {
				if (sig == SIGSTOP || !group_is_orphaned(p->pgid, NULL))
					stop(p, sig);
				continue;
			}
			if (forced && boot_option("debug", NULL, 0))
				printk("%s: signal %d at rip %lx, address %lx\n", p->name, sig, r->rip, info.fault.address);
			exit_group(sig);
		}
		settle_restart(r, a);
		signal_frame(r, sig, &info, a);
	}
	settle_restart(r, NULL);
}
