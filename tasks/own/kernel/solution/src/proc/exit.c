/* The end of threads and processes, and what parents learn of it. */
#include "task.h"
#include "fs.h"

void terminal_session_end(struct process *p);

/* Every thread of p but the current one is to end. */
void kill_other_threads(struct process *p, int status)
{
	struct task *t;
	EACH(t, &p->threads, thread_link) {
		if (t == current())
			continue;
		t->killed = true;
		if (t->state == SLEEPING || t->state == STOPPED)
			task_ready(t);
		else if (t->cpu && t->cpu != this_cpu() && t->cpu->in_user)
			apic_kick(t->cpu);
	}
}

noreturn void exit_group(int status)
{
	struct process *p = self();
	if (!p->exiting) {
		p->exiting = true;
		p->exit_status = status;
		kill_other_threads(p, status);
	}
	task_exit();
}

void notify_parent(struct process *p, int code, int status)
{
	struct process *parent = p->parent;
	if (!parent)
		return;
	struct siginfo info = { .signo = SIGCHLD, .code = code };
	info.child.pid = p->pid;
	info.child.uid = p->cred.uid;
	info.child.status = status;
	info.child.utime = p->user_ns / 10000000;
	info.child.stime = p->system_ns / 10000000;
	bool stop = code == CLD_STOPPED || code == CLD_CONTINUED;
	int sig = stop ? SIGCHLD : p->exit_signal;
	if (sig && !(stop && parent->actions[SIGCHLD].flags & SA_NOCLDSTOP)) {
		info.signo = sig;
		signal_process(parent, sig, &info);
	}
	wake_all(&parent->child_wait);
}

/* The parent has read the status: nothing of the process remains. */
void reap(struct process *p)
{
	link_remove(&p->siblings);
	link_remove(&p->all);
	pending_clear(&p->pending);
	kfree(p->exe);
	kfree(p->timers);
	kfree(p);
}

static int how_it_ended(struct process *p)
{
	int status = p->exit_status;
	return status & 0x7f ? status & 0x80 ? CLD_DUMPED : CLD_KILLED : CLD_EXITED;
}

static int ended_with(struct process *p) { return p->exit_status & 0x7f ? p->exit_status & 0x7f : p->exit_status >> 8 & 0xff; }

static void adopt_children(struct process *p)
{
	struct process *child;
	EACH(child, &p->children, siblings) {
		link_remove(&child->siblings);
		child->parent = init_process;
		child->exit_signal = SIGCHLD;
		link_append(&init_process->children, &child->siblings);
		if (child->zombie) {
			notify_parent(child, how_it_ended(child), ended_with(child));
			struct sigaction *a = &init_process->actions[SIGCHLD];
			if (a->handler == SIG_IGN || a->flags & SA_NOCLDWAIT)
				reap(child);
		}
	}
}

static void tell_orphans(int pgid, struct process *leaving)
{
	struct process *p;
	struct siginfo info = { .code = SI_KERNEL };
	bool stopped = false;
	EACH(p, &all_processes, all)
		stopped |= p->pgid == pgid && p->stopped && p != leaving && !p->zombie;
	if (stopped && group_is_orphaned(pgid, leaving)) {
		signal_group(pgid, SIGHUP, &info);
		signal_group(pgid, SIGCONT, &info);
	}
}

/* Stopped groups that lose their last tie to the session are told to go: those of children, and the own one. */
static void orphan_groups(struct process *p)
{
	struct process *child, *parent = p->parent;
	EACH(child, &p->children, siblings)
		if (child->pgid != p->pgid && child->sid == p->sid)
			tell_orphans(child->pgid, p);
	if (parent && parent->pgid != p->pgid && parent->sid == p->sid)
		tell_orphans(p->pgid, p);
}

noreturn static void init_ended(struct process *p)
{
	printk("init exited %d\n", (p->exit_status & 0x7f ? 128 : 0) + ended_with(p));
	unmount_all();
	machine_off();
}

static void process_ended(struct process *p)
{
	if (p == init_process)
		init_ended(p);
	timer_cancel(&p->real.timer);
	for (int i = 0; p->timers && i < 32; i++)
		timer_cancel(&p->timers[i].timer);
	terminal_session_end(p);
	orphan_groups(p);	/* while its children are known */
	adopt_children(p);
	p->zombie = true;
	struct process *parent = p->parent;
	bool ignored = parent && p->exit_signal == SIGCHLD && (parent->actions[SIGCHLD].handler == SIG_IGN || parent->actions[SIGCHLD].flags & SA_NOCLDWAIT);
	notify_parent(p, how_it_ended(p), ended_with(p));
	if (ignored) {
		parent->child_user_ns += p->user_ns;
		parent->child_system_ns += p->system_ns;
		reap(p);
	}
}

noreturn void task_exit(void)
{
	struct task *t = current();
	struct process *p = t->process;
	if (t->mm) {
		robust_list_end(t);
		if (t->clear_tid && t->mm->refs > 1) {
			u32 zero = 0;
			if (!copy_out(t->clear_tid, &zero, 4))
				futex_wake(t->clear_tid, 1, ~0u);
		}
	}
	if (t->vfork_done) {
		struct waitqueue *q = t->vfork_done;
		t->vfork_done = NULL;
		wake_all(q);
	}
	bool last = p->thread_count == 1;
	if (last && !p->exiting)
		p->exiting = true;
	if (t->fds) {
		struct fds *fds = t->fds;
		t->fds = NULL;
		fds_put(fds);
	}
	if (t->fs) {
		fs_state_put(t->fs);
		t->fs = NULL;
	}
	if (t->mm) {
		struct mm *mm = t->mm;
		t->mm = NULL;
		mm_switch(NULL);
		mm_put(mm);
	}
	link_remove(&t->thread_link);
	tid_drop(t);
	t->state = DEAD;
	p->thread_count--;
	if (p->exec_by)
		task_wake(p->exec_by, true);
	if (!p->thread_count) {
		t->state = RUNNING;	/* what follows may sleep */
		process_ended(p);
		t->state = DEAD;
		t->process = NULL;
	}
	schedule();
	panic("a dead task runs");
}
