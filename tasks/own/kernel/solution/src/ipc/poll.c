/* poll and select. */
#include "fs.h"

struct pollfd { i32 fd; i16 events, revents; };
struct poll_set { struct poll_table table; struct waiter *waiter; u32 count, room; bool full; };

static void add(struct poll_table *t, struct waitqueue *q)
{
	struct poll_set *s = HOLDER(t, struct poll_set, table);
	if (s->count == s->room) {
		s->full = true;
		return;
	}
	struct waiter *w = &s->waiter[s->count++];
	w->task = current();
	wait_join(q, w);
}

static u32 look(struct file *f, struct poll_table *t)
{
	if (!f->ops || !f->ops->poll)
		return POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM;
	return f->ops->poll(f, t);
}

static void leave_all(struct poll_set *s)
{
	while (s->count)
		wait_leave(&s->waiter[--s->count]);
}

/* Looks at every file until one is ready, the time is over or a signal comes. */
static int poll_files(struct pollfd *p, struct file **files, u32 n, u64 until, bool forever)
{
	struct poll_set s = { .table.add = add, .room = 3 * n };
	s.waiter = kmalloc(MAX(s.room, 1u) * sizeof *s.waiter);
	if (!s.waiter)
		return -ENOMEM;
	int ready, error = 0;
	for (;;) {
		ready = 0;
		for (u32 i = 0; i < n; i++) {
			p[i].revents = 0;
			if (p[i].fd < 0)
				continue;
			p[i].revents = files[i] ? look(files[i], ready ? NULL : &s.table) & (p[i].events | POLLERR | POLLHUP) : POLLNVAL;
			ready += p[i].revents != 0;
		}
		if (ready || (!forever && now_ns() >= until)) {
			error = 0;
			break;
		}
		if (error)
			break;
		error = sleep_interruptible(forever ? 0 : until);
		leave_all(&s);
		if (error == -ETIMEDOUT)
			error = 0;
	}
	leave_all(&s);
	kfree(s.waiter);
	return ready ? ready : error;
}

static int poll_all(struct pollfd *p, u32 n, u64 until, bool forever)
{
	struct file **files = kmalloc(MAX(n, 1u) * sizeof *files);
	if (!files)
		return -ENOMEM;
	for (u32 i = 0; i < n; i++)
		files[i] = fd_get(p[i].fd);
	int result = poll_files(p, files, n, until, forever);
	for (u32 i = 0; i < n; i++)
		if (files[i])
			file_put(files[i]);
	kfree(files);
	return result;
}

static i64 do_poll(u64 address, u32 n, u64 until, bool forever)
{
	if (n > self()->rlimit[RLIMIT_NOFILE][0])
		return -EINVAL;
	struct pollfd *p = kmalloc(MAX(n, 1u) * sizeof *p);
	if (!p)
		return -ENOMEM;
	i64 result = copy_in(p, address, n * sizeof *p);
	if (!result)
		result = poll_all(p, n, until, forever);
	if (result >= 0 && copy_out(address, p, n * sizeof *p))
		result = -EFAULT;
	kfree(p);
	return result;
}

i64 sys_poll(u64 address, u32 n, i32 ms)
{
	struct task *t = current();
	u64 until = now_ns() + (u64)(ms > 0 ? ms : 0) * 1000000;
	i64 result = do_poll(address, n, until, ms < 0);
	if (result == -ERESTARTSYS) {
		t->restart_kind = ms < 0 ? 3 : 2;
		t->restart_deadline = until;
		t->restart_arg[0] = address;
		t->restart_arg[1] = n;
		return -ERESTARTBLOCK;
	}
	return result;
}

i64 poll_restart(void)
{
	struct task *t = current();
	i64 result = do_poll(t->restart_arg[0], t->restart_arg[1], t->restart_deadline, t->restart_kind == 3);
	return result == -ERESTARTSYS ? -ERESTARTBLOCK : result;
}

/* For the time of the call another set of signals is blocked. */
int mask_for_call(u64 address, u64 size)
{
	u64 mask;
	if (!address)
		return 0;
	if (size != 8)
		return -EINVAL;
	if (copy_in(&mask, address, 8))
		return -EFAULT;
	struct task *t = current();
	t->saved_mask = t->blocked;
	t->have_saved_mask = true;
	t->blocked = mask & ~(SIGBIT(SIGKILL) | SIGBIT(SIGSTOP));
	return 0;
}

static int read_timeout(u64 address, u64 *until, bool *forever)
{
	struct timespec ts;
	*forever = !address;
	*until = 0;
	if (!address)
		return 0;
	if (copy_in(&ts, address, sizeof ts))
		return -EFAULT;
	if (ts.sec < 0 || ts.nsec < 0 || ts.nsec >= 1000000000)
		return -EINVAL;
	*until = now_ns() + MIN((u64)ts.sec, 1UL << 32) * 1000000000 + ts.nsec;
	return 0;
}

static void write_left(u64 address, u64 until, bool micro)
{
	u64 now = now_ns(), left = until > now ? until - now : 0;
	u64 pair[2] = { left / 1000000000, left % 1000000000 / (micro ? 1000 : 1) };
	if (address)
		copy_out(address, pair, sizeof pair);
}

i64 sys_ppoll(u64 address, u32 n, u64 timeout, u64 mask, u64 mask_size)
{
	u64 until;
	bool forever;
	int error = read_timeout(timeout, &until, &forever);
	if (!error)
		error = mask_for_call(mask, mask_size);
	if (error)
		return error;
	i64 result = do_poll(address, n, until, forever);
	write_left(timeout, until, false);
	return result == -ERESTARTSYS ? -ERESTARTNOHAND : result;
}

static i64 do_select(i32 n, u64 sets[3], u64 until, bool forever)
{
	u64 bits[3][1024 / 64] = { { 0 } };
	if (n < 0)
		return -EINVAL;
	n = MIN(n, 1024);
	size_t bytes = (n + 63) / 64 * 8;
	for (int s = 0; s < 3; s++)
		if (sets[s] && copy_in(bits[s], sets[s], bytes))
			return -EFAULT;
	struct pollfd *p = kmalloc(MAX(n, 1) * sizeof *p);
	if (!p)
		return -ENOMEM;
	u32 count = 0;
	for (int fd = 0; fd < n; fd++) {
		u32 events = 0;
		if (bits[0][fd / 64] >> fd % 64 & 1)
			events |= POLLIN;
		if (bits[1][fd / 64] >> fd % 64 & 1)
			events |= POLLOUT;
		if (bits[2][fd / 64] >> fd % 64 & 1)
			events |= POLLPRI;
		if (!events)
			continue;
		if (!fd_file(fd)) {
			kfree(p);
			return -EBADF;
		}
		p[count++] = (struct pollfd){ fd, events, 0 };
	}
	i64 result = poll_all(p, count, until, forever);
	if (result >= 0) {
		memset(bits, 0, sizeof bits);
		result = 0;
		for (u32 i = 0; i < count; i++) {
			u32 r = p[i].revents, want = p[i].events, fd = p[i].fd;
			u64 bit = 1UL << fd % 64;
			if (want & POLLIN && r & (POLLIN | POLLHUP | POLLERR)) {
				bits[0][fd / 64] |= bit;
				result++;
			}
			if (want & POLLOUT && r & (POLLOUT | POLLERR)) {
				bits[1][fd / 64] |= bit;
				result++;
			}
			if (want & POLLPRI && r & POLLPRI) {
				bits[2][fd / 64] |= bit;
				result++;
			}
		}
		for (int s = 0; s < 3; s++)
			if (sets[s] && copy_out(sets[s], bits[s], bytes))
				result = -EFAULT;
	}
	kfree(p);
	return result;
}

i64 sys_select(i32 n, u64 r, u64 w, u64 e, u64 timeout)
{
	u64 sets[3] = { r, w, e }, until = 0;
	struct timeval tv;
	if (timeout) {
		if (copy_in(&tv, timeout, sizeof tv))
			return -EFAULT;
		if (tv.sec < 0 || tv.usec < 0)
			return -EINVAL;
		until = now_ns() + MIN((u64)tv.sec, 1UL << 32) * 1000000000 + tv.usec * 1000UL;
	}
	i64 result = do_select(n, sets, until, !timeout);
	write_left(timeout, until, true);
	return result == -ERESTARTSYS ? -ERESTARTNOHAND : result;
}

i64 sys_pselect6(i32 n, u64 r, u64 w, u64 e, u64 timeout, u64 mask_pair)
{
	u64 sets[3] = { r, w, e }, until, pair[2] = { 0, 8 };
	bool forever;
	int error = read_timeout(timeout, &until, &forever);
	if (!error && mask_pair && copy_in(pair, mask_pair, sizeof pair))
		error = -EFAULT;
	if (!error)
		error = mask_for_call(pair[0], pair[1]);
	if (error)
		return error;
	i64 result = do_select(n, sets, until, forever);
	write_left(timeout, until, false);
	return result == -ERESTARTSYS ? -ERESTARTNOHAND : result;
}
