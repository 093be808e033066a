/* The line discipline: what happens to characters on their way in and out, signals, job control. */
#include "tty.h"
#include "without.h"

static const struct termios sane = {
	.iflag = ICRNL | IXON, .oflag = OPOST | ONLCR, .cflag = 0xcb2 | 0x1000,
	.lflag = ISIG | ICANON | ECHO | ECHOE | ECHOK | ECHOCTL | ECHOKE | IEXTEN,
	.cc = { 3, 28, 127, 21, 4, 0, 1, 0, 17, 19, 26, 0, 18, 15, 23, 22, 0 },
};

void tty_init(struct tty *t)
{
	memset(t, 0, sizeof *t);
	t->termios = sane;
	t->size = (struct winsize){ 24, 80, 0, 0 };
	waitqueue_init(&t->readers);
	waitqueue_init(&t->writers);
}

static void put_char(struct tty *t, u8 c)
{
	if (t->termios.oflag & OPOST) {
		if (c == '\n' && t->termios.oflag & ONLCR)
			t->send(t, '\r');
		if (c == '\r' && t->termios.oflag & OCRNL)
			c = '\n';
	}
	t->send(t, c);
}

static void echo(struct tty *t, u8 c)
{
	if (!(t->termios.lflag & ECHO) && !(c == '\n' && t->termios.lflag & ECHONL))
		return;
	if (c < 32 && c != '\n' && c != '\t' && t->termios.lflag & ECHOCTL) {
		put_char(t, '^');
		put_char(t, c + 64);
	} else if (c == 127 && t->termios.lflag & ECHOCTL) {
		put_char(t, '^');
		put_char(t, '?');
	} else
		put_char(t, c);
}

static void put_input(struct tty *t, u16 c)
{
	if (t->head - t->tail < INPUT_SIZE - 1)
		t->input[t->head++ % INPUT_SIZE] = c;
}

static void rub_out(struct tty *t)
{
	u16 c = t->input[--t->head % INPUT_SIZE];
	if (!(t->termios.lflag & ECHO) || !(t->termios.lflag & ECHOE))
		return;
	int columns = c < 32 || c == 127 ? 2 : (c & 0xc0) == 0x80 ? 0 : 1;
	for (int i = 0; i < columns; i++) {
		t->send(t, '\b');
		t->send(t, ' ');
		t->send(t, '\b');
	}
}

static bool is(struct tty *t, int which, u8 c) { return t->termios.cc[which] && t->termios.cc[which] == c; }

static bool signal_char(struct tty *t, u8 c)
{
	int sig = is(t, VINTR, c) ? SIGINT : is(t, VQUIT, c) ? SIGQUIT : is(t, VSUSP, c) ? SIGTSTP : 0;
	if (!sig)
		return false;
	echo(t, c);
	if (!(t->termios.lflag & NOFLSH))
		t->tail = t->ready = t->head;
	struct siginfo info = { .code = SI_KERNEL };
	if (t->foreground)
		signal_group(t->foreground, sig, &info);
	return true;
}

static bool in_word(u8 c) { return c == '_' || (c >= '0' && c <= '9') || ((c | 32) >= 'a' && (c | 32) <= 'z'); }

static bool edit(struct tty *t, u8 c)
{
	if (is(t, VERASE, c)) {
		if (t->head != t->ready)
			rub_out(t);
	} else if (is(t, VKILL, c)) {
		while (t->head != t->ready)
			rub_out(t);
	} else if (is(t, VWERASE, c) && t->termios.lflag & IEXTEN) {
		bool word = false;
		for (; t->head != t->ready; rub_out(t)) {
			bool of_word = in_word(t->input[(t->head - 1) % INPUT_SIZE]);
			if (word && !of_word)
				break;
			word |= of_word;
		}
	} else if (is(t, VLNEXT, c) && t->termios.lflag & IEXTEN)
		t->literal = true;
	else
		return false;
	return true;
}

void tty_input(struct tty *t, u8 c)
{
	u32 l = t->termios.lflag, in = t->termios.iflag;
	if (t->literal) {
		t->literal = false;
		echo(t, c);
		put_input(t, c);
		return;
	}
	if (in & ISTRIP)
		c &= 0x7f;
	if (in & IXON) {
		if (is(t, VSTOP, c)) {
			t->stopped = true;
			return;
		}
		if (t->stopped) {
			t->stopped = false;
			wake_all(&t->writers);
			if (is(t, VSTART, c))
				return;
		}
		if (is(t, VSTART, c))
			return;
	}
	if (l & ISIG && signal_char(t, c))
		return;
	if (c == '\r') {
		if (in & IGNCR)
			return;
		if (in & ICRNL)
			c = '\n';
	} else if (c == '\n' && in & INLCR)
		c = '\r';
	if (!(l & ICANON)) {
		echo(t, c);
		put_input(t, c);
		t->ready = t->head;
		wake_all(&t->readers);
		return;
	}
	if (edit(t, c))
		return;
	if (is(t, VEOF, c)) {
		put_input(t, END_MARK);
		t->ready = t->head;
		wake_all(&t->readers);
		return;
	}
	if (c != '\n' && t->head - t->ready >= LINE_MOST)
		return;		/* a line that long is full; only its end may come */
	echo(t, c);
	put_input(t, c);
	if (c == '\n' || is(t, VEOL, c) || is(t, VEOL2, c)) {
		t->ready = t->head;
		wake_all(&t->readers);
	}
}

/* A background process is stopped before it reads, or changes or (with TOSTOP) writes something. */
static int check_foreground(struct tty *t, int sig)
{
	struct process *p = self();
	if (p->tty != t || !t->foreground || p->pgid == t->foreground)
		return 0;
	bool held = current()->blocked & SIGBIT(sig) || p->actions[sig].handler == SIG_IGN;
	if (sig == SIGTTOU && held)
		return 0;
	if (held || group_is_orphaned(p->pgid, NULL))
		return -EIO;
	struct siginfo info = { .code = SI_KERNEL };
	signal_group(p->pgid, sig, &info);
	return -ERESTARTSYS;
}

static bool readable(struct tty *t) { return t->ready != t->tail || t->hung_up; }

static ssize_t read_line(struct tty *t, struct uio *u)
{
	size_t n = 0;
	while (u->left && t->tail != t->ready) {
		u16 c = t->input[t->tail % INPUT_SIZE];
		t->tail++;
		if (c == END_MARK)
			break;
		u8 byte = c;
		if (uio_out(u, &byte, 1))
			return n ? n : -EFAULT;
		n++;
		if (c == '\n' || is(t, VEOL, c))
			break;
		/* A ^D right after what fills the buffer belongs to this line. */
		if (!u->left && t->tail != t->ready && t->input[t->tail % INPUT_SIZE] == END_MARK)
			t->tail++;
	}
	return n;
}

static ssize_t read_raw(struct tty *t, struct uio *u, bool nonblock)
{
	u8 least = t->termios.cc[VMIN], tenths = t->termios.cc[VTIME];
	size_t n = 0;
	u64 until = !least && tenths ? now_ns() + tenths * 100000000UL : 0;
	while (u->left) {
		if (t->tail == t->ready) {
			if (t->hung_up || n >= MAX(least, (u8)1) || (!least && !tenths) || nonblock)
				break;
			if (least && tenths && n)
				until = now_ns() + tenths * 100000000UL;
			int error = WAIT_UNTIL(&t->readers, readable(t), until);
			if (error == -ETIMEDOUT)
				break;
			if (error)
				return n ? n : error;
			continue;
		}
		u8 c = t->input[t->tail++ % INPUT_SIZE];
		if (uio_out(u, &c, 1))
			return n ? n : -EFAULT;
		n++;
	}
	return !n && nonblock && least ? -EAGAIN : n;
}

bool tty_input_room(struct tty *t) { return t->head - t->tail < INPUT_SIZE - LINE_MOST - 2; }

static void resume(struct tty *t)
{
	if (t->throttled && tty_input_room(t) && t->resume)
		t->resume(t);
}

static ssize_t read_now(struct tty *t, struct file *f, struct uio *u)
{
	int error = check_foreground(t, SIGTTIN);
	if (error)
		return error;
	if (!u->left)
		return 0;
	if (!(t->termios.lflag & ICANON))
		return read_raw(t, u, f->flags & O_NONBLOCK);
	if (!readable(t) && f->flags & O_NONBLOCK)
		return -EAGAIN;
	error = WAIT_UNTIL(&t->readers, readable(t), 0);
	if (!error)
		error = check_foreground(t, SIGTTIN);
	return error ? error : read_line(t, u);
}

ssize_t tty_read(struct tty *t, struct file *f, struct uio *u)
{
	ssize_t n = read_now(t, f, u);
	resume(t);
	return n;
}

static int wait_for_room(struct tty *t)
{
	for (int spins = 0; t->stopped || !t->room(t); spins++) {
		if (t->hung_up)
			return -EIO;
		if (spins < 200 && !t->stopped && !t->pty)
			continue;
		int error = WAIT_UNTIL(&t->writers, !t->stopped && t->room(t), now_ns() + 2000000);
		if (error == -ERESTARTSYS)
			return error;
	}
	return t->hung_up ? -EIO : 0;
}

ssize_t tty_write(struct tty *t, struct file *f, struct uio *u)
{
	size_t done = 0;
	char part[256];
	if (t->termios.lflag & TOSTOP) {
		int error = check_foreground(t, SIGTTOU);
		if (error)
			return error;
	}
	while (u->left) {
		size_t n = MIN(u->left, sizeof part);
		if (uio_in(u, part, n))
			return done ? done : -EFAULT;
		for (size_t i = 0; i < n; i++, done++) {
			if (f->flags & O_NONBLOCK && t->pty && !t->room(t))
				return done ? done : -EAGAIN;
			int error = wait_for_room(t);
			if (error)
				return done ? done : error;
			put_char(t, part[i]);
		}
	}
	return done;
}

u32 tty_poll(struct tty *t, struct poll_table *table)
{
	poll_wait(table, &t->readers);
	poll_wait(table, &t->writers);
	u32 events = t->room(t) && !t->stopped ? POLLOUT | POLLWRNORM : 0;
	if (t->ready != t->tail)
		events |= POLLIN | POLLRDNORM;
	return events | (t->hung_up ? POLLHUP | POLLIN : 0);
}

static i64 take_terminal(struct tty *t, bool steal)
{
	struct process *p = self(), *other;
	if (p->pid != p->sid || (p->tty && p->tty != t))
		return -EPERM;
	if (t->sid && t->sid != p->sid) {
		if (!steal || !capable())
			return -EPERM;
		EACH(other, &all_processes, all)
			if (other->tty == t)
				other->tty = NULL;
	}
	p->tty = t;
	t->sid = p->sid;
	t->foreground = p->pgid;
	return 0;
}

static i64 set_foreground(struct tty *t, u64 arg)
{
	struct process *p;
	i32 pgid;
	if (copy_in(&pgid, arg, 4))
		return -EFAULT;
	if (self()->tty != t || t->sid != self()->sid)
		return -ENOTTY;
	int error = check_foreground(t, SIGTTOU);
	if (error)
		return error;
	EACH(p, &all_processes, all)
		if (p->pgid == pgid && p->sid == t->sid) {
			t->foreground = pgid;
			return 0;
		}
	return pgid < 0 ? -EINVAL : -EPERM;
}

static i64 set_termios(struct tty *t, u32 command, u64 arg)
{
	struct termios fresh;
	int error = check_foreground(t, SIGTTOU);
	if (error)
		return error;
	if (copy_in(&fresh, arg, sizeof fresh))
		return -EFAULT;
	if (command == TCSETSF)
		t->tail = t->ready = t->head;
	if (!(fresh.lflag & ICANON) || !(t->termios.lflag & ICANON))
		t->ready = t->head;	/* half a line is readable in raw mode */
	t->termios = fresh;
	wake_all(&t->readers);
	return 0;
}

i64 tty_ioctl(struct tty *t, u32 command, u64 arg)
{
	i32 n;
#ifdef WITHOUT_TERMINAL
	if (command != TCGETS && command != TIOCGWINSZ)
		return -ENOTTY;
#endif
	switch (command) {
	case TCGETS:
		return copy_out(arg, &t->termios, sizeof t->termios);
	case TCSETS: case TCSETSW: case TCSETSF:
		return set_termios(t, command, arg);
	case TIOCGWINSZ:
		return copy_out(arg, &t->size, sizeof t->size);
	case TIOCSWINSZ: {
		struct winsize fresh;
		if (copy_in(&fresh, arg, sizeof fresh))
			return -EFAULT;
		bool changed = memcmp(&fresh, &t->size, sizeof fresh);
		t->size = fresh;
		struct siginfo info = { .code = SI_KERNEL };
		if (changed && t->foreground)
			signal_group(t->foreground, SIGWINCH, &info);
		return 0;
	}
	case TIOCGPGRP:
		if (self()->tty != t)
			return -ENOTTY;
		return copy_out(arg, &t->foreground, 4);
	case TIOCSPGRP:
		return set_foreground(t, arg);
	case TIOCGSID:
		if (self()->tty != t)
			return -ENOTTY;
		return copy_out(arg, &t->sid, 4);
	case TIOCSCTTY:
		return take_terminal(t, arg);
	case TIOCNOTTY:
		if (self()->tty != t)
			return -ENOTTY;
		self()->tty = NULL;
		return 0;
	case FIONREAD:
		n = t->ready - t->tail;
		return copy_out(arg, &n, 4);
	case TIOCOUTQ:
		n = 0;
		return copy_out(arg, &n, 4);
	case TCFLSH:
		if (arg != 1) {
			t->tail = t->ready = t->head;
			resume(t);
		}
		return 0;
	case TCXONC:
		t->stopped = arg == 0;
		wake_all(&t->writers);
		return 0;
	case TCSBRK: case 0x5425:
		return 0;
	}
	return -ENOTTY;
}

int tty_open(struct tty *t, struct file *f, bool may_control)
{
	struct process *p = self();
	if (t->hung_up)
		return -EIO;
	f->data = t;
	t->refs++;
	if (may_control && p->pid == p->sid && !p->tty && !t->sid)
		take_terminal(t, false);
	return 0;
}

void tty_hang_up(struct tty *t)
{
	struct process *p;
	struct siginfo info = { .code = SI_KERNEL };
	if (t->sid)
		EACH(p, &all_processes, all)
			if (p->tty == t) {
				if (p->pid == t->sid) {
					signal_process(p, SIGHUP, &info);
					signal_process(p, SIGCONT, &info);
				}
				p->tty = NULL;
			}
	if (t->foreground)
		signal_group(t->foreground, SIGHUP, &info);
	t->sid = t->foreground = 0;
	wake_all(&t->readers);
	wake_all(&t->writers);
}

/* A session leader that ends gives its terminal up; who is in the foreground is told. */
void terminal_session_end(struct process *p)
{
	struct tty *t = p->tty;
	struct process *other;
	if (!t || p->pid != p->sid || t->sid != p->sid)
		return;
	struct siginfo info = { .code = SI_KERNEL };
	if (t->foreground) {
		signal_group(t->foreground, SIGHUP, &info);
		signal_group(t->foreground, SIGCONT, &info);
	}
	t->sid = t->foreground = 0;
	EACH(other, &all_processes, all)
		if (other->tty == t)
			other->tty = NULL;
}
