/* Processes: made, replaced, waited for. This program is process 1 where it is examined. */
#include "exam.h"
#include <sys/resource.h>

static int global = 1;

static void forking(void)
{
	int pipes = 0;
	for (int i = 0; i < 5; i++) {
		global = i;
		pid_t me = getpid(), child = fork();
		HOLDS(child >= 0);
		if (!child) {
			WANT(getppid(), me);
			HOLDS(getpid() != me);
			WANT(global, i);
			global = 100 + i;
			_exit(global);
		}
		HOLDS(child > me);
		int status = ended(child);
		WANT(WIFEXITED(status), 1);
		WANT(WEXITSTATUS(status), 100 + i);
		WANT(global, i);
		pipes++;
	}
	WANT(pipes, 5);
}

static void statuses(void)
{
	for (int i = 0; i < 4; i++) {
		int code = draw() & 255;
		pid_t child = fork();
		if (!child)
			i % 2 ? exit(code | 0x7700) : (void)syscall(SYS_exit, code);
		int status = ended(child);
		WANT(status, code << 8);
	}
	pid_t child = fork();
	if (!child) {
		*(volatile int *)8 = 1;
		_exit(0);
	}
	WANT(ended(child), SIGSEGV);
	child = fork();
	if (!child) {
		asm volatile("ud2");
		_exit(0);
	}
	WANT(ended(child), SIGILL);
	child = fork();
	if (!child) {
		volatile int zero = 0;
		asm volatile("cltd\n\tidivl %1" : : "a"(1), "m"(zero) : "edx");
		_exit(0);
	}
	WANT(ended(child), SIGFPE);
	child = fork();
	if (!child)
		abort();
	WANT(ended(child), SIGABRT);
	FAILS(waitpid(-1, 0, 0), ECHILD);
	FAILS(waitpid(4711, 0, 0), ECHILD);
	FAILS(waitpid(-1, 0, WNOHANG), ECHILD);
}

static void waiting(void)
{
	int a[2];
	WANT(pipe(a), 0);
	pid_t slow = fork();
	if (!slow) {
		char byte;
		close(a[1]);
		(void)!read(a[0], &byte, 1);
		_exit(7);
	}
	pid_t quick = fork();
	if (!quick)
		_exit(8);
	WANT(waitpid(slow, 0, WNOHANG), 0);
	int status;
	WANT(waitpid(quick, &status, 0), quick);
	WANT(status, 8 << 8);
	WANT(waitpid(-1, &status, WNOHANG), 0);
	close(a[0]), close(a[1]);
	struct rusage use;
	WANT(wait4(-1, &status, 0, &use), slow);
	WANT(status, 7 << 8);
	siginfo_t info;
	pid_t third = fork();
	if (!third)
		_exit(9);
	WANT(waitid(P_PID, third, &info, WEXITED | WNOWAIT), 0);
	WANT(info.si_pid, third);
	WANT(info.si_status, 9);
	WANT(waitpid(third, &status, 0), third);
}

static void orphans(void)
{
	int a[2];
	WANT(pipe(a), 0);
	pid_t child = fork();
	if (!child) {
		pid_t me = getpid();
		if (!fork()) {
			while (getppid() == me)
				rest_ms(5);
			pid_t now = getppid(), own = getpid();
			(void)!write(a[1], &now, sizeof now);
			(void)!write(a[1], &own, sizeof own);
			_exit(33);
		}
		_exit(0);
	}
	ended_well(child);
	pid_t now, own;
	WANT(read(a[0], &now, sizeof now), sizeof now);
	WANT(read(a[0], &own, sizeof own), sizeof own);
	WANT(now, 1);
	WANT(getpid(), 1);
	WANT(ended(own), 33 << 8);
	close(a[0]), close(a[1]);
}

static void replaced(void)
{
	char *word = param("word"), *self = arg[0], number[20], closed[20], kept[20];
	int fd = open(self, O_RDONLY), gone = open(self, O_RDONLY | O_CLOEXEC);
	snprintf(number, sizeof number, "pid=%d", getpid());
	snprintf(kept, sizeof kept, "kept=%d", fd);
	snprintf(closed, sizeof closed, "gone=%d", gone);
	WANT(chdir("/tmp"), 0);
	umask(027);
	pid_t child = fork();
	if (!child) {
		char own[20];
		snprintf(own, sizeof own, "pid=%d", getpid());
		char *argv[] = {"another name", "replacement", word, own, kept, closed, "", "two words", 0};
		char *envp[] = {"A=b", "LONG=xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx", 0};
		execve(self, argv, envp);
		fail("execve: %s", strerror(errno));
	}
	umask(022);
	int status = ended(child);
	WANT(WEXITSTATUS(status), 41);
	close(fd), close(gone);
	WANT(chdir("/"), 0);
}

/* What `replaced` starts: it says by its status whether it is as it should be. */
static void replacement(void)
{
	char here[100];
	extern char **environ;
	if (strcmp(arg[0], "another name") || args != 8 || strcmp(arg[6], "") || strcmp(arg[7], "two words"))
		_exit(1);
	if (strcmp(environ[0], "A=b") || environ[2] || !getenv("LONG"))
		_exit(2);
	if (atoi(param("pid")) != getpid())
		_exit(3);
	if (fcntl(atoi(param("kept")), F_GETFD) != 0 || fcntl(atoi(param("gone")), F_GETFD) != -1)
		_exit(4);
	if (!getcwd(here, sizeof here) || strcmp(here, "/tmp"))
		_exit(5);
	if (umask(0) != 027)
		_exit(6);
	if (global != 1)
		_exit(7);
	_exit(41);
}

/* A file of text that begins with #!, this program's path and an argument. */
static void script(void)
{
	char *path = param("script");
	pid_t child = fork();
	if (!child) {
		execl(path, "zero", "one", "two", NULL);
		fail("execl of a script: %s", strerror(errno));
	}
	WANT(ended(child), 42 << 8);
}
static void interpreter(void)
{
	/* argv: this program, the rest of the line as one word, the script's path, one, two */
	if (args != 5 || strcmp(arg[1], "interpreter") || strcmp(arg[3], "one") || strcmp(arg[4], "two"))
		_exit(1);
	_exit(access(arg[2], R_OK) ? 2 : 42);
}

static void refusals(void)
{
	char *none[] = {"x", 0};
	FAILS(execve("/not/there", none, none), ENOENT);
	FAILS(execve(param("plain"), none, none), EACCES);
	FAILS(execve("/", none, none), EACCES);
	FAILS(execve(param("noexec"), none, none), ENOEXEC);
	FAILS(execve((char *)8, none, none), EFAULT);
	FAILS(waitpid(-1, 0, 0x40000), EINVAL);
	static char long_one[200000];
	memset(long_one, 'x', sizeof long_one - 1);
	char *many[] = {"x", long_one, 0};
	FAILS(execve(arg[0], many, none), E2BIG);
}

static void large(void)
{
	static char *argv[1500];
	int n = 0;
	argv[n++] = arg[0];
	argv[n++] = "counted";
	while (n < 1400) {
		argv[n] = malloc(90);
		memset(argv[n], 'a' + n % 26, 80);
		argv[n][80] = 0;
		n++;
	}
	argv[n] = 0;
	pid_t child = fork();
	if (!child) {
		execv(arg[0], argv);
		fail("execv with 1,400 arguments: %s", strerror(errno));
	}
	WANT(ended(child), 43 << 8);
	while (n > 2)
		free(argv[--n]);
}
static void counted(void)
{
	if (args != 1400)
		_exit(1);
	for (int n = 2; n < args; n++)
		if (strlen(arg[n]) != 80 || arg[n][79] != 'a' + n % 26)
			_exit(2);
	_exit(43);
}

static void borrowed(void)
{
	volatile int seen = 0;
	pid_t child = vfork();
	if (!child) {
		seen = 5;
		_exit(3);
	}
	WANT(ended(child), 3 << 8);
	child = vfork();
	if (!child) {
		char *argv[] = {arg[0], "quick", 0};
		execv(arg[0], argv);
		_exit(1);
	}
	WANT(ended(child), 44 << 8);
	(void)seen;
}
static void quick(void) { _exit(44); }

static void many(void)
{
	enum { COUNT = 60 };
	pid_t child[COUNT];
	int go[2], sum = 0;
	WANT(pipe(go), 0);
	for (int i = 0; i < COUNT; i++) {
		child[i] = fork();
		if (child[i] < 0) fail("fork %d: %s", i, strerror(errno));
		if (!child[i]) {
			char byte;
			close(go[1]);
			(void)!read(go[0], &byte, 1);
			volatile u64 work = 0;
			for (int n = 0; n < 20000; n++)
				work += n;
			_exit(i);
		}
	}
	close(go[0]), close(go[1]);
	for (int i = 0; i < COUNT; i++) {
		int status;
		pid_t got = wait(&status);
		int which = -1;
		for (int n = 0; n < COUNT; n++)
			if (child[n] == got) which = n;
		HOLDS(which >= 0);
		WANT(status, which << 8);
		sum += which;
		child[which] = -1;
	}
	WANT(sum, COUNT * (COUNT - 1) / 2);
	for (int i = 0; i < 200; i++) {
		pid_t one = fork();
		if (one < 0) fail("fork %d in turn: %s", i, strerror(errno));
		if (!one)
			_exit(0);
		ended_well(one);
	}
}

static int chain(int depth)
{
	if (!depth)
		return 0;
	pid_t child = fork();
	if (child < 0)
		return 100;
	if (!child)
		_exit(chain(depth - 1));
	int status;
	waitpid(child, &status, 0);
	return WEXITSTATUS(status) + 1;
}
static void deep(void) { WANT(chain(25), 25); }

/* Both go on although neither gives its turn away. */
static void turns(void)
{
	volatile u32 *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	HOLDS(shared != MAP_FAILED);
	pid_t child = fork();
	if (!child) {
		while (shared[0] < 20)
			if (shared[0] % 2) shared[0]++;
		_exit(0);
	}
	while (shared[0] < 20)
		if (shared[0] % 2 == 0) shared[0]++;
	ended_well(child);
}

static void identities(void)
{
	WANT(getuid(), 0);
	WANT(getegid(), 0);
	pid_t child = fork();
	if (!child) {
		gid_t groups[3] = {5, 6, 7}, got[8];
		WANT(setgroups(3, groups), 0);
		WANT(setgid(77), 0);
		WANT(setuid(88), 0);
		uid_t r, e, s;
		WANT(getresuid(&r, &e, &s), 0);
		HOLDS(r == 88 && e == 88 && s == 88);
		WANT(getgroups(8, got), 3);
		WANT(got[1], 6);
		FAILS(setuid(0), EPERM);
		FAILS(setgroups(1, groups), EPERM);
		pid_t inner = fork();
		if (!inner)
			_exit(getuid() == 88 && getgid() == 77 ? 0 : 1);
		ended_well(inner);
		_exit(0);
	}
	ended_well(child);
	child = fork();
	if (!child) {
		pid_t me = getpid();
		HOLDS(getpgrp() != me);
		WANT(setsid(), me);
		WANT(getsid(0), me);
		WANT(getpgrp(), me);
		FAILS(setsid(), EPERM);
		pid_t inner = fork();
		if (!inner) {
			WANT(getpgrp(), me);
			WANT(setpgid(0, 0), 0);
			WANT(getpgrp(), getpid());
			WANT(getsid(0), me);
			_exit(0);
		}
		ended_well(inner);
		_exit(0);
	}
	ended_well(child);
	/* The saved number follows the effective one, but not where only this was set to what it is. */
	child = fork();
	if (!child) {
		uid_t r, e, s;
		WANT(setresuid(11, 12, 13), 0);
		WANT(setreuid(-1, 11), 0);
		WANT(getresuid(&r, &e, &s), 0);
		HOLDS(r == 11 && e == 11 && s == 13);
		FAILS(setreuid(-1, 14), EPERM);
		WANT(setreuid(-1, 13), 0);
		WANT(getresuid(&r, &e, &s), 0);
		HOLDS(r == 11 && e == 13 && s == 13);
		_exit(0);
	}
	ended_well(child);
	struct rlimit limit;
	WANT(getrlimit(RLIMIT_NOFILE, &limit), 0);
	HOLDS(limit.rlim_cur >= 256);
	WANT(getrlimit(RLIMIT_STACK, &limit), 0);
	HOLDS(limit.rlim_cur >= 1 << 20);
}

PARTS({"forking", forking}, {"statuses", statuses}, {"waiting", waiting}, {"orphans", orphans},
      {"replaced", replaced}, {"replacement", replacement}, {"script", script}, {"interpreter", interpreter},
      {"refusals", refusals}, {"large", large}, {"counted", counted}, {"borrowed", borrowed}, {"quick", quick},
      {"many", many}, {"deep", deep}, {"turns", turns}, {"identities", identities})
