/* What programs may expect of files, folders, names and links. */
#include "exam.h"

/* --- files --------------------------------------------------------------------------------------- */

static void contents(void)
{
	enum { MOST = 300000 };
	uint8_t *model = room_for(MOST), *piece = room_for(MOST);
	size_t size = 0;
	int fd = OPENED(open("contents", O_RDWR | O_CREAT | O_EXCL, 0600));
	FAILS(open("contents", O_RDWR | O_CREAT | O_EXCL, 0600), EEXIST);
	for (int step = 0; step < 150; step++) {
		size_t at = between(0, MOST - 1), n = between(0, 3) ? between(1, 9000) : between(1, 60000);
		if (at + n > MOST)
			n = MOST - at;
		switch (between(0, 5)) {
		case 0: /* shorter or longer */
			WANT(ftruncate(fd, at), 0);
			if (at < size)
				memset(model + at, 0, size - at);
			size = at;
			break;
		case 1: {
			size_t m = filled(fd, piece, n, at);
			HOLDS(m == (at >= size ? 0 : size - at < n ? size - at : n));
			HOLDS(!memcmp(piece, model + at, m));
			break;
		}
		case 2: { /* in two pieces */
			drawn_bytes(piece, n);
			struct iovec v[2] = {{piece, n / 3}, {piece + n / 3, n - n / 3}};
			WANT(pwritev(fd, v, 2, at), n);
			memcpy(model + at, piece, n);
			size = at + n > size ? at + n : size;
			break;
		}
		default:
			drawn_bytes(piece, n);
			WANT(pwrite(fd, piece, n, at), n);
			memcpy(model + at, piece, n);
			size = at + n > size ? at + n : size;
		}
		struct stat s;
		WANT(fstat(fd, &s), 0);
		HOLDS(s.st_size == (off_t)size);
	}
	has("contents", model, size);
	WANT(lseek(fd, 0, SEEK_END), size);
	WANT(lseek(fd, 5, SEEK_SET), 5);
	WANT(lseek(fd, 3, SEEK_CUR), 8);
	FAILS(lseek(fd, -1, SEEK_SET), EINVAL);
	WANT(pread(fd, piece, 10, size + 5), 0);
	close(fd);
	free(model);
	free(piece);
}

static void appends(void)
{
	uint8_t line[100], all[4000];
	size_t n = 0;
	int fd = OPENED(open("log", O_WRONLY | O_CREAT | O_APPEND, 0644)), other = OPENED(open("log", O_WRONLY | O_APPEND));
	for (int step = 0; step < 40; step++) {
		size_t m = between(1, 100);
		drawn_bytes(line, m);
		lseek(fd, 0, SEEK_SET);
		WANT(write(step & 1 ? fd : other, line, m), m);
		memcpy(all + n, line, m);
		n += m;
	}
	has("log", all, n);
	close(fd);
	fd = OPENED(open("log", O_WRONLY | O_TRUNC));
	HOLDS(facts("log").st_size == 0);
	FAILS(read(fd, line, 1), EBADF);
	close(fd);
	close(other);
	FAILS(open("absent", O_RDONLY), ENOENT);
	FAILS(open("log/below", O_RDONLY), ENOTDIR);
	FAILS(open(".", O_WRONLY), EISDIR);
	FAILS(truncate("log", -1), EINVAL);
}

/* What was behind an end is zero once the end is behind it. */
static void tails(void)
{
	uint8_t *data = room_for(20000), *zero = room_for(20000);
	for (int step = 0; step < 12; step++) {
		size_t long_ = between(5000, 20000), cut = between(1, long_ - 1), grown = between(cut + 1, 20000);
		drawn_bytes(data, long_);
		int fd = OPENED(open("tail", O_RDWR | O_CREAT | O_TRUNC, 0644));
		written(fd, data, long_);
		if (step & 1) {
			WANT(fsync(fd), 0);
			forgotten();
		}
		WANT(ftruncate(fd, cut), 0);
		if (step & 2) {
			WANT(fsync(fd), 0);
			forgotten();
		}
		if (step & 4)
			WANT(pwrite(fd, "x", 1, grown - 1), 1);
		else
			WANT(ftruncate(fd, grown), 0);
		WANT(filled(fd, zero, 20000, 0), grown);
		HOLDS(!memcmp(zero, data, cut));
		for (size_t at = cut; at < grown - 1; at++)
			if (zero[at])
				fail("%zu bytes, cut to %zu, grown to %zu: at %zu is %#x", long_, cut, grown, at, zero[at]);
		close(fd);
	}
}

/* A tree that follows from the seed; `persisted` finds it again after a mount. */
static void tree_of_seed(bool make)
{
	char path[100];
	for (int d = 0; d < 6; d++) {
		snprintf(path, sizeof path, "kept%d", d);
		if (make)
			WANT(mkdir(path, 0700 + d), 0);
		for (int f = 0; f < 12; f++) {
			size_t n = between(0, 3) ? between(0, 20000) : between(0, 250000);
			uint8_t *data = room_for(n);
			drawn_bytes(data, n);
			snprintf(path, sizeof path, "kept%d/%llx-%d", d, (unsigned long long)draw(), f);
			if (make)
				make_file(path, data, n);
			else
				has(path, data, n);
			free(data);
		}
		if (make && d == 3)
			sync();
	}
}
static void persists(void) { tree_of_seed(true); }
static void persisted(void) { tree_of_seed(false); }

/* --- folders --------------------------------------------------------------------------------------- */

static int count_of(const char *path, int *times, int most)
{
	DIR *dir = opendir(path);
	int found = 0;
	if (!dir)
		fail("opendir %s: %s", path, strerror(errno));
	memset(times, 0, most * sizeof *times);
	errno = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		int n;
		if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
			continue;
		if (sscanf(e->d_name, "entry-%d", &n) != 1 || n < 0 || n >= most)
			fail("%s has the entry %s", path, e->d_name);
		times[n]++;
		found++;
	}
	closedir(dir);
	return found;
}

static void many(void)
{
	enum { MANY = 3000 };
	int *times = room_for(MANY * sizeof *times);
	char path[100];
	WANT(mkdir("many", 0755), 0);
	for (int n = 0; n < MANY; n++) {
		snprintf(path, sizeof path, "many/entry-%d", n);
		if (n % 10 == 3)
			WANT(mkdir(path, 0755), 0);
		else
			close(OPENED(open(path, O_WRONLY | O_CREAT | O_EXCL, 0644)));
	}
	WANT(count_of("many", times, MANY), MANY);
	for (int n = 0; n < MANY; n++)
		if (times[n] != 1)
			fail("entry %d is told %d times", n, times[n]);
	WANT(facts("many").st_nlink, 2 + MANY / 10);
	FAILS(rmdir("many"), ENOTEMPTY);
	/* Removed while it is read: what stays is told once. */
	DIR *dir = opendir("many");
	memset(times, 0, MANY * sizeof *times);
	for (struct dirent *e; (e = readdir(dir));) {
		int n;
		if (sscanf(e->d_name, "entry-%d", &n) != 1)
			continue;
		times[n]++;
		if (n % 2) {
			snprintf(path, sizeof path, "many/entry-%d", n);
			WANT(n % 10 == 3 ? rmdir(path) : unlink(path), 0);
		}
	}
	for (int n = 0; n < MANY; n++)
		if (times[n] > 1 || (!times[n]))
			fail("while others are removed, entry %d is told %d times", n, times[n]);
	rewinddir(dir);
	/* A place in a folder is found again. */
	long place[20];
	char name[20][256];
	int have = 0, seen = 0;
	for (struct dirent *e; have < 20; seen++) {
		long here = telldir(dir);
		e = readdir(dir);
		if (!e)
			break;
		if (seen % 60 == 7) {
			place[have] = here;
			strcpy(name[have++], e->d_name);
		}
	}
	HOLDS(have == 20);
	for (int n = 0; n < 40; n++) {
		int which = between(0, have - 1);
		seekdir(dir, place[which]);
		struct dirent *e = readdir(dir);
		HOLDS(e && !strcmp(e->d_name, name[which]));
	}
	closedir(dir);
	WANT(count_of("many", times, MANY), MANY / 2);
	for (int n = 0; n < MANY; n++) {
		snprintf(path, sizeof path, "many/entry-%d", n);
		if (n % 2)
			FAILS(open(path, O_RDONLY), ENOENT);
		else
			WANT(unlink(path), 0);
	}
	WANT(facts("many").st_nlink, 2);
	WANT(rmdir("many"), 0);
	FAILS(rmdir("many"), ENOENT);
}

/* Read in small pieces, while others come, go and get new names: what stays is told once. */
static void changing(void)
{
	enum { STAY = 800, GO = 200, MOST = 20000 };
	static char buffer[1024];
	int *times = room_for(STAY * sizeof *times), came = 0, gone = 0, told = 0, n;
	char path[100], to[100];
	WANT(mkdir("changing", 0755), 0);
	for (n = 0; n < STAY + GO; n++) {
		snprintf(path, sizeof path, "changing/%s-%d", n < STAY ? "stays" : "goes", n < STAY ? n : n - STAY);
		make_file(path, "", 0);
	}
	int fd = OPENED(open("changing", O_RDONLY | O_DIRECTORY));
	for (long got; (got = syscall(SYS_getdents64, fd, buffer, sizeof buffer));) {
		if (got < 0)
			fail("getdents64: %s", strerror(errno));
		for (long at = 0; at < got;) {
			struct dirent64 *e = (void *)(buffer + at);
			at += e->d_reclen;
			if (told++ > MOST)
				fail("a folder of %d names tells more than %d", STAY + GO + came, MOST);
			if (sscanf(e->d_name, "stays-%d", &n) != 1)
				continue;
			times[n]++;
			if (n % 3 == 0) {
				snprintf(path, sizeof path, "changing/comes-%d", came++);
				make_file(path, "", 0);
			} else if (n % 3 == 1 && gone < GO) {
				snprintf(path, sizeof path, "changing/goes-%d", gone++);
				snprintf(to, sizeof to, "changing/moved-%d", gone);
				WANT(gone % 2 ? rename(path, to) : unlink(path), 0);
			}
		}
	}
	for (n = 0; n < STAY; n++)
		if (times[n] != 1)
			fail("while others come and go, a name that stays is told %d times", times[n]);
	close(fd);
}

static void names(void)
{
	char name[300], path[310];
	WANT(mkdir("names", 0755), 0);
	memset(name, 'n', sizeof name);
	name[255] = 0;
	snprintf(path, sizeof path, "names/%s", name);
	make_file(path, name, 10);
	has(path, name, 10);
	name[255] = 'n';
	name[256] = 0;
	snprintf(path, sizeof path, "names/%s", name);
	FAILS(open(path, O_WRONLY | O_CREAT, 0644), ENAMETOOLONG);
	FAILS(mkdir(path, 0755), ENAMETOOLONG);
	FAILS(open(path, O_RDONLY), ENAMETOOLONG);
	for (int c = 1; c < 256; c++) {
		if (c == '/')
			continue;
		snprintf(path, sizeof path, "names/%cx%c", c, c);
		make_file(path, &c, 1);
	}
	FAILS(open("names/Ax", O_RDONLY), ENOENT);
	make_file("names/CASE", "1", 1);
	make_file("names/case", "2", 1);
	has("names/CASE", "1", 1);
	for (int c = 1; c < 256; c++) {
		if (c == '/')
			continue;
		snprintf(path, sizeof path, "names/%cx%c", c, c);
		has(path, &c, 1);
		WANT(unlink(path), 0);
	}
	DIR *dir = opendir("names");
	int seen = 0;
	while (readdir(dir))
		seen++;
	closedir(dir);
	WANT(seen, 5);
	FAILS(mkdir("names/case", 0755), EEXIST);
	FAILS(mkdir("names", 0755), EEXIST);
	FAILS(mkdir("absent/below", 0755), ENOENT);
	FAILS(rmdir("names/case"), ENOTDIR);
	FAILS(unlink("names"), EISDIR);
	FAILS(rmdir("names/."), EINVAL);
}

static void deep(void)
{
	char name[20], cwd[4096], again[4096];
	HOLDS(getcwd(cwd, sizeof cwd));
	for (int n = 0; n < 60; n++) {
		snprintf(name, sizeof name, "deep-%d", n);
		WANT(mkdir(name, 0755), 0);
		WANT(chdir(name), 0);
	}
	make_file("bottom", "down", 4);
	HOLDS(getcwd(again, sizeof again));
	for (int n = 0; n < 60; n++)
		WANT(chdir(".."), 0);
}

static void below(void)
{
	char cwd[4096], again[4096];
	WANT(mkdir("one", 0755), 0);
	WANT(mkdir("one/two", 0755), 0);
	WANT(mkdir("one/two/three", 0755), 0);
	WANT(mkdir("other", 0755), 0);
	WANT(chdir("one/two/three"), 0);
	WANT(rename("../../../one/two", "../../../other/moved"), 0);
	HOLDS(getcwd(again, sizeof again));
	HOLDS(strstr(again, "/other/moved/three"));
	WANT(chdir("../.."), 0);
	HOLDS(getcwd(cwd, sizeof cwd));
	HOLDS(!strcmp(cwd + strlen(cwd) - 6, "/other"));
	WANT(facts("../one").st_nlink, 2);
	WANT(facts(".").st_nlink, 3);
	HOLDS(facts("moved/..").st_ino == facts(".").st_ino);
	/* A folder that was removed under somebody's feet. */
	WANT(mkdir("gone", 0755), 0);
	WANT(chdir("gone"), 0);
	WANT(rmdir("../gone"), 0);
	FAILS(open("new", O_WRONLY | O_CREAT, 0644), ENOENT);
	FAILS(mkdir("new", 0755), ENOENT);
}

/* --- rename ---------------------------------------------------------------------------------------- */

static long rename2(const char *from, const char *to, unsigned flags)
{
	return syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, flags);
}

static void renames(void)
{
	WANT(mkdir("a", 0755), 0);
	WANT(mkdir("b", 0755), 0);
	WANT(mkdir("a/empty", 0755), 0);
	WANT(mkdir("a/full", 0755), 0);
	make_file("a/full/file", "in full", 7);
	make_file("a/file", "one", 3);
	make_file("b/file", "two", 3);
	int open_ = OPENED(open("b/file", O_RDONLY));
	ino_t ino = facts("a/file").st_ino;
	WANT(rename("a/file", "b/file"), 0);
	FAILS(access("a/file", F_OK), ENOENT);
	has("b/file", "one", 3);
	HOLDS(facts("b/file").st_ino == ino);
	char text[4];
	WANT(pread(open_, text, 4, 0), 3);
	HOLDS(!memcmp(text, "two", 3));
	struct stat s;
	WANT(fstat(open_, &s), 0);
	HOLDS(s.st_nlink == 0);
	close(open_);
	FAILS(rename("b/file", "a/empty"), EISDIR);
	FAILS(rename("a/empty", "b/file"), ENOTDIR);
	FAILS(rename("a/empty", "a/full"), ENOTEMPTY);
	FAILS(rename("a", "a/full/below"), EINVAL);
	FAILS(rename("a/full", "a"), ENOTEMPTY);
	FAILS(rename("a/absent", "a/new"), ENOENT);
	FAILS(rename("a/empty", "absent/new"), ENOENT);
	WANT(facts("a").st_nlink, 4);
	WANT(rename("a/full", "a/empty"), 0);
	WANT(facts("a").st_nlink, 3);
	has("a/empty/file", "in full", 7);
	WANT(rename("a/empty", "b/there"), 0);
	WANT(facts("a").st_nlink, 2);
	WANT(facts("b").st_nlink, 3);
	HOLDS(facts("b/there/..").st_ino == facts("b").st_ino);
	/* Two names of one file: nothing happens. */
	WANT(link("b/file", "b/same"), 0);
	WANT(rename("b/file", "b/same"), 0);
	WANT(facts("b/file").st_nlink, 2);
	WANT(facts("b/same").st_nlink, 2);
	WANT(rename("b/file", "b/file"), 0);
}

static void flags(void)
{
	WANT(mkdir("x", 0755), 0);
	WANT(mkdir("y", 0755), 0);
	WANT(mkdir("x/folder", 0755), 0);
	make_file("x/folder/in", "in", 2);
	make_file("y/file", "file", 4);
	FAILS(rename2("y/file", "x/folder", 1), EEXIST);
	WANT(rename2("y/file", "y/other", 1), 0);
	FAILS(rename2("y/other", "y/absent", 2), ENOENT);
	FAILS(rename2("y/other", "x/folder", 4 | 2), EINVAL);
	WANT(rename2("y/other", "x/folder", 2), 0);
	has("x/folder", "file", 4);
	has("y/other/in", "in", 2);
	WANT(facts("x").st_nlink, 2);
	WANT(facts("y").st_nlink, 3);
	HOLDS(facts("y/other/..").st_ino == facts("y").st_ino);
	WANT(symlink("target", "x/link"), 0);
	WANT(rename2("x/link", "x/folder", 2), 0);
	has("x/link", "file", 4);
	char text[20] = "";
	WANT(readlink("x/folder", text, sizeof text), 6);
	/* Over many names, in long lists. */
	char from[100], to[100];
	WANT(mkdir("list", 0755), 0);
	for (int n = 0; n < 400; n++) {
		snprintf(from, sizeof from, "list/%d", n);
		make_file(from, &n, sizeof n);
	}
	for (int n = 0; n < 400; n++) {
		snprintf(from, sizeof from, "list/%d", n);
		snprintf(to, sizeof to, "list/%d", n * 7 % 400 + 400);
		WANT(rename(from, to), 0);
	}
	for (int n = 0; n < 400; n++) {
		snprintf(to, sizeof to, "list/%d", n * 7 % 400 + 400);
		has(to, &n, sizeof n);
	}
}

/* --- links ------------------------------------------------------------------------------------------ */

static void links(void)
{
	make_file("first", "linked", 6);
	char name[40];
	for (int n = 0; n < 60; n++) {
		snprintf(name, sizeof name, "name-%d", n);
		WANT(link("first", name), 0);
	}
	WANT(facts("name-7").st_nlink, 61);
	HOLDS(facts("name-7").st_ino == facts("first").st_ino);
	WANT(unlink("first"), 0);
	int fd = OPENED(open("name-9", O_WRONLY | O_APPEND));
	written(fd, "!", 1);
	close(fd);
	has("name-30", "linked!", 7);
	for (int n = 0; n < 59; n++) {
		snprintf(name, sizeof name, "name-%d", n);
		WANT(unlink(name), 0);
	}
	WANT(facts("name-59").st_nlink, 1);
	has("name-59", "linked!", 7);
	WANT(mkdir("folder", 0755), 0);
	FAILS(link("folder", "second"), EPERM);
	FAILS(link("name-59", "folder"), EEXIST);
	FAILS(link("absent", "second"), ENOENT);
	FAILS(unlink("absent"), ENOENT);
}

static void symbolic(void)
{
	char target[PATH_MAX + 2], got[PATH_MAX + 2];
	for (int step = 0; step < 8; step++) {
		size_t n = step == 0 ? 1 : step == 1 ? 4095 : between(1, 4095);
		for (size_t at = 0; at < n; at++)
			target[at] = 'a' + draw() % 26;
		target[n] = 0;
		WANT(symlink(target, "soft"), 0);
		WANT(readlink("soft", got, sizeof got), n);
		HOLDS(!memcmp(got, target, n));
		struct stat s = facts("soft");
		HOLDS(S_ISLNK(s.st_mode) && s.st_size == (off_t)n);
		FAILS(symlink("x", "soft"), EEXIST);
		WANT(unlink("soft"), 0);
	}
	memset(target, 'a', 4096);
	target[4096] = 0;
	FAILS(symlink(target, "soft"), ENAMETOOLONG);
	WANT(mkdir("real", 0755), 0);
	make_file("real/file", "through", 7);
	WANT(symlink("real", "way"), 0);
	has("way/file", "through", 7);
	WANT(symlink("circle", "circle"), 0);
	FAILS(open("circle", O_RDONLY), ELOOP);
	FAILS(open("way", O_RDONLY | O_NOFOLLOW), ELOOP);
	FAILS(readlink("real", got, 10), EINVAL);
	WANT(link("way", "hard"), 0);
	WANT(facts("hard").st_nlink, 2);
	WANT(unlink("way"), 0);
	has("hard/file", "through", 7);
}

static void kinds(void)
{
	WANT(mkdir("kinds", 0755), 0);
	WANT(chdir("kinds"), 0);
	WANT(mkfifo("fifo", 0640), 0);
	WANT(mknod("null", S_IFCHR | 0666, makedev(1, 3)), 0);
	WANT(mknod("block", S_IFBLK | 0600, makedev(259, 70000)), 0);
	WANT(mkdir("folder", 0755), 0);
	WANT(symlink("null", "soft"), 0);
	make_file("file", "", 0);
	int server = OPENED(socket(AF_UNIX, SOCK_STREAM, 0));
	struct sockaddr_un name = {AF_UNIX, "socket"};
	WANT(bind(server, (void *)&name, sizeof name), 0);
	HOLDS(facts("null").st_rdev == makedev(1, 3));
	HOLDS(facts("block").st_rdev == makedev(259, 70000));
	int fd = OPENED(open("null", O_RDWR));
	char c;
	WANT(read(fd, &c, 1), 0);
	WANT(write(fd, "x", 1), 1);
	int both = OPENED(open("fifo", O_RDWR));
	WANT(write(both, "pipe", 4), 4);
	char text[5] = "";
	WANT(read(both, text, 4), 4);
	HOLDS(!strcmp(text, "pipe"));
	DIR *dir = opendir(".");
	int seen = 0;
	for (struct dirent *e; (e = readdir(dir));) {
		struct stat s = facts(e->d_name);
		if (e->d_type != DT_UNKNOWN && (s.st_mode & S_IFMT) >> 12 != e->d_type)
			fail("%s has the type %d in the list", e->d_name, e->d_type);
		HOLDS(s.st_ino == e->d_ino || !strcmp(e->d_name, ".."));
		seen++;
	}
	WANT(seen, 9);
	closedir(dir);
}

/* Nodes and links that follow from the seed; `kept-kinds` finds them again after a mount. */
static void kinds_of_seed(bool make)
{
	static const mode_t kind[] = {S_IFCHR, S_IFBLK, S_IFIFO, S_IFSOCK};
	char name[60], target[PATH_MAX], got[PATH_MAX];
	for (int n = 0; n < 16; n++) {
		mode_t mode = kind[n % 4] | 0600 | (draw() & 044);
		dev_t number = makedev(between(1, 4095), draw() & 0xfffff);
		size_t length = n ? between(1, 4095) : 4095;
		for (size_t at = 0; at < length; at++)
			target[at] = 'a' + draw() % 26;
		target[length] = 0;
		if (make) {
			snprintf(name, sizeof name, "node%d", n);
			WANT(mknod(name, mode, n % 4 < 2 ? number : 0), 0);
			snprintf(name, sizeof name, "soft%d", n);
			WANT(symlink(target, name), 0);
			snprintf(name, sizeof name, "hard%d", n);
			WANT(n ? link("hard0", name) : mknod("hard0", S_IFREG | 0644, 0), 0);
			continue;
		}
		snprintf(name, sizeof name, "node%d", n);
		struct stat s = facts(name);
		if (s.st_mode != mode || (n % 4 < 2 && s.st_rdev != number))
			fail("%s has mode %o and number %lx, not %o and %lx", name, s.st_mode, (long)s.st_rdev, mode, (long)number);
		snprintf(name, sizeof name, "soft%d", n);
		WANT(readlink(name, got, sizeof got), length);
		HOLDS(!memcmp(got, target, length));
		snprintf(name, sizeof name, "hard%d", n);
		WANT(facts(name).st_nlink, 16);
		HOLDS(facts(name).st_ino == facts("hard0").st_ino);
	}
}
static void keeps_kinds(void) { kinds_of_seed(true); }
static void kept_kinds(void) { kinds_of_seed(false); }

/* --- attributes ------------------------------------------------------------------------------------- */

static bool later(struct timespec a, struct timespec b)
{
	return a.tv_sec > b.tv_sec || (a.tv_sec == b.tv_sec && a.tv_nsec > b.tv_nsec);
}

static void modes(void)
{
	make_file("mode", "m", 1);
	for (int step = 0; step < 20; step++) {
		mode_t mode = draw() & 07777;
		uid_t uid = draw() % 0xffffffff, gid = draw() % 0xffffffff;
		WANT(chown("mode", uid, gid), 0);
		WANT(chmod("mode", mode), 0);
		struct stat s = facts("mode");
		HOLDS((s.st_mode & 07777) == mode && s.st_uid == uid && s.st_gid == gid);
	}
	umask(027);
	int fd = OPENED(open("masked", O_WRONLY | O_CREAT, 0666));
	HOLDS((facts("masked").st_mode & 07777) == 0640);
	WANT(mkdir("masked-folder", 0777), 0);
	HOLDS((facts("masked-folder").st_mode & 07777) == 0750);
	umask(022);
	close(fd);
	WANT(mkdir("group", 0755), 0);
	WANT(chown("group", 0, 4321), 0);
	WANT(chmod("group", 02775), 0);
	make_file("group/file", "", 0);
	HOLDS(facts("group/file").st_gid == 4321);
	WANT(mkdir("group/folder", 0755), 0);
	HOLDS(facts("group/folder").st_gid == 4321 && (facts("group/folder").st_mode & 02000));
}

static void users(void)
{
	WANT(mkdir("open", 0777), 0);
	WANT(chmod("open", 01777), 0);
	make_file("open/roots", "root", 4);
	WANT(chmod("open/roots", 0600), 0);
	make_file("open/program", "#!", 2);
	WANT(chown("open/program", 1234, 1234), 0);
	WANT(chmod("open/program", 06755), 0);
	WANT(mkdir("closed", 0700), 0);
	make_file("closed/in", "", 0);
	pid_t child = fork();
	if (!child) {
		as_user(1234);
		FAILS(open("open/roots", O_RDONLY), EACCES);
		FAILS(unlink("open/roots"), EPERM);
		FAILS(rename("open/roots", "open/mine"), EPERM);
		FAILS(open("closed/in", O_RDONLY), EACCES);
		FAILS(chmod("open/roots", 0777), EPERM);
		FAILS(chown("open/program", 0, 0), EPERM);
		make_file("open/mine", "mine", 4);
		HOLDS(facts("open/mine").st_uid == 1234 && facts("open/mine").st_gid == 1234);
		int fd = OPENED(open("open/program", O_WRONLY));
		WANT(write(fd, "##", 2), 2);
		HOLDS(!(facts("open/program").st_mode & 06000));
		WANT(unlink("open/mine"), 0);
		_exit(0);
	}
	ended_well(child);
}

static void times(void)
{
	make_file("time", "t", 1);
	static const long seconds[] = {-5000000000, -1, 0, 1, 2147483647, 2147483648, 4294967296, 16000000000};
	for (int n = 0; n < 8; n++) {
		struct timespec t[2] = {{seconds[n], draw() % 1000000000}, {seconds[7 - n], draw() % 1000000000}};
		WANT(utimensat(AT_FDCWD, "time", t, 0), 0);
		struct stat s = facts("time");
		HOLDS(s.st_atim.tv_sec == t[0].tv_sec && s.st_atim.tv_nsec == t[0].tv_nsec);
		HOLDS(s.st_mtim.tv_sec == t[1].tv_sec && s.st_mtim.tv_nsec == t[1].tv_nsec);
		struct timespec keep[2] = {{0, UTIME_OMIT}, {7, 8}};
		WANT(utimensat(AT_FDCWD, "time", keep, 0), 0);
		s = facts("time");
		HOLDS(s.st_atim.tv_nsec == t[0].tv_nsec && s.st_mtim.tv_sec == 7 && s.st_mtim.tv_nsec == 8);
	}
	struct stat before = facts("time"), folder = facts(".");
	rest_ms(30);
	int fd = OPENED(open("time", O_WRONLY));
	WANT(write(fd, "u", 1), 1);
	close(fd);
	struct stat after = facts("time");
	HOLDS(later(after.st_mtim, before.st_mtim) && later(after.st_ctim, before.st_ctim));
	rest_ms(30);
	WANT(chmod("time", 0600), 0);
	struct stat again = facts("time");
	HOLDS(later(again.st_ctim, after.st_ctim) && !later(again.st_mtim, after.st_mtim));
	WANT(link("time", "time-2"), 0);
	rest_ms(30);
	HOLDS(later(facts(".").st_mtim, folder.st_mtim) && later(facts(".").st_ctim, folder.st_ctim));
	folder = facts(".");
	before = facts("time");
	rest_ms(30);
	WANT(unlink("time-2"), 0);
	HOLDS(later(facts(".").st_mtim, folder.st_mtim) && later(facts("time").st_ctim, before.st_ctim));
	before = facts("time");
	rest_ms(30);
	WANT(truncate("time", 100), 0);
	HOLDS(later(facts("time").st_mtim, before.st_mtim));
	folder = facts(".");
	rest_ms(30);
	WANT(rename("time", "time-3"), 0);
	HOLDS(later(facts(".").st_mtim, folder.st_mtim));
}

static void attributes_of_seed(bool make)
{
	char name[40];
	struct timespec changed[40];
	int fd = OPENED(open("/tmp/changed", make ? O_WRONLY | O_CREAT | O_TRUNC : O_RDONLY, 0600));
	if (!make)
		WANT(filled(fd, changed, sizeof changed, 0), sizeof changed);
	for (int n = 0; n < 40; n++) {
		mode_t mode = draw() & 07777;
		uid_t uid = draw() % 0xffffffff;
		struct timespec t[2] = {{(long)(draw() % 20000000000) - 5000000000, draw() % 1000000000},
					{(long)(draw() % 20000000000) - 5000000000, draw() % 1000000000}};
		snprintf(name, sizeof name, "attr%d", n);
		if (make) {
			if (n % 3 == 0)
				WANT(mkdir(name, 0700), 0);
			else
				make_file(name, name, n);
			WANT(chown(name, uid, uid / 2), 0);
			WANT(chmod(name, mode), 0);
			WANT(utimensat(AT_FDCWD, name, t, 0), 0);
			changed[n] = facts(name).st_ctim;
			continue;
		}
		struct stat s = facts(name);
		if ((s.st_mode & 07777) != mode || s.st_uid != uid || s.st_gid != uid / 2)
			fail("%s has mode %o and owner %u, not %o and %u", name, s.st_mode, s.st_uid, mode, uid);
		if (s.st_mtim.tv_sec != t[1].tv_sec || s.st_mtim.tv_nsec != t[1].tv_nsec)
			fail("%s has the mtime %ld.%09ld, not %ld.%09ld", name, s.st_mtim.tv_sec, s.st_mtim.tv_nsec,
			     t[1].tv_sec, t[1].tv_nsec);
		if (s.st_atim.tv_sec != t[0].tv_sec || s.st_atim.tv_nsec != t[0].tv_nsec)
			fail("%s has the atime %ld.%09ld, not %ld.%09ld", name, s.st_atim.tv_sec, s.st_atim.tv_nsec,
			     t[0].tv_sec, t[0].tv_nsec);
		if (s.st_ctim.tv_sec != changed[n].tv_sec || s.st_ctim.tv_nsec != changed[n].tv_nsec)
			fail("%s has the ctime %ld.%09ld, not %ld.%09ld", name, s.st_ctim.tv_sec, s.st_ctim.tv_nsec,
			     changed[n].tv_sec, changed[n].tv_nsec);
	}
	if (make)
		written(fd, changed, sizeof changed);
	close(fd);
}
static void keeps_attributes(void) { attributes_of_seed(true); }
static void kept_attributes(void) { attributes_of_seed(false); }

/* --- holes ------------------------------------------------------------------------------------------ */

static void holes(void)
{
	enum { PIECES = 24 };
	uint8_t piece[PIECES][3000], got[5000];
	off_t at[PIECES], size = 1l << 40;
	uint64_t before = room_left();
	int fd = OPENED(open("sparse", O_RDWR | O_CREAT, 0644));
	WANT(ftruncate(fd, size), 0);
	for (int n = 0; n < PIECES; n++) {
		at[n] = (off_t)((draw() >> between(0, 24)) % (size >> 4) * 16 / PIECES) + size / PIECES * n;
		at[n] = at[n] + 5000 > size / PIECES * (n + 1) ? size / PIECES * n : at[n];
		drawn_bytes(piece[n], sizeof piece[n]);
		WANT(pwrite(fd, piece[n], sizeof piece[n], at[n]), sizeof piece[n]);
		if (n == PIECES / 2)
			WANT(fsync(fd), 0);
	}
	WANT(fsync(fd), 0);
	struct stat s;
	WANT(fstat(fd, &s), 0);
	HOLDS(s.st_size == size);
	HOLDS(s.st_blocks * 512 <= PIECES * 64 << 10);
	HOLDS(before - room_left() < PIECES * 128 << 10);
	for (int n = 0; n < PIECES; n++) {
		WANT(filled(fd, got, sizeof got, at[n]), sizeof got);
		HOLDS(!memcmp(got, piece[n], 3000));
		for (int c = 3000; c < 5000; c++)
			HOLDS(!got[c]);
		if (at[n] > 5000) {
			WANT(filled(fd, got, 2000, at[n] - 2000), 2000);
			for (int c = 0; c < 2000; c++)
				HOLDS(!got[c]);
		}
	}
	WANT(ftruncate(fd, at[PIECES / 2] + 1500), 0);
	WANT(ftruncate(fd, size), 0);
	WANT(filled(fd, got, 5000, at[PIECES / 2]), 5000);
	HOLDS(!memcmp(got, piece[PIECES / 2], 1500));
	for (int c = 1500; c < 5000; c++)
		HOLDS(!got[c]);
	WANT(filled(fd, got, 3000, at[PIECES - 1]), 3000);
	for (int c = 0; c < 3000; c++)
		HOLDS(!got[c]);
	close(fd);
	WANT(unlink("sparse"), 0);
	sync();
	uint64_t after = room_left();
	if (after + (256 << 10) < before)
		fail("%lu bytes were free before, %lu when all was removed", before, after);
}

static void overwrites(void)
{
	uint8_t *data = room_for(1 << 20);
	int fd = OPENED(open("over", O_RDWR | O_CREAT, 0644));
	drawn_bytes(data, 1 << 20);
	written(fd, data, 1 << 20);
	sync();
	struct stat s;
	WANT(fstat(fd, &s), 0);
	HOLDS(s.st_blocks * 512 >= 1 << 20 && s.st_blocks * 512 <= (1 << 20) + (256 << 10));
	uint64_t before = room_left();
	for (int n = 0; n < 60; n++) {
		size_t at = between(0, (1 << 20) - 30000);
		drawn_bytes(data + at, 30000);
		WANT(pwrite(fd, data + at, 30000, at), 30000);
		if (n % 10 == 0)
			WANT(fdatasync(fd), 0);
	}
	sync();
	uint64_t after = room_left();
	if (after + (128 << 10) < before)
		fail("writing over what is there took %lu bytes", before - after);
	has("over", data, 1 << 20);
	WANT(ftruncate(fd, 0), 0);
	sync();
	WANT(fstat(fd, &s), 0);
	HOLDS(s.st_blocks * 512 <= 64 << 10);
	HOLDS(room_left() >= before + (1 << 20) - (64 << 10));
	close(fd);
}

/* --- mmap ------------------------------------------------------------------------------------------- */

static sigjmp_buf bus;
static void on_bus(int signal) { siglongjmp(bus, 1); }
static bool faults(volatile uint8_t *at)
{
	struct sigaction action = {.sa_handler = on_bus}, old;
	sigaction(SIGBUS, &action, &old);
	bool fault = sigsetjmp(bus, 1);
	if (!fault)
		(void)*at;
	sigaction(SIGBUS, &old, NULL);
	return fault;
}

static void mapped(void)
{
	enum { SIZE = 200000 };
	uint8_t *model = room_for(SIZE + 4096), *piece = room_for(SIZE);
	int fd = OPENED(open("mapped", O_RDWR | O_CREAT, 0644));
	drawn_bytes(model, SIZE);
	written(fd, model, SIZE);
	uint8_t *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	uint8_t *own = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
	HOLDS(map != MAP_FAILED && own != MAP_FAILED);
	for (int n = 0; n < 60; n++) {
		size_t at = between(0, SIZE - 5000), m = between(1, 5000);
		drawn_bytes(piece, m);
		memcpy(model + at, piece, m);
		if (n & 1) {
			memcpy(map + at, piece, m);
			WANT(pread(fd, piece, m, at), m);
			HOLDS(!memcmp(piece, model + at, m));
		} else {
			WANT(pwrite(fd, piece, m, at), m);
			HOLDS(!memcmp(map + at, model + at, m));
		}
		if (n % 7 == 0)
			WANT(msync(map, SIZE, MS_SYNC), 0);
		if (n % 11 == 0)
			WANT(fsync(fd), 0);
	}
	HOLDS(!memcmp(map, model, SIZE));
	memset(own, 0x5a, SIZE);
	has("mapped", model, SIZE);
	HOLDS(own[SIZE - 1] == 0x5a);
	for (size_t at = SIZE; at % 4096; at++)
		HOLDS(!map[at]);
	/* In a child the same memory is seen. */
	pid_t child = fork();
	if (!child) {
		map[12345] ^= 0xff;
		_exit(0);
	}
	ended_well(child);
	model[12345] ^= 0xff;
	has("mapped", model, SIZE);
	WANT(ftruncate(fd, 100000), 0);
	HOLDS(faults(map + 110000));
	HOLDS(!faults(map + 99999));
	HOLDS(map[100000] == 0);
	WANT(ftruncate(fd, SIZE), 0);
	HOLDS(!faults(map + 110000) && map[110000] == 0);
	map[150000] = 7;
	memset(model + 100000, 0, SIZE - 100000);
	model[150000] = 7;
	WANT(munmap(map, SIZE), 0);
	WANT(munmap(own, SIZE), 0);
	close(fd);
	sync();
	has("mapped", model, SIZE);
}

/* Holes are filled through memory. */
static void mapped_holes(void)
{
	enum { SIZE = 40 << 12 };
	uint8_t *model = room_for(SIZE);
	int fd = OPENED(open("mapped-holes", O_RDWR | O_CREAT, 0644));
	WANT(ftruncate(fd, SIZE), 0);
	uint8_t *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	for (int n = 0; n < 30; n++) {
		size_t at = between(0, SIZE - 1);
		model[at] = map[at] = draw() | 1;
		if (n == 15)
			WANT(fsync(fd), 0);
	}
	WANT(munmap(map, SIZE), 0);
	has("mapped-holes", model, SIZE);
	close(fd);
}

static void mapped_of_seed(bool make)
{
	enum { SIZE = 300000 };
	uint8_t *data = room_for(SIZE);
	drawn_bytes(data, SIZE);
	if (make) {
		int fd = OPENED(open("by-memory", O_RDWR | O_CREAT, 0644));
		WANT(ftruncate(fd, SIZE), 0);
		uint8_t *map = mmap(NULL, SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
		memcpy(map, data, SIZE);
		WANT(munmap(map, SIZE), 0);
		close(fd);
	} else {
		has("by-memory", data, SIZE);
	}
}
static void keeps_mapped(void) { mapped_of_seed(true); }
static void kept_mapped(void) { mapped_of_seed(false); }

/* --- open and without a name ---------------------------------------------------------------------------- */

static void nameless(void)
{
	enum { SIZE = 3 << 20 };
	uint8_t *data = room_for(SIZE);
	sync();
	uint64_t before = room_left();
	int fd = OPENED(open("nameless", O_RDWR | O_CREAT, 0644));
	drawn_bytes(data, SIZE);
	written(fd, data, SIZE / 2);
	WANT(fsync(fd), 0);
	WANT(unlink("nameless"), 0);
	FAILS(access("nameless", F_OK), ENOENT);
	WANT(pwrite(fd, data + SIZE / 2, SIZE / 2, SIZE / 2), SIZE / 2);
	sync();
	forgotten();
	uint8_t *got = room_for(SIZE);
	WANT(filled(fd, got, SIZE, 0), SIZE);
	HOLDS(!memcmp(got, data, SIZE));
	struct stat s;
	WANT(fstat(fd, &s), 0);
	HOLDS(s.st_nlink == 0 && s.st_size == SIZE);
	HOLDS(before - room_left() >= SIZE);
	make_file("nameless", "another", 7);
	WANT(filled(fd, got, 7, 0), 7);
	HOLDS(!memcmp(got, data, 7));
	WANT(unlink("nameless"), 0);
	close(fd);
	sync();
	if (room_left() + (128 << 10) < before)
		fail("%lu bytes were free before, %lu when the file was closed", before, room_left());
}

/* It is open and has no name when the test is over; the program is killed and nothing may be left. */
static void nameless_killed(void)
{
	uint8_t *data = room_for(1 << 20);
	sync();
	uint64_t before = room_left();
	pid_t child = fork();
	if (!child) {
		for (int n = 0; n < 20; n++) {
			int fd = OPENED(open("killed", O_RDWR | O_CREAT | O_EXCL, 0644));
			written(fd, data, 100000);
			WANT(unlink("killed"), 0);
		}
		raise(SIGKILL);
	}
	WANT(ended(child), SIGKILL);
	sync();
	rest_ms(100);
	if (room_left() + (128 << 10) < before)
		fail("%lu bytes were free before, %lu when the program was killed", before, room_left());
}

/* --- a full disk ------------------------------------------------------------------------------------------ */

static uint64_t fill_up(const char *path, uint64_t seed)
{
	uint8_t data[16384];
	uint64_t size = 0;
	int fd = OPENED(open(path, O_WRONLY | O_CREAT, 0644));
	draw_state = seed;
	for (;;) {
		drawn_bytes(data, sizeof data);
		size_t done = 0;
		while (done < sizeof data) {
			ssize_t m = write(fd, data + done, sizeof data - done);
			if (m < 0) {
				if (errno != ENOSPC)
					fail("a full disk is not ENOSPC: %s", strerror(errno));
				if (fsync(fd))
					fail("fsync on a full disk: %s", strerror(errno));
				close(fd);
				return size + done;
			}
			done += m;
		}
		size += sizeof data;
	}
}
static void has_filled(const char *path, uint64_t seed, uint64_t size)
{
	uint8_t data[16384], got[16384];
	int fd = OPENED(open(path, O_RDONLY));
	HOLDS((uint64_t)facts(path).st_size == size);
	draw_state = seed;
	for (uint64_t at = 0; at < size; at += sizeof data) {
		size_t n = size - at < sizeof data ? size - at : sizeof data;
		drawn_bytes(data, sizeof data);
		WANT(filled(fd, got, n, at), n);
		if (memcmp(got, data, n))
			fail("of what was written before the disk was full, a piece at %lu of %lu is wrong", at, size);
	}
	close(fd);
}

static void full(void)
{
	make_file("before", "was here", 8);
	sync();
	uint64_t seed = draw(), before = room_left();
	for (int turn = 0; turn < 2; turn++) {
		uint64_t size = fill_up("filler", seed + turn);
		if (size < before / 100 * 95 || size > before + (1 << 20))
			fail("%lu bytes were said to be free, %lu could be written", before, size);
		int fd = open("one-more", O_WRONLY | O_CREAT, 0644);
		if (fd >= 0) {
			uint8_t more[65536] = "";
			ssize_t m = 0;
			for (int n = 0; n < 64 && (m = write(fd, more, sizeof more)) > 0; n++)
				;
			if (m >= 0 || errno != ENOSPC)
				fail("a full disk takes four more MiB");
			close(fd);
			WANT(unlink("one-more"), 0);
		} else if (errno != ENOSPC) {
			fail("a new file on a full disk: %s", strerror(errno));
		}
		sync();
		has("before", "was here", 8);
		forgotten();
		has_filled("filler", seed + turn, size);
		if (turn)
			WANT(truncate("filler", 0), 0);
		WANT(unlink("filler"), 0);
		sync();
		uint64_t after = room_left();
		if (after + before / 100 < before)
			fail("%lu bytes were free, and %lu when the disk had been full and what filled it was removed",
			     before, after);
	}
}

/* Small files until nothing goes, and all of them away again. */
static void full_of_files(void)
{
	char path[60];
	int made = 0, count;
	sync();
	uint64_t before = room_left();
	uint8_t data[9000];
	memset(data, 0x41, sizeof data);
	WANT(mkdir("crowd", 0755), 0);
	for (count = 0; count < 20000; count++) {
		if (count % 200 == 0) {
			snprintf(path, sizeof path, "crowd/%d", count / 200);
			if (mkdir(path, 0755)) {
				HOLDS(errno == ENOSPC);
				break;
			}
		}
		snprintf(path, sizeof path, "crowd/%d/%d", count / 200, count);
		int fd = open(path, O_WRONLY | O_CREAT, 0644);
		if (fd < 0) {
			HOLDS(errno == ENOSPC);
			break;
		}
		memcpy(data, &count, sizeof count);
		ssize_t m = write(fd, data, sizeof data);
		close(fd);
		if (m != sizeof data) {
			HOLDS(m >= 0 || errno == ENOSPC);
			WANT(unlink(path), 0);
			break;
		}
		made++;
	}
	if ((uint64_t)made * (24 << 10) < before / 100 * 90)
		fail("a disk with %lu bytes of room is full after %d files of 9000", before, made);
	for (int n = 0; n < made; n++) {
		snprintf(path, sizeof path, "crowd/%d/%d", n / 200, n);
		if (n % 7 == 0) {
			memcpy(data, &n, sizeof n);
			has(path, data, sizeof data);
		}
		WANT(unlink(path), 0);
	}
	for (int n = 0; n <= count / 200; n++) {
		snprintf(path, sizeof path, "crowd/%d", n);
		if (rmdir(path))
			HOLDS(errno == ENOENT);
	}
	WANT(rmdir("crowd"), 0);
	sync();
	if (room_left() + before / 50 < before)
		fail("%lu bytes were free, and %lu when all files were removed", before, room_left());
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{"contents", contents}, {"appends", appends}, {"tails", tails}, {"persists", persists},
		{"persisted", persisted}, {"many", many}, {"changing", changing}, {"names", names}, {"deep", deep}, {"below", below},
		{"renames", renames}, {"flags", flags}, {"links", links}, {"symbolic", symbolic}, {"kinds", kinds},
		{"keeps-kinds", keeps_kinds}, {"kept-kinds", kept_kinds},
		{"modes", modes}, {"users", users}, {"times", times}, {"keeps-attributes", keeps_attributes},
		{"kept-attributes", kept_attributes}, {"holes", holes}, {"overwrites", overwrites},
		{"mapped", mapped}, {"mapped-holes", mapped_holes}, {"keeps-mapped", keeps_mapped},
		{"kept-mapped", kept_mapped}, {"nameless", nameless}, {"nameless-killed", nameless_killed},
		{"full", full}, {"full-of-files", full_of_files}, {0, 0}};
#include "main.h"
}
