/* Signals. */
#define APART 1
#include "exam.h"
#include <pthread.h>

static volatile int count, last_value, last_code, last_pid;
static void *volatile last_address;
static sigjmp_buf away;
static void counts(int n) { count++; }
static void facts(int n, siginfo_t *info, void *context)
{
	count++;
	last_code = info->si_code;
	last_pid = info->si_pid;
	last_value = info->si_value.sival_int;
	last_address = info->si_addr;
}
static void leaves(int n, siginfo_t *info, void *context)
{
	last_address = info->si_addr;
	siglongjmp(away, n);
}
static void set(int n, void (*handler)(int), int flags)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags};
	WANT(sigaction(n, &action, 0), 0);
}
static void set_info(int n, void (*handler)(int, siginfo_t *, void *), int flags)
{
	struct sigaction action = {.sa_sigaction = handler, .sa_flags = flags | SA_SIGINFO};
	WANT(sigaction(n, &action, 0), 0);
}

static void handlers(void)
{
	struct sigaction old;
	count = 0;
	set(SIGUSR1, counts, 0);
	for (int i = 1; i <= 50; i++) {
		WANT(kill(getpid(), SIGUSR1), 0);
		WANT(count, i);
	}
	WANT(sigaction(SIGUSR1, 0, &old), 0);
	HOLDS(old.sa_handler == counts);
	set(SIGUSR1, SIG_IGN, 0);
	raise(SIGUSR1);
	WANT(count, 50);
	set(SIGUSR2, counts, SA_RESETHAND);
	raise(SIGUSR2);
	WANT(count, 51);
	WANT(sigaction(SIGUSR2, 0, &old), 0);
	HOLDS(old.sa_handler == SIG_DFL);
	FAILS(kill(getpid(), 77), EINVAL);
	FAILS(kill(29999, 0), ESRCH);
	WANT(kill(getpid(), 0), 0);
	struct sigaction some = {.sa_handler = counts};
	FAILS(sigaction(SIGKILL, &some, 0), EINVAL);
}

static void information(void)
{
	set_info(SIGUSR1, facts, 0);
	count = 0;
	pid_t child = fork();
	if (!child) {
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	ended_well(child);
	WANT(count, 1);
	WANT(last_code, SI_USER);
	WANT(last_pid, child);
	set_info(SIGRTMIN + 2, facts, 0);
	union sigval value = {.sival_int = draw() & 0xffffff};
	WANT(sigqueue(getpid(), SIGRTMIN + 2, value), 0);
	WANT(last_code, SI_QUEUE);
	WANT(last_value, value.sival_int);
	set_info(SIGCHLD, facts, 0);
	child = fork();
	if (!child)
		_exit(5);
	int status;
	while (waitpid(child, &status, 0) == -1)
		HOLDS(errno == EINTR);
	WANT(last_pid, child);
	WANT(last_code, CLD_EXITED);
	signal(SIGCHLD, SIG_DFL);
}

static void fault_addresses(void)
{
	set_info(SIGSEGV, leaves, SA_NODEFER);
	set_info(SIGFPE, leaves, SA_NODEFER);
	set_info(SIGILL, leaves, SA_NODEFER);
	u8 *page = mmap(0, 8192, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < 5; i++) {
		u8 *place = page + draw() % 8192;
		int n = sigsetjmp(away, 1);
		if (!n) {
			*(volatile u8 *)place = 1;
			fail("a page for reading alone was written");
		}
		WANT(n, SIGSEGV);
		HOLDS(last_address == place);
	}
	int n = sigsetjmp(away, 1);
	if (!n) {
		volatile int zero = 0;
		asm volatile("cltd\n\tidivl %1" : : "a"(1), "m"(zero) : "edx");
	}
	WANT(n, SIGFPE);
	n = sigsetjmp(away, 1);
	if (!n)
		asm volatile("ud2");
	WANT(n, SIGILL);
	signal(SIGSEGV, SIG_DFL), signal(SIGFPE, SIG_DFL), signal(SIGILL, SIG_DFL);
}

static void masks(void)
{
	sigset_t one, old, pending;
	set(SIGUSR1, counts, 0);
	set(SIGRTMIN, counts, 0);
	count = 0;
	sigemptyset(&one);
	sigaddset(&one, SIGUSR1);
	sigaddset(&one, SIGRTMIN);
	WANT(sigprocmask(SIG_BLOCK, &one, &old), 0);
	raise(SIGUSR1), raise(SIGUSR1), raise(SIGUSR1);
	union sigval value = {0};
	for (int i = 0; i < 4; i++)
		sigqueue(getpid(), SIGRTMIN, value);
	WANT(count, 0);
	WANT(sigpending(&pending), 0);
	HOLDS(sigismember(&pending, SIGUSR1) && sigismember(&pending, SIGRTMIN) && !sigismember(&pending, SIGUSR2));
	WANT(sigprocmask(SIG_SETMASK, &old, 0), 0);
	WANT(count, 5);
	sigprocmask(SIG_BLOCK, &one, 0);
	pid_t child = fork();
	if (!child) {
		HOLDS(sigpending(&pending) == 0 && !sigismember(&pending, SIGUSR1));
		rest_ms(30);
		kill(getppid(), SIGUSR1);
		_exit(0);
	}
	FAILS(sigsuspend(&old), EINTR);
	WANT(count, 6);
	ended_well(child);
	siginfo_t info;
	struct timespec soon = {0, 20000000};
	FAILS(sigtimedwait(&one, &info, &soon), EAGAIN);
	value.sival_int = 77;
	sigqueue(getpid(), SIGRTMIN, value);
	WANT(sigwaitinfo(&one, &info), SIGRTMIN);
	WANT(info.si_value.sival_int, 77);
	sigprocmask(SIG_SETMASK, &old, 0);
	WANT(count, 6);
}

static volatile int depth, deepest;
static void nests(int n)
{
	depth++;
	if (depth > deepest) deepest = depth;
	if (deepest < 3 && count++ < 3) raise(SIGUSR1);
	depth--;
}
static void nesting(void)
{
	count = deepest = depth = 0;
	set(SIGUSR1, nests, 0);
	raise(SIGUSR1);
	WANT(deepest, 1);
	count = deepest = 0;
	set(SIGUSR1, nests, SA_NODEFER);
	raise(SIGUSR1);
	WANT(deepest, 3);
}

static void restarted(void)
{
	int a[2];
	char byte = 0;
	WANT(pipe(a), 0);
	count = 0;
	set(SIGALRM, counts, 0);
	struct itimerval soon = {.it_value = {0, 60000}};
	WANT(setitimer(ITIMER_REAL, &soon, 0), 0);
	FAILS(read(a[0], &byte, 1), EINTR);
	WANT(count, 1);
	set(SIGALRM, counts, SA_RESTART);
	setitimer(ITIMER_REAL, &soon, 0);
	pid_t child = fork();
	if (!child) {
		rest_ms(250);
		(void)!write(a[1], "z", 1);
		_exit(0);
	}
	WANT(read(a[0], &byte, 1), 1);
	WANT(byte, 'z');
	WANT(count, 2);
	ended_well(child);
	setitimer(ITIMER_REAL, &soon, 0);
	struct timespec seconds = {5, 0}, left = {0, 0};
	FAILS(nanosleep(&seconds, &left), EINTR);
	HOLDS(left.tv_sec >= 2 && left.tv_sec < 5);
	WANT(count, 3);
	close(a[0]), close(a[1]);
	struct itimerval every = {{0, 20000}, {0, 20000}}, none = {{0}};
	count = 0;
	setitimer(ITIMER_REAL, &every, 0);
	while (count < 5)
		pause();
	setitimer(ITIMER_REAL, &none, 0);
	WANT(alarm(100), 0);
	HOLDS(alarm(0) >= 99);
}

static void defaults(void)
{
	static const int deadly[] = {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGALRM, SIGKILL, SIGPIPE, SIGTRAP};
	for (unsigned i = 0; i < sizeof deadly / sizeof *deadly; i++) {
		pid_t child = fork();
		if (!child) {
			signal(deadly[i], SIG_DFL);
			for (;;) pause();
		}
		rest_ms(5);
		WANT(kill(child, deadly[i]), 0);
		WANT(ended(child) & 0x7f, deadly[i]);
	}
	pid_t child = fork();
	if (!child)
		for (;;) pause();
	int status;
	kill(child, SIGCHLD), kill(child, SIGWINCH), kill(child, SIGURG), kill(child, SIGCONT);
	kill(child, SIGSTOP);
	WANT(waitpid(child, &status, WUNTRACED), child);
	HOLDS(WIFSTOPPED(status));
	WANT(WSTOPSIG(status), SIGSTOP);
	kill(child, SIGTERM);
	rest_ms(20);
	WANT(waitpid(child, &status, WNOHANG), 0);
	kill(child, SIGCONT);
	pid_t got = waitpid(child, &status, WCONTINUED);
	WANT(got, child);
	if (WIFCONTINUED(status))
		WANT(waitpid(child, &status, 0), child);
	WANT(WTERMSIG(status), SIGTERM);
}

static void groups(void)
{
	pid_t child = fork();
	if (!child) {
		setpgid(0, 0);
		for (int i = 0; i < 3; i++)
			if (!fork())
				for (;;) pause();
		signal(SIGTERM, SIG_IGN);
		rest_ms(30);
		kill(0, SIGTERM);
		for (int i = 0; i < 3; i++) {
			int status;
			HOLDS(wait(&status) > 0);
			WANT(WTERMSIG(status), SIGTERM);
		}
		_exit(0);
	}
	ended_well(child);
	child = fork();
	if (!child) {
		setpgid(0, 0);
		for (;;) pause();
	}
	setpgid(child, child);
	WANT(kill(-child, SIGINT), 0);
	WANT(ended(child), SIGINT);
	child = fork();
	if (!child) {
		if (setuid(1000)) _exit(9);
		FAILS(kill(getppid(), SIGTERM), EPERM);
		_exit(0);
	}
	ended_well(child);
}

static u8 other_stack[65536];
static volatile int on_it;
static void looks(int n)
{
	u8 here;
	on_it = &here > other_stack && &here < other_stack + sizeof other_stack;
}
static void overflown(int n)
{
	siglongjmp(away, 1);
}
static int endless(int n)
{
	volatile char frame[4096];
	frame[0] = n;
	return endless(n + 1) + frame[0];
}
static void stacks(void)
{
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack}, old;
	WANT(sigaltstack(&stack, 0), 0);
	set(SIGUSR1, looks, SA_ONSTACK);
	raise(SIGUSR1);
	WANT(on_it, 1);
	set(SIGUSR1, looks, 0);
	raise(SIGUSR1);
	WANT(on_it, 0);
	set(SIGSEGV, overflown, SA_ONSTACK);
	if (!sigsetjmp(away, 1)) {
		endless(0);
		fail("a stack without end");
	}
	WANT(sigaltstack(0, &old), 0);
	HOLDS(old.ss_sp == other_stack);
	stack.ss_flags = SS_DISABLE;
	WANT(sigaltstack(&stack, 0), 0);
	signal(SIGSEGV, SIG_DFL);
}

static void spoils(int n)
{
	volatile double x = 1;
	for (int i = 0; i < 100; i++) x = x * 1.5 + 2;
	asm volatile("pxor %%xmm6, %%xmm6\n\tpxor %%xmm7, %%xmm7\n\tmov $0, %%r10\n\tmov $0, %%r15" : : : "xmm6", "xmm7", "r10", "r15");
	count++;
}
static void registers(void)
{
	set(SIGALRM, spoils, 0);
	count = 0;
	struct itimerval every = {{0, 5000}, {0, 5000}}, none = {{0}};
	setitimer(ITIMER_REAL, &every, 0);
	u64 a = draw(), b = draw(), wrong = 0, begun = now_ns();
	while (!wrong && (now_ns() - begun < 300000000 || (count < 5 && now_ns() - begun < 10000000000))) {
		asm volatile(
			"movq %1, %%xmm6\n\tmovq %2, %%xmm7\n\tmov %1, %%r15\n\tmov %2, %%r10\n\tmov $20000, %%ecx\n"
			"1:\tdec %%ecx\n\tjnz 1b\n\tmovq %%xmm6, %%rax\n\txor %1, %%rax\n\tmovq %%xmm7, %%rdx\n\txor %2, %%rdx\n\t"
			"or %%rdx, %%rax\n\txor %1, %%r15\n\tor %%r15, %%rax\n\txor %2, %%r10\n\tor %%r10, %%rax\n\tmov %%rax, %0"
			: "=m"(wrong) : "r"(a), "r"(b) : "rax", "rcx", "rdx", "r10", "r15", "xmm6", "xmm7", "cc", "memory");
	}
	setitimer(ITIMER_REAL, &none, 0);
	WANT(wrong, 0);
	HOLDS(count >= 5);
}

/* Signals that one waits for come, also those that would be thrown away otherwise, and in one of several threads. */
static void *waits_for_it(void *result)
{
	sigset_t one;
	struct timespec patience = {10, 0};
	sigemptyset(&one), sigaddset(&one, SIGURG);
	*(int *)result = sigtimedwait(&one, 0, &patience);
	return 0;
}
static void awaited(void)
{
	sigset_t set_, old;
	siginfo_t info;
	struct timespec patience = {10, 0}, wrong = {0, 1000000000}, negative = {-1, 0};
	sigemptyset(&set_), sigaddset(&set_, SIGCHLD), sigaddset(&set_, SIGURG), sigaddset(&set_, SIGWINCH);
	signal(SIGCHLD, SIG_DFL), signal(SIGURG, SIG_DFL), signal(SIGWINCH, SIG_IGN);
	WANT(sigprocmask(SIG_BLOCK, &set_, &old), 0);
	FAILS(sigtimedwait(&set_, &info, &wrong), EINVAL);
	FAILS(sigtimedwait(&set_, &info, &negative), EINVAL);
	int status = between(1, 200);
	pid_t child = fork();
	if (!child) {
		rest_ms(60);
		_exit(status);
	}
	WANT(sigtimedwait(&set_, &info, &patience), SIGCHLD);
	WANT(info.si_pid, child);
	WANT(info.si_code, CLD_EXITED);
	WANT(info.si_status, status);
	WANT(ended(child), status << 8);
	int others[] = {SIGURG, SIGWINCH};
	for (int i = 0; i < 2; i++) {
		child = fork();
		if (!child) {
			rest_ms(60);
			kill(getppid(), others[i]);
			rest_ms(60);
			_exit(0);
		}
		int got = sigtimedwait(&set_, &info, &patience);
		WANT(got, others[i]);
		WANT(info.si_pid, child);
		ended_well(child);
		WANT(sigtimedwait(&set_, &info, &patience), SIGCHLD);
	}
	static int result;
	pthread_t t;
	WANT(pthread_create(&t, 0, waits_for_it, &result), 0);
	rest_ms(60);
	kill(getpid(), SIGURG);
	pthread_join(t, 0);
	WANT(result, SIGURG);
	WANT(sigprocmask(SIG_SETMASK, &old, 0), 0);
	signal(SIGWINCH, SIG_DFL);
}

/* A handler begins with clean floating-point state, and what it does to it is undone. */
static volatile unsigned handler_saw;
static void rounds_otherwise(int n)
{
	unsigned now, other = 0x7f80;
	asm volatile("stmxcsr %0" : "=m"(now));
	handler_saw = now;
	asm volatile("ldmxcsr %0" : : "m"(other));
}
static void rounding(void)
{
	static const unsigned modes[] = {0x3f80, 0x5f80, 0x7f80, 0x9f80};
	unsigned mine = modes[between(0, 3)], now;
	set(SIGUSR1, rounds_otherwise, 0);
	asm volatile("ldmxcsr %0" : : "m"(mine));
	kill(getpid(), SIGUSR1);
	asm volatile("stmxcsr %0" : "=m"(now));
	unsigned usual = 0x1f80;
	asm volatile("ldmxcsr %0" : : "m"(usual));
	WANT(handler_saw & ~0x3f, 0x1f80);
	WANT(now & ~0x3f, mine);
	signal(SIGUSR1, SIG_DFL);
}

/* Who is stopped when the last of its session that could make it go on ends hears SIGHUP and SIGCONT. */
static void orphaned(void)
{
	for (int running = 0; running < 2; running++) {
		int up[2];
		char told[40] = "";
		WANT(pipe(up), 0);
		pid_t leader = fork();
		if (!leader) {
			setsid();
			pid_t parent = fork();
			if (!parent) {
				pid_t job = fork();
				if (!job) {
					setpgid(0, 0);
					close(up[0]);
					signal(SIGHUP, SIG_DFL);
					if (!running)
						raise(SIGSTOP);
					else
						rest_ms(400);
					(void)!write(up[1], "lives", 5);
					_exit(0);
				}
				setpgid(job, job);
				int status;
				if (!running && (waitpid(job, &status, WUNTRACED) != job || !WIFSTOPPED(status)))
					(void)!write(up[1], "not stopped", 11);
				_exit(0);
			}
			close(up[1]);
			ended(parent);
			rest_ms(1500);
			_exit(0);
		}
		close(up[1]);
		for (size_t have = 0;;) {
			ssize_t n = read(up[0], told + have, sizeof told - 1 - have);
			HOLDS(n >= 0);
			if (!n)
				break;
			have += n;
		}
		close(up[0]);
		ended_well(leader);
		if (strcmp(told, running ? "lives" : "")) fail("of the job that was left %s one heard '%s'", running ? "running" : "stopped", told);
	}
}

PARTS({"handlers", handlers}, {"information", information}, {"fault-addresses", fault_addresses}, {"masks", masks},
      {"nesting", nesting}, {"restarted", restarted}, {"defaults", defaults}, {"groups", groups}, {"stacks", stacks},
      {"registers", registers},
      {"awaited", awaited},
      {"rounding", rounding},
      {"orphaned", orphaned})
