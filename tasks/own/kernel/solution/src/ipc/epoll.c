/* epoll: each watch joins the queues of its file for good and is marked when one of them wakes. */
#include "fs.h"

#define EPOLLONESHOT (1u << 30)
#define EPOLLET (1u << 31)
#define QUEUES 4

struct epoll_event { u32 events; u64 data; } packed;

struct epoll { struct link watches; struct waitqueue wait; };
struct watch {
	struct link link, of_file;
	struct epoll *epoll;
	struct file *file;
	i32 fd;
	struct epoll_event event;
	struct waiter waiter[QUEUES];
	u32 waiters;
	bool marked, off;
	struct poll_table table;
};

static const struct file_ops epoll_ops;

static void mark(struct waiter *w)
{
	struct watch *watch = w->owner;
	watch->marked = true;
	wake_all(&watch->epoll->wait);
}

static void join(struct poll_table *t, struct waitqueue *q)
{
	struct watch *w = HOLDER(t, struct watch, table);
	if (w->waiters == QUEUES)
		return;
	struct waiter *waiter = &w->waiter[w->waiters++];
	waiter->wake = mark;
	waiter->owner = w;
	wait_join(q, waiter);
}

static u32 look(struct watch *w, struct poll_table *t)
{
	u32 events = w->file->ops && w->file->ops->poll ? w->file->ops->poll(w->file, t) : POLLIN | POLLOUT;
	return events & (w->event.events | POLLERR | POLLHUP);
}

static void watch_free(struct watch *w)
{
	while (w->waiters)
		wait_leave(&w->waiter[--w->waiters]);
	link_remove(&w->link);
	link_remove(&w->of_file);
	kfree(w);
}

/* The file is closed for the last time. */
void epoll_forget(struct file *f)
{
	while (!link_empty(&f->epolls))
		watch_free(FIRST(&f->epolls, struct watch, of_file));
}

static void release(struct file *f)
{
	struct epoll *e = f->data;
	while (!link_empty(&e->watches))
		watch_free(FIRST(&e->watches, struct watch, link));
	kfree(e);
}

static u32 poll(struct file *f, struct poll_table *t)
{
	struct epoll *e = f->data;
	struct watch *w;
	poll_wait(t, &e->wait);
	EACH(w, &e->watches, link)
		if (w->marked && !w->off && look(w, NULL))
			return POLLIN | POLLRDNORM;
	return 0;
}

static const struct file_ops epoll_ops = { .poll = poll, .release = release, .no_seek = true };

i64 sys_epoll_create1(u32 flags)
{
	if (flags & ~O_CLOEXEC)
		return -EINVAL;
	struct epoll *e = kmalloc(sizeof *e);
	if (!e)
		return -ENOMEM;
	link_init(&e->watches);
	waitqueue_init(&e->wait);
	struct file *f = file_anonymous(&epoll_ops, e, O_RDWR, "eventpoll");
	if (!f) {
		kfree(e);
		return -ENOMEM;
	}
	return fd_install(f, 0, flags & O_CLOEXEC);
}

i64 sys_epoll_create(i32 size) { return size > 0 ? sys_epoll_create1(0) : -EINVAL; }

/* Does a chain of sets lead from `f` to `e`, or is it one of more than five? */
static bool leads_to(struct file *f, struct epoll *e, int length)
{
	struct watch *w;
	if (f->ops != &epoll_ops)
		return false;
	struct epoll *set = f->data;
	if (set == e || length == 5)
		return true;
	EACH(w, &set->watches, link)
		if (leads_to(w->file, e, length + 1))
			return true;
	return false;
}

static i64 control(struct file *ef, struct file *f, int op, i32 fd, struct epoll_event *event)
{
	struct epoll *e = ef->data;
	struct watch *w, *found = NULL;
	EACH(w, &e->watches, link)
		if (w->file == f && w->fd == fd)
			found = w;
	switch (op) {
	case 1:
		if (found)
			return -EEXIST;
		if (leads_to(f, e, 0))
			return -ELOOP;
		w = kmalloc(sizeof *w);
		if (!w)
			return -ENOMEM;
		w->epoll = e;
		w->file = f;
		w->fd = fd;
		w->event = *event;
		w->table.add = join;
		link_init(&w->of_file);
		link_append(&e->watches, &w->link);
		link_append(&f->epolls, &w->of_file);
		w->marked = look(w, &w->table) != 0;
		break;
	case 2:
		if (!found)
			return -ENOENT;
		watch_free(found);
		return 0;
	case 3:
		if (!found)
			return -ENOENT;
		w = found;
		w->event = *event;
		w->off = false;
		w->marked = look(w, NULL) != 0;
		break;
	default:
		return -EINVAL;
	}
	if (w->marked)
		wake_all(&e->wait);
	return 0;
}

i64 sys_epoll_ctl(i32 epfd, i32 op, i32 fd, u64 address)
{
	struct epoll_event event = { 0 };
	if (op != 2 && copy_in(&event, address, sizeof event))
		return -EFAULT;
	struct file *ef = fd_get(epfd), *f = fd_get(fd);
	i64 result = -EBADF;
	if (ef && f)
		result = ef->ops != &epoll_ops || ef == f ? -EINVAL : !f->ops || !f->ops->poll ? -EPERM : control(ef, f, op, fd, &event);
	if (ef)
		file_put(ef);
	if (f)
		file_put(f);
	return result;
}

static int collect(struct epoll *e, struct epoll_event *out, int room)
{
	struct watch *w;
	int n = 0;
	struct link seen = LINK_INIT(seen);
	EACH(w, &e->watches, link) {
		if (n == room)
			break;
		if (!w->marked || w->off)
			continue;
		w->marked = false;
		u32 events = look(w, NULL);
		if (!events)
			continue;
		out[n].events = events;
		out[n++].data = w->event.data;
		if (w->event.events & EPOLLONESHOT)
			w->off = true;
		else if (!(w->event.events & EPOLLET))
			w->marked = true;
		link_remove(&w->link);
		link_append(&seen, &w->link);
	}
	/* Who was served goes to the end, so that everybody's turn comes. */
	while (!link_empty(&seen)) {
		struct link *l = seen.next;
		link_remove(l);
		link_append(&e->watches, l);
	}
	return n;
}

static i64 do_wait(i32 epfd, u64 address, i32 room, u64 until, bool forever)
{
	if (room <= 0)
		return -EINVAL;
	struct file *f = fd_get(epfd);
	if (!f)
		return -EBADF;
	i64 n = f->ops == &epoll_ops ? 0 : -EINVAL;
	room = MIN(room, 256);
	struct epoll_event *out = kmalloc(room * sizeof *out);
	if (!out)
		n = -ENOMEM;
	while (n == 0) {
		struct epoll *e = f->data;
		struct waiter w = { .task = current() };
		n = collect(e, out, room);
		if (n || (!forever && now_ns() >= until))
			break;
		wait_join(&e->wait, &w);
		int error = sleep_interruptible(forever ? 0 : until);
		wait_leave(&w);
		if (error == -ERESTARTSYS)
			n = collect(e, out, room) ?: error;
	}
	if (n > 0 && copy_out(address, out, n * sizeof *out))
		n = -EFAULT;
	kfree(out);
	file_put(f);
	return n == -ERESTARTSYS ? -EINTR : n;
}

int mask_for_call(u64 address, u64 size);

i64 sys_epoll_wait(i32 epfd, u64 out, i32 room, i32 ms)
{
	return do_wait(epfd, out, room, now_ns() + (u64)MAX(ms, 0) * 1000000, ms < 0);
}

i64 sys_epoll_pwait(i32 epfd, u64 out, i32 room, i32 ms, u64 mask, u64 size)
{
	int error = mask_for_call(mask, size);
	return error ? error : sys_epoll_wait(epfd, out, room, ms);
}
