/* For programs with a C library: parts that are named in argv, and what each has to find. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "sha256.h"

#define UNUSED __attribute__((unused))
struct part { const char *name; void (*run)(void); };
static const char *part_name = "";
static jmp_buf part_over;
static pid_t part_pid;
static struct sha256 part_state;
static int args;
static char **arg;

static void part_line(const char *text)
{
	char line[400];
	int n = snprintf(line, sizeof line, "@%s %s\n", part_name, text);
	if (n > (int)sizeof line - 1) { n = sizeof line - 1; line[n - 1] = '\n'; }
	for (int done = 0; done < n;) {
		ssize_t m = write(1, line + done, n - done);
		if (m <= 0)
			break;
		done += m;
	}
}

/* The part has failed: what was found instead of what. In a child, the child ends too. */
UNUSED static void fail(const char *format, ...)
{
	char text[300] = "no ";
	va_list list;
	va_start(list, format);
	vsnprintf(text + 3, sizeof text - 3, format, list);
	va_end(list);
	part_line(text);
	if (getpid() != part_pid)
		_exit(99);
	longjmp(part_over, 1);
}

UNUSED static void want(const char *text, long got, long wanted, int error)
{
	if (got == wanted)
		return;
	if (got == -1)
		fail("%s is -1 (%s), not %ld", text, strerror(error), wanted);
	fail("%s is %ld, not %ld", text, got, wanted);
}
#define WANT(got, wanted) do { errno = 0; long got_ = (long)(got); want(#got, got_, (long)(wanted), errno); } while (0)
#define HOLDS(condition) do { if (!(condition)) fail("%s does not hold", #condition); } while (0)
#define FAILS(call, error) do { errno = 0; long got_ = (long)(call); int error_ = errno; \
	if (got_ != -1) fail("%s is %ld, not an error", #call, got_); \
	if (error_ != (error)) fail("%s says %s, not " #error, #call, strerror(error_)); } while (0)

UNUSED static void mix(const void *data, size_t n) { sha_add(&part_state, data, n); }
UNUSED static void mix_text(const char *format, ...)
{
	char text[1000];
	va_list list;
	va_start(list, format);
	int n = vsnprintf(text, sizeof text, format, list);
	va_end(list);
	mix(text, n);
}

/* KEY=VALUE of the command line; `nth` of several with the key. */
UNUSED static char *param_nth(const char *key, int nth)
{
	size_t n = strlen(key);
	for (int i = 1; i < args; i++)
		if (!strncmp(arg[i], key, n) && arg[i][n] == '=' && !nth--)
			return arg[i] + n + 1;
	return NULL;
}
UNUSED static char *param(const char *key)
{
	char *value = param_nth(key, 0);
	if (!value)
		fail("the argument %s= did not arrive", key);
	return value;
}

static u64 draw_state = 1;
/* Numbers that differ in each verification: they follow from `seed=`. */
UNUSED static u64 draw(void)
{
	u64 z = draw_state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}
UNUSED static u64 between(u64 least, u64 most) { return least + draw() % (most - least + 1); }

UNUSED static int ended(pid_t child)
{
	int status = -1;
	pid_t got;
	do got = waitpid(child, &status, 0); while (got == -1 && errno == EINTR);
	if (got != child)
		fail("waitpid of a child is %d (%s)", (int)got, strerror(errno));
	return status;
}
/* The child ended well: with status 0. */
UNUSED static void ended_well(pid_t child)
{
	int status = ended(child);
	if (status)
		fail("a child ended with wait status %#x", status);
}
UNUSED static u64 now_ns(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000ul + t.tv_nsec;
}
UNUSED static void rest_ms(long ms)
{
	struct timespec t = {ms / 1000, ms % 1000 * 1000000};
	while (nanosleep(&t, &t) == -1 && errno == EINTR)
		;
}

/* Defined before this file by programs whose parts spoil a process: each has one of its own. */
#ifndef APART
#define APART 0
#endif

static int examine(int argc, char **argv, const struct part *parts)
{
	args = argc;
	arg = argv;
	for (int i = 1; i < argc; i++)
		for (const struct part *p = parts; p->name; p++) {
			if (strcmp(p->name, argv[i]))
				continue;
			u8 copy[32];
			for (int n = 0; n < 32; n++)
				copy[n] = salt[n];
			part_name = p->name;
			pid_t own = APART && strcmp(argv[1], "directly") ? fork() : 0;
			if (own > 0) {
				int status = 0;
				while (waitpid(own, &status, 0) != own)
					;
				if (status) {
					char text[60];
					snprintf(text, sizeof text, "no it ended with wait status %#x", status);
					part_line(text);
				}
				continue;
			}
			part_pid = getpid();
			sha_begin(&part_state);
			sha_add(&part_state, copy, 32);
			sha_add(&part_state, p->name, strlen(p->name));
			draw_state = param_nth("seed", 0) ? strtoull(param_nth("seed", 0), 0, 10) : 1;
			if (!setjmp(part_over)) {
				p->run();
				char text[20] = "ok ";
				sha_end(&part_state, text + 3);
				part_line(text);
			}
			if (APART)
				_exit(0);
		}
	part_name = "end";
	part_line("of parts");
	return 0;
}
#define PARTS(...) int main(int argc, char **argv) { \
	static const struct part parts[] = {__VA_ARGS__, {0, 0}}; \
	return examine(argc, argv, parts); }
