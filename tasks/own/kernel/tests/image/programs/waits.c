/* Waiting for many things. */
#define APART 1
#include "exam.h"
#include <poll.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/timerfd.h>

static pid_t later(int fd, int ms)
{
	pid_t child = fork();
	if (!child) {
		rest_ms(ms);
		(void)!write(fd, "12345678", 8);
		_exit(0);
	}
	return child;
}

static void polls(void)
{
	int a[2], b[2];
	char buffer[100];
	WANT(pipe(a), 0); WANT(pipe(b), 0);
	struct pollfd fds[3] = {{a[0], POLLIN}, {b[0], POLLIN}, {-1, POLLIN}};
	WANT(poll(fds, 3, 0), 0);
	u64 before = now_ns();
	WANT(poll(fds, 3, 40), 0);
	HOLDS(now_ns() - before >= 40000000);
	pid_t child = later(b[1], 30);
	WANT(poll(fds, 3, -1), 1);
	HOLDS(fds[0].revents == 0 && fds[1].revents == POLLIN);
	ended_well(child);
	WANT(read(b[0], buffer, 100), 8);
	struct pollfd out = {a[1], POLLOUT}, bad = {77, POLLIN};
	WANT(poll(&out, 1, 0), 1);
	HOLDS(out.revents == POLLOUT);
	WANT(poll(&bad, 1, -1), 1);
	HOLDS(bad.revents == POLLNVAL);
	close(a[1]);
	WANT(poll(fds, 1, -1), 1);
	HOLDS(fds[0].revents & POLLHUP);
	close(b[0]);
	out.fd = b[1];
	WANT(poll(&out, 1, -1), 1);
	HOLDS(out.revents & POLLERR);
	close(a[0]), close(b[1]);
}

static volatile int rings;
static void ring(int n) { rings++; }
static void selects(void)
{
	int a[2];
	char buffer[10];
	WANT(pipe(a), 0);
	fd_set in, out;
	FD_ZERO(&in); FD_ZERO(&out);
	FD_SET(a[0], &in); FD_SET(a[1], &out);
	struct timeval soon = {0, 30000};
	WANT(select(a[1] + 1, &in, &out, 0, &soon), 1);
	HOLDS(!FD_ISSET(a[0], &in) && FD_ISSET(a[1], &out));
	FD_SET(a[0], &in);
	soon.tv_usec = 30000;
	WANT(select(a[1] + 1, &in, 0, 0, &soon), 0);
	pid_t child = later(a[1], 20);
	FD_SET(a[0], &in);
	WANT(select(a[1] + 1, &in, 0, 0, 0), 1);
	ended_well(child);
	WANT(read(a[0], buffer, 10), 8);
	/* Below 64: Linux does not look at what lies behind its table of descriptors. */
	FD_ZERO(&in); FD_SET(50, &in);
	FAILS(select(51, &in, 0, 0, 0), EBADF);
	/* A signal that is only let in while it waits. */
	sigset_t one, none;
	sigemptyset(&one), sigemptyset(&none), sigaddset(&one, SIGUSR1);
	signal(SIGUSR1, ring);
	sigprocmask(SIG_BLOCK, &one, 0);
	raise(SIGUSR1);
	WANT(rings, 0);
	struct pollfd fd = {a[0], POLLIN};
	struct timespec second = {1, 0};
	FAILS(ppoll(&fd, 1, &second, &none), EINTR);
	WANT(rings, 1);
	raise(SIGUSR1);
	FD_ZERO(&in); FD_SET(a[0], &in);
	FAILS(pselect(a[0] + 1, &in, 0, 0, &second, &none), EINTR);
	WANT(rings, 2);
	sigprocmask(SIG_UNBLOCK, &one, 0);
	close(a[0]), close(a[1]);
}

static void epolls(void)
{
	int a[2], b[2], set = epoll_create1(EPOLL_CLOEXEC);
	char buffer[100];
	struct epoll_event event = {.events = EPOLLIN, .data.u64 = draw()}, got[4];
	u64 mark = event.data.u64;
	HOLDS(set >= 0);
	WANT(pipe(a), 0); WANT(pipe(b), 0);
	WANT(epoll_ctl(set, EPOLL_CTL_ADD, a[0], &event), 0);
	FAILS(epoll_ctl(set, EPOLL_CTL_ADD, a[0], &event), EEXIST);
	FAILS(epoll_ctl(set, EPOLL_CTL_MOD, b[0], &event), ENOENT);
	FAILS(epoll_ctl(set, EPOLL_CTL_ADD, 99, &event), EBADF);
	int file = open(arg[0], O_RDONLY);
	FAILS(epoll_ctl(set, EPOLL_CTL_ADD, file, &event), EPERM);
	close(file);
	WANT(epoll_wait(set, got, 4, 0), 0);
	WANT(write(a[1], "xy", 2), 2);
	for (int i = 0; i < 3; i++) {
		WANT(epoll_wait(set, got, 4, -1), 1);
		HOLDS(got[0].events == EPOLLIN && got[0].data.u64 == mark);
	}
	event.events = EPOLLIN | EPOLLET;
	event.data.u32 = 2;
	WANT(epoll_ctl(set, EPOLL_CTL_ADD, b[0], &event), 0);
	WANT(read(a[0], buffer, 100), 2);
	WANT(write(b[1], "1", 1), 1);
	WANT(epoll_wait(set, got, 4, 1000), 1);
	WANT(got[0].data.u32, 2);
	WANT(epoll_wait(set, got, 4, 20), 0);
	WANT(write(b[1], "2", 1), 1);
	WANT(epoll_wait(set, got, 4, 1000), 1);
	event.events = EPOLLIN | EPOLLONESHOT;
	WANT(epoll_ctl(set, EPOLL_CTL_MOD, b[0], &event), 0);
	WANT(epoll_wait(set, got, 4, 1000), 1);
	WANT(write(b[1], "3", 1), 1);
	WANT(epoll_wait(set, got, 4, 20), 0);
	WANT(epoll_ctl(set, EPOLL_CTL_MOD, b[0], &event), 0);
	WANT(epoll_wait(set, got, 4, 1000), 1);
	WANT(epoll_ctl(set, EPOLL_CTL_DEL, b[0], 0), 0);
	pid_t child = later(a[1], 30);
	WANT(epoll_wait(set, got, 4, -1), 1);
	HOLDS(got[0].data.u64 == mark);
	ended_well(child);
	WANT(read(a[0], buffer, 100), 8);
	close(a[1]);
	WANT(epoll_wait(set, got, 4, -1), 1);
	HOLDS(got[0].events & EPOLLHUP);
	close(a[0]);
	WANT(epoll_wait(set, got, 4, 10), 0);
	close(set), close(b[0]), close(b[1]);
}

static void events(void)
{
	int fd = eventfd(3, EFD_NONBLOCK);
	u64 value = 0;
	HOLDS(fd >= 0);
	WANT(read(fd, &value, 8), 8);
	WANT(value, 3);
	FAILS(read(fd, &value, 8), EAGAIN);
	value = 40;
	WANT(write(fd, &value, 8), 8); WANT(write(fd, &value, 8), 8);
	WANT(read(fd, &value, 8), 8);
	WANT(value, 80);
	FAILS(read(fd, &value, 4), EINVAL);
	close(fd);
	fd = eventfd(2, EFD_SEMAPHORE);
	WANT(read(fd, &value, 8), 8);
	WANT(value, 1);
	WANT(read(fd, &value, 8), 8);
	struct pollfd p = {fd, POLLIN | POLLOUT};
	WANT(poll(&p, 1, 0), 1);
	HOLDS(p.revents == POLLOUT);
	pid_t child = fork();
	if (!child) {
		rest_ms(20);
		value = 1;
		(void)!write(fd, &value, 8);
		_exit(0);
	}
	WANT(read(fd, &value, 8), 8);
	ended_well(child);
	close(fd);
}

static void timer_files(void)
{
	int fd = timerfd_create(CLOCK_MONOTONIC, 0);
	u64 times;
	HOLDS(fd >= 0);
	struct itimerspec when = {{0, 20000000}, {0, 40000000}}, now;
	u64 before = now_ns();
	WANT(timerfd_settime(fd, 0, &when, 0), 0);
	WANT(read(fd, &times, 8), 8);
	HOLDS(now_ns() - before >= 40000000 && times >= 1);
	rest_ms(110);
	WANT(read(fd, &times, 8), 8);
	HOLDS(times >= 4);
	WANT(timerfd_gettime(fd, &now), 0);
	HOLDS(now.it_interval.tv_nsec == 20000000);
	struct pollfd p = {fd, POLLIN};
	WANT(poll(&p, 1, 1000), 1);
	memset(&when, 0, sizeof when);
	WANT(timerfd_settime(fd, 0, &when, 0), 0);
	close(fd);
}

static void signal_files(void)
{
	sigset_t one;
	sigemptyset(&one), sigaddset(&one, SIGUSR2);
	sigprocmask(SIG_BLOCK, &one, 0);
	int fd = signalfd(-1, &one, SFD_NONBLOCK);
	struct signalfd_siginfo info;
	HOLDS(fd >= 0);
	FAILS(read(fd, &info, sizeof info), EAGAIN);
	raise(SIGUSR2);
	struct pollfd p = {fd, POLLIN};
	WANT(poll(&p, 1, 1000), 1);
	WANT(read(fd, &info, sizeof info), sizeof info);
	WANT(info.ssi_signo, SIGUSR2);
	WANT(info.ssi_pid, getpid());
	close(fd);
	sigprocmask(SIG_UNBLOCK, &one, 0);
}

/* Sets of sets: what is ready below is ready above; in a circle they are refused. */
static void circles(void)
{
	int set[3], a[2];
	struct epoll_event event = {.events = EPOLLIN}, got[4];
	WANT(pipe(a), 0);
	for (int i = 0; i < 3; i++)
		HOLDS((set[i] = epoll_create1(0)) >= 0);
	FAILS(epoll_ctl(set[0], EPOLL_CTL_ADD, set[0], &event), EINVAL);
	WANT(epoll_ctl(set[0], EPOLL_CTL_ADD, set[1], &event), 0);
	WANT(epoll_ctl(set[1], EPOLL_CTL_ADD, set[2], &event), 0);
	FAILS(epoll_ctl(set[2], EPOLL_CTL_ADD, set[0], &event), ELOOP);
	FAILS(epoll_ctl(set[1], EPOLL_CTL_ADD, set[0], &event), ELOOP);
	WANT(epoll_ctl(set[2], EPOLL_CTL_ADD, a[0], &event), 0);
	WANT(epoll_wait(set[0], got, 4, 0), 0);
	WANT(write(a[1], "x", 1), 1);
	WANT(epoll_wait(set[0], got, 4, 1000), 1);
	for (int i = 0; i < 3; i++)
		close(set[i]);
	close(a[0]), close(a[1]);
}

/* What a signal tells, it tells in a signalfd as well. */
static void told_by_files(void)
{
	sigset_t some;
	struct signalfd_siginfo info;
	sigemptyset(&some), sigaddset(&some, SIGCHLD), sigaddset(&some, SIGRTMIN + 1);
	sigprocmask(SIG_BLOCK, &some, 0);
	int fd = signalfd(-1, &some, 0), status = between(1, 200);
	HOLDS(fd >= 0);
	pid_t child = fork();
	if (!child)
		_exit(status);
	WANT(read(fd, &info, sizeof info), sizeof info);
	WANT(info.ssi_signo, SIGCHLD);
	WANT(info.ssi_pid, child);
	WANT(info.ssi_status, status);
	WANT(info.ssi_code, CLD_EXITED);
	WANT(ended(child), status << 8);
	union sigval value = {.sival_int = draw() & 0x7fffffff};
	WANT(sigqueue(getpid(), SIGRTMIN + 1, value), 0);
	WANT(read(fd, &info, sizeof info), sizeof info);
	WANT(info.ssi_signo, SIGRTMIN + 1);
	WANT(info.ssi_code, SI_QUEUE);
	WANT(info.ssi_int, value.sival_int);
	close(fd);
	sigprocmask(SIG_UNBLOCK, &some, 0);
}

PARTS({"polls", polls}, {"selects", selects}, {"epolls", epolls}, {"events", events}, {"timer-files", timer_files},
      {"signal-files", signal_files},
      {"circles", circles},
      {"told-by-files", told_by_files})
