/* Parts that are named in argv, and what each has to find. exam DIR salt=HEX seed=N PART... */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <grp.h>

#define UNUSED __attribute__((unused))
struct part { const char *name; void (*run)(void); };

/* It is the parent's word: a part runs in a process of its own. */
UNUSED static void fail(const char *format, ...)
{
	char text[400] = "no ";
	va_list list;
	va_start(list, format);
	vsnprintf(text + 3, sizeof text - 4, format, list);
	va_end(list);
	for (char *c = text; *c; c++)
		if (*c == '\n')
			*c = ' ';
	dprintf(1, "@%s\n", text);
	_exit(99);
}

UNUSED static void want(const char *where, int line, const char *text, long got, long wanted, int error)
{
	if (got == wanted)
		return;
	if (got == -1)
		fail("%s:%d: %s is -1 (%s), not %ld", where, line, text, strerror(error), wanted);
	fail("%s:%d: %s is %ld, not %ld", where, line, text, got, wanted);
}
#define WANT(got, wanted) do { errno = 0; long got_ = (long)(got); want(__func__, __LINE__, #got, got_, (long)(wanted), errno); } while (0)
#define HOLDS(condition) do { if (!(condition)) fail("%s:%d: %s does not hold", __func__, __LINE__, #condition); } while (0)
#define FAILS(call, error) do { errno = 0; long got_ = (long)(call); int error_ = errno; \
	if (got_ != -1) fail("%s:%d: %s is %ld, not an error", __func__, __LINE__, #call, got_); \
	if (error_ != (error)) fail("%s:%d: %s says %s, not " #error, __func__, __LINE__, #call, strerror(error_)); } while (0)
#define OPENED(call) ({ errno = 0; int got_ = (call); if (got_ < 0) fail("%s:%d: %s: %s", __func__, __LINE__, #call, strerror(errno)); got_; })

static uint64_t draw_state = 1;
/* Numbers that differ in each verification: they follow from `seed=`. */
UNUSED static uint64_t draw(void)
{
	uint64_t z = draw_state += 0x9e3779b97f4a7c15;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}
UNUSED static uint64_t between(uint64_t least, uint64_t most) { return least + draw() % (most - least + 1); }
UNUSED static void drawn_bytes(uint8_t *to, size_t n)
{
	for (size_t at = 0; at < n; at += 8) {
		uint64_t word = draw();
		memcpy(to + at, &word, n - at < 8 ? n - at : 8);
	}
}
UNUSED static void *room_for(size_t n)
{
	void *p = calloc(1, n ? n : 1);
	if (!p)
		fail("the program has no memory");
	return p;
}
UNUSED static int ended(pid_t child)
{
	int status = -1;
	pid_t got;
	do got = waitpid(child, &status, 0); while (got == -1 && errno == EINTR);
	return got == child ? status : -1;
}
/* A child that has failed has said so. */
UNUSED static void ended_well(pid_t child)
{
	int status = ended(child);
	if (status == 99 << 8)
		_exit(99);
	if (status)
		fail("a child ended with wait status %#x", status);
}
UNUSED static uint64_t now_ns(void)
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
UNUSED static void written(int fd, const void *data, size_t n)
{
	for (size_t done = 0; done < n;) {
		ssize_t m = write(fd, (const char *)data + done, n - done);
		if (m <= 0)
			fail("write of %zu bytes: %s", n, m ? strerror(errno) : "0");
		done += m;
	}
}
UNUSED static size_t filled(int fd, void *data, size_t n, off_t at)
{
	size_t done = 0;
	while (done < n) {
		ssize_t m = pread(fd, (char *)data + done, n - done, at + done);
		if (m < 0)
			fail("pread: %s", strerror(errno));
		if (!m)
			break;
		done += m;
	}
	return done;
}
UNUSED static void has(const char *path, const void *data, size_t n)
{
	uint8_t *got = room_for(n + 1);
	int fd = OPENED(open(path, O_RDONLY));
	size_t m = filled(fd, got, n + 1, 0);
	if (m != n)
		fail("%s has %zu bytes or more, not %zu", path, m, n);
	for (size_t at = 0; at < n; at++)
		if (got[at] != ((uint8_t *)data)[at])
			fail("%s is wrong at %zu of %zu: %#x, not %#x", path, at, n, got[at], ((uint8_t *)data)[at]);
	close(fd);
	free(got);
}
UNUSED static void make_file(const char *path, const void *data, size_t n)
{
	int fd = OPENED(open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644));
	written(fd, data, n);
	WANT(close(fd), 0);
}
UNUSED static struct stat facts(const char *path)
{
	struct stat s;
	if (lstat(path, &s))
		fail("lstat of %s: %s", path, strerror(errno));
	return s;
}
UNUSED static uint64_t room_left(void)
{
	struct statvfs s;
	WANT(statvfs(".", &s), 0);
	return s.f_bavail * s.f_frsize;
}
/* What can be read from the disk again is no longer in memory. */
UNUSED static void forgotten(void)
{
	int fd = OPENED(open("/proc/sys/vm/drop_caches", O_WRONLY));
	written(fd, "3", 1);
	close(fd);
}
UNUSED static void as_user(unsigned uid)
{
	WANT(setgroups(0, NULL), 0);
	WANT(setresgid(uid, uid, uid), 0);
	WANT(setresuid(uid, uid, uid), 0);
}
