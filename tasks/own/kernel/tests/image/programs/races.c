/* Two processors, and programs that race. */
#define APART 1
#include "exam.h"
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_WAIT_BITSET = 9, FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129, FUTEX_CMP_REQUEUE_PRIVATE = 132 };
#include <pthread.h>
#include <sched.h>

/* The ball goes to and fro without a system call. Two processors do it in microseconds; with one, each
   turn takes a turn of the scheduler. The best of many rounds counts: others may want the host, too. */
enum { TURNS = 200 };
struct ball { volatile u32 at, over; };
static void plays(struct ball *ball, u32 from, u32 mine)
{
	for (u32 i = from + mine; i < from + TURNS; i += 2) {
		while (ball->at != i && !ball->over)
			asm volatile("pause");
		if (!ball->over)
			ball->at = i + 1;
	}
}
static void returns(struct ball *ball)
{
	for (u32 from = 0; !ball->over; from += TURNS)
		plays(ball, from, 1);
}
static void serves(struct ball *ball)
{
	u64 best = -1;
	u64 begun = now_ns();
	for (u32 from = 0; best > 20000000 && now_ns() - begun < 20000000000; from += TURNS) {
		u64 before = now_ns();
		plays(ball, from, 0);
		while (ball->at != from + TURNS)
			asm volatile("pause");
		if (now_ns() - before < best)
			best = now_ns() - before;
	}
	ball->over = 1;
	if (best > 20000000) fail("%d turns of two took %lu ms at best: one at a time", TURNS, best / 1000000);
}
static void two_processes(void)
{
	struct ball *ball = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();
	if (!child) {
		returns(ball);
		_exit(0);
	}
	serves(ball);
	ended_well(child);
}
static struct ball thread_ball;
static void *second(void *n) { returns(&thread_ball); return 0; }
static void two_threads(void)
{
	pthread_t t;
	WANT(pthread_create(&t, 0, second, 0), 0);
	serves(&thread_ball);
	pthread_join(t, 0);
}

static void placed(void)
{
	cpu_set_t set;
	WANT(sched_getaffinity(0, sizeof set, &set), 0);
	WANT(CPU_COUNT(&set), 2);
	for (int round = 0; round < 10; round++) {
		CPU_ZERO(&set); CPU_SET(round % 2, &set);
		WANT(sched_setaffinity(0, sizeof set, &set), 0);
		unsigned cpu = 9;
		for (int i = 0; i < 20; i++) {
			WANT(syscall(SYS_getcpu, &cpu, 0, 0), 0);
			WANT(cpu, round % 2);
			if (i % 5 == 0) rest_ms(1);
		}
	}
	CPU_SET(0, &set); CPU_SET(1, &set);
	WANT(sched_setaffinity(0, sizeof set, &set), 0);
	CPU_ZERO(&set);
	FAILS(sched_setaffinity(0, sizeof set, &set), EINVAL);
	WANT(sysconf(_SC_NPROCESSORS_ONLN), 2);
}

/* One changes its memory's protection, the other has to notice at once. */
static u8 *page;
static volatile int stage, faults;
static sigjmp_buf away;
static void faulted(int n) { siglongjmp(away, 1); }
static void *changes(void *n)
{
	for (int i = 0; i < 300; i++) {
		while (stage != 2 * i)
			asm volatile("pause");
		mprotect(page, 4096, PROT_READ);
		stage = 2 * i + 1;
	}
	return 0;
}
static void shot_down(void)
{
	pthread_t t;
	page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct sigaction action = {.sa_handler = faulted, .sa_flags = SA_NODEFER};
	sigaction(SIGSEGV, &action, 0);
	stage = -1;
	faults = 0;
	WANT(pthread_create(&t, 0, changes, 0), 0);
	for (volatile int i = 0; i < 300; i++) {
		WANT(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
		page[0] = i;
		stage = 2 * i;
		while (stage == 2 * i)
			asm volatile("pause");
		if (!sigsetjmp(away, 1)) {
			page[0] = 1;
			fail("round %d: a page that was protected by another thread was written", i);
		}
		faults++;
		if (i < 299) {
			WANT(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
		}
	}
	pthread_join(t, 0);
	WANT(faults, 300);
	signal(SIGSEGV, SIG_DFL);
}

static u64 atomics;
static u32 word;
static void *hammers(void *n)
{
	for (int i = 0; i < 20000; i++) {
		__atomic_fetch_add(&atomics, 1, __ATOMIC_SEQ_CST);
		if (i % 100 == 0) {
			syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0);
			struct timespec soon = {0, 100000};
			syscall(SYS_futex, &word, FUTEX_WAIT, 0, &soon, 0, 0);
		}
		if (i % 300 == 0) {
			void *p = mmap(0, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
			if (p == MAP_FAILED) return (void *)1;
			memset(p, i, 65536);
			munmap(p, 65536);
		}
	}
	return 0;
}
static void together(void)
{
	pthread_t t[6];
	atomics = 0;
	for (int i = 0; i < 6; i++)
		WANT(pthread_create(&t[i], 0, hammers, 0), 0);
	for (int i = 0; i < 6; i++) {
		void *result;
		pthread_join(t[i], &result);
		WANT(result, 0);
	}
	WANT(atomics, 120000);
}

static void families(void)
{
	pid_t child[6];
	for (int c = 0; c < 6; c++) {
		child[c] = fork();
		if (child[c])
			continue;
		for (int i = 0; i < 40; i++) {
			int a[2];
			char byte = 0;
			if (pipe(a)) _exit(1);
			pid_t inner = fork();
			if (inner < 0) _exit(2);
			if (!inner) {
				byte = i;
				(void)!write(a[1], &byte, 1);
				_exit(i);
			}
			int status;
			if (read(a[0], &byte, 1) != 1 || byte != i) _exit(3);
			if (waitpid(inner, &status, 0) != inner || status != i << 8) _exit(4);
			close(a[0]), close(a[1]);
		}
		_exit(0);
	}
	for (int c = 0; c < 6; c++)
		ended_well(child[c]);
}

/* One name, opened by all and removed by all: whoever does not ask to be first is never told that it is there. */
static void made_at_once(void)
{
	pid_t child[4];
	mkdir("/tmp", 01777);
	for (int c = 0; c < 4; c++) {
		child[c] = fork();
		if (child[c])
			continue;
		for (int i = 0; i < 400; i++) {
			int fd = open("/tmp/made at once", O_CREAT | O_WRONLY, 0644);
			if (fd < 0) fail("open with O_CREAT says %s", strerror(errno));
			close(fd);
			if (unlink("/tmp/made at once") && errno != ENOENT) fail("unlink says %s", strerror(errno));
		}
		_exit(0);
	}
	for (int c = 0; c < 4; c++)
		ended_well(child[c]);
}

PARTS({"two-processes", two_processes}, {"two-threads", two_threads}, {"placed", placed}, {"shot-down", shot_down},
      {"together", together}, {"families", families},
      {"made-at-once", made_at_once})
