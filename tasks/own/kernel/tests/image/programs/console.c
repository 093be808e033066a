/* Read and write on the console, and what they refuse. */
#include "bare.h"

struct iovec { const void *base; u64 length; };
static char buffer[40000];

static void writes(void)
{
	WANT("writes", call(WRITE, 1, "", 0), 0);
	struct iovec parts[4] = {{"<one", 4}, {"", 0}, {"two", 3}, {"three>\n", 7}};
	WANT("writes", call(WRITEV, 1, parts, 4), 14);
	WANT("writes", call(WRITEV, 1, parts, 0), 0);
	passed("writes");
}

static void refusals(void)
{
	WANT("refusals", call(WRITE, 99, "x", 1), -9);
	WANT("refusals", call(READ, 99, buffer, 1), -9);
	WANT("refusals", call(WRITE, -1, "x", 1), -9);
	WANT("refusals", call(WRITE, 1, 8, 1), -14);
	WANT("refusals", call(WRITE, 1, 0xffffffff80000000, 8), -14);
	WANT("refusals", call(WRITE, 1, 0xffff800000000000, 8), -14);
	WANT("refusals", call(WRITE, 1, 0x800000000000, 8), -14);
	WANT("refusals", call(WRITE, 1, 0xfffffffffffffff0, 64), -14);
	struct iovec bad = {(void *)16, 4};
	WANT("refusals", call(WRITEV, 1, &bad, 1), -14);
	WANT("refusals", call(WRITEV, 1, &bad, -1), -22);
	WANT("refusals", call(WRITEV, 1, &bad, 1025), -22);
	WANT("refusals", call(WRITEV, 1, 24, 1), -14);
	WANT("refusals", call(5000, 1, 2, 3), -38);
	WANT("refusals", call(-1, 1, 2, 3), -38);
	passed("refusals");
}

static void much(u64 count)
{
	u64 state = count * 2862933555777941757ul + 3037000493ul;
	for (u64 i = 0; i < count; i++) {
		state = state * 6364136223846793005ul + 1442695040888963407ul;
		buffer[i] = i % 73 == 72 ? '\n' : 'a' + (state >> 33) % 26;
	}
	u64 done = 0;
	say("<much>\n");
	while (done < count) {
		i64 n = call(WRITE, 1, buffer + done, count - done);
		WANT("much", n > 0 && n <= count - done, 1);
		done += n;
	}
	say("\n</much>\n");
	mix(buffer, count);
	passed("much");
}

static void lines(void)
{
	say("<ready>\n");
	i64 n = call(READ, 0, buffer, 5);
	WANT("lines", n, 5);
	n += call(READ, 0, buffer + 5, 1000);
	WANT("lines", n > 5 && n < 100 && buffer[n - 1] == '\n', 1);
	mix(buffer, n);
	say("<again>\n");
	i64 m = call(READ, 0, buffer, 1000);
	WANT("lines", m > 1 && buffer[m - 1] == '\n', 1);
	mix(buffer, m);
	WANT("lines", call(READ, 0, 0xffffffff80000000, 10), -14);
	passed("lines");
}

void start(u64 *sp)
{
	char **argv = (char **)(sp + 1);
	u64 count = 0;
	for (u64 i = 1; i < *sp; i++) {
		if (begins(argv[i], "count="))
			for (char *p = argv[i] + 6; *p; p++)
				count = count * 10 + *p - '0';
		if (same(argv[i], "writes")) { begin("writes"); writes(); }
		if (same(argv[i], "refusals")) { begin("refusals"); refusals(); }
		if (same(argv[i], "much")) { begin("much"); much(count); }
		if (same(argv[i], "lines")) { begin("lines"); lines(); }
	}
	call(EXIT_GROUP, 0, 0, 0);
}
