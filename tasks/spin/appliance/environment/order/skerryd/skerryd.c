/*
 * skerryd: the logbook service of the Skerry Logbook.
 *
 * One line in, one line out, over TCP. See PROTOCOL.md for the protocol and
 * RUNNING.md for what the service expects of the machine that runs it.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define SKERRYD_VERSION "2.3.1"
#define PORT 7117
#define MAX_CLIENTS 32
#define MAX_LINE 4096
#define MAX_KEY 64
#define KEY_BYTES 32

/* ---- SHA-256 and HMAC (FIPS 180-4, RFC 2104) ---- */

struct sha256 {
	uint32_t h[8];
	uint64_t length;
	uint8_t block[64];
	size_t used;
};

static const uint32_t K[64] = {
	0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
	0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
	0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
	0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
	0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
	0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
	0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
	0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2,
};

static uint32_t rotr(uint32_t x, int n) { return x >> n | x << (32 - n); }

static void sha256_block(struct sha256 *s, const uint8_t *p)
{
	uint32_t w[64], v[8];
	for (int i = 0; i < 16; i++)
		w[i] = (uint32_t)p[4 * i] << 24 | (uint32_t)p[4 * i + 1] << 16 |
		       (uint32_t)p[4 * i + 2] << 8 | p[4 * i + 3];
	for (int i = 16; i < 64; i++) {
		uint32_t a = w[i - 15], b = w[i - 2];
		w[i] = w[i - 16] + w[i - 7] + (rotr(a, 7) ^ rotr(a, 18) ^ a >> 3) +
		       (rotr(b, 17) ^ rotr(b, 19) ^ b >> 10);
	}
	memcpy(v, s->h, sizeof v);
	for (int i = 0; i < 64; i++) {
		uint32_t t1 = v[7] + (rotr(v[4], 6) ^ rotr(v[4], 11) ^ rotr(v[4], 25)) +
			      ((v[4] & v[5]) ^ (~v[4] & v[6])) + K[i] + w[i];
		uint32_t t2 = (rotr(v[0], 2) ^ rotr(v[0], 13) ^ rotr(v[0], 22)) +
			      ((v[0] & v[1]) ^ (v[0] & v[2]) ^ (v[1] & v[2]));
		memmove(v + 1, v, 7 * sizeof *v);
		v[4] += t1;
		v[0] = t1 + t2;
	}
	for (int i = 0; i < 8; i++)
		s->h[i] += v[i];
}

static void sha256_init(struct sha256 *s)
{
	static const uint32_t start[8] = {
		0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
		0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19,
	};
	memcpy(s->h, start, sizeof start);
	s->length = 0;
	s->used = 0;
}

static void sha256_add(struct sha256 *s, const void *data, size_t n)
{
	const uint8_t *p = data;
	s->length += n;
	while (n--) {
		s->block[s->used++] = *p++;
		if (s->used == 64) {
			sha256_block(s, s->block);
			s->used = 0;
		}
	}
}

static void sha256_end(struct sha256 *s, uint8_t out[32])
{
	uint64_t bits = s->length * 8;
	uint8_t tail[8], pad = 0x80, zero = 0;
	sha256_add(s, &pad, 1);
	while (s->used != 56)
		sha256_add(s, &zero, 1);
	for (int i = 0; i < 8; i++)
		tail[i] = bits >> (56 - 8 * i);
	sha256_add(s, tail, 8);
	for (int i = 0; i < 32; i++)
		out[i] = s->h[i / 4] >> (24 - 8 * (i % 4));
}

static void hmac(const uint8_t *key, const void *data, size_t n, uint8_t out[32])
{
	struct sha256 s;
	uint8_t pad[64], inner[32];
	for (int i = 0; i < 64; i++)
		pad[i] = (i < KEY_BYTES ? key[i] : 0) ^ 0x36;
	sha256_init(&s);
	sha256_add(&s, pad, 64);
	sha256_add(&s, data, n);
	sha256_end(&s, inner);
	for (int i = 0; i < 64; i++)
		pad[i] ^= 0x36 ^ 0x5c;
	sha256_init(&s);
	sha256_add(&s, pad, 64);
	sha256_add(&s, inner, 32);
	sha256_end(&s, out);
}

static void to_hex(const uint8_t *in, size_t n, char *out)
{
	for (size_t i = 0; i < n; i++)
		sprintf(out + 2 * i, "%02x", in[i]);
}

/* ---- the state directory ---- */

static uint8_t device_key[KEY_BYTES];
static int log_fd = -1;
static off_t log_end;

struct entry {
	char *key, *value;
};
static struct entry *entries;
static size_t n_entries;
static unsigned long n_records;

static void die(const char *format, ...)
{
	va_list args;
	va_start(args, format);
	fprintf(stderr, "skerryd: fatal: ");
	vfprintf(stderr, format, args);
	fprintf(stderr, "\n");
	va_end(args);
	exit(1);
}

static void sync_directory(void)
{
	int fd = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd < 0 || fsync(fd))
		die("cannot sync the state directory: %s", strerror(errno));
	close(fd);
}

static void load_device_key(void)
{
	int fd = open("device.key", O_RDONLY | O_CLOEXEC);
	if (fd < 0 && errno == ENOENT) {
		if (getrandom(device_key, KEY_BYTES, 0) != KEY_BYTES)
			die("no randomness: %s", strerror(errno));
		fd = open("device.key.new", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
		if (fd < 0 || write(fd, device_key, KEY_BYTES) != KEY_BYTES || fsync(fd))
			die("cannot write the device key: %s", strerror(errno));
		close(fd);
		if (rename("device.key.new", "device.key"))
			die("cannot keep the device key: %s", strerror(errno));
		sync_directory();
		fprintf(stderr, "skerryd: made a new device key\n");
		return;
	}
	if (fd < 0 || read(fd, device_key, KEY_BYTES) != KEY_BYTES)
		die("cannot read the device key: %s", strerror(errno));
	close(fd);
}

static int remember(const char *key, const char *value)
{
	for (size_t i = 0; i < n_entries; i++)
		if (!strcmp(entries[i].key, key)) {
			char *copy = strdup(value);
			if (!copy)
				return -1;
			free(entries[i].value);
			entries[i].value = copy;
			n_records++;
			return 0;
		}
	struct entry *more = realloc(entries, (n_entries + 1) * sizeof *entries);
	if (!more)
		return -1;
	entries = more;
	entries[n_entries].key = strdup(key);
	entries[n_entries].value = strdup(value);
	if (!entries[n_entries].key || !entries[n_entries].value)
		return -1;
	n_entries++;
	n_records++;
	return 0;
}

/* A record is one line: 16 hex digits of HMAC(device key, "key value"), then "key value". */
static int record_tag(const char *body, size_t n, char tag[17])
{
	uint8_t digest[32];
	hmac(device_key, body, n, digest);
	to_hex(digest, 8, tag);
	return 0;
}

static void load_log(void)
{
	char *line = NULL, tag[17];
	size_t size = 0;
	ssize_t n;
	log_fd = open("logbook", O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (log_fd < 0)
		die("cannot open the logbook: %s", strerror(errno));
	sync_directory();
	FILE *file = fdopen(dup(log_fd), "r");
	if (!file)
		die("cannot read the logbook: %s", strerror(errno));
	while ((n = getline(&line, &size, file)) > 0) {
		char *value;
		if (n < 19 || line[n - 1] != '\n' || line[16] != ' ')
			break;
		line[n - 1] = 0;
		record_tag(line + 17, n - 18, tag);
		if (memcmp(tag, line, 16) || !(value = strchr(line + 17, ' ')))
			break;
		*value++ = 0;
		if (remember(line + 17, value))
			die("out of memory");
		log_end += n;
	}
	free(line);
	fclose(file);
	if (ftruncate(log_fd, log_end)) /* a torn last record was never acknowledged */
		die("cannot trim the logbook: %s", strerror(errno));
	fprintf(stderr, "skerryd: %lu records\n", n_records);
}

static int append(const char *key, const char *value)
{
	char body[MAX_LINE + 2], record[MAX_LINE + 32], tag[17];
	int n = snprintf(body, sizeof body, "%s %s", key, value);
	record_tag(body, n, tag);
	n = snprintf(record, sizeof record, "%s %s\n", tag, body);
	if (pwrite(log_fd, record, n, log_end) != n || fdatasync(log_fd)) {
		int error = errno;
		if (ftruncate(log_fd, log_end))
			die("cannot take back a record: %s", strerror(errno));
		errno = error;
		return -1;
	}
	log_end += n;
	return remember(key, value);
}

/* ---- the protocol ---- */

static int is_key(const char *s)
{
	size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-");
	return n > 0 && n <= MAX_KEY && !s[n];
}

static void answer(char *line, char *out, size_t size)
{
	char *verb = strsep(&line, " ");
	if (!strcmp(verb, "HELLO") && !line) {
		uint8_t digest[32];
		char id[17];
		hmac(device_key, "device-id", 9, digest);
		to_hex(digest, 8, id);
		snprintf(out, size, "SKERRY %s %s", SKERRYD_VERSION, id);
	} else if (!strcmp(verb, "SIGN") && line && *line) {
		uint8_t digest[32];
		char hex[65];
		hmac(device_key, line, strlen(line), digest);
		to_hex(digest, 32, hex);
		snprintf(out, size, "SIG %s", hex);
	} else if (!strcmp(verb, "PUT") && line) {
		char *key = strsep(&line, " ");
		if (!is_key(key) || !line || !*line)
			snprintf(out, size, "ERR usage");
		else if (append(key, line))
			snprintf(out, size, errno == ENOSPC ? "ERR full" : "ERR storage");
		else
			snprintf(out, size, "OK %lu", n_records);
	} else if (!strcmp(verb, "GET") && line && is_key(line)) {
		snprintf(out, size, "NONE");
		for (size_t i = 0; i < n_entries; i++)
			if (!strcmp(entries[i].key, line))
				snprintf(out, size, "VALUE %s", entries[i].value);
	} else if (!strcmp(verb, "COUNT") && !line) {
		snprintf(out, size, "COUNT %lu", n_records);
	} else {
		snprintf(out, size, "ERR usage");
	}
}

/* ---- the service manager's protocol, sd_notify(3), without its library ---- */

static void notify(const char *message)
{
	struct sockaddr_un to = { .sun_family = AF_UNIX };
	const char *path = getenv("NOTIFY_SOCKET");
	if (!path || !*path || strlen(path) >= sizeof to.sun_path)
		return;
	strcpy(to.sun_path, path);
	if (*path == '@')
		to.sun_path[0] = 0;
	int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return;
	if (sendto(fd, message, strlen(message), MSG_NOSIGNAL, (struct sockaddr *)&to,
		   offsetof(struct sockaddr_un, sun_path) + strlen(path)) < 0)
		perror("skerryd: notify");
	close(fd);
}

struct client {
	char line[MAX_LINE];
	size_t used;
};
static struct pollfd fds[MAX_CLIENTS + 1];
static struct client clients[MAX_CLIENTS + 1];

static void drop(int i)
{
	close(fds[i].fd);
	fds[i].fd = -1;
	clients[i].used = 0;
}

static void serve(int i)
{
	struct client *c = &clients[i];
	ssize_t n = read(fds[i].fd, c->line + c->used, sizeof c->line - c->used);
	char *end, out[MAX_LINE + 16];
	if (n <= 0) {
		drop(i);
		return;
	}
	c->used += n;
	while ((end = memchr(c->line, '\n', c->used))) {
		size_t length = end - c->line + 1;
		*end = 0;
		if (end > c->line && end[-1] == '\r')
			end[-1] = 0;
		fprintf(stderr, "skerryd: request %.*s\n", 48, c->line);
		answer(c->line, out, sizeof out - 1);
		strcat(out, "\n");
		if (send(fds[i].fd, out, strlen(out), MSG_NOSIGNAL) < 0) {
			drop(i);
			return;
		}
		memmove(c->line, c->line + length, c->used -= length);
	}
	if (c->used == sizeof c->line)
		drop(i);
}

static void accept_client(int listener)
{
	int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	if (fd < 0)
		return;
	for (int i = 1; i <= MAX_CLIENTS; i++)
		if (fds[i].fd < 0) {
			fds[i].fd = fd;
			return;
		}
	close(fd);
}

int main(void)
{
	const char *state = getenv("SKERRY_STATE");
	const char *usec = getenv("WATCHDOG_USEC");
	int beat = usec ? atoi(usec) / 2000 : -1, one = 1;
	struct sockaddr_in here = { .sin_family = AF_INET, .sin_port = htons(PORT) };

	if (geteuid() == 0 || getuid() == 0)
		die("will not run as root");
	umask(077);
	if (chdir(state ? state : "/data/skerry"))
		die("no state directory: %s", strerror(errno));
	load_device_key();
	load_log();

	int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one);
	if (listener < 0 || bind(listener, (struct sockaddr *)&here, sizeof here) ||
	    listen(listener, 16))
		die("cannot listen on port %d: %s", PORT, strerror(errno));
	for (int i = 0; i <= MAX_CLIENTS; i++)
		fds[i] = (struct pollfd){ .fd = -1, .events = POLLIN };
	fds[0].fd = listener;
	notify("READY=1");
	for (;;) {
		if (poll(fds, MAX_CLIENTS + 1, beat) < 0 && errno != EINTR)
			die("poll: %s", strerror(errno));
		for (int i = 1; i <= MAX_CLIENTS; i++)
			if (fds[i].fd >= 0 && fds[i].revents)
				serve(i);
		if (fds[0].revents)
			accept_client(listener);
		notify("WATCHDOG=1");
	}
}
