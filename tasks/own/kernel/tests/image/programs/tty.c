/* The terminal; what is typed comes from the verifier, when `<NAME>` was said. */
#include "exam.h"
#include <termios.h>

static struct termios sane;
static void tell(const char *text) { (void)!write(1, text, strlen(text)); }
static void settle(void) { tcgetattr(0, &sane); }

static void attributes(void)
{
	struct termios t;
	struct winsize size = {0}, other = {.ws_row = 31, .ws_col = 97};
	WANT(isatty(0), 1);
	WANT(tcgetattr(0, &t), 0);
	HOLDS((t.c_lflag & (ICANON | ECHO | ISIG)) == (ICANON | ECHO | ISIG));
	HOLDS((t.c_iflag & ICRNL) && (t.c_oflag & OPOST) && (t.c_oflag & ONLCR));
	WANT(t.c_cc[VINTR], 3);
	WANT(t.c_cc[VEOF], 4);
	WANT(t.c_cc[VSUSP], 26);
	WANT(ioctl(0, TIOCGWINSZ, &size), 0);
	WANT(ioctl(0, TIOCSWINSZ, &other), 0);
	WANT(ioctl(0, TIOCGWINSZ, &size), 0);
	HOLDS(size.ws_row == 31 && size.ws_col == 97);
	int fd = open("/dev/null", O_RDWR);
	FAILS(tcgetattr(fd, &t), ENOTTY);
	close(fd);
	fd = open("/dev/ttyS0", O_RDWR | O_NOCTTY);
	HOLDS(fd >= 0);
	WANT(isatty(fd), 1);
	close(fd);
}

static void raw(void)
{
	struct termios t;
	char bytes[40];
	settle();
	t = sane;
	cfmakeraw(&t);
	t.c_oflag = sane.c_oflag;
	t.c_cc[VMIN] = 1;
	t.c_cc[VTIME] = 0;
	WANT(tcsetattr(0, TCSAFLUSH, &t), 0);
	tell("<raw>\n");
	for (int n = 0; n < 12;) {
		ssize_t got = read(0, bytes + n, 12 - n);
		HOLDS(got > 0);
		n += got;
	}
	mix(bytes, 12);
	t.c_cc[VMIN] = 0;
	t.c_cc[VTIME] = 2;
	tcsetattr(0, TCSANOW, &t);
	u64 before = now_ns();
	WANT(read(0, bytes, 10), 0);
	u64 waited = (now_ns() - before) / 1000000;
	HOLDS(waited >= 150);
	t.c_cc[VTIME] = 0;
	tcsetattr(0, TCSANOW, &t);
	WANT(read(0, bytes, 10), 0);
	WANT(tcsetattr(0, TCSANOW, &sane), 0);
}

static void editing(void)
{
	char bytes[200];
	tell("<editing>\n");
	for (int i = 0; i < 3; i++) {
		ssize_t n = read(0, bytes, sizeof bytes);
		HOLDS(n > 0);
		mix(bytes, n);
	}
	WANT(read(0, bytes, sizeof bytes), 0);
	ssize_t n = read(0, bytes, sizeof bytes);
	HOLDS(n > 0);
	mix(bytes, n);
}

static void silent(void)
{
	struct termios t;
	char bytes[100];
	settle();
	t = sane;
	t.c_lflag &= ~ECHO;
	WANT(tcsetattr(0, TCSANOW, &t), 0);
	tell("<silent>\n");
	ssize_t n = read(0, bytes, sizeof bytes);
	HOLDS(n > 0);
	mix(bytes, n);
	WANT(tcsetattr(0, TCSANOW, &sane), 0);
}

/* Who reads behind the scenes is stopped. */
static void stopped_where_it_reads(int fd)
{
	int status;
	pid_t job = fork();
	if (!job) {
		char byte;
		setpgid(0, 0);
		(void)!read(fd, &byte, 1);
		_exit(0);
	}
	setpgid(job, job);
	WANT(waitpid(job, &status, WUNTRACED), job);
	HOLDS(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTIN);
	kill(job, SIGKILL);
	waitpid(job, &status, 0);
}

/* A session of our own, whose terminal is the serial line. */
static void jobs(void)
{
	settle();
	pid_t session = fork();
	if (!session) {
		setsid();
		int fd = open("/dev/ttyS0", O_RDWR);
		HOLDS(fd >= 0);
		HOLDS(ioctl(fd, TIOCSCTTY, 0) == 0 || errno == EPERM);
		WANT(tcgetpgrp(fd), getpid());
		int tty = open("/dev/tty", O_RDWR);
		HOLDS(tty >= 0);
		signal(SIGTTOU, SIG_IGN);
		int status;
		pid_t job = fork();
		if (!job) {
			setpgid(0, 0);
			signal(SIGTTOU, SIG_DFL);
			for (;;) pause();
		}
		setpgid(job, job);
		WANT(tcsetpgrp(fd, job), 0);
		WANT(tcgetpgrp(tty), job);
		tell("<interrupt>\n");
		WANT(waitpid(job, &status, 0), job);
		WANT(status & 0x7f, SIGINT);
		job = fork();
		if (!job) {
			setpgid(0, 0);
			for (;;) pause();
		}
		setpgid(job, job);
		tcsetpgrp(fd, job);
		tell("<suspend>\n");
		WANT(waitpid(job, &status, WUNTRACED), job);
		HOLDS(WIFSTOPPED(status) && WSTOPSIG(status) == SIGTSTP);
		kill(job, SIGCONT);
		tell("<quit>\n");
		WANT(waitpid(job, &status, 0), job);
		WANT(status & 0x7f, SIGQUIT);
		tcsetpgrp(fd, getpid());
		stopped_where_it_reads(fd);
		/* So is who would read single bytes. */
		struct termios bytewise = sane;
		bytewise.c_lflag &= ~ICANON;
		WANT(tcsetattr(fd, TCSANOW, &bytewise), 0);
		stopped_where_it_reads(fd);
		WANT(tcsetattr(fd, TCSANOW, &sane), 0);
		_exit(0);
	}
	ended_well(session);
}

/* What a terminal puts out may come in pieces. */
static void arrives(int fd, const char *due)
{
	char bytes[100];
	size_t size = strlen(due), got = 0;
	while (got < size) {
		ssize_t n = read(fd, bytes + got, size - got);
		HOLDS(n > 0);
		got += n;
	}
	HOLDS(!memcmp(bytes, due, size));
}

/* A pseudo terminal: both ends are here. */
static void pseudo(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	HOLDS(master >= 0);
	WANT(grantpt(master), 0);
	WANT(unlockpt(master), 0);
	char *name = ptsname(master), bytes[100];
	HOLDS(name && !strncmp(name, "/dev/pts/", 9));
	slave = open(name, O_RDWR | O_NOCTTY);
	HOLDS(slave >= 0);
	WANT(write(slave, "a\nb", 3), 3);
	arrives(master, "a\r\nb");
	WANT(write(master, "typed\r", 6), 6);
	WANT(read(slave, bytes, 100), 6);
	HOLDS(!memcmp(bytes, "typed\n", 6));
	arrives(master, "typed\r\n");
	close(slave);
	FAILS(read(master, bytes, 100), EIO);
	/* Who waits already when the last user goes hears of it, too. */
	slave = open(name, O_RDWR | O_NOCTTY);
	HOLDS(slave >= 0);
	pid_t user = fork();
	if (!user) {
		rest_ms(80);
		_exit(0);
	}
	close(slave);
	FAILS(read(master, bytes, 100), EIO);
	ended_well(user);
	close(master);
}

/* What erases is what was set, and a word is letters, digits and underscores with what stands behind it. */
static int lines_typed;
static void typed(int master, int slave, const char *keys, const char *due)
{
	char bytes[100];
	lines_typed++;
	WANT(write(master, keys, strlen(keys)), strlen(keys));
	ssize_t n = read(slave, bytes, sizeof bytes - 1);
	HOLDS(n > 0);
	bytes[n] = 0;
	for (char *c = bytes; *c; c++)
		if (*c < ' ') *c = *c == '\n' && !c[1] ? 0 : '?';
	if (strncmp(bytes, due, strlen(bytes)) || n != (ssize_t)strlen(due))
		fail("line %d of those typed arrived as '%s'", lines_typed, bytes);
}
static void erasing(void)
{
	int master = posix_openpt(O_RDWR | O_NOCTTY), slave;
	struct termios t;
	HOLDS(master >= 0);
	WANT(unlockpt(master), 0);
	slave = open(ptsname(master), O_RDWR | O_NOCTTY);
	HOLDS(slave >= 0);
	WANT(tcgetattr(slave, &t), 0);
	t.c_lflag &= ~ECHO;
	t.c_cc[VERASE] = 0x7f;
	WANT(tcsetattr(slave, TCSANOW, &t), 0);
	typed(master, slave, "ab\x7f" "c\n", "ac\n");
	typed(master, slave, "ab\bc\n", "ab?c\n");
	typed(master, slave, "one two\x17\n", "one \n");
	typed(master, slave, "one two  \x17\n", "one \n");
	typed(master, slave, "one/t_2\x17\n", "one/\n");
	typed(master, slave, "one/two-\x17\n", "one/\n");
	typed(master, slave, "one two\x15three\n", "three\n");
	t.c_cc[VERASE] = '\b';
	WANT(tcsetattr(slave, TCSANOW, &t), 0);
	typed(master, slave, "ab\bc\n", "ac\n");
	typed(master, slave, "ab\x7f" "c\n", "ab\x7f" "c\n");
	t.c_cc[VERASE] = '#';
	t.c_cc[VKILL] = '@';
	WANT(tcsetattr(slave, TCSANOW, &t), 0);
	typed(master, slave, "ab#c\n", "ac\n");
	typed(master, slave, "ab@c\n", "c\n");
	typed(master, slave, "a\bb\x15" "c\n", "a?b?c\n");
	close(slave), close(master);
}

PARTS({"attributes", attributes}, {"raw", raw}, {"editing", editing}, {"silent", silent}, {"jobs", jobs},
      {"pseudo", pseudo},
      {"erasing", erasing})
