/* Files that stand for events: eventfd, timerfd, signalfd. */
#include "fs.h"

struct event { u64 count; bool semaphore; struct waitqueue wait; };

static ssize_t event_read(struct file *f, struct uio *u, u64 *pos)
{
	struct event *e = f->data;
	if (u->left < 8)
		return -EINVAL;
	if (!e->count && f->flags & O_NONBLOCK)
		return -EAGAIN;
	int error = WAIT_UNTIL(&e->wait, e->count, 0);
	if (error)
		return error;
	u64 v = e->semaphore ? 1 : e->count;
	e->count -= v;
	wake_all(&e->wait);
	return uio_out(u, &v, 8) ? -EFAULT : 8;
}

static ssize_t event_write(struct file *f, struct uio *u, u64 *pos)
{
	struct event *e = f->data;
	u64 v;
	if (u->left < 8)
		return -EINVAL;
	if (uio_in(u, &v, 8))
		return -EFAULT;
	if (v == ~0UL)
		return -EINVAL;
	if (e->count + v == ~0UL || e->count + v < v) {
		if (f->flags & O_NONBLOCK)
			return -EAGAIN;
		int error = WAIT_UNTIL(&e->wait, e->count < ~0UL - v, 0);
		if (error)
			return error;
	}
	e->count += v;
	wake_all(&e->wait);
	return 8;
}

static u32 event_poll(struct file *f, struct poll_table *t)
{
	struct event *e = f->data;
	poll_wait(t, &e->wait);
	return (e->count ? POLLIN | POLLRDNORM : 0) | (e->count < ~0UL - 1 ? POLLOUT | POLLWRNORM : 0);
}

static void event_release(struct file *f) { kfree(f->data); }

static const struct file_ops event_ops = { .read = event_read, .write = event_write, .poll = event_poll, .release = event_release, .no_seek = true };

static i64 install(const struct file_ops *ops, void *data, u32 flags, const char *name)
{
	struct file *f = file_anonymous(ops, data, O_RDWR | (flags & O_NONBLOCK), name);
	if (!f) {
		kfree(data);
		return -ENOMEM;
	}
	return fd_install(f, 0, flags & O_CLOEXEC);
}

i64 sys_eventfd2(u32 initial, u32 flags)
{
	if (flags & ~(O_NONBLOCK | O_CLOEXEC | 1))
		return -EINVAL;
	struct event *e = kmalloc(sizeof *e);
	if (!e)
		return -ENOMEM;
	e->count = initial;
	e->semaphore = flags & 1;
	waitqueue_init(&e->wait);
	return install(&event_ops, e, flags, "eventfd");
}

i64 sys_eventfd(u32 initial) { return sys_eventfd2(initial, 0); }

struct timerfd { struct timer timer; u64 period, expired; bool real; struct waitqueue wait; };
struct itimerspec { struct timespec interval, value; };

static void tick(struct timer *t)
{
	struct timerfd *d = HOLDER(t, struct timerfd, timer);
	d->expired++;
	if (d->period) {
		u64 now = now_ns(), missed = now > t->at ? (now - t->at) / d->period : 0;
		d->expired += missed;
		timer_set(t, t->at + d->period * (missed + 1));
	}
	wake_all(&d->wait);
}

static ssize_t timerfd_read(struct file *f, struct uio *u, u64 *pos)
{
	struct timerfd *d = f->data;
	if (u->left < 8)
		return -EINVAL;
	if (!d->expired && f->flags & O_NONBLOCK)
		return -EAGAIN;
	int error = WAIT_UNTIL(&d->wait, d->expired, 0);
	if (error)
		return error;
	u64 v = d->expired;
	d->expired = 0;
	return uio_out(u, &v, 8) ? -EFAULT : 8;
}

static u32 timerfd_poll(struct file *f, struct poll_table *t)
{
	struct timerfd *d = f->data;
	poll_wait(t, &d->wait);
	return d->expired ? POLLIN | POLLRDNORM : 0;
}

static void timerfd_release(struct file *f)
{
	struct timerfd *d = f->data;
	timer_cancel(&d->timer);
	kfree(d);
}

static const struct file_ops timerfd_ops = { .read = timerfd_read, .poll = timerfd_poll, .release = timerfd_release, .no_seek = true };

i64 sys_timerfd_create(u32 clock, u32 flags)
{
	if ((clock != 0 && clock != 1 && clock != 7) || flags & ~(O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	struct timerfd *d = kmalloc(sizeof *d);
	if (!d)
		return -ENOMEM;
	link_init(&d->timer.link);
	d->timer.fire = tick;
	d->real = clock == 0;
	waitqueue_init(&d->wait);
	return install(&timerfd_ops, d, flags, "timerfd");
}

static struct itimerspec timerfd_left(struct timerfd *d)
{
	u64 now = now_ns(), left = !link_empty(&d->timer.link) ? MAX(d->timer.at > now ? d->timer.at - now : 0, 1UL) : 0;
	return (struct itimerspec){ { d->period / 1000000000, d->period % 1000000000 }, { left / 1000000000, left % 1000000000 } };
}

static struct file *timerfd_of(i32 fd)
{
	struct file *f = fd_get(fd);
	if (f && f->ops != &timerfd_ops) {
		file_put(f);
		return ERR_PTR(-EINVAL);
	}
	return f ? f : ERR_PTR(-EBADF);
}

i64 sys_timerfd_gettime(i32 fd, u64 out)
{
	struct file *f = timerfd_of(fd);
	if (IS_ERR(f))
		return PTR_ERR(f);
	struct itimerspec left = timerfd_left(f->data);
	file_put(f);
	return copy_out(out, &left, sizeof left);
}

i64 sys_timerfd_settime(i32 fd, u32 flags, u64 in, u64 out)
{
	struct itimerspec fresh;
	if (copy_in(&fresh, in, sizeof fresh))
		return -EFAULT;
	if (fresh.value.nsec < 0 || fresh.value.nsec >= 1000000000 || fresh.interval.nsec < 0 || fresh.interval.nsec >= 1000000000
		|| fresh.value.sec < 0 || fresh.interval.sec < 0)
		return -EINVAL;
	struct file *f = timerfd_of(fd);
	if (IS_ERR(f))
		return PTR_ERR(f);
	struct timerfd *d = f->data;
	struct itimerspec left = timerfd_left(d);
	u64 at = fresh.value.sec * 1000000000UL + fresh.value.nsec;
	timer_cancel(&d->timer);
	d->expired = 0;
	d->period = fresh.interval.sec * 1000000000UL + fresh.interval.nsec;
	if (at) {
		u64 offset = real_ns() - now_ns();
		timer_set(&d->timer, !(flags & 1) ? now_ns() + at : !d->real ? at : at > offset ? at - offset : 1);
	}
	file_put(f);
	return out ? copy_out(out, &left, sizeof left) : 0;
}

struct signalfd { u64 mask; };

static ssize_t signalfd_read(struct file *f, struct uio *u, u64 *pos)
{
	struct signalfd *s = f->data;
	struct task *t = current();
	size_t n = 0;
	while (u->left >= 128) {
		struct siginfo info;
		int sig = signal_take(t, ~s->mask, &info);
		if (sig) {
			u32 out[32] = { info.signo, info.error, info.code };
			bool fault = info.code > 0 && info.code != SI_KERNEL && info.signo != SIGCHLD;
			if (fault)
				memcpy(out + 18, &info.fault.address, 8);
			else if (info.code == SI_TIMER) {
				out[6] = info.sender.pid;
				out[8] = info.sender.uid;
			} else {
				out[3] = info.sender.pid;
				out[4] = info.sender.uid;
			}
			if (info.signo == SIGCHLD) {
				out[10] = info.child.status;
				memcpy(out + 14, &info.child.utime, 16);
			} else if (info.code < 0) {
				out[11] = info.sender.value;
				memcpy(out + 12, &info.sender.value, 8);
			}
			if (uio_out(u, out, 128))
				return -EFAULT;
			n += 128;
			continue;
		}
		if (n)
			break;
		if (f->flags & O_NONBLOCK)
			return -EAGAIN;
		int error = WAIT_UNTIL(&self()->signal_wait, (t->pending.set | self()->pending.set) & s->mask, 0);
		if (error)
			return error;
	}
	return n ? (ssize_t)n : -EINVAL;
}

static u32 signalfd_poll(struct file *f, struct poll_table *t)
{
	struct signalfd *s = f->data;
	poll_wait(t, &self()->signal_wait);
	return (current()->pending.set | self()->pending.set) & s->mask ? POLLIN | POLLRDNORM : 0;
}

static const struct file_ops signalfd_ops = { .read = signalfd_read, .poll = signalfd_poll, .release = event_release, .no_seek = true };

i64 sys_signalfd4(i32 fd, u64 mask_at, u64 size, u32 flags)
{
	u64 mask;
	if (size != 8 || flags & ~(O_NONBLOCK | O_CLOEXEC))
		return -EINVAL;
	if (copy_in(&mask, mask_at, 8))
		return -EFAULT;
	if (fd >= 0) {
		struct file *f = fd_file(fd);
		if (!f || f->ops != &signalfd_ops)
			return f ? -EINVAL : -EBADF;
		((struct signalfd *)f->data)->mask = mask;
		return fd;
	}
	struct signalfd *s = kmalloc(sizeof *s);
	if (!s)
		return -ENOMEM;
	s->mask = mask;
	return install(&signalfd_ops, s, flags, "signalfd");
}
