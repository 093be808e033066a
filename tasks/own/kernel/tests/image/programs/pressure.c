/* Memory that runs out, and does not leak. */
#include "exam.h"

static long available(void)
{
	char text[4000], *found;
	int fd = open("/proc/meminfo", O_RDONLY);
	HOLDS(fd >= 0);
	ssize_t n = read(fd, text, sizeof text - 1);
	close(fd);
	HOLDS(n > 0);
	text[n] = 0;
	found = strstr(text, "MemAvailable:");
	HOLDS(found);
	return strtol(found + 13, 0, 10);
}

static void starts(int times)
{
	for (int i = 0; i < times; i++) {
		pid_t child = fork();
		if (child < 0) fail("fork %d: %s", i, strerror(errno));
		if (!child) {
			char *argv[] = {arg[0], "nothing", 0};
			execv(arg[0], argv);
			_exit(1);
		}
		ended_well(child);
	}
}
static void nothing(void) { _exit(0); }

static void proc(void)
{
	mkdir("/proc", 0755);
	(void)!syscall(SYS_mount, "proc", "/proc", "proc", 0, 0);
	HOLDS(available() > 10000);
}

static void leaks(void)
{
	starts(50);
	long before = available();
	starts(2000);
	long after = available();
	if (after < before - 1024) fail("%ld KiB are gone after 2,000 programs", before - after);
}

static void eaten(void)
{
	int a[2];
	char byte;
	WANT(pipe(a), 0);
	long before = available();
	pid_t witness = fork();
	if (!witness) {
		u8 *mine = malloc(3 << 20);
		for (int i = 0; i < 3 << 20; i++) mine[i] = i * 13;
		close(a[1]);
		(void)!read(a[0], &byte, 1);
		for (int i = 0; i < 3 << 20; i++)
			if (mine[i] != (u8)(i * 13)) _exit(1);
		_exit(0);
	}
	for (int round = 0; round < 3; round++) {
		pid_t eater = fork();
		if (!eater) {
			for (;;) {
				u8 *p = mmap(0, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
				if (p == MAP_FAILED) _exit(errno == ENOMEM ? 12 : 13);
				for (int i = 0; i < 1 << 20; i += 4096) p[i] = 1;
			}
		}
		int status = ended(eater);
		if (status != SIGKILL && status != 12 << 8) fail("who took all memory ended with %#x", status);
		starts(3);
	}
	close(a[0]), close(a[1]);
	ended_well(witness);
	long after = available();
	if (after < before - 2048) fail("%ld KiB are gone after memory ran out", before - after);
}

/* Files of more than the memory's size are read; they are not used memory. */
static void reads(void)
{
	static u8 buffer[65536];
	long before = available();
	for (int n = 0; n < 4; n++) {
		int fd = open(param("big"), O_RDONLY);
		HOLDS(fd >= 0);
		ssize_t got;
		while ((got = read(fd, buffer, sizeof buffer)) > 0)
			if (!n) mix(buffer, got);
		WANT(got, 0);
		close(fd);
	}
	long after = available();
	if (after < before - 2048) fail("%ld KiB count as used after files were read", before - after);
}

/* What lies in a tmpfs is used memory. */
static void in_memory(void)
{
	static u8 block[65536];
	WANT(syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, 0), 0);
	long before = available();
	int fd = open("/tmp/much", O_CREAT | O_WRONLY, 0644);
	for (int i = 0; i < 256; i++)
		WANT(write(fd, block, sizeof block), sizeof block);
	close(fd);
	long with = available();
	if (before - with < 14 * 1024) fail("16 MiB in a tmpfs are %ld KiB less of MemAvailable", before - with);
	WANT(unlink("/tmp/much"), 0);
	long after = available();
	if (after < before - 2048) fail("%ld KiB are gone after a file of a tmpfs was removed", before - after);
	WANT(syscall(SYS_umount2, "/tmp", 0), 0);
}

/* A folder is read to its end while it is emptied. */
static void emptied(void)
{
	char name[40];
	WANT(syscall(SYS_mount, "none", "/tmp", "tmpfs", 0, 0), 0);
	int many = between(300, 500), seen = 0;
	for (int i = 0; i < many; i++) {
		snprintf(name, sizeof name, "/tmp/file %d", i);
		close(open(name, O_CREAT | O_WRONLY, 0644));
	}
	DIR *d = opendir("/tmp");
	HOLDS(d);
	for (struct dirent *e; (e = readdir(d));) {
		if (e->d_name[0] == '.')
			continue;
		snprintf(name, sizeof name, "/tmp/%.20s", e->d_name);
		WANT(unlink(name), 0);
		seen++;
	}
	closedir(d);
	WANT(seen, many);
	WANT(syscall(SYS_umount2, "/tmp", 0), 0);
}

/* A pipe is opened again by its name below /proc. */
static void opened_again(void)
{
	int a[2];
	char name[40], byte = 0;
	WANT(pipe(a), 0);
	snprintf(name, sizeof name, "/proc/self/fd/%d", a[0]);
	WANT(write(a[1], "pq", 2), 2);
	int again = open(name, O_RDONLY);
	HOLDS(again >= 0);
	WANT(read(again, &byte, 1), 1);
	WANT(byte, 'p');
	snprintf(name, sizeof name, "/proc/%d/fd/%d", getpid(), a[1]);
	int other = open(name, O_WRONLY);
	HOLDS(other >= 0);
	WANT(write(other, "r", 1), 1);
	close(a[1]), close(other);
	WANT(read(a[0], &byte, 1), 1);
	WANT(byte, 'q');
	WANT(read(again, &byte, 1), 1);
	WANT(byte, 'r');
	WANT(read(again, &byte, 1), 0);
	close(a[0]), close(again);
}

PARTS({"proc", proc}, {"nothing", nothing}, {"leaks", leaks}, {"eaten", eaten}, {"reads", reads},
      {"in-memory", in_memory},
      {"emptied", emptied}, {"opened-again", opened_again})
