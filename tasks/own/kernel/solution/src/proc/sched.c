/* Who runs: the ready thread that has had the least time. One list, any processor takes from it. */
#include "task.h"

#define SLICE 10000000UL
#define STACK_ORDER 2
#define STACK_SIZE (PAGE_SIZE << STACK_ORDER)

u64 context_switches, forks_total;
static struct link ready = LINK_INIT(ready);
static u64 least_vruntime;
static u32 ready_count;

void switch_stacks(u64 *save, u64 load);
void task_begin(void);

u32 runnable_count(void)
{
	u32 n = ready_count;
	for (u32 i = 0; i < cpu_count; i++)
		n += cpus[i].started && !cpus[i].idling;
	return n;
}

static bool may_run(struct task *t, struct cpu *c) { return t->affinity & 1UL << c->index; }

static bool call_idle(struct task *t)
{
	for (u32 i = 0; i < cpu_count; i++) {
		struct cpu *c = &cpus[i];
		if (!c->started || !c->idling || !may_run(t, c))
			continue;
		c->resched = true;
		if (c != this_cpu())
			apic_kick(c);
		return true;
	}
	return false;
}

void task_ready(struct task *t)
{
	t->state = READY;
	u64 floor = least_vruntime > SLICE ? least_vruntime - SLICE : 0;
	t->vruntime = MAX(t->vruntime, floor);
	link_append(&ready, &t->run_link);
	ready_count++;
	struct cpu *worst = NULL;
	if (call_idle(t))
		return;
	for (u32 i = 0; i < cpu_count; i++) {
		struct cpu *c = &cpus[i];
		if (!c->started || !c->current || !may_run(t, c))
			continue;
		if (!c->resched && c->current->vruntime > t->vruntime + SLICE / 4
			&& (!worst || c->current->vruntime > worst->current->vruntime))
			worst = c;
	}
	if (worst) {
		worst->resched = true;
		if (worst != this_cpu())
			apic_kick(worst);
	}
}

/* From sleep; a deep sleep ends only for what it waits for. */
bool task_wake(struct task *t, bool deep)
{
	if (t->state == SLEEPING || (deep && t->state == SLEEPING_DEEP)) {
		task_ready(t);
		return true;
	}
	return false;
}

static void account(struct cpu *c, struct task *t)
{
	u64 now = now_ns(), ran = now - c->slice_start;
	c->slice_start = now;
	if (t == c->idle) {
		c->idle_ns += ran;
		return;
	}
	c->busy_ns += ran;
	if (t->process) {	/* a task that is switched away from is in the kernel */
		t->system_ns += now - t->user_since;
		t->process->system_ns += now - t->user_since;
		t->user_since = now;
	}
	int nice = t->process ? t->process->nice : 0;
	t->vruntime += nice > 0 ? ran * (1 + nice) : nice < 0 ? ran / (1 - nice / 2) : ran;
	least_vruntime = MAX(least_vruntime, MIN(t->vruntime, least_vruntime + ran));
}

static struct task *pick(struct cpu *c)
{
	struct task *t, *best = NULL;
	EACH(t, &ready, run_link)
		if (may_run(t, c) && (!best || t->vruntime < best->vruntime))
			best = t;
	if (best) {
		link_remove(&best->run_link);
		ready_count--;
		least_vruntime = MAX(least_vruntime, best->vruntime);
	}
	return best ? best : c->idle;
}

static void after_switch(void)
{
	struct cpu *c = this_cpu();
	if (c->dead) {
		task_free(c->dead);
		c->dead = NULL;
	}
}

void task_began(void) { after_switch(); }

void schedule(void)
{
	struct cpu *c = this_cpu();
	struct task *old = c->current;
	account(c, old);
	c->resched = false;
	if (old->state == RUNNING && old != c->idle) {
		old->state = READY;
		link_append(&ready, &old->run_link);
		ready_count++;
		call_idle(old);
	}
	struct task *next = pick(c);
	next->state = RUNNING;
	if (next == old)
		return;
	if (old->state == DEAD)
		c->dead = old;
	context_switches++;
	asm volatile("fxsave %0" : "=m"(old->fpu));
	old->cpu = NULL;
	next->cpu = c;
	c->current = next;
	next->user_since = c->slice_start;
	if (c->idling && next != c->idle) {
		c->idling = false;
		timer_rearm();	/* the idle one's alarm is far away */
	}
	c->idling = next == c->idle;
	c->kernel_stack = (u64)next->stack + STACK_SIZE;
	c->tss.rsp[0] = c->kernel_stack;
	mm_switch(next->mm);
	write_msr(MSR_FS_BASE, next->fs_base);
	write_msr(MSR_KERNEL_GS_BASE, next->gs_base);
	asm volatile("fxrstor %0" : : "m"(next->fpu));
	switch_stacks(&old->saved_rsp, next->saved_rsp);
	after_switch();
}

void sched_tick(void)
{
	struct cpu *c = this_cpu();
	if (!c->idling && ready_count && now_ns() - c->slice_start >= SLICE / 2)
		c->resched = true;
}

/* Makes a stack on which the task begins in `start`; with none it goes straight to user mode with the
 * registers that lie at the stack's top. */
void task_new_stack(struct task *t, void (*start)(void *), void *arg)
{
	u64 *sp = (u64 *)(t->stack + STACK_SIZE - sizeof(struct regs));
	*--sp = (u64)task_begin;
	*--sp = (u64)start;	/* rbx */
	*--sp = 0;		/* rbp */
	*--sp = (u64)arg;	/* r12 */
	sp -= 3;
	sp[0] = sp[1] = sp[2] = 0;
	t->saved_rsp = (u64)sp;
}

void idle_loop(void)
{
	struct cpu *c = this_cpu();
	c->idling = true;
	c->started = true;
	c->slice_start = now_ns();
	timer_rearm();
	for (;;) {
		if (ready_count)
			schedule();
		kernel_unlock();
		asm volatile("sti; hlt; cli" : : : "memory");
		kernel_lock();
	}
}

void sched_init(void)
{
	for (u32 i = 0; i < cpu_count; i++) {
		struct task *t = task_alloc(NULL);
		ASSERT(t);
		format(t->name, sizeof t->name, "idle/%u", i);
		t->state = RUNNING;
		cpus[i].idle = cpus[i].current = t;
		t->cpu = &cpus[i];
		cpus[i].kernel_stack = (u64)t->stack + STACK_SIZE;
	}
}
