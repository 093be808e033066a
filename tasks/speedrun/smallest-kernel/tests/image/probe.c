/* The verifier's own program: /init of its initramfs, and what is asked there of the kernel. Each
 * part carries numbers drawn from `seed` by way of what it is about, and prints what arrived. */
#include "probe.h"
#include <termios.h>

void die(const char *format, ...)
{
	int was = errno;
	va_list list;
	va_start(list, format);
	printf("no: ");
	vprintf(format, list);
	printf(" (%s)\n", strerror(was));
	fflush(stdout);
	_exit(1);
}

u64 state, sum;
u64 draw(void)
{
	u64 z = state += 0x9E3779B97F4A7C15u;
	z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
	z = (z ^ z >> 27) * 0x94D049BB133111EBu;
	return z ^ z >> 31;
}
void take(u64 value) { sum = sum * 31 + value; }
void put(int fd, u64 value) { HOLDS(write(fd, &value, 8) == 8); }
u64 get(int fd) { u64 value; HOLDS(read(fd, &value, 8) == 8); return value; }
void child_is_well(pid_t pid)
{
	int status;
	HOLDS(waitpid(pid, &status, 0) == pid);
	HOLDS(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
void nap(int ms) { struct timespec t = { ms / 1000, ms % 1000 * 1000000 }; nanosleep(&t, NULL); }
u64 now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000ull + t.tv_nsec / 1000000;
}
void own_folder(char *path)
{
	const char *place = getenv("PLACE");
	sprintf(path, "%.20s/probe-XXXXXX", place ? place : "/tmp");
	HOLDS(mkdtemp(path) != NULL);
}

/* -- threads: each waits until it is its turn -------------------------------------------------- */

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turned = PTHREAD_COND_INITIALIZER;
static int turn;
static __thread long mine;
static void *takes_turns(void *number)
{
	mine = (long)number;
	for (int n = 0; n < MANY / 4; n++) {
		pthread_mutex_lock(&lock);
		while (turn % 4 != mine)
			pthread_cond_wait(&turned, &lock);
		take(draw() + mine);
		turn++;
		pthread_cond_broadcast(&turned);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}
static void threads(void)
{
	pthread_t all[4];
	for (long n = 0; n < 4; n++)
		HOLDS(pthread_create(&all[n], NULL, takes_turns, (void *)n) == 0);
	for (int n = 0; n < 4; n++)
		HOLDS(pthread_join(all[n], NULL) == 0);
}

static void epolls(void)
{
	int pipes[4][2], set = MUST(epoll_create1(0)), taken = MUST(eventfd(0, 0));
	for (int n = 0; n < 4; n++) {
		MUST(pipe(pipes[n]));
		struct epoll_event event = { .events = EPOLLIN, .data.u32 = n };
		MUST(epoll_ctl(set, EPOLL_CTL_ADD, pipes[n][0], &event));
	}
	struct epoll_event got;
	HOLDS(epoll_wait(set, &got, 1, 30) == 0);
	pid_t pid = MUST(fork());
	if (pid == 0) {
		for (int n = 0; n < MANY; n++) {
			u64 value = draw();
			put(pipes[value % 4][1], value);
			get(taken);
		}
		_exit(0);
	}
	for (int n = 0; n < MANY; n++) {
		HOLDS(epoll_wait(set, &got, 1, 20000) == 1);
		u64 value = get(pipes[got.data.u32][0]);
		HOLDS(value % 4 == got.data.u32);
		take(value);
		put(taken, 1);
	}
	child_is_well(pid);
}

static void eventfds(void)
{
	int count = MUST(eventfd(0, EFD_SEMAPHORE)), total = MUST(eventfd(0, 0));
	u64 due = 0;
	pid_t pid = MUST(fork());
	for (int n = 0; n < MANY; n++)
		due += draw() >> 8;
	if (pid == 0) {
		state = state - MANY * 0x9E3779B97F4A7C15u;
		for (int n = 0; n < MANY; n++) {
			put(total, draw() >> 8);
			put(count, 1);
		}
		_exit(0);
	}
	for (int n = 0; n < MANY; n++)
		HOLDS(get(count) == 1);
	take(get(total));
	HOLDS(sum == due);
	struct pollfd left = { total, POLLIN, 0 };
	HOLDS(poll(&left, 1, 0) == 0);
	child_is_well(pid);
}

static void timerfds(void)
{
	int fd = MUST(timerfd_create(CLOCK_MONOTONIC, 0));
	struct itimerspec every = { { 0, 20000000 }, { 0, 20000000 } };
	u64 from = now(), seen = 0;
	MUST(timerfd_settime(fd, 0, &every, NULL));
	while (seen < 10)
		seen += get(fd);
	u64 took = now() - from;
	HOLDS(took >= 195 && took / 20 + 2 >= seen);
	for (int n = 0; n < MANY; n++)
		take(draw());
}

static void signalfds(void)
{
	sigset_t set;
	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	MUST(sigprocmask(SIG_BLOCK, &set, NULL));
	int fd = MUST(signalfd(-1, &set, 0));
	pid_t parent = getpid(), pid = MUST(fork());
	if (pid == 0) {
		for (int n = 0; n < MANY; n++) {
			union sigval value = { .sival_int = draw() & 0x7fffffff };
			MUST(sigqueue(parent, SIGRTMIN, value));
		}
		_exit(0);
	}
	for (int n = 0; n < MANY; n++) {
		struct signalfd_siginfo info;
		HOLDS(read(fd, &info, sizeof info) == sizeof info);
		HOLDS(info.ssi_pid == (uint32_t)pid);
		take(info.ssi_int);
	}
	child_is_well(pid);
}

static volatile int rang;
static void ring(int number) { (void)number; rang++; }
static void timers(void)
{
	struct sigaction act = { .sa_handler = ring };
	MUST(sigaction(SIGUSR1, &act, NULL));
	MUST(sigaction(SIGALRM, &act, NULL));
	timer_t made;
	struct sigevent event = { .sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGUSR1 };
	struct itimerspec every = { { 0, 30000000 }, { 0, 30000000 } };
	MUST(timer_create(CLOCK_MONOTONIC, &event, &made));
	u64 from = now();
	MUST(timer_settime(made, 0, &every, NULL));
	while (rang < 5)
		pause();
	HOLDS(now() - from >= 145);
	MUST(timer_delete(made));
	rang = 0;
	struct itimerval once = { { 0, 0 }, { 0, 50000 } };
	MUST(setitimer(ITIMER_REAL, &once, NULL));
	while (!rang)
		pause();
	from = now();
	nap(60);
	HOLDS(now() - from >= 59);
	for (int n = 0; n < MANY; n++)
		take(draw());
}

/* -- sockets, with a descriptor that is passed on ----------------------------------------------- */

static void unixes(void)
{
	char folder[40], path[60];
	own_folder(folder);
	sprintf(path, "%s/there", folder);
	struct sockaddr_un there = { .sun_family = AF_UNIX };
	strcpy(there.sun_path, path);
	int heard = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
	MUST(bind(heard, (void *)&there, sizeof there));
	MUST(listen(heard, 1));
	pid_t pid = MUST(fork());
	if (pid == 0) {
		int pipes[2], to = MUST(socket(AF_UNIX, SOCK_STREAM, 0));
		MUST(connect(to, (void *)&there, sizeof there));
		MUST(pipe(pipes));
		union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } extra;
		memset(&extra, 0, sizeof extra);
		struct iovec piece = { "x", 1 };
		struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &extra,
					  .msg_controllen = sizeof extra };
		struct cmsghdr *head = CMSG_FIRSTHDR(&message);
		head->cmsg_level = SOL_SOCKET, head->cmsg_type = SCM_RIGHTS;
		head->cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(head), &pipes[0], sizeof(int));
		HOLDS(sendmsg(to, &message, 0) == 1);
		for (int n = 0; n < MANY; n++)
			put(n % 2 ? to : pipes[1], draw());
		_exit(0);
	}
	int from = MUST(accept(heard, NULL, NULL)), passed;
	struct ucred who;
	socklen_t size = sizeof who;
	MUST(getsockopt(from, SOL_SOCKET, SO_PEERCRED, &who, &size));
	HOLDS(who.pid == pid);
	union { struct cmsghdr head; char room[CMSG_SPACE(sizeof(int))]; } extra;
	char byte;
	struct iovec piece = { &byte, 1 };
	struct msghdr message = { .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &extra,
				  .msg_controllen = sizeof extra };
	HOLDS(recvmsg(from, &message, 0) == 1);
	struct cmsghdr *head = CMSG_FIRSTHDR(&message);
	HOLDS(head && head->cmsg_type == SCM_RIGHTS);
	memcpy(&passed, CMSG_DATA(head), sizeof passed);
	for (int n = 0; n < MANY; n++)
		take(get(n % 2 ? from : passed));
	child_is_well(pid);
	int pair[2];
	MUST(socketpair(AF_UNIX, SOCK_DGRAM, 0, pair));
	put(pair[0], sum), put(pair[0], sum + 1);
	HOLDS(get(pair[1]) == sum && get(pair[1]) == sum + 1);
}

/* -- memory ------------------------------------------------------------------------------------- */

static void shared(void)
{
	int named = MUST(shm_open("/drawn", O_CREAT | O_RDWR, 0600)), made = MUST(memfd_create("x", 0));
	MUST(ftruncate(named, MANY * 8));
	MUST(ftruncate(made, MANY * 8));
	u64 *a = mmap(NULL, MANY * 8, PROT_READ | PROT_WRITE, MAP_SHARED, named, 0);
	u64 *b = mmap(NULL, MANY * 8, PROT_READ | PROT_WRITE, MAP_SHARED, made, 0);
	u64 *c = mmap(NULL, MANY * 8, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	HOLDS(a != MAP_FAILED && b != MAP_FAILED && c != MAP_FAILED);
	pid_t pid = MUST(fork());
	if (pid == 0) {
		for (int n = 0; n < MANY; n++)
			(n % 3 == 0 ? a : n % 3 == 1 ? b : c)[n] = draw();
		_exit(0);
	}
	child_is_well(pid);
	for (int n = 0; n < MANY; n++)
		take((n % 3 == 0 ? a : n % 3 == 1 ? b : c)[n]);
	MUST(shm_unlink("/drawn"));
}


static sigjmp_buf to_here;
static void caught(int number) { (void)number; siglongjmp(to_here, 1); }
static void mapped(void)
{
	char folder[40], path[60];
	own_folder(folder);
	sprintf(path, "%s/file", folder);
	int fd = MUST(open(path, O_CREAT | O_RDWR, 0600));
	MUST(ftruncate(fd, 8 * 4096));
	u64 *all = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	u64 *own = mmap(NULL, 8 * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	HOLDS(all != MAP_FAILED && own != MAP_FAILED);
	own[7 * 512] = 5;
	for (int n = 0; n < MANY; n++)
		all[n * 80] = draw();
	for (int n = 0; n < MANY; n++) {
		u64 value;
		HOLDS(pread(fd, &value, 8, n * 640) == 8);
		take(value);
	}
	HOLDS(own[7 * 512] == 5 && all[7 * 512] == 0);
	MUST(mprotect(all, 4096, PROT_READ));
	struct sigaction act = { .sa_handler = caught, .sa_flags = SA_NODEFER };
	MUST(sigaction(SIGSEGV, &act, NULL));
	if (sigsetjmp(to_here, 1) == 0) {
		*(volatile u64 *)all = 1;
		die("a page that is read only was written to");
	}
	MUST(munmap(own, 8 * 4096));
	if (sigsetjmp(to_here, 1) == 0) {
		take(*(volatile u64 *)own);
		die("a page that is no more was read");
	}
	HOLDS(madvise(all + 512, 4096, MADV_WILLNEED) == 0);
	char *gone = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(gone != MAP_FAILED);
	gone[77] = 7;
	HOLDS(madvise(gone, 4096, MADV_DONTNEED) == 0 && gone[77] == 0);
}

static void inotifies(void)
{
	char folder[40], path[80], other[80], room[4096];
	own_folder(folder);
	int fd = MUST(inotify_init1(0));
	MUST(inotify_add_watch(fd, folder, IN_CREATE | IN_CLOSE_WRITE | IN_MOVED_TO | IN_DELETE));
	static const uint32_t due[] = { IN_CREATE, IN_CLOSE_WRITE, IN_MOVED_TO, IN_DELETE };
	for (int n = 0; n < MANY / 4; n++) {
		u64 a = draw(), b = draw();
		sprintf(path, "%s/%016llx", folder, (unsigned long long)a);
		sprintf(other, "%s/%016llx", folder, (unsigned long long)b);
		int made = MUST(open(path, O_CREAT | O_WRONLY, 0600));
		put(made, a);
		close(made);
		MUST(rename(path, other));
		MUST(unlink(other));
		for (int seen = 0; seen < 4;) {
			long size = MUST(read(fd, room, sizeof room));
			for (char *at = room; at < room + size;) {
				struct inotify_event *event = (void *)at;
				HOLDS(seen < 4 && event->mask == due[seen]);
				take(strtoull(event->name, NULL, 16));
				seen++;
				at += sizeof *event + event->len;
			}
		}
	}
}

static void locks(void)
{
	char folder[40], path[60];
	own_folder(folder);
	sprintf(path, "%s/file", folder);
	int fd = MUST(open(path, O_CREAT | O_RDWR, 0600)), pipes[2], others[2];
	struct flock all = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = 0, .l_len = 100 };
	MUST(pipe(pipes));
	MUST(pipe(others));
	MUST(fcntl(fd, F_SETLK, &all));
	MUST(flock(fd, LOCK_EX));
	pid_t pid = MUST(fork());
	if (pid == 0) {
		int again = MUST(open(path, O_RDWR));
		HOLDS(fcntl(again, F_SETLK, &all) < 0 && (errno == EAGAIN || errno == EACCES));
		HOLDS(flock(again, LOCK_EX | LOCK_NB) < 0);
		put(pipes[1], 1);
		MUST(fcntl(again, F_SETLKW, &all));
		MUST(flock(again, LOCK_EX));
		for (int n = 0; n < MANY; n++)
			take(get(fd));
		put(others[1], sum);
		_exit(0);
	}
	get(pipes[0]);
	for (int n = 0; n < MANY; n++)
		put(fd, draw());
	MUST(lseek(fd, 0, SEEK_SET));
	all.l_type = F_UNLCK;
	MUST(flock(fd, LOCK_UN));
	MUST(fcntl(fd, F_SETLK, &all));
	take(get(others[0]));
	child_is_well(pid);
}

/* -- processors, memory, chance ----------------------------------------------------------------- */

static volatile u64 ball;
static void *plays(void *number)
{
	for (u64 n = (long)number; n < 2 * MANY; n += 2) {
		while (__atomic_load_n(&ball, __ATOMIC_SEQ_CST) != n)
			;
		take(draw() + n);
		__atomic_store_n(&ball, n + 1, __ATOMIC_SEQ_CST);
	}
	return NULL;
}
static void both(void)
{
	pthread_t all[2];
	HOLDS(sysconf(_SC_NPROCESSORS_ONLN) == 2);
	for (long n = 0; n < 2; n++)
		HOLDS(pthread_create(&all[n], NULL, plays, (void *)n) == 0);
	for (int n = 0; n < 2; n++)
		HOLDS(pthread_join(all[n], NULL) == 0);
}

static void memory(int megabytes)
{
	long pages = megabytes * 256L;
	char *all = mmap(NULL, pages * 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(all != MAP_FAILED);
	for (long n = 0; n < pages; n++)
		*(u64 *)(all + n * 4096 + n % 500 * 8) = draw();
	for (long n = 0; n < pages; n++)
		take(*(u64 *)(all + n * 4096 + n % 500 * 8));
}

static void hog(void)
{
	for (;;) {
		char *some = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		if (some == MAP_FAILED)
			_exit(3);
		for (int n = 0; n < 1 << 20; n += 4096)
			some[n] = n >> 12;
	}
}

static void hex(const char *name, const unsigned char *data, int size)
{
	printf("%s ", name);
	for (int n = 0; n < size; n++)
		printf("%02x", data[n]);
	printf("\n");
}
static void chance(void)
{
	unsigned char data[16];
	HOLDS(getrandom(data, 16, 0) == 16);
	hex("getrandom", data, 16);
	for (const char **path = (const char *[]){ "/dev/urandom", "/dev/random", "/dev/hwrng", 0 }; *path; path++) {
		int fd = MUST(open(*path, O_RDONLY));
		for (int had = 0; had < 16;)
			had += MUST(read(fd, data + had, 16 - had));
		hex(*path + 5, data, 16);
	}
}

/* -- somebody who is not root --------------------------------------------------------------------- */

static void told(const char *name, long result)
{
	printf("%s=%s\n", name, result < 0 ? strerrorname_np(errno) : "done");
}
static void somebody(int uid, int gid, int others)
{
	char own[60], byte;
	gid_t groups[] = { gid + 1 };
	MUST(setgroups(1, groups));
	MUST(setgid(gid));
	MUST(setuid(uid));
	HOLDS(getuid() == (uid_t)uid && geteuid() == (uid_t)uid && getgid() == (gid_t)gid);
	int fd = open("/tmp/users/for-all", O_RDONLY);
	told("reads-for-all", fd < 0 ? -1 : read(fd, &byte, 1));
	fd = open("/tmp/users/for-group", O_RDONLY);
	told("reads-for-group", fd < 0 ? -1 : read(fd, &byte, 1));
	sprintf(own, "/tmp/users/open/%d", uid);
	told("makes-own", open(own, O_CREAT | O_RDWR, 0600));
	pid_t child = fork();
	if (child == 0)
		for (;;)
			pause();
	told("ends-own", kill(child, SIGKILL));
	printf("--\n");
	told("read-roots", open("/tmp/users/roots", O_RDONLY));
	told("write-for-all", open("/tmp/users/for-all", O_WRONLY));
	told("read-others", open("/tmp/users/others", O_RDONLY));
	told("write-for-group", open("/tmp/users/for-group", O_WRONLY));
	told("unlink-others", unlink("/tmp/users/open/others"));
	told("make-in-roots", open("/tmp/users/new", O_CREAT | O_WRONLY, 0600));
	told("chmod-others", chmod("/tmp/users/for-all", 0666));
	told("chown-own", chown(own, 0, 0));
	told("signal-init", kill(1, SIGUSR1));
	told("signal-others", kill(others, SIGTERM));
	told("become-root", setuid(0));
	told("become-other", setuid(uid + 1));
	told("take-group", setgroups(0, NULL));
	told("mount", mount("none", "/tmp/users/open", "tmpfs", 0, NULL));
	told("change-root", chroot("/tmp/users/open"));
	told("make-device", mknod("/tmp/users/open/sda", S_IFBLK | 0666, 0xfd00));
	struct timespec when = { 1000000000, 0 };
	told("set-clock", clock_settime(CLOCK_REALTIME, &when));
	told("set-name", sethostname("mine", 4));
	told("open-memory", open("/dev/mem", O_RDONLY));
	told("open-disk", open("/dev/vda", O_RDONLY));
	told("niceness", setpriority(0, 0, -5));
	told("niceness-of-others", setpriority(PRIO_PROCESS, others, 10));
	struct sched_param most = { .sched_priority = 1 };
	told("real-time", sched_setscheduler(0, SCHED_FIFO, &most));
	told("trace-others", ptrace(PTRACE_ATTACH, others, NULL, NULL));
	sprintf(own, "/proc/%d/environ", others);
	told("words-of-others", open(own, O_RDONLY));
	told("memory-of-roots", open("/proc/1/mem", O_RDONLY));
	told("host-name-by-proc", open("/proc/sys/kernel/hostname", O_WRONLY));
	struct rlimit files;
	MUST(getrlimit(RLIMIT_NOFILE, &files));
	files.rlim_cur = ++files.rlim_max;
	told("more-files", setrlimit(RLIMIT_NOFILE, &files));
	told("restart", reboot(RB_DISABLE_CAD));
	told("unmount", umount("/dev/shm"));
	told("rename-others", rename("/tmp/users/open/others", "/tmp/users/open/mine"));
	told("in-closed", open("/tmp/users/closed/in", O_RDONLY));
	told("cut-roots", truncate("/tmp/users/for-all", 0));
	struct timespec times[2] = { { 1, 0 }, { 1, 0 } };
	told("times-of-roots", utimensat(AT_FDCWD, "/tmp/users/for-all", times, 0));
	sprintf(own, "/tmp/users/open/%d", uid);
	told("other-group", chown(own, -1, gid + 7));
	told("open-watchdog", open("/dev/watchdog", O_WRONLY));
	told("raw-socket", socket(AF_INET, SOCK_RAW, 1));
	told("packet-socket", socket(AF_PACKET, SOCK_RAW, 0));
	struct sockaddr_in low = { .sin_family = AF_INET, .sin_port = htons(80) };
	fd = MUST(socket(AF_INET, SOCK_STREAM, 0));
	told("low-port", bind(fd, (void *)&low, sizeof low));
	struct ifreq loop = { .ifr_name = "lo" };
	loop.ifr_flags = IFF_UP;
	told("interface", ioctl(fd, SIOCSIFFLAGS, &loop));
	fflush(stdout);
	_exit(0);
}
static void made_file(const char *path, int uid, int gid, int mode)
{
	int fd = MUST(open(path, O_CREAT | O_RDWR, 0600));
	put(fd, 1);
	MUST(fchown(fd, uid, gid));
	MUST(fchmod(fd, mode));
	close(fd);
}
static void users(int uid, int gid)
{
	umask(0);
	mkdir("/tmp/users", 0755);
	mkdir("/tmp/users/open", 0755);
	MUST(chmod("/tmp/users/open", 01777));
	mkdir("/tmp/users/closed", 0700);
	made_file("/tmp/users/closed/in", 0, 0, 0644);
	made_file("/tmp/users/for-all", 0, 0, 0644);
	made_file("/tmp/users/for-group", 0, gid + 1, 0640);
	made_file("/tmp/users/roots", 0, 0, 0600);
	made_file("/tmp/users/others", uid + 1, gid, 0600);
	made_file("/tmp/users/open/others", uid + 1, gid, 0666);
	pid_t others = MUST(fork());
	if (others == 0) {
		MUST(setgid(gid));
		MUST(setuid(uid + 1));
		for (;;)
			pause();
	}
	nap(100);
	pid_t pid = MUST(fork());
	if (pid == 0)
		somebody(uid, gid, others);
	child_is_well(pid);
	HOLDS(kill(others, SIGKILL) == 0);
}

static void as_somebody(int uid, char **command)
{
	MUST(setgroups(0, NULL));
	MUST(setgid(uid));
	MUST(setuid(uid));
	execv(command[0], command);
	die("%s does not run", command[0]);
}

/* -- files ------------------------------------------------------------------------------------- */

static void attributes(const char *path, const char *value, int uid)
{
	/* A list of access rights as it is kept: version, then tag, rights and whose. */
	struct { uint32_t version; struct { uint16_t tag, rights; uint32_t whose; } each[5]; } list = {
		2, { { 1, 6, -1u }, { 2, 4, uid }, { 4, 0, -1u }, { 16, 4, -1u }, { 32, 0, -1u } } };
	int fd = MUST(open(path, O_CREAT | O_RDWR, 0600));
	MUST(write(fd, value, strlen(value)));
	MUST(fsetxattr(fd, "user.drawn", value, strlen(value), 0));
	MUST(fsetxattr(fd, "trusted.drawn", value, strlen(value), 0));
	MUST(fsetxattr(fd, "system.posix_acl_access", &list, sizeof list, 0));
	MUST(fsync(fd));
	/* A folder whose files begin with that list. */
	char folder[300], long_one[800];
	sprintf(folder, "%.250s.in", path);
	MUST(mkdir(folder, 0755));
	list.each[1].rights = list.each[3].rights = 6;
	MUST(setxattr(folder, "system.posix_acl_default", &list, sizeof list, 0));
	for (unsigned n = 0; n < sizeof long_one; n++)
		long_one[n] = value[n % strlen(value)];
	MUST(setxattr(folder, "user.long", long_one, sizeof long_one - strlen(path) % 9, 0));
	printf("set\n");
}
static void rights(const char *path, int uid)
{
	char value[100] = "";
	MUST(getxattr(path, "user.drawn", value, sizeof value - 1));
	printf("user.drawn=%s\n", value);
	memset(value, 0, sizeof value);
	MUST(getxattr(path, "trusted.drawn", value, sizeof value - 1));
	printf("trusted.drawn=%s\n", value);
	char inside[320], long_one[900];
	sprintf(inside, "%.250s.in", path);
	int length = MUST(getxattr(inside, "user.long", long_one, sizeof long_one)), same = 0;
	for (int n = 0; n < length; n++)
		same += long_one[n] == value[n % strlen(value)];
	printf("long=%d same=%d\n", length, same);
	strcat(inside, "/new");
	umask(0);
	int fd = MUST(open(inside, O_CREAT | O_RDWR, 0666));
	put(fd, 1);
	close(fd);
	for (int n = 0; n < 4; n++) {
		if (n == 2)
			path = inside;
		pid_t pid = MUST(fork());
		if (pid == 0) {
			MUST(setgroups(0, NULL));
			MUST(setgid(uid + 9));
			MUST(setuid(uid + n % 2));
			printf("read=%s write=%s\n", open(path, O_RDONLY) < 0 ? strerrorname_np(errno) : "done",
			       open(path, O_WRONLY) < 0 ? strerrorname_np(errno) : "done");
			fflush(stdout);
			_exit(0);
		}
		child_is_well(pid);
	}
}

/* Records, each acknowledged when it is safe: a file of its own, named when it is written. */
static void records(const char *folder)
{
	char path[200], name[200];
	static char much[100000];
	int root = MUST(open(folder, O_RDONLY | O_DIRECTORY));
	/* Files that are held, and have no name any more, when the power fails. */
	for (int n = 0; n < 3; n++) {
		sprintf(path, "%s/held", folder);
		int held = MUST(open(path, O_CREAT | O_WRONLY, 0600));
		HOLDS(write(held, much, sizeof much) == sizeof much);
		MUST(fsync(held));
		MUST(unlink(path));
		MUST(ftruncate(held, 50000));
	}
	sprintf(path, "%s/last", folder);
	int last = MUST(open(path, O_CREAT | O_RDWR, 0600));
	for (int n = 0;; n++) {
		u64 value = draw();
		sprintf(path, "%s/new-%d", folder, n % 3);
		sprintf(name, "%s/record-%05d", folder, n);
		int fd = MUST(open(path, O_CREAT | O_TRUNC | O_WRONLY, 0600));
		for (int m = 0; m < 64; m++)
			put(fd, value + m);
		MUST(fsync(fd));
		close(fd);
		MUST(rename(path, name));
		MUST(fsync(root));
		HOLDS(pwrite(last, &n, sizeof n, 12345) == sizeof n);
		MUST(fdatasync(last));
		printf("safe %d\n", n);
		fflush(stdout);
	}
}
static void recalled(const char *folder, int many)
{
	char name[200];
	for (int n = 0; n < many; n++) {
		u64 value = draw();
		sprintf(name, "%s/record-%05d", folder, n);
		int fd = MUST(open(name, O_RDONLY));
		for (int m = 0; m < 64; m++)
			HOLDS(get(fd) == value + m);
		take(value);
		close(fd);
	}
	int last = -1;
	sprintf(name, "%s/last", folder);
	HOLDS(pread(MUST(open(name, O_RDONLY)), &last, sizeof last, 12345) == sizeof last);
	if (last < many - 1)
		die("what was written over is of %d, not of %d", last, many - 1);
}

/* A file of all that there is room for, KiB by KiB, and safe; and what is in it. */
static void fills(const char *path)
{
	int fd = MUST(open(path, O_CREAT | O_WRONLY, 0600)), had = 0;
	for (u64 room[128]; had < 4096; had++) {
		for (int n = 0; n < 128; n++)
			room[n] = draw();
		if (write(fd, room, sizeof room) != sizeof room)
			break;
		take(room[had % 128]);
	}
	MUST(fsync(fd));
	printf("filled %d %016llx\n", had, (unsigned long long)sum);
}
static void filled(const char *path, int many)
{
	int fd = MUST(open(path, O_RDONLY));
	for (int had = 0; had < many; had++)
		for (int n = 0; n < 128; n++) {
			u64 value = draw();
			if (get(fd) != value)
				die("KiB %d has other bytes", had);
			if (n == had % 128)
				take(value);
		}
	printf("filled %d %016llx\n", many, (unsigned long long)sum);
}

/* -- network ------------------------------------------------------------------------------------ */

static socklen_t address(struct sockaddr_storage *made, const char *host, int port)
{
	struct sockaddr_in *four = (void *)made;
	struct sockaddr_in6 *six = (void *)made;
	memset(made, 0, sizeof *made);
	if (inet_pton(AF_INET, host, &four->sin_addr) == 1) {
		four->sin_family = AF_INET, four->sin_port = htons(port);
		return sizeof *four;
	}
	HOLDS(inet_pton(AF_INET6, host, &six->sin6_addr) == 1);
	six->sin6_family = AF_INET6, six->sin6_port = htons(port);
	return sizeof *six;
}
static void calls(const char *host, int port, int size)
{
	struct sockaddr_storage to;
	socklen_t length = address(&to, host, port);
	int fd = MUST(socket(to.ss_family, SOCK_STREAM, 0));
	MUST(connect(fd, (void *)&to, length));
	for (int n = 0; n < size; n++)
		put(fd, draw());
	MUST(shutdown(fd, SHUT_WR));
	char answer[100] = "";
	int had = 0;
	for (long got; had < 99 && (got = MUST(read(fd, answer + had, 99 - had))) > 0;)
		had += got;
	printf("%s\n", answer);
}
static void serves(int port, int many)
{
	struct sockaddr_storage at;
	socklen_t length = address(&at, "0.0.0.0", port);
	int yes = 1, heard = MUST(socket(AF_INET, SOCK_STREAM, 0));
	MUST(setsockopt(heard, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes));
	MUST(bind(heard, (void *)&at, length));
	MUST(listen(heard, 5));
	for (; many > 0; many--) {
		int fd = MUST(accept(heard, NULL, NULL));
		unsigned char room[4096];
		sum = 0;
		for (long got; (got = MUST(read(fd, room, sizeof room))) > 0;)
			for (long n = 0; n < got; n++)
				take(room[n]);
		dprintf(fd, "%016llx\n", (unsigned long long)sum);
		close(fd);
	}
}
static void asks(const char *host, int port, const char *word)
{
	struct sockaddr_storage to;
	socklen_t length = address(&to, host, port);
	int fd = MUST(socket(to.ss_family, SOCK_DGRAM, 0));
	MUST(connect(fd, (void *)&to, length));
	for (int n = 0; n < 10; n++) {
		static char answer[9000];
		memset(answer, 0, sizeof answer);
		struct pollfd back_there = { fd, POLLIN, 0 };
		send(fd, word, strlen(word), 0);
		if (poll(&back_there, 1, 1500) == 1 && read(fd, answer, sizeof answer - 1) > 0) {
			printf("%s\n", answer);
			return;
		}
	}
	die("nothing came back");
}

/* Turns datagrams round, of either family. */
static void turns(int port)
{
	struct sockaddr_storage at;
	socklen_t length = address(&at, "::", port);
	int fd = MUST(socket(AF_INET6, SOCK_DGRAM, 0));
	MUST(bind(fd, (void *)&at, length));
	for (;;) {
		static unsigned char came[9000], back[9000];
		length = sizeof at;
		long size = MUST(recvfrom(fd, came, sizeof came, 0, (void *)&at, &length));
		for (long n = 0; n < size; n++)
			back[n] = came[size - 1 - n];
		sendto(fd, back, size, 0, (void *)&at, length);
	}
}

/* Takes some memory again and again, and lets it go: it is not the one that takes too much. */
static void modest(void)
{
	for (u64 from = now(); now() - from < 3600000;) {
		char *some = mmap(NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		for (int n = 0; some != MAP_FAILED && n < 1 << 20; n += 4096)
			some[n] = n;
		nap(20);
		if (some != MAP_FAILED)
			munmap(some, 1 << 20);
	}
}

/* -- the terminal ----------------------------------------------------------------------------------- */

static void said_in_hex(const char *name, const char *data, long size)
{
	printf("%s ", name);
	for (long n = 0; n < size; n++)
		printf("%02x", (unsigned char)data[n]);
	printf("\n");
	fflush(stdout);
}
static void mode(struct termios *set, int lines, int least, int tenths)
{
	set->c_iflag = lines ? ICRNL : 0;
	set->c_lflag = lines ? ICANON | ECHO | ECHOE | ECHOK | ISIG | IEXTEN : 0;
	set->c_cc[VMIN] = least, set->c_cc[VTIME] = tenths;
	set->c_cc[VERASE] = 0x7f, set->c_cc[VKILL] = 0x15;
	MUST(tcsetattr(0, TCSANOW, set));
}
static void typed(void)
{
	struct termios before, set;
	char room[100];
	int status, had;
	MUST(tcgetattr(0, &before));
	set = before;
	mode(&set, 1, 1, 0);
	printf("ready-line\n");
	fflush(stdout);
	said_in_hex("line", room, MUST(read(0, room, sizeof room)));
	mode(&set, 0, 4, 0);
	printf("ready-keys\n");
	fflush(stdout);
	for (had = 0; had < 4;)
		had += MUST(read(0, room + had, 4 - had));
	said_in_hex("keys", room, had);
	mode(&set, 0, 0, 3);
	u64 from = now();
	had = read(0, room, 1);
	printf("none %s\n", had == 0 && now() - from >= 250 ? "none" : "other");
	fflush(stdout);
	mode(&set, 1, 1, 0);
	pid_t pid = MUST(fork());
	if (pid == 0) {
		setpgid(0, 0);
		signal(SIGTTIN, SIG_DFL);
		_exit(read(0, room, 1));
	}
	HOLDS(waitpid(pid, &status, WUNTRACED) == pid);
	printf("ttin %s\n", WIFSTOPPED(status) && WSTOPSIG(status) == SIGTTIN ? "stopped" : "other");
	kill(pid, SIGKILL);
	MUST(tcsetattr(0, TCSANOW, &before));
	printf("typed-over\n");
}

/* -- the first process ---------------------------------------------------------------------------- */

static void whole(const char *path, char *room, int size)
{
	int fd = MUST(open(path, O_RDONLY));
	int had = 0;
	for (long got; had < size - 1 && (got = MUST(read(fd, room + had, size - 1 - had))) > 0;)
		had += got;
	room[had] = 0;
	close(fd);
}
static void first(void)
{
	static char words[4096], drawn[4096];
	mkdir("/proc", 0755), mkdir("/sys", 0755), mkdir("/dev", 0755), mkdir("/tmp", 01777);
	MUST(mount("proc", "/proc", "proc", 0, NULL));
	whole("/proc/cmdline", words, sizeof words);
	whole("/etc/drawn", drawn, sizeof drawn);
	char *label = strstr(words, "label=");
	HOLDS(label != NULL);
	char *end = label += 6;
	while (*end > ' ')
		end++;
	for (char *at = label; at < end; at++)
		take(*at);
	for (char *at = drawn; *at; at++)
		take(*at);
	/* The kernel writes on the same line: one of three is whole. */
	for (int n = 0; n < 3; n++, nap(200)) {
		printf("\nfirst %.*s %016llx\n", (int)(end - label), label, (unsigned long long)sum);
		fflush(stdout);
	}
	if (strstr(words, "ends=now"))
		exit(3);
	if (strstr(words, "ends=fault"))
		__builtin_trap();
	MUST(mount("sys", "/sys", "sysfs", 0, NULL));
	MUST(mount("dev", "/dev", "devtmpfs", 0, NULL));
	MUST(mount("tmp", "/tmp", "tmpfs", 0, NULL));
	mkdir("/dev/shm", 01777);
	MUST(mount("shm", "/dev/shm", "tmpfs", 0, NULL));
	setenv("PATH", "/bin", 1);
	setenv("HOME", "/", 1);
	for (;;) {
		pid_t pid = MUST(fork());
		if (pid == 0) {
			setsid();
			int fd = MUST(open("/dev/ttyS0", O_RDWR));
			MUST(ioctl(fd, TIOCSCTTY, 1));
			dup2(fd, 0), dup2(fd, 1), dup2(fd, 2);
			execl("/bin/sh", "sh", "-i", NULL);
			die("no shell");
		}
		while (wait(NULL) != pid)
			;
	}
}

int main(int count, char **word)
{
	static const struct { const char *name; void (*part)(void); } parts[] = {
		{ "threads", threads }, { "epoll", epolls }, { "eventfd", eventfds }, { "timerfd", timerfds },
		{ "signalfd", signalfds }, { "timers", timers }, { "unix", unixes }, { "shared", shared },
		{ "mapped", mapped }, { "inotify", inotifies }, { "locks", locks }, { "both", both },
		{ "mutexes", mutexes }, { "times", times_of_work }, { "edges", edges }, { "packets", packets },
		{ "watches", watches }, { "ranges", ranges }, { "sealed", sealed }, { "heard", heard },
		{ "balance", balance },
#ifdef __i386__
		{ "old", old },
#endif
	};
	if (getpid() == 1)
		first();
	const char *what = count > 1 ? word[1] : "";
#define N(at) (count > (at) ? strtoull(word[at], NULL, 0) : 0)
#define IS(name) (strcmp(what, name) == 0)
	if (IS("hog")) hog();
	if (IS("modest")) { modest(); return 0; }
	if (IS("turns")) turns(N(2));
	if (IS("safe")) {
		for (int n = 2; n < count; n++)
			MUST(fsync(MUST(open(word[n], O_RDONLY))));
		return 0;
	}
	if (IS("typed")) { typed(); return 0; }
	if (IS("chance")) { chance(); return 0; }
	if (IS("as")) as_somebody(N(2), word + 3);
	if (IS("ids")) { printf("%d %d\n", getuid(), geteuid()); return 0; }
	if (IS("users")) { users(N(2), N(3)); return 0; }
	if (IS("attributes")) { attributes(word[2], word[3], N(4)); return 0; }
	if (IS("rights")) { rights(word[2], N(3)); return 0; }
	if (IS("serves")) { serves(N(2), N(3)); return 0; }
	if (IS("asks")) { asks(word[2], N(3), word[4]); return 0; }
	state = N(2);
	if (IS("calls")) { calls(word[3], N(4), N(5)); return 0; }
	if (IS("records")) records(word[3]);
	if (IS("recalled")) recalled(word[3], N(4));
	if (IS("fills")) { fills(word[3]); return 0; }
	if (IS("filled")) { filled(word[3], N(4)); return 0; }
	if (IS("memory")) memory(N(3));
	for (unsigned n = 0; n < sizeof parts / sizeof *parts; n++)
		if (IS(parts[n].name))
			parts[n].part();
	printf("%s %016llx\n", what, (unsigned long long)sum);
	return 0;
}
