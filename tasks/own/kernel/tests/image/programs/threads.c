/* Threads. */
#define APART 1
#include "exam.h"
enum { FUTEX_WAIT = 0, FUTEX_WAKE = 1, FUTEX_WAIT_BITSET = 9, FUTEX_WAIT_PRIVATE = 128, FUTEX_WAKE_PRIVATE = 129, FUTEX_CMP_REQUEUE_PRIVATE = 132 };
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>

enum { COUNT = 16 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long total;
static __thread long own;
static void start(pthread_t *t, void *(*f)(void *), void *a)
{
	int error = pthread_create(t, 0, f, a);
	if (error) fail("pthread_create: %s", strerror(error));
}
static void *adds(void *n)
{
	own = (long)n;
	for (int i = 0; i < 3000; i++) {
		pthread_mutex_lock(&lock);
		long seen = total;
		if (i % 500 == 0) sched_yield();
		total = seen + 1;
		pthread_mutex_unlock(&lock);
	}
	return (void *)(own * 3);
}
static void sums(void)
{
	pthread_t t[COUNT];
	total = 0;
	own = 77;
	for (long i = 0; i < COUNT; i++)
		start(&t[i], adds, (void *)i);
	for (long i = 0; i < COUNT; i++) {
		void *result;
		WANT(pthread_join(t[i], &result), 0);
		WANT(result, i * 3);
	}
	WANT(total, COUNT * 3000);
	WANT(own, 77);
}

static int turn;
static void *waits(void *n)
{
	for (int round = 0; round < 30; round++) {
		pthread_mutex_lock(&lock);
		while (turn % 4 != (long)n)
			pthread_cond_wait(&changed, &lock);
		turn++;
		pthread_cond_broadcast(&changed);
		pthread_mutex_unlock(&lock);
	}
	return 0;
}
static void turns(void)
{
	pthread_t t[4];
	turn = 0;
	for (long i = 0; i < 4; i++)
		start(&t[i], waits, (void *)i);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], 0);
	WANT(turn, 120);
}

static void *tells(void *where)
{
	pid_t *ids = where;
	ids[0] = getpid();
	ids[1] = syscall(SYS_gettid);
	ids[2] = getppid();
	return 0;
}
static void identities(void)
{
	pid_t ids[3];
	pthread_t t;
	start(&t, tells, ids);
	pthread_join(t, 0);
	WANT(ids[0], getpid());
	HOLDS(ids[1] != getpid());
	WANT(ids[2], getppid());
	WANT(syscall(SYS_gettid), getpid());
	for (int i = 0; i < 200; i++) {
		start(&t, tells, ids);
		WANT(pthread_join(t, 0), 0);
	}
}

static int word;
static void *wakes(void *n)
{
	rest_ms(30);
	__atomic_store_n(&word, 1, __ATOMIC_SEQ_CST);
	syscall(SYS_futex, &word, FUTEX_WAKE, 100, 0, 0, 0);
	return 0;
}
static void *sleeps(void *n)
{
	long got = syscall(SYS_futex, n, FUTEX_WAIT_PRIVATE, 0, 0, 0, 0);
	return (void *)(got ? (long)errno : 0);
}
enum { MEMORIES = 48 };
static int *memory[MEMORIES];
static volatile char passed_on[MEMORIES];
static void *waits_at(void *n)
{
	while (!__atomic_load_n(memory[(long)n], __ATOMIC_SEQ_CST))
		syscall(SYS_futex, memory[(long)n], FUTEX_WAIT, 0, 0, 0, 0);
	passed_on[(long)n] = 1;
	return 0;
}
static void futexes(void)
{
	struct timespec soon = {0, 30000000};
	pthread_t t, s[4];
	word = 5;
	FAILS(syscall(SYS_futex, &word, FUTEX_WAIT, 4, 0, 0, 0), EAGAIN);
	u64 before = now_ns();
	FAILS(syscall(SYS_futex, &word, FUTEX_WAIT, 5, &soon, 0, 0), ETIMEDOUT);
	HOLDS(now_ns() - before >= 30000000);
	struct timespec until;
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_nsec += 20000000;
	if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
	FAILS(syscall(SYS_futex, &word, FUTEX_WAIT_BITSET, 5, &until, 0, -1), ETIMEDOUT);
	word = 0;
	start(&t, wakes, 0);
	while (!__atomic_load_n(&word, __ATOMIC_SEQ_CST))
		syscall(SYS_futex, &word, FUTEX_WAIT, 0, 0, 0, 0);
	pthread_join(t, 0);
	WANT(syscall(SYS_futex, &word, FUTEX_WAKE, 1, 0, 0, 0), 0);
	static int two[2];
	two[0] = two[1] = 0;
	for (int i = 0; i < 4; i++)
		start(&s[i], sleeps, &two[0]);
	int moved = 0;
	while (moved < 3) {
		rest_ms(10);
		long n = syscall(SYS_futex, &two[0], FUTEX_CMP_REQUEUE_PRIVATE, 0, 3 - moved, &two[1], 0);
		HOLDS(n >= 0);
		moved += n;
	}
	int woken = 0;
	while (woken < 3)
		woken += syscall(SYS_futex, &two[1], FUTEX_WAKE_PRIVATE, 10, 0, 0, 0);
	while (woken < 4)
		rest_ms(5), woken += syscall(SYS_futex, &two[0], FUTEX_WAKE_PRIVATE, 10, 0, 0, 0);
	for (int i = 0; i < 4; i++) {
		void *result;
		pthread_join(s[i], &result);
		WANT(result, 0);
	}
	/* Whoever is told to wait where it waits already is counted, and goes on waiting. */
	two[0] = 0;
	start(&t, sleeps, &two[0]);
	while (syscall(SYS_futex, &two[0], FUTEX_CMP_REQUEUE_PRIVATE, 0, 5, &two[0], 0) != 1)
		rest_ms(5);
	WANT(syscall(SYS_futex, &two[0], FUTEX_WAKE_PRIVATE, 10, 0, 0, 0), 1);
	void *result;
	pthread_join(t, &result);
	WANT(result, 0);
	int *shared = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid_t child = fork();
	if (!child) {
		rest_ms(30);
		*shared = 1;
		syscall(SYS_futex, shared, FUTEX_WAKE, 1, 0, 0, 0);
		_exit(0);
	}
	while (!*(volatile int *)shared)
		syscall(SYS_futex, shared, FUTEX_WAIT, 0, 0, 0, 0);
	ended_well(child);
	/* The same place of many memories: who waits at one is not woken for another. */
	static pthread_t waiter[MEMORIES];
	for (long i = 0; i < MEMORIES; i++) {
		memory[i] = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		HOLDS(memory[i] != MAP_FAILED);
		start(&waiter[i], waits_at, (void *)i);
	}
	rest_ms(100);
	for (int i = MEMORIES - 1; i >= 0; i--) {
		__atomic_store_n(memory[i], 1, __ATOMIC_SEQ_CST);
		syscall(SYS_futex, memory[i], FUTEX_WAKE, 1, 0, 0, 0);
		for (int round = 0; round < 1000 && !passed_on[i]; round++)
			rest_ms(5);
		HOLDS(passed_on[i]);
		pthread_join(waiter[i], 0);
	}
	FAILS(syscall(SYS_futex, (void *)1, FUTEX_WAIT, 0, 0, 0, 0), EINVAL);
	FAILS(syscall(SYS_futex, &word, 77, 0, 0, 0, 0), ENOSYS);
}

static pthread_barrier_t barrier;
static pthread_rwlock_t rw = PTHREAD_RWLOCK_INITIALIZER;
static sem_t sem;
static long pair[2];
static void *reads(void *n)
{
	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 400; i++) {
		if ((long)n == 0) {
			pthread_rwlock_wrlock(&rw);
			pair[0]++;
			if (i % 50 == 0) sched_yield();
			pair[1]++;
			pthread_rwlock_unlock(&rw);
		} else {
			pthread_rwlock_rdlock(&rw);
			long different = pair[0] != pair[1];
			pthread_rwlock_unlock(&rw);
			if (different) return (void *)1;
		}
	}
	sem_post(&sem);
	return 0;
}
static void others(void)
{
	pthread_t t[5];
	pthread_barrier_init(&barrier, 0, 5);
	sem_init(&sem, 0, 0);
	for (long i = 0; i < 5; i++)
		start(&t[i], reads, (void *)i);
	for (int i = 0; i < 5; i++)
		sem_wait(&sem);
	for (int i = 0; i < 5; i++) {
		void *result;
		pthread_join(t[i], &result);
		WANT(result, 0);
	}
	WANT(pair[0], pair[1]);
	struct timespec until;
	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_nsec += 30000000;
	if (until.tv_nsec >= 1000000000) until.tv_nsec -= 1000000000, until.tv_sec++;
	FAILS(sem_timedwait(&sem, &until), ETIMEDOUT);
}

static void *forever(void *n) { for (;;) pause(); }
static void *ends_all(void *n) { rest_ms(20); exit(21); }
static void *replaces(void *n)
{
	char *argv[] = {arg[0], "directly", "ending", 0};
	rest_ms(20);
	execv(arg[0], argv);
	_exit(1);
}
static void ending(void) { _exit(22); }
static void endings(void)
{
	for (int kind = 0; kind < 3; kind++) {
		pid_t child = fork();
		if (!child) {
			pthread_t t;
			for (int i = 0; i < 5; i++)
				start(&t, forever, 0);
			if (kind == 0) start(&t, ends_all, 0);
			if (kind == 1) start(&t, replaces, 0);
			if (kind == 2) { rest_ms(20); *(volatile int *)8 = 1; }
			forever(0);
		}
		WANT(ended(child), kind == 0 ? 21 << 8 : kind == 1 ? 22 << 8 : SIGSEGV);
	}
	pid_t child = fork();
	if (!child) {
		pthread_t t;
		start(&t, ends_all, 0);
		pthread_exit(0);
	}
	WANT(ended(child), 21 << 8);
}

static volatile pid_t caught;
static void catches(int n) { caught = syscall(SYS_gettid); }
static volatile pid_t target_id;
static void *target(void *n)
{
	target_id = syscall(SYS_gettid);
	while (!caught)
		rest_ms(2);
	return 0;
}
static void signalled(void)
{
	pthread_t t;
	struct sigaction action = {.sa_handler = catches};
	sigaction(SIGUSR1, &action, 0);
	caught = target_id = 0;
	start(&t, target, 0);
	while (!target_id)
		rest_ms(1);
	WANT(pthread_kill(t, SIGUSR1), 0);
	pthread_join(t, 0);
	WANT(caught, target_id);
	sigset_t one;
	sigemptyset(&one), sigaddset(&one, SIGUSR1);
	caught = target_id = 0;
	start(&t, target, 0);
	while (!target_id)
		rest_ms(1);
	pthread_sigmask(SIG_BLOCK, &one, 0);
	kill(getpid(), SIGUSR1);
	pthread_join(t, 0);
	WANT(caught, target_id);
	pthread_sigmask(SIG_UNBLOCK, &one, 0);
	FAILS(syscall(SYS_tgkill, getpid(), 29999, SIGUSR1), ESRCH);
}

static void *cancelled(void *n) { for (;;) rest_ms(1000); }
static void cancelling(void)
{
	pthread_t t;
	void *result;
	start(&t, cancelled, 0);
	rest_ms(20);
	WANT(pthread_cancel(t), 0);
	WANT(pthread_join(t, &result), 0);
	HOLDS(result == PTHREAD_CANCELED);
}

PARTS({"sums", sums}, {"turns", turns}, {"identities", identities}, {"futexes", futexes}, {"others", others},
      {"endings", endings}, {"ending", ending}, {"signalled", signalled}, {"cancelling", cancelling})
