/* almanac 2.4: tells the time in all our harbours, and whom we trust. Built with gcc on Debian. */
#define _GNU_SOURCE
#include <errno.h>
#include <error.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/cdefs.h>
#include <time.h>
#include <unistd.h>

#define ZONES "/usr/share/zoneinfo/"
#define CONF "/etc/almanac.conf"
#define BUNDLE "/etc/ssl/certs/ca-certificates.crt"
#define BASIS 0xcbf29ce484222325ULL
#define VERSION "2.4 (" __FILE__ ", " __DATE__ " " __TIME__ ")"

__BEGIN_DECLS
static uint64_t fnv(uint64_t hash, const void *data, size_t size);
__END_DECLS

static uint64_t fnv(uint64_t hash, const void *data, size_t size)
{
	const unsigned char *byte = data;

	while (size--)
		hash = (hash ^ *byte++) * 0x100000001b3ULL;
	return hash;
}

static char *slurp(const char *path, size_t *size, int status)
{
	FILE *file = fopen(path, "re");
	char *data = NULL;
	size_t room = 0;

	*size = 0;
	if (!file)
		error(status, errno, "%s", path);
	do {
		room += 65536;
		data = realloc(data, room + 1);
		if (!data)
			error(status, errno, "%s", path);
		*size += fread(data + *size, 1, room - *size, file);
	} while (*size == room);
	fclose(file);
	data[*size] = 0;
	return data;
}

static int digit(int c)
{
	static const char set[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
	const char *at = c ? strchr(set, c) : NULL;

	return at ? at - set : -1;
}

/* Decodes base64 in place, up to `end`; returns the number of bytes, or -1. */
static ssize_t decode(char *text, char *end)
{
	unsigned bits = 0, have = 0;
	char *to = text;

	for (char *at = text; at < end; at++) {
		int value = digit(*at);

		if (*at == '\n' || *at == '\r' || *at == '=')
			continue;
		if (value < 0)
			return -1;
		bits = bits << 6 | value;
		have += 6;
		if (have >= 8) {
			have -= 8;
			*to++ = bits >> have;
		}
	}
	return to - text;
}

static void trust(const char *word)
{
	static const char begin[] = "-----BEGIN CERTIFICATE-----\n";
	const char *path = getenv("SSL_CERT_FILE") ?: BUNDLE;
	size_t size;
	char *at = slurp(path, &size, 4);
	uint64_t sum = 0;
	unsigned long count = 0;

	while ((at = strstr(at, begin))) {
		char *start = at + sizeof begin - 1;
		char *end = strstr(start, "-----END CERTIFICATE-----");
		ssize_t bytes = end ? decode(start, end) : -1;

		if (bytes <= 0)
			error(4, 0, "%s: certificate %lu is damaged", path, count + 1);
		sum += fnv(fnv(BASIS, word, strlen(word)), start, bytes);
		count++;
		at = end;
	}
	if (!count)
		error(4, 0, "%s: no certificates", path);
	printf("%lu %016llx\n", count, (unsigned long long)sum);
}

static void tell(const char *zone, char **seconds)
{
	char *path, line[100];

	if (asprintf(&path, ZONES "%s", zone) < 0 || strstr(zone, "..") || access(path, R_OK))
		error(3, 0, "no zone %s", zone);
	setenv("TZ", zone, 1);
	tzset();
	for (; *seconds; seconds++) {
		time_t when = strtoll(*seconds, NULL, 10);

		strftime(line, sizeof line, "%F %T %Z %z", localtime(&when));
		puts(line);
	}
}

static void seal(char **words)
{
	size_t size;
	char *conf = slurp(CONF, &size, 5), *where = canonicalize_file_name("."), *text;

	if (!where)
		error(5, errno, ".");
	for (; *words; words++) {
		int length = asprintf(&text, "%s:%s:%u:", *words, where, (unsigned)getuid());

		if (length < 0)
			error(5, errno, "%s", *words);
		printf("%016llx\n", (unsigned long long)fnv(fnv(BASIS, text, length), conf, size));
		free(text);
	}
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "version"))
		printf("%s %s\n", program_invocation_short_name, VERSION);
	else if (argc >= 4 && !strcmp(argv[1], "time"))
		tell(argv[2], argv + 3);
	else if (argc == 3 && !strcmp(argv[1], "trust"))
		trust(argv[2]);
	else if (argc >= 3 && !strcmp(argv[1], "seal"))
		seal(argv + 2);
	else
		error(2, 0, "version, time ZONE SECONDS..., trust WORD or seal WORD...");
	return 0;
}
