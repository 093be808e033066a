/* Files that are made and changed; what is left of them is looked at from outside. */
#define APART 1
#include "exam.h"
#include <sys/statvfs.h>

static u8 buffer[70000];
static void fill(u8 *p, size_t n, u64 seed)
{
	for (size_t i = 0; i < n; i++) {
		seed = seed * 6364136223846793005ul + 1442695040888963407ul;
		p[i] = seed >> 56;
	}
}
static void goes(const char *name) { if (chdir(name)) { mkdir(name, 0755); WANT(chdir(name), 0); } }
static void make(const char *name, size_t n, u64 seed)
{
	int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0644);
	if (fd < 0) fail("make %s: %s", name, strerror(errno));
	for (size_t at = 0; at < n;) {
		size_t piece = n - at < sizeof buffer ? n - at : sizeof buffer;
		fill(buffer, piece, seed + at);
		ssize_t got = write(fd, buffer, piece);
		if (got <= 0) fail("write %s: %s", name, strerror(errno));
		at += got;
	}
	WANT(close(fd), 0);
}
static void holds(const char *name, size_t n, u64 seed)
{
	static u8 want_[70000];
	struct stat st;
	int fd = open(name, O_RDONLY);
	HOLDS(fd >= 0);
	fstat(fd, &st);
	WANT(st.st_size, n);
	for (size_t at = 0; at < n;) {
		size_t piece = n - at < sizeof buffer ? n - at : sizeof buffer;
		fill(want_, piece, seed + at);
		for (size_t have = 0; have < piece;) {
			ssize_t got = read(fd, buffer + have, piece - have);
			HOLDS(got > 0);
			have += got;
		}
		HOLDS(!memcmp(buffer, want_, piece));
		at += piece;
	}
	close(fd);
}

static void makes(void)
{
	goes("/kept");
	make("small", 100, draw());
	u64 seed = draw();
	size_t size = between(3000000, 6000000);
	make("large", size, seed);
	holds("large", size, seed);
	int fd = open("log", O_CREAT | O_APPEND | O_WRONLY, 0600);
	for (int i = 0; i < 300; i++) {
		char line[40];
		int n = snprintf(line, sizeof line, "line %d of 300\n", i);
		WANT(write(fd, line, n), n);
	}
	close(fd);
	FAILS(open("small", O_CREAT | O_EXCL | O_WRONLY, 0644), EEXIST);
	struct stat st;
	umask(027);
	make("masked", 5, 1);
	umask(022);
	WANT(stat("masked", &st), 0);
	WANT(st.st_mode & 0777, 0640);
	WANT(stat("log", &st), 0);
	WANT(st.st_mode, 0100600);
	HOLDS(st.st_blocks > 0 && time(0) - st.st_mtime < 100);
	chdir("/");
}

static void changes(void)
{
	goes("/kept");
	u64 seed = draw();
	make("cut", 300000, seed);
	WANT(truncate("cut", 123456), 0);
	fill(buffer, 70000, seed);
	int fd = open("cut", O_RDWR);
	u8 some[300];
	WANT(ftruncate(fd, 200000), 0);
	WANT(pread(fd, some, 300, 123456), 300);
	for (int i = 0; i < 300; i++)
		WANT(some[i], 0);
	WANT(pwrite(fd, "middle", 6, 50000), 6);
	WANT(pread(fd, some, 6, 50000), 6);
	HOLDS(!memcmp(some, "middle", 6));
	WANT(lseek(fd, 5000000, SEEK_SET), 5000000);
	WANT(write(fd, "far", 3), 3);
	struct stat st;
	fstat(fd, &st);
	WANT(st.st_size, 5000003);
	HOLDS(st.st_blocks * 512 < 1000000);
	WANT(pread(fd, some, 300, 3000000), 300);
	HOLDS(some[0] == 0 && some[299] == 0);
	WANT(ftruncate(fd, 0), 0);
	fstat(fd, &st);
	WANT(st.st_blocks, 0);
	WANT(write(fd, "x", 1), 1);
	close(fd);
	fd = open("cut", O_WRONLY | O_TRUNC);
	fstat(fd, &st);
	WANT(st.st_size, 0);
	WANT(write(fd, "end", 3), 3);
	WANT(fsync(fd), 0);
	WANT(fdatasync(fd), 0);
	close(fd);
	sync();
	chdir("/");
}

static void removes(void)
{
	goes("/kept");
	make("gone", 50000, 5);
	int fd = open("gone", O_RDWR);
	WANT(unlink("gone"), 0);
	FAILS(open("gone", O_RDONLY), ENOENT);
	WANT(read(fd, buffer, 50000), 50000);
	WANT(write(fd, buffer, 50000), 50000);
	struct stat st;
	fstat(fd, &st);
	WANT(st.st_nlink, 0);
	WANT(st.st_size, 100000);
	close(fd);
	FAILS(unlink("gone"), ENOENT);
	FAILS(unlink("/kept"), EISDIR);
	FAILS(rmdir("small-not"), ENOENT);
	chdir("/");
}

static void names(void)
{
	goes("/kept");
	struct stat a, b;
	make("one", 1000, 1), make("two", 2000, 2);
	stat("one", &a);
	WANT(rename("one", "two"), 0);
	stat("two", &b);
	WANT(a.st_ino, b.st_ino);
	FAILS(stat("one", &b), ENOENT);
	WANT(link("two", "three"), 0);
	stat("three", &b);
	WANT(b.st_nlink, 2);
	WANT(b.st_ino, a.st_ino);
	WANT(rename("two", "three"), 0);
	WANT(stat("two", &b), 0);
	FAILS(link("two", "three"), EEXIST);
	WANT(unlink("two"), 0);
	WANT(symlink("three", "four"), 0);
	char target[100];
	WANT(readlink("four", target, 100), 5);
	memset(target, 'l', 99);
	target[99] = 0;
	WANT(symlink(target, "long-link"), 0);
	char again[200];
	WANT(readlink("long-link", again, 200), 99);
	HOLDS(!memcmp(target, again, 99));
	WANT(mkdir("folder", 0750), 0);
	WANT(stat("folder", &a), 0);
	WANT(a.st_mode, 040750);
	WANT(a.st_nlink, 2);
	WANT(mkdir("folder/inner", 0700), 0);
	stat("folder", &a);
	WANT(a.st_nlink, 3);
	FAILS(mkdir("folder", 0700), EEXIST);
	FAILS(rmdir("folder"), ENOTEMPTY);
	FAILS(unlink("folder"), EISDIR);
	FAILS(rename("folder", "folder/inner/x"), EINVAL);
	FAILS(rename("three", "folder"), EISDIR);
	FAILS(rename("folder", "three"), ENOTDIR);
	WANT(mkdir("other", 0700), 0);
	WANT(rename("folder/inner", "other/moved"), 0);
	stat("folder", &a);
	WANT(a.st_nlink, 2);
	WANT(stat("other/moved/..", &b), 0);
	stat("other", &a);
	WANT(a.st_ino, b.st_ino);
	WANT(rmdir("other/moved"), 0);
	WANT(rmdir("other"), 0);
	WANT(mkfifo("fifo", 0600), 0);
	stat("fifo", &a);
	HOLDS(S_ISFIFO(a.st_mode));
	pid_t child = fork();
	if (!child) {
		int fd = open("fifo", O_WRONLY);
		(void)!write(fd, "through", 7);
		_exit(0);
	}
	int fd = open("fifo", O_RDONLY);
	WANT(read(fd, buffer, 100), 7);
	WANT(read(fd, buffer, 100), 0);
	close(fd);
	ended_well(child);
	chdir("/");
}

static void facts(void)
{
	goes("/kept");
	struct stat st;
	make("facts", 10, 3);
	WANT(chmod("facts", 04711), 0);
	WANT(chown("facts", 33, 44), 0);
	stat("facts", &st);
	HOLDS(st.st_uid == 33 && st.st_gid == 44 && (st.st_mode & 0777) == 0711);
	WANT(chmod("facts", 0604), 0);
	struct timespec times[2] = {{1000000001, 0}, {1222222222, 0}};
	WANT(utimensat(AT_FDCWD, "facts", times, 0), 0);
	stat("facts", &st);
	HOLDS(st.st_atime == 1000000001 && st.st_mtime == 1222222222);
	pid_t child = fork();
	if (!child) {
		if (setgid(44) || setuid(55)) _exit(9);
		FAILS(open("facts", O_WRONLY), EACCES);
		FAILS(chmod("facts", 0777), EPERM);
		FAILS(chown("facts", 55, 44), EPERM);
		FAILS(open("new", O_CREAT | O_WRONLY, 0644), EACCES);
		FAILS(unlink("facts"), EACCES);
		int fd = open("/tmp/theirs", O_CREAT | O_WRONLY, 0644);
		HOLDS(fd >= 0);
		_exit(0);
	}
	ended_well(child);
	child = fork();
	if (!child) {
		if (setuid(66)) _exit(9);
		FAILS(unlink("/tmp/theirs"), EPERM);
		_exit(0);
	}
	ended_well(child);
	WANT(unlink("/tmp/theirs"), 0);
	chdir("/");
}

static void crowd(void)
{
	goes("/kept");
	WANT(mkdir("crowd", 0755), 0);
	char name[60];
	for (int i = 0; i < 600; i++) {
		snprintf(name, sizeof name, "crowd/a name of some length, number %d", i);
		make(name, i % 50, i);
	}
	for (int i = 0; i < 600; i += 2) {
		snprintf(name, sizeof name, "crowd/a name of some length, number %d", i);
		WANT(unlink(name), 0);
	}
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof name, "crowd/new %d", i);
		make(name, 0, i);
	}
	DIR *dir = opendir("crowd");
	int seen = 0;
	while (readdir(dir))
		seen++;
	closedir(dir);
	WANT(seen, 402);
	chdir("/");
}

static void full(void)
{
	struct statvfs before, after;
	WANT(mkdir("/full", 0755), 0);
	sync();
	WANT(statvfs("/full", &before), 0);
	int fd = open("/full/all", O_CREAT | O_WRONLY, 0644);
	ssize_t n;
	while ((n = write(fd, buffer, sizeof buffer)) > 0)
		;
	HOLDS(n == -1 && errno == ENOSPC);
	WANT(statvfs("/full", &after), 0);
	HOLDS(after.f_bfree * 20 < before.f_bfree + 400);
	int other = open("/full/more", O_CREAT | O_WRONLY, 0644);
	if (other >= 0) {
		ssize_t m = write(other, buffer, sizeof buffer);
		HOLDS(m < (ssize_t)sizeof buffer);
		close(other);
		unlink("/full/more");
	}
	close(fd);
	WANT(unlink("/full/all"), 0);
	sync();
	WANT(statvfs("/full", &after), 0);
	HOLDS(after.f_bfree + 8 >= before.f_bfree);
	make("/full/new", 100000, 9);
	holds("/full/new", 100000, 9);
	/* Full once more, so that it is looked at from outside in this state. */
	make("/full/three", 3000, 5);
	fd = open("/full/last", O_CREAT | O_WRONLY, 0644);
	while ((n = write(fd, buffer, sizeof buffer)) > 0)
		;
	HOLDS(n == -1 && errno == ENOSPC);
	WANT(unlink("/full/three"), 0);
	sync();
	lseek(fd, 0, SEEK_END);
	lseek(fd, 4096 - lseek(fd, 0, SEEK_CUR) % 4096, SEEK_CUR);
	HOLDS(write(fd, buffer, 12288) < 12288);
	close(fd);
}

/* Many at once, each with its own. */
static void together(void)
{
	goes("/kept");
	for (int c = 0; c < 6; c++)
		if (!fork()) {
			char name[30], other[30];
			for (int i = 0; i < 40; i++) {
				snprintf(name, sizeof name, "t%d-%d", c, i % 7), snprintf(other, sizeof other, "u%d-%d", c, i % 5);
				make(name, 1000 * i + c, i);
				if (i % 3 == 0) rename(name, other), make(name, 10, i);
				if (i % 4 == 0) unlink(name);
			}
			snprintf(name, sizeof name, "last-%d", c);
			make(name, 40000 + c, c);
			_exit(0);
		}
	for (int c = 0; c < 6; c++) {
		int status;
		HOLDS(wait(&status) > 0);
		WANT(status, 0);
	}
	for (int c = 0; c < 6; c++) {
		char name[30];
		snprintf(name, sizeof name, "last-%d", c);
		holds(name, 40000 + c, c);
	}
	chdir("/");
}

/* Names with a slash behind them, rights that go with the owner, descriptors that only point. */
static void corners(void)
{
	struct stat st;
	goes("/kept");
	FAILS(open("made/", O_CREAT | O_WRONLY, 0644), EISDIR);
	FAILS(stat("made", &st), ENOENT);
	make("plain", 10, 3);
	FAILS(open("plain/", O_CREAT | O_WRONLY, 0644), EISDIR);
	FAILS(open("plain/", O_WRONLY), ENOTDIR);
	WANT(chown("plain", 1000, 1000), 0);
	WANT(chmod("plain", 06755), 0);
	WANT(chown("plain", 1001, 1000), 0);
	WANT(stat("plain", &st), 0);
	WANT(st.st_mode, 0100755);
	WANT(chmod("plain", 06744), 0);
	WANT(chown("plain", 1000, 1000), 0);
	WANT(stat("plain", &st), 0);
	WANT(st.st_mode, 0102744);
	int fd = open("plain", O_PATH);
	HOLDS(fd >= 0);
	FAILS(fsync(fd), EBADF);
	FAILS(read(fd, buffer, 1), EBADF);
	WANT(fstat(fd, &st), 0);
	WANT(st.st_size, 10);
	close(fd);
	WANT(unlink("plain"), 0);
	chdir("/");
}

PARTS({"makes", makes}, {"changes", changes}, {"removes", removes}, {"names", names}, {"facts", facts},
      {"crowd", crowd}, {"full", full}, {"together", together},
      {"corners", corners})
