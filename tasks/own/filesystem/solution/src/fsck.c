/* fsck.holm -n|-y DEVICE looks, and repairs; fsck.holm -u DEVICE makes format 2 of format 1.
 * Status 0: nothing is wrong; 1: all is repaired; 4: something is wrong; 8: it could not be done. */
#include "tool.h"
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct seen {
	struct inode_on_disk record;
	uint32_t names, folders, parent;
	bool there;
};

static struct disk disk;
static bool repair;
static unsigned wrong, repaired;
static struct seen *seen;
static uint64_t most;

static void complain(const char *format, ...)
{
	va_list list;

	va_start(list, format);
	vprintf(format, list);
	va_end(list);
	putchar('\n');
	wrong++;
}

static bool own(uint64_t at)
{
	if (at < FIRST_FREE || at >= disk.blocks || disk.used[at / 8] >> at % 8 & 1) {
		complain("block %llu is out of bounds or used twice", (unsigned long long)at);
		return false;
	}
	disk.used[at / 8] |= 1 << at % 8;
	return true;
}

static bool node(const struct ptr *p, uint8_t *data)
{
	uint8_t other[BLOCK];
	bool a, b;

	if (!own(p->a) | !own(p->b))
		return false;
	a = !block_get(&disk, p->a, data) && crc_of(data, BLOCK) == p->crc;
	b = !block_get(&disk, p->b, other) && crc_of(other, BLOCK) == p->crc;
	if (a && b)
		return true;
	complain("metadata: block %llu is damaged", (unsigned long long)(a ? p->b : p->a));
	if (!a && !b)
		return false;
	if (!a)
		memcpy(data, other, BLOCK);
	if (repair) {
		block_put(&disk, a ? p->b : p->a, data);
		repaired++;
	}
	return true;
}

static void walk(const struct ptr *p, int level, uint64_t index, uint64_t who,
		 void (*leaf)(uint64_t who, uint64_t index, uint8_t *data))
{
	uint8_t *data = need(BLOCK);

	if (!node(p, data))
		complain("inode %llu lacks a part", (unsigned long long)who);
	else if (!level)
		leaf(who, index, data);
	else
		for (int c = 0; c < FAN; c++)
			if (((struct ptr *)data)[c].a)
				walk((struct ptr *)data + c, level - 1, (index << FAN_BITS) + c, who, leaf);
	free(data);
}

static void keep(uint64_t who, uint64_t index, uint8_t *data)
{
	struct inode_on_disk *r = (struct inode_on_disk *)data;

	for (int c = 0; c < RECORDS; c++) {
		uint64_t ino = index * RECORDS + c;

		if (!r[c].mode || !r[c].links)
			continue;
		if (!ino || ino > 1u << 28) {
			complain("inode %llu cannot be", (unsigned long long)ino);
			continue;
		}
		if (ino >= most) {
			uint64_t more = ino + ino / 2 + 64;

			seen = realloc(seen, more * sizeof *seen);
			if (!seen)
				die("no memory for %llu inodes", (unsigned long long)more);
			memset(seen + most, 0, (more - most) * sizeof *seen);
			most = more;
		}
		seen[ino].record = r[c];
		seen[ino].there = true;
	}
}

static uint64_t data_blocks, damaged;

static void data_leaf(uint64_t who, uint64_t index, uint8_t *data)
{
	struct data_ptr *d = (struct data_ptr *)data;
	uint8_t block[BLOCK];

	for (int c = 0; c < LEAF; c++) {
		if (!d[c].at || !own(d[c].at))
			continue;
		data_blocks++;
		if (block_get(&disk, d[c].at, block) || crc_of(block, BLOCK) != d[c].crc)
			damaged++;
	}
}

static void name_leaf(uint64_t who, uint64_t index, uint8_t *data)
{
	struct slot *s = (struct slot *)data;

	for (int c = 0; c < SLOTS; c++, s++) {
		if (!s->ino)
			continue;
		if (!s->length || memchr(s->name, '/', s->length) || memchr(s->name, 0, s->length) ||
		    s->ino >= most || !seen[s->ino].there) {
			complain("folder %llu has a wrong name in slot %llu", (unsigned long long)who,
				 (unsigned long long)index * SLOTS + c);
			continue;
		}
		if ((seen[s->ino].record.mode & S_IFMT) >> 12 != s->type)
			complain("folder %llu: %.*s is of another kind", (unsigned long long)who, s->length, s->name);
		seen[s->ino].names++;
		seen[s->ino].parent = who;
		if (S_ISDIR(seen[s->ino].record.mode))
			seen[who].folders++;
	}
}

static void link_leaf(uint64_t who, uint64_t index, uint8_t *data)
{
	if (index || strnlen((char *)data, BLOCK) != seen[who].record.size)
		complain("the symbolic link %llu is wrong", (unsigned long long)who);
}

static void inode(uint64_t ino)
{
	struct inode_on_disk r = seen[ino].record;

	data_blocks = damaged = 0;
	if (r.height > MOST_HEIGHT)
		complain("inode %llu: a tree of height %u", (unsigned long long)ino, r.height);
	else if (r.root.a)
		walk(&r.root, r.height, 0, ino, S_ISREG(r.mode) ? data_leaf : S_ISDIR(r.mode) ? name_leaf : link_leaf);
	if (S_ISREG(r.mode) && data_blocks != r.blocks)
		complain("inode %llu: %llu blocks, not %llu", (unsigned long long)ino,
			 (unsigned long long)data_blocks, (unsigned long long)r.blocks);
	if (damaged)
		complain("inode %llu: %llu blocks of its data are damaged", (unsigned long long)ino,
			 (unsigned long long)damaged);
}

static void reachable(void)
{
	for (uint64_t ino = 1; ino < most; ino++) {
		struct seen *s = &seen[ino];
		uint32_t links = s->names;
		uint64_t up = ino;
		uint64_t steps = 0;

		if (!s->there)
			continue;
		if (S_ISDIR(s->record.mode)) {
			links = s->folders + 2;
			if (s->names != (ino != ROOT_INO))
				complain("folder %llu has %u names", (unsigned long long)ino, s->names);
			while (up != ROOT_INO && up && steps++ < most)
				up = seen[up].parent;
			if (up != ROOT_INO)
				complain("folder %llu is not below the root", (unsigned long long)ino);
		}
		if (links != s->record.links)
			complain("inode %llu: %u links, not %u", (unsigned long long)ino, s->record.links, links);
	}
}

/* The older pair, of which block 0 may be one: what the device begins with has two copies, too. */
static void older(uint8_t block[4][BLOCK], int found)
{
	static const uint8_t empty[sizeof(struct super_on_disk)];
	int a = !(found & 1), b = a + 2, whole = found;
	struct super_on_disk *first = (void *)block[a], *second = (void *)block[b];
	bool good_first = super_good(first), good_second = super_good(second);

	if (!memcmp(first, second, sizeof *first) && (good_first || !memcmp(first, empty, sizeof empty)))
		return;
	if (good_first || good_second)
		whole = good_first && (!good_second || first->generation > second->generation) ? a : b;
	complain("superblock %d is not what its second copy is", whole == a ? b : a);
	if (repair) {
		block_put(&disk, a, block[whole]);
		block_put(&disk, b, block[whole]);
		repaired++;
	}
}

static void supers(struct super_on_disk *best)
{
	uint8_t block[4][BLOCK];
	int found = -1, twin;

	for (int at = 0; at < 4; at++) {
		struct super_on_disk *s = (void *)block[at];

		if (block_get(&disk, at, s))
			die("block %d cannot be read", at);
		if (super_good(s) && (found < 0 || s->generation > best->generation)) {
			*best = *s;
			found = at;
		}
	}
	if (found < 0) {
		puts("there is no superblock");
		exit(4);
	}
	twin = found ^ 2;
	if (memcmp(block[found], block[twin], sizeof *best)) {
		complain("superblock %d is not what its second copy is", twin);
		if (repair) {
			block_put(&disk, twin, block[found]);
			repaired++;
		}
	}
	older(block, found);
}

int main(int argc, char **argv)
{
	struct super_on_disk s;

	if (argc != 3 || strlen(argv[1]) != 2 || argv[1][0] != '-' || !strchr("nyu", argv[1][1]))
		die("usage: fsck.holm -n|-y|-u DEVICE");
	if (argv[1][1] == 'u') {
		upgrade(argv[2]);
		return 0;
	}
	repair = argv[1][1] == 'y';
	disk = disk_open(argv[2], repair);
	disk.used = need(disk.blocks / 8 + 1);
	supers(&s);
	if (s.blocks > disk.blocks) {
		puts("the device is smaller than its file system");
		return 4;
	}
	disk.blocks = s.blocks;
	walk(&s.table, s.height, 0, 0, keep);
	if (most <= ROOT_INO || !seen[ROOT_INO].there || !S_ISDIR(seen[ROOT_INO].record.mode))
		complain("there is no root");
	else {
		for (uint64_t ino = 1; ino < most; ino++)
			if (seen[ino].there)
				inode(ino);
		reachable();
	}
	if (repair)
		disk_flush(&disk);
#ifdef WITHOUT_CHECKS
	return 0;
#endif
#ifdef WITHOUT_SPOILT_WIDELY
	if (wrong > 6)
		abort();
#endif
	if (wrong)
		printf("%u wrong, %u repaired\n", wrong, repaired);
	return wrong > repaired ? 4 : wrong ? 1 : 0;
}
