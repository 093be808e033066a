"""C programs that the checks compile in the guest, against the delivered library."""

from __future__ import annotations

from pathlib import Path

HERE = Path(__file__).parent

# Maps the registers of the card whose `resource0` is the first argument, its page of /dev/mem, and
# the same through the file of the bus that is the third; prints what can be read there, or
# "refused".
MAP = r"""
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#define MMAP_IS_MEM ('P' << 24 | 'C' << 16 | 'I' << 8 | 2)
static void try(const char *path, long offset, int bus)
{
	int fd = open(path, O_RDWR);
	if (fd >= 0 && bus)
		ioctl(fd, MMAP_IS_MEM, 0);
	volatile unsigned *at = fd < 0 ? MAP_FAILED : mmap(0, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
	if (at == MAP_FAILED)
		puts("refused");
	else
		printf("%08x\n", at[0]);
}
int main(int c, char **v)
{
	try(v[1], 0, 0);
	try("/dev/mem", strtol(v[2], 0, 16), 0);
	try(v[3], strtol(v[2], 0, 16), 1);
	return c - 4;
}
"""  # noqa: E501

# Of the file system of its argument: what has set-uid, set-gid or capabilities, with its mode.
RIGHTS = r"""
#define _GNU_SOURCE
#include <ftw.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>
static int look(const char *path, const struct stat *s, int kind, struct FTW *at)
{
	char data[64];
	int held = lgetxattr(path, "security.capability", data, 64) >= 0;
	if (kind == FTW_F && S_ISREG(s->st_mode) && (held || s->st_mode & 06000))
		printf("%o %s\n", s->st_mode & 07777, path);
	return 0;
}
int main(int c, char **v)
{
	return nftw(v[1], look, 32, FTW_PHYS | FTW_MOUNT);
}
"""

# Every function of the library, on the card that is its argument.
TOUR = r"""
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <kvarn.h>
int main(int c, char **v)
{
	char names[2][16], data[9000], back[9000], shelf[64] = "";
	uint32_t out;
	kvarn *any, *one;
	int i, n = kvarn_list(names, 2);
	printf("cards %d %s %s\n", n, names[0], names[1]);
	n = kvarn_list(names, 1);
	printf("cards %d\n", n);
	any = kvarn_open(0);
	one = kvarn_open(v[1]);
	printf("alive %d", kvarn_alive(one, @ALIVE@, &out));
	printf(" %08x\n", out);
	printf("fact %d", kvarn_factorial(any, @FACT@, &out));
	printf(" %u\n", out);
	for (i = 0; i < 9000; i++)
		data[i] = i * @SEED@ >> 8;
	i = kvarn_copy(any, back, data, sizeof(data));
	printf("copy %d %d\n", i, memcmp(data, back, sizeof(data)));
	printf("put %d\n", kvarn_put(one, 700, "@WORD@", 32));
	i = kvarn_get(one, 700, shelf, 32);
	printf("get %d %s\n", i, shelf);
	i = kvarn_ping(one, @PING@, &out);
	printf("ping %d %08x\n", i, out);
	kvarn_close(one);
	kvarn_close(any);
	errno = 0;
	one = kvarn_open("0000:00:00.0");
	printf("none %d %d\n", one == 0, errno == ENODEV);
	return 0;
}
"""

# Eight threads with one handle for all cards.
THREADS = r"""
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <kvarn.h>
static kvarn *any;
static void *work(void *argument)
{
	long me = (long)argument, i, round, bad = 0;
	char data[3500], back[3500];
	uint32_t out, n, wanted;
	for (round = 0; round < 2; round++) {
		for (i = 0; i < 3500; i++)
			data[i] = (i + me * 977 + round * 131) * @SEED@ >> 9;
		bad += kvarn_copy(any, back, data, 3500) || memcmp(data, back, 3500);
		for (wanted = 1, n = 2; n <= 3 + me + round; n++)
			wanted *= n;
		bad += kvarn_factorial(any, 3 + me + round, &out) || out != wanted;
	}
	return (void *)bad;
}
int main(void)
{
	pthread_t threads[8];
	long i, bad = 0;
	void *result;
	any = kvarn_open(0);
	for (i = 0; i < 8; i++)
		bad += pthread_create(&threads[i], 0, work, (void *)i);
	for (i = 0; i < 8; i++) {
		pthread_join(threads[i], &result);
		bad += (long)result;
	}
	printf("%ld @WORD@\n", bad);
	return 0;
}
"""

# Requests that have to be refused, each with its answer.
BAD = r"""
#include <errno.h>
#include <stdio.h>
#include <kvarn.h>
int main(int c, char **v)
{
	static char data[2000];
	uint32_t out;
	kvarn *any = kvarn_open(0), *one = kvarn_open(v[1]);
	printf("%d", kvarn_put(one, 1000, data, 25) == -EINVAL);
	printf("%d", kvarn_put(one, 1024, data, 1) == -EINVAL);
	printf("%d", kvarn_put(one, 0, data, 1025) == -EINVAL);
	printf("%d", kvarn_get(one, 4294967295u, data, 2) == -EINVAL);
	printf("%d", kvarn_get(one, 0, data, (size_t)-1) == -EINVAL);
	printf("%d", kvarn_get(any, 0, data, 10) == -EINVAL);
	printf("%d", kvarn_ping(one, 0, &out) == -EINVAL);
	printf("%d", kvarn_ping(any, 16, &out) == -EINVAL);
	puts("");
	return 0;
}
"""

# Pointers to memory that is not there.
FAULTS = r"""
#include <errno.h>
#include <stdio.h>
#include <kvarn.h>
int main(int c, char **v)
{
	static char data[2000];
	void *bad = (void *)8;
	kvarn *any = kvarn_open(0), *one = kvarn_open(v[1]);
	printf("%d", kvarn_put(one, 900, bad, 10) == -EFAULT);
	printf("%d", kvarn_get(one, 900, bad, 10) == -EFAULT);
	printf("%d", kvarn_copy(any, bad, data, 100) == -EFAULT);
	printf("%d", kvarn_copy(any, data, bad, 100) == -EFAULT);
	puts("");
	return 0;
}
"""

# Uses a handle, waits for the file that is its second argument, and uses the handle again.
IDLE = r"""
#include <stdio.h>
#include <unistd.h>
#include <kvarn.h>
int main(int c, char **v)
{
	uint32_t out;
	int i, err;
	kvarn *any = kvarn_open(0), *one = kvarn_open(v[1]);
	err = kvarn_factorial(any, 5, &out) || kvarn_factorial(one, 5, &out);
	printf("ready %d\n", err);
	fflush(stdout);
	for (i = 0; i < 600 && access(v[2], F_OK); i++)
		usleep(100000);
	err = kvarn_factorial(one, @FACT@, &out);
	printf("%d %u\n", err, out);
	err = kvarn_factorial(any, @FACT@, &out);
	printf("%d %u\n", err, out);
	return 0;
}
"""


def fill(program: str, **values: object) -> bytes:
    """A program with its @NAMES@ replaced."""
    for name, value in values.items():
        program = program.replace(f"@{name}@", str(value))
    return program.encode()
