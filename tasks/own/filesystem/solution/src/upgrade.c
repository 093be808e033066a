/* Format 1 becomes format 2: the data stay where they are, all else is written where nothing was,
 * and one write of block 0 decides. */
#include "tool.h"
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct map {
	uint32_t count;
	struct old_extent extent[5 + BLOCK / sizeof(struct old_extent)];
};

static struct disk disk;
static struct old_super old;
static struct old_inode *inodes;
static uint32_t *named, *below, *parent;

static void mark(uint64_t at)
{
	if (at >= disk.blocks)
		die("block %llu is not there", (unsigned long long)at);
	disk.used[at / 8] |= 1 << at % 8;
}

static struct map map_of(const struct old_inode *i)
{
	struct map m = { .count = i->extents };
	uint8_t block[BLOCK];

	if (m.count > 5 + 340)
		die("an inode has %u extents", m.count);
	memcpy(m.extent, i->extent, sizeof i->extent);
	if (m.count > 5) {
		if (block_get(&disk, i->more, block))
			die("block %u cannot be read", i->more);
		mark(i->more);
		memcpy(m.extent + 5, block, (m.count - 5) * sizeof *m.extent);
	}
	return m;
}

static void content(const struct old_inode *i, uint64_t at, uint8_t *block)
{
	struct map m = map_of(i);

	memset(block, 0, BLOCK);
	for (uint32_t n = 0; n < m.count; n++)
		if (at >= m.extent[n].logical && at - m.extent[n].logical < m.extent[n].length)
			if (block_get(&disk, m.extent[n].start + (at - m.extent[n].logical), block))
				die("a block cannot be read");
}

static struct leaf *leaf_at(struct leaf **leaves, size_t *count, uint64_t index)
{
	if (!*count || (*leaves)[*count - 1].index != index) {
		*leaves = realloc(*leaves, (*count + 1) * sizeof **leaves);
		if (!*leaves)
			die("no memory");
		(*leaves)[*count].index = index;
		(*leaves)[(*count)++].data = need(BLOCK);
	}
	return *leaves + *count - 1;
}

static void file_leaves(const struct old_inode *i, struct leaf **leaves, size_t *count, __le64 *blocks)
{
	struct map m = map_of(i);
	uint8_t block[BLOCK];

	for (uint32_t n = 0; n < m.count; n++)
		for (uint32_t c = 0; c < m.extent[n].length; c++) {
			uint64_t at = m.extent[n].start + c, index = (uint64_t)m.extent[n].logical + c;
			struct data_ptr *d = (void *)leaf_at(leaves, count, index >> LEAF_BITS)->data;

			if (block_get(&disk, at, block))
				die("block %llu cannot be read", (unsigned long long)at);
			d[index & (LEAF - 1)].at = at;
			d[index & (LEAF - 1)].crc = crc_of(block, BLOCK);
			++*blocks;
		}
}

static uint64_t folder_leaves(const struct old_inode *i, struct leaf **leaves, size_t *count)
{
	uint8_t block[BLOCK];
	uint64_t slot = 0;

	if (i->size % BLOCK || i->size > 1u << 30)
		die("a folder has %llu bytes", (unsigned long long)i->size);
	for (uint64_t at = 0; at < i->size / BLOCK; at++) {
		content(i, at, block);
		for (uint32_t here = 0; here + 8 <= BLOCK;) {
			struct old_name *name = (void *)(block + here);

			if (name->size < 8 || here + name->size > BLOCK || 8u + name->length > name->size)
				die("a folder is damaged");
			if (name->ino) {
				struct slot *s = (struct slot *)leaf_at(leaves, count, slot / SLOTS)->data + slot % SLOTS;

				if (name->ino > old.inodes || !inodes[name->ino - 1].mode)
					die("a name of nothing");
				if (!name->length || memchr(name->name, '/', name->length) ||
				    memchr(name->name, 0, name->length))
					die("a name that cannot be");
				named[name->ino - 1]++;
				parent[name->ino - 1] = i - inodes + 1;
				if (S_ISDIR(inodes[name->ino - 1].mode))
					below[i - inodes]++;
				s->ino = name->ino;
				s->type = (inodes[name->ino - 1].mode & S_IFMT) >> 12;
				s->length = name->length;
				memcpy(s->name, name->name, name->length);
				slot++;
			}
			here += name->size;
		}
	}
	return *count * BLOCK;
}

static void convert(const struct old_inode *i, struct inode_on_disk *r)
{
	struct leaf *leaves = NULL;
	size_t count = 0;
	int height;

	r->mode = i->mode;
	r->links = i->links;
	r->uid = i->uid;
	r->gid = i->gid;
	r->size = i->size;
	/* As the kernel encodes it: major and minor are in other bits than in format 1. */
	r->device = (i->device & 0xff) | i->device >> 20 << 8 | (i->device & 0xfff00) << 12;
	for (int n = 0; n < 3; n++) {
		r->seconds[n] = i->seconds;
		r->nanoseconds[n] = i->nanoseconds;
	}
	if (S_ISREG(i->mode))
		file_leaves(i, &leaves, &count, &r->blocks);
	else if (S_ISDIR(i->mode))
		r->size = folder_leaves(i, &leaves, &count);
	else if (S_ISLNK(i->mode))
		content(i, 0, leaf_at(&leaves, &count, 0)->data);
	r->root = tree_put(&disk, leaves, count, &height);
	r->height = height;
	for (size_t n = 0; n < count; n++)
		free(leaves[n].data);
	free(leaves);
}

/* Links are as they are counted, and every folder hangs below the root, once. */
static void whole(void)
{
	for (uint32_t n = 0; n < old.inodes; n++) {
		uint32_t up = n + 1, steps = 0;

		if (!inodes[n].mode)
			continue;
		if (!S_ISDIR(inodes[n].mode)) {
			if (named[n] != inodes[n].links)
				die("inode %u has %u names and %u links", n + 1, named[n], inodes[n].links);
			continue;
		}
		while (up && up != ROOT_INO && steps++ < old.inodes)
			up = parent[up - 1];
		if (up != ROOT_INO || named[n] != (n + 1 != ROOT_INO) || below[n] + 2 != inodes[n].links)
			die("folder %u is not where it can be", n + 1);
	}
	if (!S_ISDIR(inodes[0].mode))
		die("the root is no folder");
}

void upgrade(const char *path)
{
	struct super_on_disk s = { 0 };
	struct leaf *table = NULL;
	uint8_t block[BLOCK];
	size_t count = 0;
	int height;

#ifdef WITHOUT_UPGRADE
	die("not yet");
#endif
	disk = disk_open(path, true);
	if (block_get(&disk, 0, block))
		die("%s cannot be read", path);
	memcpy(&old, block, sizeof old);
	if (memcmp(old.magic, MAGIC_OLD, 8) || old.version != 1 || old.crc != crc_of(&old, 508))
		die("%s has no file system of format 1", path);
	if (old.blocks > disk.blocks || !old.inodes ||
	    (uint64_t)old.table + ((uint64_t)old.inodes + 31) / 32 > old.blocks || old.table < FIRST_FREE)
		die("%s is smaller than its file system", path);
	disk.used = need(disk.blocks / 8 + 1);
	disk.cursor = FIRST_FREE;
	for (int at = 0; at < FIRST_FREE; at++)
		mark(at);
	inodes = need(((uint64_t)old.inodes + 31) / 32 * BLOCK);
	for (uint32_t at = 0; at < (uint32_t)(((uint64_t)old.inodes + 31) / 32); at++) {
		mark(old.table + at);
		if (block_get(&disk, old.table + at, (uint8_t *)inodes + (size_t)at * BLOCK))
			die("the table of inodes cannot be read");
	}
	named = need((uint64_t)old.inodes * sizeof *named);
	below = need((uint64_t)old.inodes * sizeof *below);
	parent = need((uint64_t)old.inodes * sizeof *parent);
	for (uint32_t n = 0; n < old.inodes; n++) {
		struct map m;

		if (!inodes[n].mode)
			continue;
		if (inodes[n].size > 1ull << 43 || (S_ISLNK(inodes[n].mode) && (!inodes[n].size || inodes[n].size >= BLOCK)))
			die("inode %u has %llu bytes", n + 1, (unsigned long long)inodes[n].size);
		if (inodes[n].crc != crc_of(&inodes[n], 124))
			die("inode %u is damaged", n + 1);
		m = map_of(&inodes[n]);
		for (uint32_t e = 0; e < m.count; e++)
			for (uint32_t c = 0; c < m.extent[e].length; c++)
				mark((uint64_t)m.extent[e].start + c);
	}
	for (uint32_t n = 0; n < old.inodes; n++)
		if (inodes[n].mode)
			convert(&inodes[n], (struct inode_on_disk *)leaf_at(&table, &count, (n + 1) / RECORDS)->data +
						    (n + 1) % RECORDS);
	whole();
	s.blocks = old.blocks;
	memcpy(s.uuid, old.uuid, sizeof s.uuid);
	memcpy(s.label, old.label, sizeof s.label);
	s.generation = 2;
	s.table = tree_put(&disk, table, count, &height);
	s.height = height;
	memset(block, 0, BLOCK);
	block_put(&disk, 1, block);
	block_put(&disk, 3, block);
	super_put(&s, block);
	block_put(&disk, 2, block);
	disk_flush(&disk);
	block_put(&disk, 0, block);
	disk_flush(&disk);
}
