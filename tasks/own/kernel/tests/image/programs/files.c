/* Files that are there: read, looked at, listed; nothing is written. */
#include "exam.h"

static void contents(void)
{
	char *path;
	static char buffer[70000];
	for (int n = 0; (path = param_nth("file", n)); n++) {
		int fd = open(path, O_RDONLY);
		if (fd < 0) fail("open %s: %s", path, strerror(errno));
		size_t chunk = n % 2 ? 777 : sizeof buffer;
		ssize_t got;
		while ((got = read(fd, buffer, chunk)) > 0)
			mix(buffer, got);
		WANT(got, 0);
		WANT(close(fd), 0);
	}
	HOLDS(path == NULL);
}

static void places(void)
{
	int fd = open(param("big"), O_RDONLY);
	HOLDS(fd >= 0);
	struct stat st;
	WANT(fstat(fd, &st), 0);
	char piece[64];
	for (int i = 0; i < 80; i++) {
		off_t place = draw() % (st.st_size - 64);
		if (i % 2) {
			WANT(pread(fd, piece, 64, place), 64);
		} else {
			WANT(lseek(fd, place, SEEK_SET), place);
			WANT(read(fd, piece, 64), 64);
		}
		mix(piece, 64);
	}
	WANT(pread(fd, piece, 64, st.st_size - 10), 10);
	mix(piece, 10);
	WANT(pread(fd, piece, 64, st.st_size), 0);
	WANT(pread(fd, piece, 64, st.st_size + 100000), 0);
	close(fd);
}

static void facts(void)
{
	char *path;
	for (int n = 0; (path = param_nth("look", n)); n++) {
		struct stat st, again;
		if (lstat(path, &st)) fail("lstat %s: %s", path, strerror(errno));
		mix_text("%ld %o %lu %u %u %ld;", S_ISDIR(st.st_mode) ? 0 : (long)st.st_size, st.st_mode, (unsigned long)st.st_nlink, st.st_uid,
			 st.st_gid, (long)st.st_mtime);
		HOLDS(st.st_ino > 0 && st.st_blksize >= 512);
		if (S_ISLNK(st.st_mode))
			continue;
		WANT(stat(path, &again), 0);
		WANT(again.st_ino, st.st_ino);
		if (S_ISREG(st.st_mode)) {
			int fd = open(path, O_RDONLY);
			HOLDS(fd >= 0);
			WANT(fstat(fd, &again), 0);
			WANT(again.st_size, st.st_size);
			WANT(again.st_ino, st.st_ino);
			HOLDS(again.st_blocks * 512 >= (st.st_size < 1 << 20 ? st.st_size : 0));
			close(fd);
		}
	}
}

static int by_name(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }
static void listing(void)
{
	static char *names[4000];
	int count = 0;
	DIR *dir = opendir(param("dir"));
	HOLDS(dir);
	struct dirent *entry;
	while ((entry = readdir(dir)) && count < 4000) {
		char text[300];
		snprintf(text, sizeof text, "%s %d;", entry->d_name, entry->d_type);
		names[count++] = strdup(text);
	}
	rewinddir(dir);
	int again = 0;
	while (readdir(dir))
		again++;
	WANT(again, count);
	closedir(dir);
	qsort(names, count, sizeof *names, by_name);
	for (int i = 0; i < count; i++)
		mix(names[i], strlen(names[i]));
}

static void links(void)
{
	char target[300], *path;
	for (int n = 0; (path = param_nth("link", n)); n++) {
		ssize_t got = readlink(path, target, sizeof target);
		if (got < 0) fail("readlink %s: %s", path, strerror(errno));
		mix(target, got);
		int fd = open(path, O_RDONLY);
		if (fd < 0) fail("open %s: %s", path, strerror(errno));
		while ((got = read(fd, target, sizeof target)) > 0)
			mix(target, got);
		close(fd);
		FAILS(open(path, O_RDONLY | O_NOFOLLOW), ELOOP);
	}
	WANT(readlink(param("link"), target, 2), 2);
	FAILS(readlink(param("file"), target, 100), EINVAL);
	FAILS(open(param("circle"), O_RDONLY), ELOOP);
	FAILS(open(param("nowhere"), O_RDONLY), ENOENT);
}

static void errors(void)
{
	char path[5000], *file = param_nth("file", 5), *dir = param("dir");
	FAILS(open("/not/there", O_RDONLY), ENOENT);
	FAILS(open("", O_RDONLY), ENOENT);
	snprintf(path, sizeof path, "%s/x", file);
	FAILS(open(path, O_RDONLY), ENOTDIR);
	snprintf(path, sizeof path, "%s/", file);
	FAILS(open(path, O_RDONLY), ENOTDIR);
	struct stat st;
	FAILS(stat(path, &st), ENOTDIR);
	FAILS(lstat(path, &st), ENOTDIR);
	FAILS(access(path, F_OK), ENOTDIR);
	FAILS(chdir(path), ENOTDIR);
	FAILS(readlink(path, path, 10), ENOTDIR);
	FAILS(execl(path, path, (char *)0), ENOTDIR);
	FAILS(open(file, O_RDONLY | O_DIRECTORY), ENOTDIR);
	FAILS(open(dir, O_RDWR), EISDIR);
	FAILS(open((char *)16, O_RDONLY), EFAULT);
	memset(path, 'n', 300);
	path[0] = '/';
	path[300] = 0;
	FAILS(open(path, O_RDONLY), ENAMETOOLONG);
	for (int i = 0; i < 4500; i += 2)
		memcpy(path + i, "/.", 3);
	FAILS(open(path, O_RDONLY), ENAMETOOLONG);
	int fd = open(file, O_RDONLY);
	FAILS(write(fd, "x", 1), EBADF);
	FAILS(lseek(fd, -5, SEEK_SET), EINVAL);
	FAILS(lseek(fd, 0, 77), EINVAL);
	FAILS(pread(fd, path, 10, -1), EINVAL);
	FAILS(read(fd, (void *)0xffffffff80000000, 10), EFAULT);
	FAILS(ioctl(fd, TCGETS, path), ENOTTY);
	FAILS(fstat(99, (struct stat *)path), EBADF);
	close(fd);
	FAILS(close(fd), EBADF);
	fd = open(dir, O_RDONLY);
	FAILS(read(fd, path, 10), EISDIR);
	close(fd);
	FAILS(chdir(file), ENOTDIR);
	FAILS(access("/not/there", F_OK), ENOENT);
	WANT(access(file, R_OK), 0);
}

static void offsets(void)
{
	char a[32], b[32], c[32];
	int fd = open(param("big"), O_RDONLY), other = open(param("big"), O_RDONLY), copy = dup(fd);
	HOLDS(other == fd + 1 && copy == other + 1);
	WANT(read(fd, a, 32), 32);
	WANT(read(copy, b, 32), 32);
	WANT(pread(other, c, 32, 32), 32);
	HOLDS(!memcmp(b, c, 32));
	WANT(lseek(fd, 0, SEEK_CUR), 64);
	WANT(lseek(other, 0, SEEK_CUR), 0);
	WANT(lseek(copy, -64, SEEK_CUR), 0);
	WANT(read(fd, b, 32), 32);
	HOLDS(!memcmp(a, b, 32));
	struct stat st;
	fstat(fd, &st);
	WANT(lseek(fd, -7, SEEK_END), st.st_size - 7);
	WANT(read(fd, c, 32), 7);
	WANT(lseek(fd, 1000, SEEK_END), st.st_size + 1000);
	WANT(read(fd, c, 32), 0);
	struct iovec parts[2] = {{a, 16}, {b, 16}};
	WANT(lseek(fd, 32, SEEK_SET), 32);
	WANT(readv(fd, parts, 2), 32);
	WANT(pread(other, c, 32, 32), 32);
	HOLDS(!memcmp(a, c, 16) && !memcmp(b, c + 16, 16));
	close(fd);
	WANT(open(param("big"), O_RDONLY), fd);
	close(fd), close(other), close(copy);
	WANT(fcntl(1, F_GETFD), 0);
	fd = open(param("big"), O_RDONLY | O_CLOEXEC);
	WANT(fcntl(fd, F_GETFD), FD_CLOEXEC);
	WANT(fcntl(fd, F_GETFL) & O_ACCMODE, O_RDONLY);
	close(fd);
}

static void relative(void)
{
	char here[PATH_MAX], path[PATH_MAX];
	char *dir = param("dir"), *name = param("name");
	HOLDS(getcwd(here, sizeof here));
	HOLDS(!strcmp(here, "/"));
	WANT(chdir(dir), 0);
	HOLDS(getcwd(here, sizeof here));
	HOLDS(!strcmp(here, dir));
	FAILS(syscall(SYS_getcwd, here, 3), ERANGE);
	struct stat a, b;
	WANT(stat(name, &a), 0);
	snprintf(path, sizeof path, "%s/./../%s/../%s//%s", dir, strrchr(dir, '/') + 1, strrchr(dir, '/') + 1, name);
	WANT(stat(path, &b), 0);
	WANT(a.st_ino, b.st_ino);
	WANT(chdir(".."), 0);
	int fd = open(dir, O_RDONLY | O_DIRECTORY);
	HOLDS(fd >= 0);
	int file = openat(fd, name, O_RDONLY);
	HOLDS(file >= 0);
	WANT(fstat(file, &b), 0);
	WANT(a.st_ino, b.st_ino);
	WANT(fstatat(fd, name, &b, 0), 0);
	WANT(a.st_ino, b.st_ino);
	WANT(fstatat(file, "", &b, AT_EMPTY_PATH), 0);
	WANT(a.st_ino, b.st_ino);
	FAILS(openat(file, name, O_RDONLY), ENOTDIR);
	WANT(fchdir(fd), 0);
	WANT(stat(name, &b), 0);
	WANT(chdir("/../.."), 0);
	HOLDS(getcwd(here, sizeof here) && !strcmp(here, "/"));
	close(fd), close(file);
}

static void permissions(void)
{
	char *secret = param("secret"), *group = param("group"), *open_one = param("file"), *closed = param("closed");
	gid_t groups[1] = {strtoul(param("gid"), 0, 10)};
	int fd = open(secret, O_RDONLY);
	HOLDS(fd >= 0);
	WANT(setgroups(1, groups), 0);
	WANT(setresgid(-1, 77, -1), 0);
	WANT(setresuid(-1, 1234, -1), 0);
	WANT(geteuid(), 1234);
	WANT(getuid(), 0);
	FAILS(open(secret, O_RDONLY), EACCES);
	FAILS(open(closed, O_RDONLY), EACCES);
	int fd2 = open(group, O_RDONLY);
	HOLDS(fd2 >= 0);
	close(fd2);
	FAILS(open(group, O_RDWR), EACCES);
	fd2 = open(open_one, O_RDONLY);
	HOLDS(fd2 >= 0);
	close(fd2);
	FAILS(open(open_one, O_WRONLY), EACCES);
	char byte;
	WANT(pread(fd, &byte, 1, 0), 1);
	FAILS(setresuid(55, 55, 55), EPERM);
	WANT(setresuid(-1, 0, -1), 0);
	WANT(setresgid(-1, 0, -1), 0);
	fd2 = open(secret, O_RDONLY);
	HOLDS(fd2 >= 0);
	close(fd2), close(fd);
	WANT(setgroups(0, groups), 0);
}

static void sparse(void)
{
	int fd = open(param("sparse"), O_RDONLY);
	HOLDS(fd >= 0);
	char *at, piece[300];
	for (int n = 0; (at = param_nth("at", n)); n++) {
		off_t place = strtoull(at, 0, 10);
		WANT(pread(fd, piece, 300, place), 300);
		mix(piece, 300);
	}
	struct stat st;
	WANT(fstat(fd, &st), 0);
	mix_text("%ld", (long)st.st_size);
	HOLDS(st.st_blocks * 512 < st.st_size / 8);
	close(fd);
}

PARTS({"contents", contents}, {"places", places}, {"facts", facts}, {"listing", listing}, {"links", links},
      {"errors", errors}, {"offsets", offsets}, {"relative", relative}, {"permissions", permissions},
      {"sparse", sparse})
