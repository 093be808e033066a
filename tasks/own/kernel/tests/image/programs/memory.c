/* Memory: heap, mappings, protection, and what has to end a program. */
#include "exam.h"

/* musl's sbrk makes no use of the call. */
static void *move(long by)
{
	char *now = (char *)syscall(SYS_brk, 0);
	return by && syscall(SYS_brk, now + by) != (long)(now + by) ? (void *)-1 : now;
}

static void heap(void)
{
	char *start = move(0);
	size_t size = between(300, 900) * 4096 + 123;
	HOLDS(move(size) == start);
	HOLDS(move(0) == (void *)(start + size));
	for (size_t i = 0; i < size; i += 509)
		WANT(start[i], 0);
	memset(start, 0x5a, size);
	HOLDS(move(-(long)size) != (void *)-1);
	HOLDS(move(0) == start);
	HOLDS(move(size) == start);
	for (size_t i = 4096; i < size; i += 4096)
		WANT(start[i], 0);
	HOLDS(move(-(long)size) != (void *)-1);
}

static void mapping(void)
{
	size_t size = between(200, 700) << 12;
	u8 *a = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(a != MAP_FAILED && (u64)a % 4096 == 0);
	for (size_t i = 0; i < size; i++)
		if (a[i]) fail("new memory holds %d", a[i]);
	for (size_t i = 0; i < size; i++)
		a[i] = i * 7;
	u8 *b = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(b != MAP_FAILED && (b + size <= a || a + size <= b));
	memset(b, 1, size);
	for (size_t i = 0; i < size; i += 97)
		WANT(a[i], (u8)(i * 7));
	/* A hole in the middle, and something new put there. */
	u8 *hole = a + (size / 8192) * 4096;
	WANT(munmap(hole, 8192), 0);
	WANT(hole[-1], (u8)((hole - 1 - a) * 7));
	WANT(hole[8192], (u8)((hole + 8192 - a) * 7));
	HOLDS(mmap(hole, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == hole);
	WANT(hole[0], 0);
	/* What is mapped over is gone. */
	HOLDS(mmap(a, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == a);
	WANT(a[5], 0);
	WANT(munmap(a, size), 0);
	WANT(munmap(b, size), 0);
	WANT(munmap(b, size), 0);
	for (int i = 0; i < 300; i++) {
		u8 *c = mmap(0, 2 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		HOLDS(c != MAP_FAILED);
		c[i << 12] = 1;
		c[(2 << 20) - 1] = 1;
		WANT(munmap(c, 2 << 20), 0);
	}
}

static void refusals(void)
{
	FAILS(mmap(0, 0, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), EINVAL);
	FAILS(mmap(0, 4096, PROT_READ, MAP_ANONYMOUS, -1, 0), EINVAL);
	FAILS(mmap(0, 4096, PROT_READ, MAP_PRIVATE, 77, 0), EBADF);
	FAILS(mmap(0, 1ul << 62, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), ENOMEM);
	FAILS(mmap((void *)12345, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0), EINVAL);
	FAILS(munmap((void *)12345, 4096), EINVAL);
	FAILS(syscall(SYS_mprotect, 12345, 4096, PROT_READ), EINVAL);
	FAILS(mprotect((void *)0x10000000000, 4096, PROT_READ), ENOMEM);
	void *there = mmap((void *)0xffff800000000000, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	HOLDS(there == MAP_FAILED && errno == ENOMEM);
}

/* A program that is written at run time: it adds a drawn number. */
static void code(void)
{
	u8 *page = mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(page != MAP_FAILED);
	for (int i = 0; i < 5; i++) {
		u32 number = draw() & 0x7fffffff;
		u8 add[] = {0x48, 0x8d, 0x87, 0, 0, 0, 0, 0xc3};
		memcpy(add + 3, &number, 4);
		WANT(mprotect(page, 4096, PROT_READ | PROT_WRITE), 0);
		memcpy(page, add, sizeof add);
		WANT(mprotect(page, 4096, PROT_READ | PROT_EXEC), 0);
		u64 sum = ((u64 (*)(u64))page)(i);
		WANT(sum, number + (u64)i);
	}
}

static void moving(void)
{
	size_t size = 1 << 20;
	u8 *a = mmap(0, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	HOLDS(a != MAP_FAILED);
	for (size_t i = 0; i < size; i += 64)
		a[i] = i >> 6;
	u8 *b = mremap(a, size, 5 * size, MREMAP_MAYMOVE);
	HOLDS(b != MAP_FAILED);
	for (size_t i = 0; i < size; i += 64)
		WANT(b[i], (u8)(i >> 6));
	WANT(b[4 * size], 0);
	HOLDS(mremap(b, 5 * size, size / 2, 0) == b);
	WANT(b[size / 4], (u8)(size / 4 >> 6));
	u8 *grown = malloc(100);
	memset(grown, 7, 100);
	for (size_t n = 200; n < 20 << 20; n *= 2) {
		grown = realloc(grown, n);
		HOLDS(grown);
		WANT(grown[99], 7);
		grown[n - 1] = 1;
	}
	free(grown);
}

static __thread int own = 4711;
static void thread_local(void)
{
	WANT(own, 4711);
	own = 5;
	u64 base = 0;
	WANT(syscall(SYS_arch_prctl, 0x1003, &base), 0);
	HOLDS(base > 4096 && *(u64 *)base == base);
	FAILS(syscall(SYS_arch_prctl, 0x4711, &base), EINVAL);
	WANT(own, 5);
}

static u64 deep(int n)
{
	volatile char frame[1000];
	frame[n % 1000] = n;
	return n ? deep(n - 1) + frame[n % 1000] * 0 + 1 : 0;
}
static void stack(void)
{
	WANT(deep(6000), 6000);
}

static void dropped(void)
{
	u8 *a = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memset(a, 9, 1 << 20);
	WANT(madvise(a + 8192, 8192, MADV_DONTNEED), 0);
	WANT(a[8191], 9);
	WANT(a[8192], 0);
	WANT(a[16383], 0);
	WANT(a[16384], 9);
}

static void many(void)
{
	enum { COUNT = 2000 };
	static u8 *held[COUNT];
	static u32 size[COUNT];
	for (int round = 0; round < 8000; round++) {
		int n = draw() % COUNT;
		if (held[n]) {
			for (u32 i = 0; i < size[n]; i += 131)
				if (held[n][i] != (u8)(n + i)) fail("a block of malloc changed");
			free(held[n]);
			held[n] = 0;
			continue;
		}
		size[n] = draw() % 100 ? between(1, 3000) : between(100000, 400000);
		held[n] = malloc(size[n]);
		HOLDS(held[n]);
		for (u32 i = 0; i < size[n]; i++)
			held[n][i] = n + i;
	}
	for (int n = 0; n < COUNT; n++)
		free(held[n]);
}

/* Each of these has to end the program by SIGSEGV. */
static const char text_of_ours[] = "constant";
static void none(void) { *(volatile int *)0 = 1; }
static void constant(void) { *(volatile char *)text_of_ours = 'x'; }
static void own_code(void) { *(volatile char *)(void *)none = 0x90; }
static void data_as_code(void)
{
	static u8 ret[16] = {0xc3};
	((void (*)(void))ret)();
}
static void stack_as_code(void)
{
	volatile u8 ret[16] = {0xc3};
	((void (*)(void))ret)();
}
static void kernel_read(void) { (void)*(volatile int *)0xffffffff80100000; }
static void kernel_write(void)
{
	*(volatile int *)0xffff800000100000 = 1;
}
static void unmapped(void)
{
	char *a = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	a[4096] = 1;
	munmap(a + 4096, 4096);
	a[0] = 1;
	a[4096] = 1;
}
static void read_only(void)
{
	char *a = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	a[0] = 1;
	mprotect(a, 4096, PROT_READ);
	a[4096] = a[0];
	a[0] = 1;
}
static void no_access(void)
{
	volatile char *a = mmap(0, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	a[0] = 1;
	mprotect((void *)a, 4096, PROT_NONE);
	(void)a[0];
}
static void privileged(void) { asm volatile("cli"); }
static void port(void) { asm volatile("outb %b0, %w1" : : "a"(0), "d"(0x80)); }

PARTS({"heap", heap}, {"mapping", mapping}, {"refusals", refusals}, {"code", code}, {"moving", moving},
      {"thread-local", thread_local}, {"stack", stack}, {"dropped", dropped}, {"many", many},
      {"null", none}, {"constant", constant}, {"own-code", own_code}, {"data-as-code", data_as_code},
      {"stack-as-code", stack_as_code}, {"kernel-read", kernel_read}, {"kernel-write", kernel_write},
      {"unmapped", unmapped}, {"read-only", read_only}, {"no-access", no_access}, {"privileged", privileged},
      {"port", port})
