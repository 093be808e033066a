/* Writes records and says of each when it is safe. The power goes meanwhile. */
#include "exam.h"

static void record(char *out, u64 n)
{
	char text[17];
	struct sha256 s;
	u8 copy[32];
	for (int i = 0; i < 32; i++) copy[i] = salt[i];
	sha_begin(&s);
	sha_add(&s, copy, 32);
	sha_add(&s, &n, 8);
	sha_end(&s, text);
	sprintf(out, "%06lu %s\n", n, text);
}
static void safe(const char *what, u64 n)
{
	char line[60];
	int size = snprintf(line, sizeof line, "<safe %s %lu>\n", what, n);
	(void)!write(1, line, size);
}

/* What is typed after every fourth record is waited for. By turns: a line to the log and fsync; a file of its own, renamed into its place, and its folder's
   fsync; a folder, with a file that stays open, and sync; a large file with fdatasync; one removed, and sync. */
static void keeps(void)
{
	char line[64], name[60], other[60];
	u64 count = strtoul(param("count"), 0, 10);
	int own = -1;
	mkdir("/kept", 0755);
	int folder = open("/kept", O_RDONLY | O_DIRECTORY), log = open("/kept/log", O_CREAT | O_APPEND | O_WRONLY, 0644);
	HOLDS(folder >= 0 && log >= 0);
	WANT(fsync(folder), 0);
	safe("folder", 0);
	for (u64 n = 1; n <= count; n++) {
		record(line, n);
		WANT(write(log, line, strlen(line)), strlen(line));
		WANT(fsync(log), 0);
		safe("log", n);
		if (n % 4 == 0) {
			char heard[80];
			ssize_t got = read(0, heard, sizeof heard);
			HOLDS(got > 0);
			mix(heard, got);
		}
		if (n % 3 == 0) {
			snprintf(name, sizeof name, "/kept/new"), snprintf(other, sizeof other, "/kept/state");
			int fd = open(name, O_CREAT | O_TRUNC | O_WRONLY, 0644);
			HOLDS(fd >= 0);
			for (int i = 0; i < 150; i++)
				WANT(write(fd, line, strlen(line)), strlen(line));
			WANT(fsync(fd), 0);
			close(fd);
			WANT(rename(name, other), 0);
			WANT(fsync(folder), 0);
			safe("state", n);
		}
		if (n % 5 == 0) {
			snprintf(name, sizeof name, "/kept/d%lu", n);
			WANT(mkdir(name, 0755), 0);
			snprintf(name, sizeof name, "/kept/d%lu/file", n);
			if (own >= 0)
				close(own);
			/* It stays open until the next one: what sync has put on the disk is no file's that was closed. */
			own = open(name, O_CREAT | O_WRONLY, 0644);
			HOLDS(own >= 0);
			WANT(write(own, line, strlen(line)), strlen(line));
			sync();
			safe("own", n);
		}
		if (n % 7 == 0) {
			int fd = open("/kept/large", O_CREAT | O_WRONLY | O_APPEND, 0644);
			static char block[30000];
			memset(block, 'a' + n % 26, sizeof block);
			WANT(write(fd, block, sizeof block), sizeof block);
			WANT(fdatasync(fd), 0);
			close(fd);
			safe("large", n);
		}
		if (n % 10 == 0) {
			snprintf(name, sizeof name, "/kept/d%lu/file", n);
			WANT(unlink(name), 0);
			sync();
			safe("gone", n);
		}
	}
}

PARTS({"keeps", keeps})
