/* Pseudo terminals: /dev/ptmx and /dev/pts/N. */
#include "tty.h"

#define COUNT 32
#define OUTPUT_SIZE 8192

struct pty {
	struct tty tty;		/* the slave's side */
	int number;
	bool master_open, locked;
	u32 slaves, slaves_ever;
	u8 output[OUTPUT_SIZE];
	u32 head, tail;
	struct waitqueue readers;
};

static struct pty *ptys[COUNT];

void devfs_pts(int n, bool there);
void tty_hang_up(struct tty *t);
i64 tty_ioctl(struct tty *t, u32 command, u64 arg);

static bool room(struct tty *t)
{
	struct pty *p = t->pty;
	return p->head - p->tail < OUTPUT_SIZE - 2 || !p->master_open;
}

static bool send(struct tty *t, char c)
{
	struct pty *p = t->pty;
	if (p->head - p->tail >= OUTPUT_SIZE)
		return false;
	p->output[p->head++ % OUTPUT_SIZE] = c;
	wake_all(&p->readers);
	return true;
}

struct tty *pty_slave(int n)
{
	struct pty *p = n < COUNT ? ptys[n] : NULL;
	return p && !p->locked ? &p->tty : NULL;
}

static void free_if_unused(struct pty *p)
{
	if (p->master_open || p->slaves)
		return;
	struct process *other;
	EACH(other, &all_processes, all)
		if (other->tty == &p->tty)
			other->tty = NULL;
	ptys[p->number] = NULL;
	kfree(p);
}

void pty_slave_open(struct tty *t)
{
	t->pty->slaves++;
	t->pty->slaves_ever++;
}

void pty_slave_closed(struct tty *t)
{
	struct pty *p = t->pty;
	p->slaves--;
	wake_all(&p->readers);
	free_if_unused(p);
}

static int open(struct file *f)
{
	int n = 0;
	while (n < COUNT && ptys[n])
		n++;
	if (n == COUNT)
		return -ENOSPC;
	struct pty *p = kmalloc(sizeof *p);
	if (!p)
		return -ENOMEM;
	tty_init(&p->tty);
	p->tty.pty = p;
	p->tty.send = send;
	p->tty.room = room;
	p->tty.rdev = DEV(136, n);
	p->number = n;
	p->master_open = p->locked = true;
	waitqueue_init(&p->readers);
	ptys[n] = p;
	f->data = p;
	devfs_pts(n, true);
	return 0;
}

static bool gone(struct pty *p) { return p->slaves_ever && !p->slaves; }

static ssize_t read(struct file *f, struct uio *u, u64 *pos)
{
	struct pty *p = f->data;
	size_t n = 0;
	if (p->head == p->tail) {
		if (gone(p))
			return -EIO;
		if (f->flags & O_NONBLOCK)
			return -EAGAIN;
		int error = WAIT_UNTIL(&p->readers, p->head != p->tail || gone(p), 0);
		if (error)
			return error;
		if (p->head == p->tail)
			return -EIO;
	}
	while (u->left && p->head != p->tail) {
		if (uio_out(u, &p->output[p->tail % OUTPUT_SIZE], 1))
			return n ? n : -EFAULT;
		p->tail++;
		n++;
	}
	wake_all(&p->tty.writers);
	return n;
}

static ssize_t write(struct file *f, struct uio *u, u64 *pos)
{
	struct pty *p = f->data;
	size_t n = 0;
	u8 c;
	while (u->left) {
		if (uio_in(u, &c, 1))
			return n ? n : -EFAULT;
		tty_input(&p->tty, c);
		n++;
	}
	return n;
}

static u32 poll(struct file *f, struct poll_table *t)
{
	struct pty *p = f->data;
	poll_wait(t, &p->readers);
	return POLLOUT | POLLWRNORM | (p->head != p->tail ? POLLIN | POLLRDNORM : 0) | (gone(p) ? POLLHUP : 0);
}

static i64 ioctl(struct file *f, u32 command, u64 arg)
{
	struct pty *p = f->data;
	i32 lock;
	switch (command) {
	case TIOCGPTN:
		return copy_out(arg, &p->number, 4);
	case TIOCSPTLCK:
		if (copy_in(&lock, arg, 4))
			return -EFAULT;
		p->locked = lock;
		return 0;
	case TIOCGPGRP:
		return copy_out(arg, &p->tty.foreground, 4);
	case FIONREAD:
		lock = p->head - p->tail;
		return copy_out(arg, &lock, 4);
	}
	return tty_ioctl(&p->tty, command, arg);
}

static void release(struct file *f)
{
	struct pty *p = f->data;
	p->master_open = false;
	p->tty.hung_up = true;
	devfs_pts(p->number, false);
	tty_hang_up(&p->tty);
	free_if_unused(p);
}

const struct file_ops ptmx_ops = { .read = read, .write = write, .poll = poll, .ioctl = ioctl, .open = open, .release = release, .no_seek = true };
