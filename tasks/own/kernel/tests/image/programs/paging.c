/* Memory that is given when it is touched, copied when it is written, and files in memory. */
#define APART 1
#include "exam.h"

static void vast(void)
{
	size_t size = 1ul << 30;
	u8 *a = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	HOLDS(a != MAP_FAILED);
	for (int i = 0; i < 2000; i++) {
		size_t place = draw() % size;
		a[place] = 1 + i % 250;
		HOLDS(a[place] == 1 + i % 250);
	}
	WANT(munmap(a, size), 0);
}

static void copied(void)
{
	size_t size = 100 << 20;
	u8 *a = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(a != MAP_FAILED);
	for (size_t i = 0; i < size; i += 4096)
		*(u64 *)(a + i) = i * 31 + 7;
	pid_t child[8];
	for (int c = 0; c < 8; c++) {
		child[c] = fork();
		HOLDS(child[c] >= 0);
		if (child[c])
			continue;
		size_t own = (size_t)c * (10 << 20);
		for (size_t i = own; i < own + (2 << 20); i += 4096)
			*(u64 *)(a + i) = c;
		rest_ms(50);
		for (size_t i = 0; i < size; i += 4096) {
			int mine = i >= own && i < own + (2 << 20);
			if (*(u64 *)(a + i) != (mine ? (u64)c : i * 31 + 7)) fail("a child finds what is not its own");
		}
		_exit(0);
	}
	for (int c = 0; c < 8; c++)
		ended_well(child[c]);
	for (size_t i = 0; i < size; i += 4096)
		if (*(u64 *)(a + i) != i * 31 + 7) fail("a child changed its parent's memory");
	munmap(a, size);
}

static void mapped(void)
{
	int fd = open(param("big"), O_RDONLY);
	struct stat st;
	HOLDS(fd >= 0);
	fstat(fd, &st);
	u8 *a = mmap(0, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	HOLDS(a != MAP_FAILED);
	mix(a, st.st_size);
	u8 *b = mmap(0, st.st_size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0), byte;
	HOLDS(b != MAP_FAILED);
	for (off_t i = 0; i < st.st_size; i += 5000)
		b[i] ^= 0xff;
	for (off_t i = 0; i < st.st_size; i += 5000) {
		WANT(a[i], b[i] ^ 0xff);
		WANT(pread(fd, &byte, 1, i), 1);
		WANT(byte, a[i]);
	}
	u8 *c = mmap(0, 8192, PROT_READ, MAP_SHARED, fd, 4096);
	HOLDS(c != MAP_FAILED);
	HOLDS(!memcmp(c, a + 4096, 8192));
	/* Behind the end, within the page: zeros. */
	for (off_t i = st.st_size; i % 4096; i++)
		WANT(a[i], 0);
	close(fd);
	WANT(c[100], a[4196]);
	FAILS(mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 0), EBADF);
	fd = open(param("big"), O_RDONLY);
	FAILS(mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0), EACCES);
	FAILS(mmap(0, 4096, PROT_READ, MAP_PRIVATE, fd, 100), EINVAL);
	close(fd);
	munmap(a, st.st_size), munmap(b, st.st_size);
}

static sigjmp_buf away;
static void leaves(int n) { siglongjmp(away, n); }
static void behind(void)
{
	int fd = open(param("big"), O_RDONLY);
	struct stat st;
	fstat(fd, &st);
	size_t pages = (st.st_size + 4095) / 4096;
	u8 *a = mmap(0, (pages + 2) * 4096, PROT_READ, MAP_PRIVATE, fd, 0);
	HOLDS(a != MAP_FAILED);
	signal(SIGBUS, leaves);
	int n = sigsetjmp(away, 1);
	if (!n) {
		(void)*(volatile u8 *)(a + pages * 4096);
		fail("there is memory behind a file's end");
	}
	WANT(n, SIGBUS);
	signal(SIGBUS, SIG_DFL);
	munmap(a, (pages + 2) * 4096);
	close(fd);
}

static void shared(void)
{
	volatile u64 *a = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	HOLDS(a != MAP_FAILED);
	a[0] = 1;
	for (int c = 1; c <= 5; c++) {
		pid_t child = fork();
		if (!child) {
			a[c * 4096 / 8] = draw_state + c;
			a[0] += c;
			if (!fork())
				a[0] *= 2, _exit(0);
			int status;
			wait(&status);
			_exit(0);
		}
		ended_well(child);
	}
	u64 value = 1;
	for (int c = 1; c <= 5; c++) {
		WANT(a[c * 4096 / 8], draw_state + c);
		value = (value + c) * 2;
	}
	WANT(a[0], value);
	munmap((void *)a, 1 << 20);
}

/* Many programs that are larger than memory all together: their text is the file's. */
static void again(void)
{
	for (int i = 0; i < 40; i++) {
		pid_t child = fork();
		if (!child) {
			char *argv[] = {arg[0], "directly", "nothing", 0};
			execv(arg[0], argv);
			_exit(1);
		}
		ended_well(child);
	}
}

static void nothing(void) { _exit(0); }

PARTS({"nothing", nothing}, {"vast", vast}, {"copied", copied}, {"mapped", mapped}, {"behind", behind}, {"shared", shared}, {"again", again})
