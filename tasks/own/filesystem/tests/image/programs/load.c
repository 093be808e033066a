/* Drawn sequences beside the same on a tmpfs, programs that race, and a night of everything. */
#include "exam.h"

static const char *twin = "/twin";
static int seconds = 20, steps = 1200;

/* --- the same on two file systems ------------------------------------------------------------------- */

static int side[2];

static void path_drawn(char *to)
{
	static const char *const folder[] = {"", "d0/", "d1/", "d0/d2/", "d1/d3/", "d0/d2/d4/"};
	static const char *const name[] = {"d0", "d1", "d2", "d3", "d4", "n1", "n2", "n3", "n4", "n5", "n6", "n7"};
	strcpy(to, folder[between(0, 5)]);
	strcat(to, name[between(0, 3) ? between(5, 11) : between(0, 11)]);
}

struct result { long value; int error; };
#define BOTH(what, call) do { struct result r_[2]; for (int s = 0; s < 2; s++) { int at = side[s]; (void)at; errno = 0; \
	r_[s].value = (long)(call); r_[s].error = r_[s].value == -1 ? errno : 0; } \
	if (r_[0].value != r_[1].value || r_[0].error != r_[1].error) \
		fail("step %d, %s: %ld (%s), on a tmpfs %ld (%s)", step, what, r_[0].value, strerror(r_[0].error), \
		     r_[1].value, strerror(r_[1].error)); } while (0)

static void same_facts(const char *path, int step)
{
	struct stat a, b;
	int x = fstatat(side[0], path, &a, AT_SYMLINK_NOFOLLOW), y = fstatat(side[1], path, &b, AT_SYMLINK_NOFOLLOW);
	if (x != y)
		fail("step %d: %s is there on one side only", step, path);
	if (x)
		return;
	if (a.st_mode != b.st_mode || a.st_uid != b.st_uid || a.st_gid != b.st_gid || a.st_nlink != b.st_nlink ||
	    (!S_ISDIR(a.st_mode) && a.st_size != b.st_size))
		fail("step %d: %s has mode %o, owner %u, %lu links, %ld bytes; on a tmpfs %o, %u, %lu, %ld", step, path,
		     a.st_mode, a.st_uid, (long)a.st_nlink, (long)a.st_size, b.st_mode, b.st_uid, (long)b.st_nlink,
		     (long)b.st_size);
}

static int by_name(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }
static int listed(int at, char **names, int most)
{
	int fd = openat(at, ".", O_RDONLY | O_DIRECTORY), n = 0;
	DIR *dir = fdopendir(fd);
	for (struct dirent *e; (e = readdir(dir)) && n < most;)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			names[n++] = strdup(e->d_name);
	closedir(dir);
	qsort(names, n, sizeof *names, by_name);
	return n;
}
static void same_below(int a, int b, const char *where)
{
	static uint8_t x[1 << 16], y[1 << 16];
	char *names[2][64], path[PATH_MAX];
	int n = listed(a, names[0], 64), m = listed(b, names[1], 64);
	if (n != m)
		fail("%s has %d names, on a tmpfs %d", where, n, m);
	for (int i = 0; i < n; i++) {
		struct stat s, t;
		snprintf(path, sizeof path, "%s/%s", where, names[0][i]);
		if (strcmp(names[0][i], names[1][i]))
			fail("%s is there, on a tmpfs %s", path, names[1][i]);
		if (fstatat(a, names[0][i], &s, AT_SYMLINK_NOFOLLOW) || fstatat(b, names[0][i], &t, AT_SYMLINK_NOFOLLOW))
			fail("%s cannot be asked: %s", path, strerror(errno));
		if (s.st_mode != t.st_mode || s.st_nlink != t.st_nlink || s.st_uid != t.st_uid ||
		    (!S_ISDIR(s.st_mode) && s.st_size != t.st_size))
			fail("%s has other attributes than on a tmpfs", path);
		if (S_ISLNK(s.st_mode)) {
			ssize_t k = readlinkat(a, names[0][i], (char *)x, sizeof x);
			if (k != readlinkat(b, names[0][i], (char *)y, sizeof y) || memcmp(x, y, k))
				fail("%s leads elsewhere", path);
		} else if (S_ISREG(s.st_mode)) {
			int f = openat(a, names[0][i], O_RDONLY), g = openat(b, names[0][i], O_RDONLY);
			for (off_t o = 0; o < s.st_size; o += sizeof x) {
				size_t k = filled(f, x, sizeof x, o);
				if (k != filled(g, y, sizeof y, o) || memcmp(x, y, k))
					fail("%s has other content than on a tmpfs", path);
			}
			close(f);
			close(g);
		} else if (S_ISDIR(s.st_mode)) {
			int f = openat(a, names[0][i], O_RDONLY), g = openat(b, names[0][i], O_RDONLY);
			same_below(f, g, path);
			close(f);
			close(g);
		}
		free(names[0][i]);
		free(names[1][i]);
	}
}

static void sides(void)
{
	side[0] = OPENED(open(".", O_RDONLY | O_DIRECTORY));
	side[1] = OPENED(open(twin, O_RDONLY | O_DIRECTORY));
}
static void compared(void)
{
	sides();
	same_below(side[0], side[1], ".");
}

static void sequences(void)
{
	static uint8_t data[40000], got[2][40000];
	int open_[8][2];
	char path[100], other[100];
	sides();
	for (int n = 0; n < 8; n++)
		open_[n][0] = open_[n][1] = -1;
	for (int step = 0; step < steps; step++) {
		path_drawn(path);
		path_drawn(other);
		int which = between(0, 7);
		size_t n = between(0, 2) ? between(1, 5000) : between(1, 40000);
		off_t at_ = between(0, 60000);
		uint64_t seed = draw();
		mode_t mode = draw() & 0777;
		switch (between(0, 25)) {
		case 0: case 1: case 2:
			for (int s = 0; s < 2; s++)
				if (open_[which][s] >= 0)
					close(open_[which][s]);
			int how = O_RDWR | (between(0, 2) ? O_CREAT : 0) | (between(0, 5) ? 0 : O_TRUNC) |
				  (between(0, 6) ? 0 : O_EXCL) | (between(0, 6) ? 0 : O_APPEND) | (between(0, 6) ? 0 : O_NOFOLLOW);
			BOTH(path, (open_[which][s] = openat(at, path, how, mode | 0600)) >= 0 ? 0 : -1);
			break;
		case 3: case 4: case 5: case 6: case 7:
			draw_state = seed;
			drawn_bytes(data, n);
			BOTH("pwrite", pwrite(open_[which][s], data, n, at_));
			break;
		case 8:
			BOTH("ftruncate", ftruncate(open_[which][s], at_));
			break;
		case 9: case 10:
			memset(got, 0, sizeof got);
			BOTH("pread", pread(open_[which][s], got[s], n, at_));
			if (memcmp(got[0], got[1], n))
				fail("step %d: a piece that is read at %ld is another than on a tmpfs", step, (long)at_);
			break;
		case 11: case 12:
			BOTH("mkdir", mkdirat(at, path, mode | 0700));
			break;
		case 13:
			BOTH("rmdir", unlinkat(at, path, AT_REMOVEDIR));
			break;
		case 14: case 15:
			BOTH("unlink", unlinkat(at, path, 0));
			break;
		case 16: case 17: case 18:
			BOTH("rename", renameat(at, path, at, other));
			break;
		case 19: {
			unsigned flag = between(1, 2);
			BOTH("renameat2", syscall(SYS_renameat2, at, path, at, other, flag));
			break;
		}
		case 20:
			BOTH("link", linkat(at, path, at, other, 0));
			break;
		case 21:
			BOTH("symlink", symlinkat(other, at, path));
			break;
		case 22:
			BOTH("chmod", fchmodat(at, path, mode | 0600, 0));
			break;
		case 23:
			BOTH("chown", fchownat(at, path, seed % 5, seed % 7, AT_SYMLINK_NOFOLLOW));
			break;
		case 24:
			if (open_[which][0] >= 0 && seed % 4)
				WANT(fsync(open_[which][0]), 0);
			else if (seed % 3)
				sync();
			else {
				sync();
				int drop = open("/proc/sys/vm/drop_caches", O_WRONLY);
				written(drop, "3", 1);
				close(drop);
			}
			break;
		case 25: { /* by memory */
			void *m[2];
			for (int s = 0; s < 2; s++) {
				struct stat f;
				m[s] = open_[which][s] >= 0 && !fstat(open_[which][s], &f) && f.st_size > 100
					? mmap(NULL, f.st_size, PROT_READ | PROT_WRITE, MAP_SHARED, open_[which][s], 0) : NULL;
				if (!m[s] || m[s] == MAP_FAILED)
					continue;
				draw_state = seed;
				for (int k = 0; k < 10; k++) {
					off_t place = draw() % (f.st_size - 8);
					memcpy((uint8_t *)m[s] + place, &seed, 8);
				}
				munmap(m[s], f.st_size);
			}
			break;
		}
		}
		draw_state = seed;
		same_facts(path, step);
		same_facts(other, step);
	}
	same_below(side[0], side[1], ".");
}

/* --- programs that race -------------------------------------------------------------------------------- */

static void children(int count, void (*work)(int))
{
	pid_t child[16];
	for (int n = 0; n < count; n++) {
		child[n] = fork();
		if (!child[n]) {
			draw_state += n * 7919;
			work(n);
			_exit(0);
		}
	}
	for (int n = 0; n < count; n++)
		ended_well(child[n]);
}

static void own_files(int who)
{
	enum { SIZE = 60000, FILES = 4 };
	static uint8_t model[FILES][SIZE], got[SIZE];
	size_t size[FILES] = {0};
	char path[60];
	memset(model, 0, sizeof model);
	for (int f = 0; f < FILES; f++) {
		snprintf(path, sizeof path, "own-%d-%d", who, f);
		unlink(path);
	}
	for (int step = 0; step < 120; step++) {
		int f = draw() % FILES;
		snprintf(path, sizeof path, "own-%d-%d", who, f);
		size_t at = between(0, SIZE - 1), n = between(1, 8000);
		n = at + n > SIZE ? SIZE - at : n;
		int fd = OPENED(open(path, O_RDWR | O_CREAT, 0644));
		if (step % 9 == 8) {
			WANT(ftruncate(fd, at), 0);
			if (at < size[f])
				memset(model[f] + at, 0, size[f] - at);
			size[f] = at;
		} else if (step % 9 == 7) {
			WANT(unlink(path), 0);
			memset(model[f], 0, SIZE);
			size[f] = 0;
		} else {
			drawn_bytes(model[f] + at, n);
			WANT(pwrite(fd, model[f] + at, n, at), n);
			size[f] = at + n > size[f] ? at + n : size[f];
		}
		if (step % 13 == 0)
			WANT(fsync(fd), 0);
		close(fd);
		f = draw() % FILES;
		snprintf(path, sizeof path, "own-%d-%d", who, f);
		fd = open(path, O_RDONLY);
		size_t m = fd < 0 ? 0 : filled(fd, got, SIZE, 0);
		if (m != size[f] || memcmp(got, model[f], m))
			fail("%s of one program is not as it wrote it, while others write theirs", path);
		if (fd >= 0)
			close(fd);
	}
}
static void together(void) { children(4, own_files); }

/* Tokens wander between folders by renames; none is lost and none doubled. */
enum { TOKENS = 40 };
static void movers(int who)
{
	char from[60], to[60];
	for (int step = 0; step < 250; step++) {
		int t = draw() % TOKENS;
		snprintf(from, sizeof from, "place%d/token-%d", (int)(draw() % 4), t);
		snprintf(to, sizeof to, "place%d/token-%d", (int)(draw() % 4), t);
		if (rename(from, to) && errno != ENOENT)
			fail("rename in a race: %s", strerror(errno));
	}
}
static void tokens(void)
{
	char path[60];
	for (int p = 0; p < 4; p++) {
		snprintf(path, sizeof path, "place%d", p);
		WANT(mkdir(path, 0755), 0);
	}
	for (int t = 0; t < TOKENS; t++) {
		snprintf(path, sizeof path, "place%d/token-%d", t % 4, t);
		make_file(path, &t, sizeof t);
	}
	children(4, movers);
	for (int t = 0; t < TOKENS; t++) {
		int found = 0;
		for (int p = 0; p < 4; p++) {
			snprintf(path, sizeof path, "place%d/token-%d", p, t);
			if (!access(path, F_OK)) {
				has(path, &t, sizeof t);
				found++;
			}
		}
		if (found != 1)
			fail("token %d is in %d places", t, found);
	}
}

enum { LINES = 150 };
static void appender(int who)
{
	char line[65];
	int fd = OPENED(open("lines", O_WRONLY | O_CREAT | O_APPEND, 0644));
	for (int n = 0; n < LINES; n++) {
		memset(line, 'a' + who, 64);
		sprintf(line, "%d %d ", who, n);
		line[strlen(line)] = '.';
		line[63] = '\n';
		WANT(write(fd, line, 64), 64);
	}
}
static void appenders(void)
{
	children(4, appender);
	char *all = room_for(4 * LINES * 64 + 1);
	int fd = OPENED(open("lines", O_RDONLY)), next[4] = {0}, who, n;
	WANT(filled(fd, all, 4 * LINES * 64 + 1, 0), 4 * LINES * 64);
	for (int l = 0; l < 4 * LINES; l++) {
		HOLDS(sscanf(all + 64 * l, "%d %d ", &who, &n) == 2 && who >= 0 && who < 4);
		HOLDS(n == next[who] && all[64 * l + 63] == '\n');
		next[who]++;
	}
}

static void grabber(int who)
{
	char path[60];
	for (int n = 0; n < 150; n++) {
		snprintf(path, sizeof path, "prize-%d", n);
		int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0644);
		if (fd < 0) {
			HOLDS(errno == EEXIST);
			continue;
		}
		close(fd);
		snprintf(path, sizeof path, "won-%d-%d", n, who);
		WANT(mkdir(path, 0755), 0);
	}
}
static void exclusive(void)
{
	char path[60];
	children(4, grabber);
	for (int n = 0; n < 150; n++) {
		int found = 0;
		for (int who = 0; who < 4; who++) {
			snprintf(path, sizeof path, "won-%d-%d", n, who);
			found += !rmdir(path);
		}
		snprintf(path, sizeof path, "prize-%d", n);
		WANT(unlink(path), 0);
		if (found != 1)
			fail("a name was made by %d programs, each the only one", found);
	}
}

static void counter(int who)
{
	int fd = OPENED(open("counters", O_RDWR));
	unsigned *map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	HOLDS(map != MAP_FAILED);
	for (int n = 0; n < 3000; n++) {
		__atomic_add_fetch(&map[n % 16 * 1024], 1, __ATOMIC_SEQ_CST);
		if (n % 500 == who * 100)
			WANT(fsync(fd), 0);
	}
}
static void counters(void)
{
	unsigned got[16384];
	int fd = OPENED(open("counters", O_RDWR | O_CREAT, 0644));
	WANT(ftruncate(fd, 65536), 0);
	children(4, counter);
	WANT(filled(fd, got, sizeof got, 0), sizeof got);
	for (int n = 0; n < 16; n++)
		WANT(got[n * 1024], 4 * (3000 / 16 + (n < 3000 % 16)));
}

/* --- a night ---------------------------------------------------------------------------------------------- */

static uint64_t dawn;
static void nightly(int who)
{
	char name[60];
	snprintf(name, sizeof name, "night-%d", who);
	WANT(mkdir(name, 0755), 0);
	WANT(chdir(name), 0);
	for (int turn = 0; now_ns() < dawn; turn++) {
		switch (who) {
		case 0: case 1:
			own_files(who);
			break;
		case 2: { /* folders come and go */
			char path[60];
			for (int n = 0; n < 60; n++) {
				snprintf(path, sizeof path, "entry-%d", n);
				if (n % 3)
					make_file(path, path, strlen(path));
				else
					WANT(mkdir(path, 0755), 0);
			}
			for (int n = 0; n < 60; n++) {
				snprintf(path, sizeof path, "entry-%d", n);
				if (n % 3)
					has(path, path, strlen(path));
				WANT(n % 3 ? unlink(path) : rmdir(path), 0);
			}
			break;
		}
		case 3: { /* large ones that are removed while they are open */
			static uint8_t data[1 << 19], got[1 << 19];
			drawn_bytes(data, sizeof data);
			int fd = OPENED(open("large", O_RDWR | O_CREAT | O_EXCL, 0644));
			written(fd, data, sizeof data);
			WANT(unlink("large"), 0);
			WANT(filled(fd, got, sizeof got, 0), sizeof got);
			HOLDS(!memcmp(got, data, sizeof data));
			close(fd);
			break;
		}
		case 4: /* the rest of the world */
			if (turn % 3 == 0)
				sync();
			else if (turn % 3 == 1) {
				int drop = open("/proc/sys/vm/drop_caches", O_WRONLY);
				written(drop, turn % 2 ? "1" : "3", 1);
				close(drop);
			}
			struct statvfs s;
			WANT(statvfs(".", &s), 0);
			rest_ms(100);
			break;
		}
	}
}
static void night(void)
{
	dawn = now_ns() + seconds * 1000000000ul;
	children(5, nightly);
}

/* More than memory holds is written, and read again. */
static void larger_than_memory(void)
{
	static uint8_t data[1 << 18], got[1 << 18];
	uint64_t first = draw_state;
	int fd = OPENED(open("larger", O_RDWR | O_CREAT, 0644));
	for (int n = 0; n < 4 * steps; n++) {
		drawn_bytes(data, sizeof data);
		written(fd, data, sizeof data);
	}
	draw_state = first;
	for (int n = 0; n < 4 * steps; n++) {
		drawn_bytes(data, sizeof data);
		WANT(filled(fd, got, sizeof got, (off_t)n * sizeof got), sizeof got);
		if (memcmp(got, data, sizeof data))
			fail("MiB %d of a file that is larger than memory is wrong", n / 4);
	}
	close(fd);
	WANT(unlink("larger"), 0);
}

int main(int argc, char **argv)
{
	static const struct part parts[] = {
		{"sequences", sequences}, {"compared", compared}, {"together", together}, {"tokens", tokens},
		{"appenders", appenders}, {"exclusive", exclusive}, {"counters", counters}, {"night", night},
		{"larger-than-memory", larger_than_memory}, {0, 0}};
	for (int i = 2; i < argc; i++) {
		if (!strncmp(argv[i], "twin=", 5))
			twin = argv[i] + 5;
		if (!strncmp(argv[i], "seconds=", 8))
			seconds = atoi(argv[i] + 8);
		if (!strncmp(argv[i], "steps=", 6))
			steps = atoi(argv[i] + 6);
	}
#include "main.h"
}
