/* The first program: what it is started with, and how it ends. */
#include "bare.h"

struct aux { u64 type, value; };
static u64 *stack;
static int argc;
static char **argv, **envp;
static struct aux *auxv;
static volatile u8 zeros[3 << 20];
static volatile u64 initial[1024] = {0x1122334455667788, [1000] = 77, [1023] = 99};
void _start(void);

static u64 aux(u64 type)
{
	for (struct aux *a = auxv; a->type; a++)
		if (a->type == type)
			return a->value;
	return -1;
}

static void arguments(void)
{
	for (int i = 0; i < argc; i++)
		mix(argv[i], length(argv[i]) + 1);
	WANT("arguments", argv[argc] == 0, 1);
	int home = 0, term = 0;
	for (char **e = envp; *e; e++) {
		home += same(*e, "HOME=/");
		term += same(*e, "TERM=linux");
	}
	WANT("arguments", home, 1);
	WANT("arguments", term, 1);
	passed("arguments");
}

static void vector(void)
{
	WANT("vector", (u64)stack % 16, 0);
	WANT("vector", aux(6), 4096);
	WANT("vector", aux(9), (u64)_start);
	WANT("vector", aux(4), 56);
	WANT("vector", aux(5) >= 1 && aux(5) < 20, 1);
	u32 *headers = (u32 *)aux(3);
	int loads = 0;
	for (u64 i = 0; i < aux(5); i++)
		loads += headers[i * 14] == 1;
	WANT("vector", loads >= 2, 1);
	u8 *random = (u8 *)aux(25);
	int different = 0;
	for (int i = 1; i < 16; i++)
		different += random[i] != random[0];
	WANT("vector", different > 4, 1);
	WANT("vector", aux(11), 0);
	WANT("vector", aux(12), 0);
	WANT("vector", aux(13), 0);
	WANT("vector", aux(23), 0);
	passed("vector");
}

static void data(void)
{
	WANT("data", initial[0], 0x1122334455667788);
	WANT("data", initial[1000], 77);
	WANT("data", initial[1023], 99);
	WANT("data", initial[500], 0);
	u64 sum = 0;
	for (u64 i = 0; i < sizeof zeros; i++)
		sum += zeros[i];
	WANT("data", sum, 0);
	for (u64 i = 0; i < sizeof zeros; i += 4096)
		zeros[i] = i >> 12;
	for (u64 i = 0; i < sizeof zeros; i += 4096)
		sum += zeros[i] == (u8)(i >> 12);
	WANT("data", sum, sizeof zeros / 4096);
	passed("data");
}

static void processor(void)
{
	u32 mxcsr;
	unsigned short control;
	asm volatile("stmxcsr %0" : "=m"(mxcsr));
	asm volatile("fnstcw %0" : "=m"(control));
	WANT("processor", mxcsr & 0xffc0, 0x1f80);
	WANT("processor", control, 0x37f);
	u64 flags;
	asm volatile("pushf\n\tpop %0" : "=r"(flags));
	WANT("processor", flags & 0x3700, 0x200);
	volatile double x = initial[1000], y = 0;
	for (int i = 0; i < 1000; i++) {
		y += x / (i + 1);
		call(GETPID, 0, 0, 0);
	}
	WANT("processor", (i64)(y * 1000), 576381);
	unsigned short cs;
	asm volatile("mov %%cs, %0" : "=r"(cs));
	WANT("processor", cs & 3, 3);
	u64 a = 11, b = 12, c = 13, d = 14, e = 15;
	register u64 r12 asm("r12") = a, r13 asm("r13") = b, r14 asm("r14") = c, r15 asm("r15") = d, rbx asm("rbx") = e;
	long id = 39;
	asm volatile("syscall" : "+a"(id), "+r"(r12), "+r"(r13), "+r"(r14), "+r"(r15), "+r"(rbx) : : "rcx", "r11", "memory");
	WANT("processor", r12 * 100000000 + r13 * 1000000 + r14 * 10000 + r15 * 100 + rbx, 1112131415);
	passed("processor");
}

void start(u64 *sp)
{
	stack = sp;
	argc = *sp;
	argv = (char **)(sp + 1);
	envp = argv + argc + 1;
	char **e = envp;
	while (*e)
		e++;
	auxv = (struct aux *)(e + 1);
	int status = 0;
	for (int i = 1; i < argc; i++)
		if (begins(argv[i], "status="))
			for (char *p = argv[i] + 7; *p; p++)
				status = status * 10 + *p - '0';
	begin("arguments"); arguments();
	begin("vector"); vector();
	begin("data"); data();
	begin("processor"); processor();
	call(argc % 2 ? EXIT : EXIT_GROUP, status, 0, 0);
	for (;;)
		say("@arguments no it goes on after exit: 0\n");
}
