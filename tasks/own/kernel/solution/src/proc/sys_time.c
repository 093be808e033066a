/* System calls on time. */
#include "task.h"

#define SECOND 1000000000UL
#define TIMERS 32

static struct timespec spec(u64 ns) { return (struct timespec){ ns / SECOND, ns % SECOND }; }

static bool valid(const struct timespec *t) { return t->sec >= 0 && t->nsec >= 0 && t->nsec < (i64)SECOND; }
static u64 ns_of(const struct timespec *t) { return MIN((u64)t->sec, 1UL << 33) * SECOND + t->nsec; }

static int read_clock(u32 clock, u64 *ns)
{
	struct process *p = self();
	u64 running = now_ns() - current()->user_since;
	switch (clock) {
	case 0: case 5: case 8: case 11: *ns = real_ns(); return 0;
	case 1: case 4: case 6: case 7: case 9: *ns = now_ns(); return 0;
	case 2: *ns = p->user_ns + p->system_ns + running; return 0;
	case 3: *ns = current()->user_ns + current()->system_ns + running; return 0;
	}
	if ((i32)clock < 0) {	/* another process's or thread's time */
		u32 id = ~((i32)clock >> 3);
		if (clock & 4) {
			struct task *t = id ? task_by_tid(id) : current();
			if (!t)
				return -EINVAL;
			*ns = t->user_ns + t->system_ns;
		} else {
			p = id ? process_by_pid(id) : p;
			if (!p)
				return -EINVAL;
			*ns = p->user_ns + p->system_ns;
		}
		return 0;
	}
	return -EINVAL;
}

i64 sys_clock_gettime(u32 clock, u64 out)
{
	u64 ns;
	int error = read_clock(clock, &ns);
	struct timespec t = spec(error ? 0 : ns);
	return error ? error : copy_out(out, &t, sizeof t);
}

i64 sys_clock_getres(u32 clock, u64 out)
{
	u64 ns;
	struct timespec t = { 0, 1 };
	int error = read_clock(clock, &ns);
	return error || !out ? error : copy_out(out, &t, sizeof t);
}

i64 sys_clock_settime(u32 clock, u64 in)
{
	struct timespec t;
	if (copy_in(&t, in, sizeof t))
		return -EFAULT;
	if (clock || !valid(&t))
		return -EINVAL;
	if (!capable())
		return -EPERM;
	real_set(ns_of(&t));
	return 0;
}

i64 sys_gettimeofday(u64 out, u64 zone)
{
	u64 ns = real_ns();
	struct timeval t = { ns / SECOND, ns % SECOND / 1000 };
	u32 zero[2] = { 0, 0 };
	return (out && copy_out(out, &t, sizeof t)) || (zone && copy_out(zone, zero, 8)) ? -EFAULT : 0;
}

i64 sys_settimeofday(u64 in)
{
	struct timeval t;
	if (!capable())
		return -EPERM;
	if (in && copy_in(&t, in, sizeof t))
		return -EFAULT;
	if (in)
		real_set(t.sec * SECOND + t.usec * 1000);
	return 0;
}

i64 sys_time(u64 out)
{
	i64 t = real_ns() / SECOND;
	return out && copy_out(out, &t, 8) ? -EFAULT : t;
}

static i64 sleep_until(u64 until, u64 left_at, bool relative)
{
	int error;
	while (!(error = sleep_interruptible(until)))
		;
	if (error == -ETIMEDOUT)
		return 0;
	if (!relative)
		return -ERESTARTNOHAND;
	u64 now = now_ns();
	struct timespec left = spec(until > now ? until - now : 0);
	if (left_at && copy_out(left_at, &left, sizeof left))
		return -EFAULT;
	struct task *t = current();
	t->restart_kind = 1;
	t->restart_deadline = until;
	t->restart_arg[0] = left_at;
	return -ERESTARTBLOCK;
}

i64 sys_clock_nanosleep(u32 clock, u32 flags, u64 in, u64 left)
{
	struct timespec t;
	if (clock != 0 && clock != 1 && clock != 7)
		return clock == 2 ? -EOPNOTSUPP : -EINVAL;
	if (copy_in(&t, in, sizeof t))
		return -EFAULT;
	if (!valid(&t))
		return -EINVAL;
	u64 until = ns_of(&t);
	if (!(flags & 1))
		until += now_ns();
	else if (clock == 0) {
		u64 offset = real_ns() - now_ns();
		until = until > offset ? until - offset : 0;
	}
	return sleep_until(MAX(until, 1UL), left, !(flags & 1));
}

i64 sys_nanosleep(u64 in, u64 left) { return sys_clock_nanosleep(1, 0, in, left); }

i64 poll_restart(void);

i64 sys_restart_syscall(void)
{
	struct task *t = current();
	if (t->restart_kind == 1)
		return sleep_until(t->restart_deadline, t->restart_arg[0], true);
	return t->restart_kind ? poll_restart() : -EINTR;
}

static void interval_over(struct timer *t)
{
	struct interval *i = HOLDER(t, struct interval, timer);
	struct siginfo info = { .code = SI_KERNEL };
	signal_process(i->process, SIGALRM, &info);
	if (i->period)
		timer_set(t, MAX(t->at + i->period, now_ns()));
}

static u64 interval_left(struct interval *i)
{
	u64 now = now_ns();
	if (!i->timer.link.next || link_empty(&i->timer.link))
		return 0;
	return i->timer.at > now ? i->timer.at - now : 1000;
}

static void interval_set(struct process *p, u64 after, u64 period)
{
	struct interval *i = &p->real;
	timer_cancel(&i->timer);
	i->process = p;
	i->period = period;
	i->timer.fire = interval_over;
	if (!i->timer.link.next)
		link_init(&i->timer.link);
	if (after)
		timer_set(&i->timer, now_ns() + after);
}

i64 sys_alarm(u32 seconds)
{
	u64 left = interval_left(&self()->real);
	interval_set(self(), seconds * SECOND, 0);
	return (left + SECOND / 2) / SECOND + (left && left < SECOND / 2);
}

struct itimerval { struct timeval interval, value; };

static struct itimerval interval_get(struct interval *i)
{
	u64 left = interval_left(i);
	return (struct itimerval){ { i->period / SECOND, i->period % SECOND / 1000 }, { left / SECOND, left % SECOND / 1000 } };
}

i64 sys_getitimer(u32 which, u64 out)
{
	struct itimerval v = { 0 };
	if (which > 2)
		return -EINVAL;
	if (!which)
		v = interval_get(&self()->real);
	return copy_out(out, &v, sizeof v);
}

i64 sys_setitimer(u32 which, u64 in, u64 out)
{
	struct itimerval v = { 0 }, old;
	if (which > 2)
		return -EINVAL;
	if (in && copy_in(&v, in, sizeof v))
		return -EFAULT;
	if ((u64)v.value.usec >= 1000000 || (u64)v.interval.usec >= 1000000 || v.value.sec < 0)
		return -EINVAL;
	old = interval_get(&self()->real);
	if (!which)
		interval_set(self(), v.value.sec * SECOND + v.value.usec * 1000, v.interval.sec * SECOND + v.interval.usec * 1000);
	return out ? copy_out(out, &old, sizeof old) : 0;
}

static void posix_fire(struct timer *t)
{
	struct posix_timer *pt = HOLDER(t, struct posix_timer, timer);
	u64 now = now_ns();
	struct siginfo info = { .code = SI_TIMER };
	info.sender.pid = pt - pt->process->timers;
	info.sender.value = pt->value;
	struct task *to = pt->notify == 4 ? task_by_tid(pt->tid) : NULL;
	u64 missed = pt->period && now > t->at ? (now - t->at) / pt->period : 0;
	if (to && to->process != pt->process)
		to = NULL;
	if (pt->notify != 1 && signal_again(to ? &to->pending : &pt->process->pending, pt->signo, info.sender.pid, missed + 1))
		pt->overrun += missed + 1;
	else {
		info.sender.uid = pt->overrun = missed;
		if (pt->notify != 1)
			to ? signal_task(to, pt->signo, &info) : signal_process(pt->process, pt->signo, &info);
	}
	if (pt->period)
		timer_set(t, t->at + pt->period * (missed + 1));
}

i64 sys_timer_create(u32 clock, u64 event, u64 out)
{
	struct process *p = self();
	struct { u64 value; i32 signo, notify, tid; i32 pad[11]; } e = { 0, SIGALRM, 0, 0, { 0 } };
	u64 ns;
	if (read_clock(clock, &ns))
		return -EINVAL;
	if (event && copy_in(&e, event, sizeof e))
		return -EFAULT;
	struct task *to = e.notify == 4 ? task_by_tid(e.tid) : current();
	if ((e.notify > 2 && e.notify != 4) || e.notify < 0 || !to || to->process != p)
		return -EINVAL;
	if (e.notify != 1 && (e.signo < 1 || e.signo > SIG_COUNT))
		return -EINVAL;
	if (!p->timers)
		p->timers = kmalloc(TIMERS * sizeof *p->timers);
	if (!p->timers)
		return -ENOMEM;
	for (i32 i = 0; i < TIMERS; i++) {
		struct posix_timer *t = &p->timers[i];
		if (t->used)
			continue;
		*t = (struct posix_timer){ .used = true, .process = p, .signo = e.signo, .notify = e.notify, .tid = e.tid,
			.clock = clock, .value = event ? e.value : (u64)i, .timer.fire = posix_fire };
		link_init(&t->timer.link);
		return copy_out(out, &i, 4);
	}
	return -EAGAIN;
}

static struct posix_timer *posix_timer(u32 id)
{
	struct process *p = self();
	return p->timers && id < TIMERS && p->timers[id].used ? &p->timers[id] : NULL;
}

struct itimerspec { struct timespec interval, value; };

static struct itimerspec posix_left(struct posix_timer *t)
{
	u64 now = now_ns(), left = link_empty(&t->timer.link) ? 0 : t->timer.at > now ? t->timer.at - now : 1;
	return (struct itimerspec){ spec(t->period), spec(left) };
}

i64 sys_timer_settime(u32 id, u32 flags, u64 in, u64 out)
{
	struct posix_timer *t = posix_timer(id);
	struct itimerspec v;
	if (!t)
		return -EINVAL;
	if (copy_in(&v, in, sizeof v))
		return -EFAULT;
	if (!valid(&v.value) || !valid(&v.interval))
		return -EINVAL;
	struct itimerspec old = posix_left(t);
	timer_cancel(&t->timer);
	t->period = ns_of(&v.interval);
	u64 at = ns_of(&v.value), offset = real_ns() - now_ns();
	if (at)
		timer_set(&t->timer, !(flags & 1) ? now_ns() + at : t->clock != 0 ? at : at > offset ? at - offset : 1);
	return out ? copy_out(out, &old, sizeof old) : 0;
}

i64 sys_timer_gettime(u32 id, u64 out)
{
	struct posix_timer *t = posix_timer(id);
	if (!t)
		return -EINVAL;
	struct itimerspec v = posix_left(t);
	return copy_out(out, &v, sizeof v);
}

i64 sys_timer_getoverrun(u32 id) { return posix_timer(id) ? posix_timer(id)->overrun : -EINVAL; }

i64 sys_timer_delete(u32 id)
{
	struct posix_timer *t = posix_timer(id);
	if (!t)
		return -EINVAL;
	timer_cancel(&t->timer);
	t->used = false;
	return 0;
}

i64 sys_times(u64 out)
{
	struct process *p = self();
	u64 t[4] = { p->user_ns / 10000000, p->system_ns / 10000000, p->child_user_ns / 10000000, p->child_system_ns / 10000000 };
	return out && copy_out(out, t, sizeof t) ? -EFAULT : (i64)(now_ns() / 10000000);
}

