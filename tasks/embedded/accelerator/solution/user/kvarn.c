/* SPDX-License-Identifier: GPL-2.0-or-later
 *
 * kvarn [-c ADDRESS] COMMAND …: see the usage text. The macros KVARN_NO_… leave commands out on
 * purpose.
 */
#define _GNU_SOURCE
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "kvarn.h"

enum { FAILED = 1, USAGE = 2, NO_CARD = 3, DENIED = 4 };

static const char *address;

static _Noreturn void usage(void)
{
	fputs("usage: kvarn list\n"
	      "       kvarn [-c ADDRESS] alive HEX8\n"
	      "       kvarn [-c ADDRESS] fact N...\n"
	      "       kvarn [-c ADDRESS] copy <in >out\n"
	      "       kvarn -c ADDRESS put OFFSET <in\n"
	      "       kvarn -c ADDRESS get OFFSET LENGTH >out\n"
	      "       kvarn -c ADDRESS ping HEX8\n", stderr);
	exit(USAGE);
}

static void need(int err)
{
	if (!err)
		return;
	fprintf(stderr, "kvarn: %s\n", err == -ENODEV ? "no card" : strerror(-err));
	exit(err == -ENODEV ? NO_CARD : err == -EACCES ? DENIED : err == -EINVAL ? USAGE : FAILED);
}

static uint32_t number(const char *text, uint64_t most)
{
	char *end;
	unsigned long long value;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (!isdigit((unsigned char)*text) || *end || errno || value > most)
		usage();
	return value;
}

static uint32_t hex8(const char *text)
{
	size_t i;

	for (i = 0; text[i]; i++)
		if (!isxdigit((unsigned char)text[i]))
			usage();
	if (i != 8)
		usage();
	return strtoul(text, NULL, 16);
}

static void all(kvarn *handle, int count, char **words)
{
	uint32_t out;
	int i;

	for (i = 0; i < count; i++)
		number(words[i], UINT32_MAX);
	for (i = 0; i < count; i++) {
		need(kvarn_factorial(handle, number(words[i], UINT32_MAX), &out));
		printf("%" PRIu32 "\n", out);
		fflush(stdout);
	}
}

static void emit(const char *data, size_t length)
{
	if (fwrite(data, 1, length, stdout) != length || fflush(stdout))
		need(-EIO);
}

static void copy(kvarn *handle)
{
	static char data[3071 * 4];
	size_t n;

	while ((n = fread(data, 1, sizeof(data), stdin))) {
		need(kvarn_copy(handle, data, data, n));
		emit(data, n);
	}
	if (ferror(stdin))
		need(-EIO);
}

int main(int argc, char **argv)
{
	static char data[KVARN_SHELF + 1];
	uint32_t out, offset, length;
	const char *command;
	kvarn *handle;
	int option;

	while ((option = getopt(argc, argv, "+c:")) != -1) {
		if (option != 'c')
			usage();
		address = optarg;
	}
	argc -= optind;
	argv += optind;
	if (!argc)
		usage();
	command = argv[0];
	if (!strcmp(command, "list")) {
		char found[16][16];
		int i, n = kvarn_list(found, 16);

		if (argc != 1 || address)
			usage();
		for (i = 0; i < n; i++)
			puts(found[i]);
		return 0;
	}
	if (!strcmp(command, "alive")) {
		if (argc != 2)
			usage();
		hex8(argv[1]);
#ifndef KVARN_NO_FACT
	} else if (!strcmp(command, "fact")) {
		int i;

		if (argc < 2)
			usage();
		for (i = 1; i < argc; i++)
			number(argv[i], UINT32_MAX);
#endif
#ifndef KVARN_NO_COPY
	} else if (!strcmp(command, "copy")) {
		if (argc != 1)
			usage();
#endif
#ifndef KVARN_NO_SHELF
	} else if (!strcmp(command, "put")) {
		if (argc != 2 || !address)
			usage();
	} else if (!strcmp(command, "get")) {
		if (argc != 3 || !address)
			usage();
#endif
#ifndef KVARN_NO_PING
	} else if (!strcmp(command, "ping")) {
		if (argc != 2 || !address || !hex8(argv[1]))
			usage();
#endif
	} else {
		usage();
	}

	offset = length = 0;
	if (*command == 'p' && command[1] == 'u') {
		offset = number(argv[1], KVARN_SHELF - 1);
		length = fread(data, 1, sizeof(data), stdin);
		if (!length || length > KVARN_SHELF - offset)
			usage();
	} else if (*command == 'g') {
		offset = number(argv[1], KVARN_SHELF - 1);
		length = number(argv[2], KVARN_SHELF - offset);
		if (!length)
			usage();
	}

	handle = kvarn_open(address);
	if (!handle)
		need(-errno);
	switch (*command) {
	case 'a':
		need(kvarn_alive(handle, hex8(argv[1]), &out));
		printf("%08" PRIx32 "\n", out);
		break;
	case 'f':
		all(handle, argc - 1, argv + 1);
		break;
	case 'c':
		copy(handle);
		break;
	case 'g':
		need(kvarn_get(handle, offset, data, length));
		emit(data, length);
		break;
	default:
		if (command[1] == 'u') {
			need(kvarn_put(handle, offset, data, length));
		} else {
			need(kvarn_ping(handle, hex8(argv[1]), &out));
			printf("%08" PRIx32 "\n", out);
		}
	}
	kvarn_close(handle);
	return fflush(stdout) ? FAILED : 0;
}
