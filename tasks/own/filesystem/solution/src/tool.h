#ifndef TOOL_H
#define TOOL_H
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <linux/types.h>
#include "disk.h"

struct disk {
	int fd;
	uint64_t blocks, cursor;
	uint8_t *used;
};
struct leaf {
	uint64_t index;
	uint8_t *data;
};

uint32_t crc_of(const void *data, size_t size);
void die(const char *format, ...) __attribute__((noreturn, format(printf, 1, 2)));
void *need(size_t size);
struct disk disk_open(const char *path, bool write);
int block_get(struct disk *d, uint64_t at, void *data);
void block_put(struct disk *d, uint64_t at, const void *data);
void disk_flush(struct disk *d);
struct ptr node_put(struct disk *d, const void *data);
struct ptr tree_put(struct disk *d, const struct leaf *leaves, size_t count, int *height);
void super_put(struct super_on_disk *s, uint8_t *block);
bool super_good(const struct super_on_disk *s);
void upgrade(const char *path);
#endif
