/* What mkfs and fsck share. */
#define _GNU_SOURCE
#include "tool.h"
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

uint32_t crc_of(const void *data, size_t size)
{
	static uint32_t table[256];
	const uint8_t *p = data;
	uint32_t crc = ~0u;

	if (!table[1])
		for (uint32_t n = 0; n < 256; n++) {
			uint32_t c = n;

			for (int bit = 0; bit < 8; bit++)
				c = c & 1 ? c >> 1 ^ 0x82f63b78 : c >> 1;
			table[n] = c;
		}
	while (size--)
		crc = table[(crc ^ *p++) & 255] ^ crc >> 8;
	return ~crc;
}

void die(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	exit(8);
}

void *need(size_t size)
{
	void *p = calloc(1, size);

	if (!p)
		die("no memory for %zu bytes", size);
	return p;
}

struct disk disk_open(const char *path, bool write)
{
	struct disk d = { .fd = open(path, write ? O_RDWR : O_RDONLY) };
	off_t size;

	if (d.fd < 0)
		die("%s: %s", path, strerror(errno));
	size = lseek(d.fd, 0, SEEK_END);
	if (size < 0)
		die("%s: %s", path, strerror(errno));
	d.blocks = size / BLOCK;
	return d;
}

int block_get(struct disk *d, uint64_t at, void *data)
{
	return pread(d->fd, data, BLOCK, at * BLOCK) == BLOCK ? 0 : -1;
}

void block_put(struct disk *d, uint64_t at, const void *data)
{
	if (pwrite(d->fd, data, BLOCK, at * BLOCK) != BLOCK)
		die("block %llu cannot be written: %s", (unsigned long long)at, strerror(errno));
}

void disk_flush(struct disk *d)
{
	if (fsync(d->fd))
		die("fsync: %s", strerror(errno));
}

static uint64_t take(struct disk *d)
{
	for (; d->cursor < d->blocks; d->cursor++)
		if (!(d->used[d->cursor / 8] >> d->cursor % 8 & 1)) {
			d->used[d->cursor / 8] |= 1 << d->cursor % 8;
			return d->cursor++;
		}
	die("there is no room");
}

struct ptr node_put(struct disk *d, const void *data)
{
	struct ptr p = { .a = take(d), .b = take(d), .crc = crc_of(data, BLOCK) };

	block_put(d, p.a, data);
	block_put(d, p.b, data);
	return p;
}

/* A tree of these leaves, in the order of their indexes. */
struct ptr tree_put(struct disk *d, const struct leaf *leaves, size_t count, int *height)
{
	struct ptr *now, none = { 0 };
	uint64_t *index;
	size_t have = count;

	*height = 0;
	if (!count)
		return none;
	now = need(count * sizeof *now);
	index = need(count * sizeof *index);
	for (size_t n = 0; n < count; n++) {
		now[n] = node_put(d, leaves[n].data);
		index[n] = leaves[n].index;
	}
	while (have > 1 || index[0]) {
		size_t made = 0;

		for (size_t n = 0; n < have;) {
			struct ptr node[FAN] = { 0 };
			uint64_t parent = index[n] >> FAN_BITS;

			for (; n < have && index[n] >> FAN_BITS == parent; n++)
				node[index[n] & (FAN - 1)] = now[n];
			now[made] = node_put(d, node);
			index[made++] = parent;
		}
		have = made;
		++*height;
	}
	none = now[0];
	free(now);
	free(index);
	return none;
}

void super_put(struct super_on_disk *s, uint8_t *block)
{
	memcpy(s->magic, MAGIC, 8);
	s->version = 2;
	s->crc = crc_of(s, 508);
	memset(block, 0, BLOCK);
	memcpy(block, s, sizeof *s);
}

bool super_good(const struct super_on_disk *s)
{
	return !memcmp(s->magic, MAGIC, 8) && s->version == 2 && s->crc == crc_of(s, 508) &&
	       s->height <= MOST_HEIGHT && s->blocks >= 1024;
}
