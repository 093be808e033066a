/* /dev/console, /dev/ttyS0 and /dev/tty: terminals as files. */
#include "tty.h"

struct tty console;

ssize_t tty_read(struct tty *t, struct file *f, struct uio *u);
ssize_t tty_write(struct tty *t, struct file *f, struct uio *u);
u32 tty_poll(struct tty *t, struct poll_table *table);
i64 tty_ioctl(struct tty *t, u32 command, u64 arg);
int tty_open(struct tty *t, struct file *f, bool may_control);
struct tty *pty_slave(int n);
void pty_slave_open(struct tty *t);
void pty_slave_closed(struct tty *t);

static bool send(struct tty *t, char c)
{
	serial_put(c);
	return true;
}

static bool room(struct tty *t) { return serial_ready(); }

/* False: it is to come again later. */
bool terminal_input_room(void)
{
	console.throttled = !tty_input_room(&console);
	return !console.throttled;
}

void terminal_input(u8 c) { tty_input(&console, c); }

static void resume(struct tty *t)
{
	t->throttled = false;
	serial_interrupt();
}

void terminal_init(void)
{
	tty_init(&console);
	console.send = send;
	console.room = room;
	console.resume = resume;
	console.rdev = DEV(4, 64);
	serial_listen();
}

static ssize_t read(struct file *f, struct uio *u, u64 *pos) { return tty_read(f->data, f, u); }
static ssize_t write(struct file *f, struct uio *u, u64 *pos) { return tty_write(f->data, f, u); }
static u32 poll(struct file *f, struct poll_table *t) { return tty_poll(f->data, t); }
static i64 ioctl(struct file *f, u32 command, u64 arg) { return tty_ioctl(f->data, command, arg); }

static int open(struct file *f)
{
	u64 rdev = f->path.inode->rdev;
	struct tty *t = rdev >> 8 == 136 ? pty_slave(rdev & 0xff) : &console;
	if (!t)
		return -ENXIO;
	int error = tty_open(t, f, rdev != DEV(5, 1) && !(f->dir_cursor & O_NOCTTY));
	if (!error && t->pty)
		pty_slave_open(t);
	char name[32];
	if (t->pty)
		format(name, sizeof name, "/dev/pts/%lu", rdev & 0xff);
	f->name = kstrdup(t->pty ? name : rdev == DEV(5, 1) ? "/dev/console" : "/dev/ttyS0");
	return error;
}

static int open_current(struct file *f)
{
	struct tty *t = self()->tty;
	f->name = kstrdup("/dev/tty");
	int error = t ? tty_open(t, f, false) : -ENXIO;
	if (!error && t->pty)
		pty_slave_open(t);
	return error;
}

static void release(struct file *f)
{
	struct tty *t = f->data;
	t->refs--;
	if (t->pty)
		pty_slave_closed(t);
}

const struct file_ops terminal_ops = { .read = read, .write = write, .poll = poll, .ioctl = ioctl, .open = open, .release = release, .no_seek = true };
const struct file_ops terminal_current_ops = { .read = read, .write = write, .poll = poll, .ioctl = ioctl, .open = open_current, .release = release, .no_seek = true };
