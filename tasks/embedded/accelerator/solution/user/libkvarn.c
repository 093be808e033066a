/* SPDX-License-Identifier: LGPL-2.1-or-later
 *
 * Handles keep no file open: a handle must not keep the driver from being unloaded, and a card may
 * go and come back between two calls.
 *
 * The macros KVARN_NO_… leave features out on purpose.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "kvarn.h"
#include "kvarn_ioctl.h"

#define PREFIX "kvarn-"
#define CARDS 16

struct kvarn {
	char address[16]; /* empty: any card */
};

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

int kvarn_list(char (*addresses)[16], int room)
{
	char found[CARDS][16];
	int n = 0;
	struct dirent *entry;
	DIR *dir = opendir("/dev");

	if (!dir)
		return -errno;
	while (n < CARDS && (entry = readdir(dir))) {
		const char *name = entry->d_name;

		if (strncmp(name, PREFIX, strlen(PREFIX)) || strlen(name + strlen(PREFIX)) > 15)
			continue;
		memset(found[n], 0, 16);
		strcpy(found[n++], name + strlen(PREFIX));
	}
	closedir(dir);
	qsort(found, n, 16, by_name);
	if (room > 0 && addresses)
		memcpy(addresses, found, 16 * (n < room ? n : room));
	return n;
}

static int open_card(const char *address)
{
	char path[40] = "/dev/" PREFIX;
	int fd;

	strncat(path, address, 15);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT || errno == ENXIO ? -ENODEV : -errno;
	return fd;
}

static int earlier(__s32 turn, __s32 than)
{
	return (__s32)((__u32)turn - (__u32)than) < 0;
}

/* The card with the shortest queue; among equals the one whose turn is longest ago. */
static int choose_card(void)
{
	char found[CARDS][16];
	int i, n = kvarn_list(found, CARDS), best = -ENODEV;
	struct kvarn_load least = { 0, 0 }, load;

	for (i = 0; i < n && i < CARDS; i++) {
		int fd = open_card(found[i]);

		if (fd < 0) {
			if (best < 0 && fd != -ENODEV)
				best = fd;
			continue;
		}
		if (ioctl(fd, KVARN_IOC_LOAD, &load) < 0) {
			close(fd);
			continue;
		}
		if (best < 0 || load.waiting < least.waiting ||
		    (load.waiting == least.waiting && earlier(load.turn, least.turn))) {
			if (best >= 0)
				close(best);
			best = fd;
			least = load;
		} else {
			close(fd);
		}
#ifdef KVARN_NO_SHARING
		if (best >= 0)
			break;
#endif
	}
	return best;
}

static int request(kvarn *handle, unsigned long command, void *argument)
{
	for (;;) {
		int err = 0, fd = handle->address[0] ? open_card(handle->address) : choose_card();

		if (fd < 0)
			return fd;
		if (ioctl(fd, command, argument) < 0)
			err = -errno;
		close(fd);
		if (err == -EINTR)
			continue;
#ifndef KVARN_NO_RETRY
		if (err == -ENODEV && !handle->address[0])
			continue; /* that card went away; another one may do it */
#endif
		return err;
	}
}

kvarn *kvarn_open(const char *address)
{
	kvarn *handle;
	int fd;

	if (address && (!*address || strlen(address) > 15 || strchr(address, '/'))) {
		errno = ENODEV;
		return NULL;
	}
	fd = address ? open_card(address) : choose_card();
	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
#ifndef KVARN_HOLD
	close(fd);
#endif
	handle = calloc(1, sizeof(*handle));
	if (handle && address)
		strcpy(handle->address, address);
	return handle;
}

void kvarn_close(kvarn *handle)
{
	free(handle);
}

static int word(kvarn *handle, unsigned long command, uint32_t in, uint32_t *out)
{
	struct kvarn_word word = { .in = in };
	int err = request(handle, command, &word);

	if (!err)
		*out = word.out;
	return err;
}

int kvarn_alive(kvarn *handle, uint32_t value, uint32_t *answer)
{
	return word(handle, KVARN_IOC_ALIVE, value, answer);
}

int kvarn_factorial(kvarn *handle, uint32_t n, uint32_t *result)
{
	return word(handle, KVARN_IOC_MILL, n, result);
}

int kvarn_copy(kvarn *handle, void *to, const void *from, size_t length)
{
	size_t done;

	for (done = 0; done < length; done += KVARN_SLICE) {
		struct kvarn_block block = {
			.from = (uintptr_t)from + done,
			.to = (uintptr_t)to + done,
			.length = length - done < KVARN_SLICE ? length - done : KVARN_SLICE,
		};
		int err = request(handle, KVARN_IOC_COPY, &block);

		if (err)
			return err;
	}
	return 0;
}

static int shelf(kvarn *handle, unsigned long command, unsigned offset, uintptr_t memory,
		 size_t length)
{
	struct kvarn_block block = { .from = memory, .to = memory, .offset = offset };

	if (!handle->address[0] || offset >= KVARN_SHELF || !length || length > KVARN_SHELF - offset)
		return -EINVAL;
	block.length = length;
	return request(handle, command, &block);
}

int kvarn_put(kvarn *handle, unsigned offset, const void *from, size_t length)
{
	return shelf(handle, KVARN_IOC_PUT, offset, (uintptr_t)from, length);
}

int kvarn_get(kvarn *handle, unsigned offset, void *to, size_t length)
{
	return shelf(handle, KVARN_IOC_GET, offset, (uintptr_t)to, length);
}

int kvarn_ping(kvarn *handle, uint32_t bits, uint32_t *seen)
{
	if (!handle->address[0] || !bits)
		return -EINVAL;
	return word(handle, KVARN_IOC_PING, bits, seen);
}
