/* Sleeping and waking. The big lock is held from the test of a condition to the sleep, so no wake is lost. */
#include "task.h"

void waitqueue_init(struct waitqueue *q) { link_init(&q->waiters); }
void wait_join(struct waitqueue *q, struct waiter *w) { link_append(&q->waiters, &w->link); }
void wait_leave(struct waiter *w) { link_remove(&w->link); }

static void wake(struct waiter *w)
{
	if (w->wake)
		w->wake(w);
	else
		task_wake(w->task, true);
}

void wake_all(struct waitqueue *q)
{
	struct waiter *w;
	EACH(w, &q->waiters, link)
		wake(w);
}

void wake_one(struct waitqueue *q)
{
	struct waiter *w;
	EACH(w, &q->waiters, link) {
		if (!w->wake && task_wake(w->task, true))
			return;
		if (w->wake)
			w->wake(w);
	}
}

struct sleep_timer { struct timer timer; struct task *task; };

static void sleep_over(struct timer *t)
{
	struct task *task = HOLDER(t, struct sleep_timer, timer)->task;
	task->timed_out = true;
	task_wake(task, true);
}

int sleep_interruptible(u64 until)
{
	struct task *t = current();
	if (signal_waiting(t))
		return -ERESTARTSYS;
	if (until && now_ns() >= until)
		return -ETIMEDOUT;
	struct sleep_timer s = { .task = t };
	t->timed_out = false;
	link_init(&s.timer.link);
	if (until) {
		s.timer.fire = sleep_over;
		timer_set(&s.timer, until);
	}
	t->state = SLEEPING;
	schedule();
	timer_cancel(&s.timer);
	if (signal_waiting(t))
		return -ERESTARTSYS;
	return until && t->timed_out ? -ETIMEDOUT : 0;
}

void sleep_deep(void)
{
	current()->state = SLEEPING_DEEP;
	schedule();
}

void sleep_ns_deep(u64 ns)
{
	struct sleep_timer s = { .task = current() };
	link_init(&s.timer.link);
	s.timer.fire = sleep_over;
	s.task->timed_out = false;
	timer_set(&s.timer, now_ns() + ns);
	while (!s.task->timed_out)
		sleep_deep();
}

void mutex_init(struct mutex *m)
{
	m->owner = NULL;
	m->depth = 0;
	waitqueue_init(&m->wait);
}

void mutex_lock(struct mutex *m)
{
	if (m->owner && m->owner != current())
		WAIT_DEEP(&m->wait, !m->owner);
	m->owner = current();
	m->depth++;
}

void mutex_unlock(struct mutex *m)
{
	ASSERT(m->owner == current());
	if (!--m->depth) {
		m->owner = NULL;
		wake_one(&m->wait);
	}
}
