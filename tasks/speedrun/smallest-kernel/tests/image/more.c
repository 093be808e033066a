/* More of what programs ask of a kernel: the less usual half of each part in probe.c, by the same
 * rules. What a part draws comes back by way of what it is about. */
#include "probe.h"
#include <sys/syscall.h>

#define MILLION 1000000

/* -- mutexes: of a thread that waits in another's stead, and of one whose owner has died -------- */

static pthread_mutex_t lent;
static volatile int held;
static u64 carried;
static void *lends(void *unused)
{
	(void)unused;
	for (int n = 0; n < MANY / 2; n++) {
		HOLDS(pthread_mutex_lock(&lent) == 0);
		carried = draw();
		take(carried);
		held++;
		HOLDS(pthread_mutex_unlock(&lent) == 0);
		while (held % 2)
			nap(1);
	}
	return NULL;
}
void mutexes(void)
{
	pthread_mutexattr_t how;
	pthread_t other;
	struct timespec until;
	pthread_mutexattr_init(&how);
	HOLDS(pthread_mutexattr_setprotocol(&how, PTHREAD_PRIO_INHERIT) == 0);
	HOLDS(pthread_mutex_init(&lent, &how) == 0);
	HOLDS(pthread_create(&other, NULL, lends, NULL) == 0);
	for (int n = 0; n < MANY / 2;) {
		HOLDS(pthread_mutex_lock(&lent) == 0);
		if (held % 2)
			held++, n++;
		nap(1); /* held while it is wanted: the other waits in the kernel */
		HOLDS(pthread_mutex_unlock(&lent) == 0);
		nap(1);
	}
	HOLDS(pthread_join(other, NULL) == 0);
	struct { pthread_mutex_t lock; u64 left; } *both =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	HOLDS(both != MAP_FAILED);
	pthread_mutexattr_init(&how);
	HOLDS(pthread_mutexattr_setpshared(&how, PTHREAD_PROCESS_SHARED) == 0);
	HOLDS(pthread_mutexattr_setrobust(&how, PTHREAD_MUTEX_ROBUST) == 0);
	HOLDS(pthread_mutex_init(&both->lock, &how) == 0);
	for (int n = 0; n < MANY / 2; n++) {
		u64 value = draw();
		pid_t pid = MUST(fork());
		if (pid == 0) {
			HOLDS(pthread_mutex_lock(&both->lock) == 0);
			both->left = value;
			_exit(0);
		}
		child_is_well(pid);
		HOLDS(pthread_mutex_lock(&both->lock) == EOWNERDEAD);
		take(both->left);
		HOLDS(pthread_mutex_consistent(&both->lock) == 0);
		HOLDS(pthread_mutex_unlock(&both->lock) == 0);
	}
	pthread_cond_t never = PTHREAD_COND_INITIALIZER;
	pthread_mutex_t own = PTHREAD_MUTEX_INITIALIZER;
	u64 from = now();
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 50 * MILLION;
	if (until.tv_nsec >= 1000 * MILLION)
		until.tv_sec++, until.tv_nsec -= 1000 * MILLION;
	HOLDS(pthread_mutex_lock(&own) == 0);
	HOLDS(pthread_cond_timedwait(&never, &own, &until) == ETIMEDOUT && now() - from >= 45);
}

/* -- times: timers of what a process has worked, of a time of day, and how often one was late --- */

static volatile int rang;
static void ring(int number) { (void)number; rang++; }
void times_of_work(void)
{
	struct sigaction act = { .sa_handler = ring };
	static const int which[] = { ITIMER_PROF, ITIMER_VIRTUAL };
	static const int rings[] = { SIGPROF, SIGVTALRM };
	struct timespec worked;
	for (int n = 0; n < 2; n++) {
		struct itimerval once = { { 0, 0 }, { 0, 40000 } }, left;
		MUST(sigaction(rings[n], &act, NULL));
		rang = 0;
		MUST(setitimer(which[n], &once, NULL));
		nap(200);
		HOLDS(!rang); /* it has slept, and not worked */
		MUST(getitimer(which[n], &left));
		HOLDS(left.it_value.tv_sec == 0 && left.it_value.tv_usec > 0);
		for (u64 from = now(); !rang; )
			HOLDS(now() - from < 20000);
	}
	timer_t made;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR2 };
	struct itimerspec every = { { 0, 20 * MILLION }, { 0, 20 * MILLION } };
	MUST(sigaction(SIGUSR2, &act, NULL));
	MUST(timer_create(CLOCK_PROCESS_CPUTIME_ID, &event, &made));
	rang = 0;
	MUST(timer_settime(made, 0, &every, NULL));
	for (u64 from = now(); rang < 2; )
		HOLDS(now() - from < 20000);
	MUST(timer_delete(made));
	MUST(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &worked));
	HOLDS(worked.tv_sec || worked.tv_nsec >= 40 * MILLION);
	/* Late, while nobody may hear it. */
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	MUST(timer_create(CLOCK_MONOTONIC, &event, &made));
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	MUST(timer_settime(made, 0, &every, NULL));
	nap(300);
	HOLDS(sigwaitinfo(&set, NULL) == SIGUSR2);
	HOLDS(timer_getoverrun(made) >= 5);
	MUST(timer_delete(made));
	/* By the time of day. */
	int fd = MUST(timerfd_create(CLOCK_REALTIME, TFD_NONBLOCK));
	struct itimerspec at = { { 0, 0 }, { 0, 0 } };
	u64 value, from = now();
	clock_gettime(CLOCK_REALTIME, &at.it_value);
	at.it_value.tv_sec += 2;
	MUST(timerfd_settime(fd, TFD_TIMER_ABSTIME, &at, NULL));
	HOLDS(read(fd, &value, 8) < 0 && errno == EAGAIN);
	struct pollfd rings_once = { fd, POLLIN, 0 };
	HOLDS(poll(&rings_once, 1, 20000) == 1 && now() - from >= 1950 && get(fd) == 1);
	for (int n = 0; n < MANY; n++)
		take(draw());
}

/* -- edges: epoll once for what has changed, once at all, and of what it hears of ---------------- */

void edges(void)
{
	int pipes[2], pair[2], set = MUST(epoll_create1(EPOLL_CLOEXEC)), outer = MUST(epoll_create1(0));
	struct epoll_event got, edge = { .events = EPOLLIN | EPOLLET, .data.u64 = 0x123456789abcdefull };
	struct epoll_event once = { .events = EPOLLIN | EPOLLONESHOT, .data.u32 = 7 };
	struct epoll_event nested = { .events = EPOLLIN, .data.u32 = 9 };
	MUST(pipe(pipes));
	MUST(socketpair(AF_UNIX, SOCK_STREAM, 0, pair));
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], &edge));
	HOLDS(epoll_ctl(set, EPOLL_CTL_ADD, pipes[0], &edge) < 0 && errno == EEXIST);
	MUST(epoll_ctl(outer, EPOLL_CTL_ADD, set, &nested));
	for (int n = 0; n < MANY / 2; n++) {
		put(pipes[1], draw());
		HOLDS(epoll_wait(outer, &got, 1, 5000) == 1 && got.data.u32 == 9);
		HOLDS(epoll_wait(set, &got, 1, 5000) == 1 && got.data.u64 == edge.data.u64);
		HOLDS(epoll_wait(set, &got, 1, 0) == 0); /* nothing has changed */
		take(get(pipes[0]));
	}
	MUST(epoll_ctl(set, EPOLL_CTL_ADD, pair[0], &once));
	for (int n = 0; n < MANY / 2; n++) {
		put(pair[1], draw());
		HOLDS(epoll_wait(set, &got, 1, 5000) == 1 && got.data.u32 == 7);
		take(get(pair[0]));
		put(pair[1], 1);
		HOLDS(epoll_wait(set, &got, 1, 10) == 0); /* it has said it once */
		get(pair[0]);
		MUST(epoll_ctl(set, EPOLL_CTL_MOD, pair[0], &once));
	}
	MUST(epoll_ctl(set, EPOLL_CTL_DEL, pair[0], NULL));
	close(pipes[1]);
	HOLDS(epoll_wait(set, &got, 1, 5000) == 1 && got.events & EPOLLHUP);
}

/* -- packets: sockets that keep what belongs together, names that are no files, and who spoke ---- */

static socklen_t nameless(struct sockaddr_un *at, u64 value)
{
	memset(at, 0, sizeof *at);
	at->sun_family = AF_UNIX;
	return offsetof(struct sockaddr_un, sun_path) + 1 +
	       sprintf(at->sun_path + 1, "%016llx", (unsigned long long)value);
}
void packets(void)
{
	struct sockaddr_un there, who;
	u64 name = draw(), value[2], word;
	state -= 0x9E3779B97F4A7C15u;
	socklen_t length = nameless(&there, name), size = sizeof who;
	int heard = MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0)), yes = 1;
	MUST(bind(heard, (void *)&there, length));
	MUST(listen(heard, 1));
	pid_t pid = MUST(fork());
	if (pid == 0) {
		int to = MUST(socket(AF_UNIX, SOCK_SEQPACKET, 0));
		MUST(setgid(77));
		MUST(setuid(78));
		MUST(connect(to, (void *)&there, length));
		for (int n = 0; n < MANY / 2; n++) {
			value[0] = draw(), value[1] = n;
			HOLDS(send(to, value, n % 2 ? 8 : 16, 0) == (n % 2 ? 8 : 16));
		}
		_exit(0);
	}
	int from = MUST(accept(heard, NULL, NULL));
	struct ucred peer;
	socklen_t room_of = sizeof peer;
	MUST(getsockopt(from, SOL_SOCKET, SO_PEERCRED, &peer, &room_of));
	HOLDS(peer.pid == pid && peer.uid == 78 && peer.gid == 77);
	MUST(setsockopt(from, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes));
	for (int n = 0; n < MANY / 2; n++) {
		HOLDS(recv(from, &word, 8, MSG_PEEK) == 8);
		HOLDS(recv(from, value, sizeof value, 0) == (n % 2 ? 8 : 16) && value[0] == word);
		take(value[0]);
		draw();
	}
	HOLDS(recv(from, value, sizeof value, 0) == 0);
	child_is_well(pid);
	/* Datagrams: from whom, and what the kernel says of them. */
	struct sockaddr_un here;
	socklen_t own = nameless(&here, name + 1);
	int a = MUST(socket(AF_UNIX, SOCK_DGRAM, 0)), b = MUST(socket(AF_UNIX, SOCK_DGRAM, 0));
	length = nameless(&there, name + 2);
	MUST(bind(a, (void *)&here, own));
	HOLDS(bind(b, (void *)&here, own) < 0 && errno == EADDRINUSE);
	MUST(bind(b, (void *)&there, length));
	MUST(setsockopt(b, SOL_SOCKET, SO_PASSCRED, &yes, sizeof yes));
	for (int n = 0; n < MANY / 2; n++) {
		word = draw();
		HOLDS(sendto(a, &word, 8, 0, (void *)&there, length) == 8);
		union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(struct ucred))]; } extra;
		struct iovec piece = { value, 16 };
		struct msghdr message = { .msg_name = &who, .msg_namelen = size, .msg_iov = &piece,
			.msg_iovlen = 1, .msg_control = &extra, .msg_controllen = sizeof extra };
		HOLDS(recvmsg(b, &message, 0) == 8);
		HOLDS(message.msg_namelen == own && memcmp(&who, &here, own) == 0);
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		HOLDS(head && head->cmsg_type == SCM_CREDENTIALS);
		memcpy(&peer, CMSG_DATA(head), sizeof peer);
		HOLDS(peer.pid == getpid() && peer.uid == getuid());
		take(value[0]);
	}
}

/* -- watches: more of what happens to files ------------------------------------------------------ */

static int watch_of, seen_of;
static char seen[8192];
static struct inotify_event *next_event(void)
{
	static int at;
	if (at >= seen_of) {
		struct pollfd comes = { watch_of, POLLIN, 0 };
		HOLDS(poll(&comes, 1, 10000) == 1);
		seen_of = MUST(read(watch_of, seen, sizeof seen)), at = 0;
	}
	struct inotify_event *event = (void *)(seen + at);
	at += sizeof *event + event->len;
	return event;
}
static uint32_t event(uint32_t mask)
{
	struct inotify_event *got = next_event();
	if (got->mask != mask)
		die("event %x, not %x", got->mask, mask);
	if (got->len)
		take(strtoull(got->name, NULL, 16));
	return got->cookie;
}
void watches(void)
{
	char folder[40], path[80], other[80];
	own_folder(folder);
	watch_of = MUST(inotify_init1(IN_NONBLOCK));
	int all = MUST(inotify_add_watch(watch_of, folder, IN_ALL_EVENTS | IN_ONLYDIR));
	HOLDS(read(watch_of, seen, sizeof seen) < 0 && errno == EAGAIN);
	for (int n = 0; n < MANY / 12; n++) {
		u64 a = draw(), b = draw();
		sprintf(path, "%s/%016llx", folder, (unsigned long long)a);
		sprintf(other, "%s/%016llx", folder, (unsigned long long)b);
		int fd = MUST(open(path, O_CREAT | O_RDWR, 0600));
		event(IN_CREATE), event(IN_OPEN);
		put(fd, b);
		event(IN_MODIFY);
		MUST(lseek(fd, 0, SEEK_SET));
		HOLDS(get(fd) == b);
		event(IN_ACCESS);
		MUST(fchmod(fd, 0640));
		event(IN_ATTRIB);
		close(fd);
		event(IN_CLOSE_WRITE);
		MUST(rename(path, other));
		uint32_t cookie = event(IN_MOVED_FROM);
		HOLDS(cookie && event(IN_MOVED_TO) == cookie);
		close(MUST(open(other, O_RDONLY)));
		event(IN_OPEN), event(IN_CLOSE_NOWRITE);
		MUST(unlink(other));
		event(IN_DELETE);
		MUST(mkdir(path, 0700));
		event(IN_CREATE | IN_ISDIR);
		MUST(rmdir(path));
		event(IN_DELETE | IN_ISDIR);
	}
	MUST(rmdir(folder));
	HOLDS((next_event()->mask & ~IN_ISDIR) == IN_DELETE_SELF && next_event()->mask == IN_IGNORED);
	HOLDS(inotify_rm_watch(watch_of, all) < 0 && errno == EINVAL);
}

/* -- ranges: locks of parts of files, shared ones, and whose they are ----------------------------- */

static int locks_of(int fd, int how, int kind, int from, int many, struct flock *said)
{
	struct flock wanted = { .l_type = kind, .l_whence = SEEK_SET, .l_start = from, .l_len = many };
	int result = fcntl(fd, how, &wanted);
	if (said)
		*said = wanted;
	return result;
}
void ranges(void)
{
	char folder[40], path[60];
	own_folder(folder);
	sprintf(path, "%s/file", folder);
	int fd = MUST(open(path, O_CREAT | O_RDWR, 0600));
	pid_t parent = getpid();
	for (int n = 0; n < MANY; n++) {
		u64 value = draw();
		int from = value % 100000, many = 1 + value / 100000 % 1000;
		struct flock said;
		MUST(locks_of(fd, F_SETLK, F_WRLCK, from, many, NULL));
		MUST(locks_of(fd, F_SETLK, F_RDLCK, from + 2000, 10, NULL));
		MUST(flock(fd, LOCK_SH));
		pid_t pid = MUST(fork());
		if (pid == 0) {
			int own = MUST(open(path, O_RDWR));
			MUST(locks_of(own, F_GETLK, F_RDLCK, 0, from + many + 500, &said));
			HOLDS(said.l_type == F_WRLCK && said.l_pid == parent && said.l_start == from);
			HOLDS(said.l_len == many);
			HOLDS(locks_of(own, F_SETLK, F_WRLCK, from + many - 1, 5, NULL) < 0);
			MUST(locks_of(own, F_SETLK, F_WRLCK, from + many, 5, NULL));
			MUST(locks_of(own, F_SETLK, F_RDLCK, from + 2005, 5, NULL));
			HOLDS(locks_of(own, F_SETLK, F_WRLCK, from + 2009, 5, NULL) < 0);
			HOLDS(locks_of(own, F_OFD_SETLK, F_WRLCK, from, 1, NULL) < 0);
			MUST(flock(own, LOCK_SH | LOCK_NB));
			HOLDS(flock(own, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK);
			_exit(0);
		}
		child_is_well(pid);
		/* What it had has gone with it. */
		MUST(locks_of(fd, F_GETLK, F_WRLCK, from + many, 5, &said));
		HOLDS(said.l_type == F_UNLCK);
		close(MUST(open(path, O_RDONLY))); /* closing any descriptor lets all of them go */
		pid = MUST(fork());
		if (pid == 0) {
			MUST(locks_of(fd, F_SETLK, F_WRLCK, 0, 0, NULL));
			_exit(0);
		}
		child_is_well(pid);
		take(value);
	}
}

/* -- sealed: memory that a descriptor stands for, pages that may be run, and what lies behind ----- */

static sigjmp_buf to_here;
static volatile int why;
static void caught(int number) { why = number; siglongjmp(to_here, 1); }
#define FAULTS(number, what) do { why = 0; if (sigsetjmp(to_here, 1) == 0) { what; } \
		HOLDS(why == (number)); } while (0)
static long deep(long left)
{
	volatile char room[4096];
	room[left % 4096] = left;
	return left ? deep(left - 1) + room[left % 4096] * 0 : 0;
}
void sealed(void)
{
	struct sigaction act = { .sa_handler = caught, .sa_flags = SA_NODEFER };
	MUST(sigaction(SIGSEGV, &act, NULL));
	MUST(sigaction(SIGBUS, &act, NULL));
	int fd = MUST(memfd_create("x", MFD_ALLOW_SEALING));
	MUST(ftruncate(fd, 3 * 4096 - 100));
	u64 *all = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	u64 *own = mmap(NULL, 16384, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	HOLDS(all != MAP_FAILED && own != MAP_FAILED);
	for (int n = 0; n < MANY; n++)
		all[n * 30] = draw();
	own[0] = 1;
	HOLDS(madvise(own, 4096, MADV_DONTNEED) == 0);
	for (int n = 0; n < MANY; n++)
		take(own[n * 30]);
	FAULTS(SIGBUS, take(*(volatile u64 *)(all + 3 * 512)));
	HOLDS(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE) < 0 && errno == EBUSY);
	MUST(munmap(all, 16384));
	MUST(fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK));
	HOLDS(write(fd, "x", 1) < 0 && errno == EPERM && ftruncate(fd, 1) < 0);
	unsigned char *code = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(code != MAP_FAILED);
	memcpy(code, "\xb8\x2a\0\0\0\xc3", 6);
	int (*runs)(void) = (int (*)(void))code;
	MUST(mprotect(code, 4096, PROT_READ | PROT_EXEC));
	HOLDS(runs() == 42);
	MUST(mprotect(code + 4096, 4096, PROT_NONE));
	FAULTS(SIGSEGV, take(code[4096]));
	HOLDS(mmap(code + 4096, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == code + 4096);
	HOLDS(code[5000] == 0 && code[0] == 0xb8);
	HOLDS(deep(1000) == 0);
}

/* -- heard: signals with what they say, stacks of their own, groups, and stopped children --------- */

static volatile sig_atomic_t from_whom, on_own;
static char own_stack[64 << 10];
static void says(int number, siginfo_t *info, void *unused)
{
	(void)number, (void)unused;
	char here;
	from_whom = info->si_pid;
	on_own = &here >= own_stack && &here < own_stack + sizeof own_stack;
}
void heard(void)
{
	struct sigaction act = { .sa_sigaction = says, .sa_flags = SA_SIGINFO | SA_ONSTACK };
	stack_t stack = { .ss_sp = own_stack, .ss_size = sizeof own_stack };
	int pipes[2], status;
	char folder[40], path[60];
	siginfo_t info;
	MUST(sigaltstack(&stack, NULL));
	MUST(sigaction(SIGUSR1, &act, NULL));
	MUST(pipe(pipes));
	pid_t parent = getpid(), pid = MUST(fork());
	if (pid == 0) {
		for (;;)
			nap(100), kill(parent, SIGUSR1);
	}
	HOLDS(read(pipes[0], path, 1) < 0 && errno == EINTR && from_whom == pid && on_own);
	MUST(kill(pid, SIGKILL));
	while (waitpid(pid, &status, 0) != pid)
		if (errno != EINTR)
			die("waitpid");
	HOLDS(WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL);
	act.sa_flags |= SA_RESTART;
	MUST(sigaction(SIGUSR1, &act, NULL));
	for (int n = 0; n < MANY; n++) {
		u64 value = draw();
		pid = MUST(fork());
		if (pid == 0) {
			if (n % 16 == 0)
				nap(20), kill(parent, SIGUSR1);
			put(pipes[1], value);
			_exit(0);
		}
		take(get(pipes[0])); /* begun again where a signal came */
		child_is_well(pid);
	}
	/* A group of two, stopped and continued, and ended. */
	pid = MUST(fork());
	if (pid == 0) {
		close(pipes[0]);
		setpgid(0, 0);
		fork();
		for (;;)
			pause();
	}
	setpgid(pid, pid);
	nap(100);
	MUST(kill(-pid, SIGSTOP));
	HOLDS(waitpid(pid, &status, WUNTRACED) == pid && WIFSTOPPED(status));
	MUST(kill(-pid, SIGCONT));
	HOLDS(waitpid(pid, &status, WCONTINUED) == pid && WIFCONTINUED(status));
	MUST(kill(-pid, SIGTERM));
	HOLDS(waitid(P_PID, pid, &info, WEXITED) == 0 && info.si_code == CLD_KILLED && info.si_status == SIGTERM);
	/* Pipes: full, without a reader, with a name. */
	MUST(fcntl(pipes[1], F_SETFL, O_NONBLOCK));
	static char much[4096];
	int had = 0;
	while (write(pipes[1], much, sizeof much) > 0)
		had++;
	if (errno != EAGAIN || had < 1)
		die("a full pipe, after %d", had);
	close(pipes[0]);
	signal(SIGPIPE, SIG_IGN);
	HOLDS(write(pipes[1], "x", 1) < 0 && errno == EPIPE);
	own_folder(folder);
	sprintf(path, "%s/fifo", folder);
	MUST(mkfifo(path, 0600));
	pid = MUST(fork());
	if (pid == 0) {
		int to = MUST(open(path, O_WRONLY));
		put(to, sum);
		_exit(0);
	}
	HOLDS(get(MUST(open(path, O_RDONLY))) == sum);
	child_is_well(pid);
}

/* -- old: what programs of 32 bits call whose seconds have 32 bits -------------------------------- */

#ifdef __i386__
struct old { int32_t seconds, parts; };
void old(void)
{
	struct old t, u = { 0, 60 * MILLION }, v = u;
	struct timespec real;
	clock_gettime(CLOCK_REALTIME, &real);
	/* clock_gettime, gettimeofday, time */
#define NEAR(seconds) ((uint32_t)((seconds) - (int32_t)real.tv_sec + 1) < 4)
	HOLDS(syscall(265, CLOCK_REALTIME, &t) == 0 && NEAR(t.seconds));
	HOLDS(syscall(78, &t, NULL) == 0 && NEAR(t.seconds));
	HOLDS(NEAR(syscall(13, NULL)));
	/* nanosleep, clock_nanosleep, _newselect, ppoll */
	u64 from = now();
	HOLDS(syscall(162, &u, NULL) == 0 && now() - from >= 55);
	from = now();
	HOLDS(syscall(267, CLOCK_MONOTONIC, 0, &u, NULL) == 0 && now() - from >= 55);
	from = now();
	t.seconds = 0, t.parts = 60000;
	HOLDS(syscall(142, 0, NULL, NULL, NULL, &t) == 0 && now() - from >= 55);
	from = now();
	HOLDS(syscall(309, NULL, 0, &v, NULL, 0) == 0 && now() - from >= 55);
	/* futex, timerfd_settime */
	int word = 5, fd = MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	from = now();
	HOLDS(syscall(240, &word, 0, 5, &u, NULL, 0) < 0 && errno == ETIMEDOUT && now() - from >= 55);
	struct { struct old every, first; } once = { { 0, 0 }, u };
	from = now();
	MUST(syscall(325, fd, 0, &once, NULL));
	HOLDS(get(fd) == 1 && now() - from >= 55);
	for (int n = 0; n < MANY; n++)
		take(draw());
}
#endif

/* -- balance: two that work come to have a processor each, wherever they were ---------------------- */

static volatile int done[4], ends;
static volatile unsigned where[4];
static void *works(void *number)
{
	long me = (long)number;
	for (unsigned long n = 0; !done[me] && !ends; n++)
		if (n % 100000 == 0) {
			unsigned a, b = 0, c, d;
			__get_cpuid(1, &a, &b, &c, &d);
			where[me] = b >> 24;
		}
	return NULL;
}
static void worked(unsigned long *each)
{
	char line[200];
	FILE *file = fopen("/proc/stat", "r");
	HOLDS(file);
	while (fgets(line, sizeof line, file))
		if (strncmp(line, "cpu0 ", 5) == 0 || strncmp(line, "cpu1 ", 5) == 0) {
			unsigned long user, nice;
			HOLDS(sscanf(line + 5, "%lu %lu", &user, &nice) == 2);
			each[line[3] - '0'] = user + nice;
		}
	fclose(file);
}
void balance(void)
{
	pthread_t all[4];
	unsigned long before[2] = { 0, 0 }, after[2] = { 0, 0 };
	for (long n = 0; n < 4; n++)
		HOLDS(pthread_create(&all[n], NULL, works, (void *)n) == 0);
	nap(1000);
	/* Two that were on the same processor are left. */
	unsigned first = where[0];
	int same = 0, left = 0;
	for (int n = 0; n < 4; n++)
		same += where[n] == first;
	for (int n = 0; n < 4; n++)
		if ((where[n] == first) == (same >= 2) && left < 2)
			left++;
		else
			done[n] = 1;
	nap(500);
	worked(before);
	nap(5000);
	worked(after);
	ends = 1;
	for (int n = 0; n < 4; n++)
		HOLDS(pthread_join(all[n], NULL) == 0);
	unsigned long a = after[0] - before[0], b = after[1] - before[1];
	if (left != 2 || a + b < 20 || a * 5 < a + b || b * 5 < a + b)
		die("two programs worked %lu and %lu ticks on two processors", a, b);
	for (int n = 0; n < MANY; n++)
		take(draw());
}
