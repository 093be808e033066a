/* tools follow DIR SCRIPT: what the script says, line by line, and what is safe.
 * tools list DIR: everything that is there, with a sum of each block of 4096 bytes.
 * tools spoil DEVICE SEED FIRST COUNT: blocks get other bytes; the same again gives the old ones.
 * tools used DEVICE: which blocks hold anything, with their sums.
 * tools capacity LOOP: the file behind a loop device has grown.
 * tools room DIR: f_blocks, f_bavail and f_frsize.
 * tools times DIR: what is there whose atime or ctime is not its mtime. */
#include "exam.h"
#include <ftw.h>
#include <sys/ioctl.h>

static uint32_t crc(const uint8_t *p, size_t n)
{
	uint32_t c = ~0u;
	static uint32_t table[256];
	if (!table[1])
		for (uint32_t k = 0; k < 256; k++) {
			table[k] = k;
			for (int b = 0; b < 8; b++)
				table[k] = table[k] & 1 ? table[k] >> 1 ^ 0xedb88320 : table[k] >> 1;
		}
	while (n--)
		c = table[(c ^ *p++) & 255] ^ c >> 8;
	return ~c;
}

static void follow_line(char *line, int number)
{
	char what[20] = "", a[300] = "", b[300] = "";
	long x = 0, y = 0;
	unsigned long seed = 0;
	int fd, err = 0;
	int n = sscanf(line, "%19s %299s", what, a);
	if (n < 1)
		return;
	errno = 0;
	if (!strcmp(what, "create")) {
		err = (fd = open(a, O_WRONLY | O_CREAT | O_EXCL, 0644)) < 0 || close(fd);
	} else if (!strcmp(what, "write")) {
		sscanf(line, "%*s %*s %ld %ld %lu", &x, &y, &seed);
		uint8_t *data = room_for(y + 8);
		draw_state = seed;
		drawn_bytes(data, y);
		err = (fd = open(a, O_WRONLY)) < 0 || pwrite(fd, data, y, x) != y || close(fd);
		free(data);
	} else if (!strcmp(what, "truncate")) {
		sscanf(line, "%*s %*s %ld", &x);
		err = truncate(a, x);
	} else if (!strcmp(what, "fsync") || !strcmp(what, "fdatasync")) {
		err = (fd = open(a, O_RDONLY)) < 0 || (what[1] == 's' ? fsync(fd) : fdatasync(fd)) || close(fd);
	} else if (!strcmp(what, "sync")) {
		sync();
	} else if (!strcmp(what, "mkdir")) {
		err = mkdir(a, 0755);
	} else if (!strcmp(what, "rmdir")) {
		err = rmdir(a);
	} else if (!strcmp(what, "unlink")) {
		err = unlink(a);
	} else if (!strcmp(what, "hold")) {
		err = open(a, O_RDONLY) < 0;
	} else if (!strcmp(what, "wait")) {
		err = !fgets(b, sizeof b, stdin);
	} else if (!strcmp(what, "say")) {
		printf("<safe %s>\n", a);
	} else if (sscanf(line, "%*s %*s %299s", b) == 1) {
		if (!strcmp(what, "symlink"))
			err = symlink(a, b);
		else if (!strcmp(what, "link"))
			err = linkat(AT_FDCWD, a, AT_FDCWD, b, 0);
		else if (!strcmp(what, "rename"))
			err = rename(a, b);
		else if (!strcmp(what, "exchange"))
			err = syscall(SYS_renameat2, AT_FDCWD, a, AT_FDCWD, b, 2);
	}
	if (err) {
		printf("<failed %d: %s: %s>\n", number, what, strerror(errno));
		exit(1);
	}
}

static int by_name(const void *a, const void *b) { return strcmp(*(char **)a, *(char **)b); }

static void list(int at, const char *where)
{
	char **names = room_for(40000 * sizeof *names);
	static uint8_t block[4096];
	int n = 0, fd = dup(at);
	DIR *dir = fdopendir(fd);
	errno = 0;
	for (struct dirent *e; dir && (e = readdir(dir)) && n < 40000;)
		if (strcmp(e->d_name, ".") && strcmp(e->d_name, ".."))
			names[n++] = strdup(e->d_name);
	if (!dir || errno)
		printf("! %s %d\n", where, errno);
	if (dir)
		closedir(dir);
	qsort(names, n, sizeof *names, by_name);
	for (int i = 0; i < n; i++) {
		struct stat s;
		char path[PATH_MAX];
		snprintf(path, sizeof path, "%s%s", where, names[i]);
		if (fstatat(at, names[i], &s, AT_SYMLINK_NOFOLLOW)) {
			printf("! %s %d\n", path, errno);
		} else if (S_ISLNK(s.st_mode)) {
			char to[PATH_MAX + 1] = "";
			if (readlinkat(at, names[i], to, PATH_MAX) < 0)
				printf("! %s %d\n", path, errno);
			else
				printf("l %s %lu %s\n", path, (unsigned long)s.st_nlink, to);
		} else if (S_ISDIR(s.st_mode)) {
			printf("d %s %o %u %u %ld.%09ld\n", path, s.st_mode & 07777, s.st_uid, s.st_gid,
			       s.st_mtim.tv_sec, s.st_mtim.tv_nsec);
			int below = openat(at, names[i], O_RDONLY | O_DIRECTORY);
			snprintf(path, sizeof path, "%s%s/", where, names[i]);
			if (below < 0)
				printf("! %s %d\n", path, errno);
			else
				list(below, path);
			close(below);
		} else if (S_ISREG(s.st_mode)) {
			printf("f %s %o %u %u %ld.%09ld %lu %ld ", path, s.st_mode & 07777, s.st_uid, s.st_gid,
			       s.st_mtim.tv_sec, s.st_mtim.tv_nsec, (unsigned long)s.st_nlink, (long)s.st_size);
			int f = openat(at, names[i], O_RDONLY);
			if (f < 0)
				printf("!%d", errno);
			for (off_t o = 0; f >= 0 && o < s.st_size && o < 64 << 20; o += sizeof block) {
				ssize_t m = pread(f, block, sizeof block, o);
				if (m < 0)
					printf("!%d,", errno);
				else
					printf("%x,", crc(block, m));
			}
			printf(" \n");
			close(f);
		} else {
			printf("o %s %o %lu\n", path, s.st_mode, (unsigned long)s.st_rdev);
		}
		free(names[i]);
	}
	free(names);
}

static int other_times(const char *path, const struct stat *s, int kind, struct FTW *where)
{
	if (memcmp(&s->st_atim, &s->st_mtim, sizeof s->st_mtim) || memcmp(&s->st_ctim, &s->st_mtim, sizeof s->st_mtim))
		printf("%s %ld.%09ld %ld.%09ld %ld.%09ld\n", path, s->st_atim.tv_sec, s->st_atim.tv_nsec, s->st_mtim.tv_sec,
		       s->st_mtim.tv_nsec, s->st_ctim.tv_sec, s->st_ctim.tv_nsec);
	return 0;
}

static void direct(int fd, bool write_, void *data, off_t at)
{
	if ((write_ ? pwrite(fd, data, 4096, at) : pread(fd, data, 4096, at)) != 4096) {
		printf("the device: %s\n", strerror(errno));
		exit(2);
	}
}

int main(int argc, char **argv)
{
	setvbuf(stdout, NULL, _IOFBF, 1 << 16);
	if (argc == 4 && !strcmp(argv[1], "follow")) {
		char line[1000];
		FILE *script = fopen(argv[3], "r");
		setvbuf(stdout, NULL, _IOLBF, 0);
		if (!script || chdir(argv[2]))
			return 2;
		for (int n = 1; fgets(line, sizeof line, script); n++)
			follow_line(line, n);
		puts("<followed>");
	} else if (argc == 3 && !strcmp(argv[1], "list")) {
		int at = open(argv[2], O_RDONLY | O_DIRECTORY);
		if (at < 0)
			return 2;
		list(at, "");
		puts("<listed>");
	} else if (argc == 6 && !strcmp(argv[1], "spoil")) {
		uint8_t *data = aligned_alloc(4096, 4096), mask[4096];
		int fd = open(argv[2], O_RDWR | O_DIRECT);
		draw_state = strtoull(argv[3], 0, 10);
		off_t first = atoll(argv[4]), count = atoll(argv[5]);
		for (off_t n = 0; n < count; n++) {
			memset(mask, 0, sizeof mask);
			for (int k = draw() % 20 + 1; k; k--)
				mask[draw() % 4096] |= 1 << draw() % 8;
			/* A drawn word is hit in any case, wherever what matters lies. */
			uint64_t some = draw() | 1;
			if (draw() % 2)
				for (int k = 0; k < 4096; k += 64)
					memcpy(mask + k, &some, 8);
			direct(fd, false, data, (first + n) * 4096);
			for (int k = 0; k < 4096; k++)
				data[k] ^= mask[k];
			direct(fd, true, data, (first + n) * 4096);
		}
		fsync(fd);
		puts("<spoilt>");
	} else if (argc == 3 && !strcmp(argv[1], "used")) {
		uint8_t *data = aligned_alloc(4096, 1 << 20);
		int fd = open(argv[2], O_RDONLY | O_DIRECT);
		ssize_t m;
		for (off_t at = 0; (m = pread(fd, data, 1 << 20, at)) > 0; at += m)
			for (off_t b = 0; b < m; b += 4096)
				for (int k = 0; k < 4096; k++)
					if (data[b + k]) {
						printf("%ld:%x ", (long)((at + b) / 4096), crc(data + b, 4096));
						break;
					}
		puts("\n<told>");
	} else if (argc == 3 && !strcmp(argv[1], "capacity")) {
		int fd = open(argv[2], O_RDONLY);
		if (fd < 0 || ioctl(fd, 0x4c07, 0)) {
			printf("the loop device: %s\n", strerror(errno));
			return 2;
		}
	} else if (argc == 3 && !strcmp(argv[1], "room")) {
		struct statvfs s;
		if (statvfs(argv[2], &s))
			return 2;
		printf("%lu %lu %lu\n", s.f_blocks, s.f_bavail, s.f_frsize);
	} else if (argc == 3 && !strcmp(argv[1], "times")) {
		return nftw(argv[2], other_times, 20, FTW_PHYS) ? 2 : 0;
	} else {
		return 2;
	}
	return 0;
}
