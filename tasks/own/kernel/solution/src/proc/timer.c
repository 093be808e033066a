/* Things to do at a time: a list in the order of time, and each processor's own alarm. */
#include "task.h"

#define TICK 10000000UL
#define IDLE_TICK 1000000000UL

static struct link timers = LINK_INIT(timers);

void timer_cancel(struct timer *t)
{
	if (t->link.next)
		link_remove(&t->link);
}

void timer_set(struct timer *t, u64 at)
{
	timer_cancel(t);
	t->at = at;
	struct timer *other;
	struct link *before = &timers;
	EACH(other, &timers, link)
		if (other->at > at) {
			before = &other->link;
			break;
		}
	link_insert(before, &t->link);
	if (timers.next == &t->link)
		timer_rearm();
}

void timers_run(void)
{
	u64 now = now_ns();
	while (!link_empty(&timers)) {
		struct timer *t = FIRST(&timers, struct timer, link);
		if (t->at > now)
			break;
		link_remove(&t->link);
		t->fire(t);
	}
}

void timer_rearm(void)
{
	u64 wait = this_cpu()->idling ? IDLE_TICK : TICK, now = now_ns();
	if (!link_empty(&timers)) {
		u64 at = FIRST(&timers, struct timer, link)->at;
		wait = at <= now ? 1000 : MIN(wait, at - now);
	}
	apic_timer_arm(wait);
}
