/* ext2: which blocks and inodes are free. A freed block is not given out before the transaction that freed
 * it is on the disk: till then the last one may be played back over it. */
#include "ext2.h"

static bool test(const u8 *map, u32 bit) { return map[bit / 8] >> bit % 8 & 1; }

/* A bit that is clear in the map and, at an offset, in what is held back. */
static i64 find_clear(const u8 *map, u32 from, u32 to, const u8 *held, u32 offset)
{
	for (u32 bit = from; bit < to; bit++) {
		if (!(bit % 64) && bit + 64 <= to && *(const u64 *)(map + bit / 8) == ~0UL) {
			bit += 63;
			continue;
		}
		if (!test(map, bit) && !(held && test(held, offset + bit)))
			return bit;
	}
	return -1;
}

static u32 blocks_in(struct ext2 *fs, u32 group)
{
	return MIN(fs->blocks_per_group, fs->blocks - fs->first_block - group * fs->blocks_per_group);
}

int ext2_block_new(struct ext2 *fs, u32 goal, u32 *block)
{
	if (!fs->free_blocks || (fs->free_blocks <= fs->reserved_blocks && !capable()))
		return -ENOSPC;
	if (goal < fs->first_block || goal >= fs->blocks)
		goal = fs->first_block;
	u32 start = (goal - fs->first_block) / fs->blocks_per_group, from = (goal - fs->first_block) % fs->blocks_per_group;
	for (u32 n = 0; n <= fs->groups; n++, from = 0) {
		u32 g = (start + n) % fs->groups;
		if (!fs->group[g].free_blocks)
			continue;
		struct buffer *b = buffer_get(fs->dev, fs->group[g].block_bitmap, fs->block_size, true);
		if (!b)
			return -EIO;
		i64 bit = find_clear(b->data, from, blocks_in(fs, g), fs->held_any ? fs->held : NULL, g * fs->blocks_per_group);
		if (bit < 0) {
			buffer_put(b);
			continue;
		}
		b->data[bit / 8] |= 1 << bit % 8;
		buffer_mark_dirty(b);
		buffer_put(b);
		fs->group[g].free_blocks--;
		fs->free_blocks--;
		fs->tables_dirty = true;
		*block = fs->first_block + g * fs->blocks_per_group + bit;
		return 0;
	}
	return -ENOSPC;
}

void ext2_block_free(struct ext2 *fs, u32 block)
{
	if (block < fs->first_block || block >= fs->blocks)
		return;
	buffer_forget(fs->dev, block);
	u32 g = (block - fs->first_block) / fs->blocks_per_group, bit = (block - fs->first_block) % fs->blocks_per_group;
	struct buffer *b = buffer_get(fs->dev, fs->group[g].block_bitmap, fs->block_size, true);
	if (!b)
		return;
	if (test(b->data, bit)) {
		b->data[bit / 8] &= ~(1 << bit % 8);
		buffer_mark_dirty(b);
		fs->held[(g * fs->blocks_per_group + bit) / 8] |= 1 << (g * fs->blocks_per_group + bit) % 8;
		fs->held_any = true;
		fs->group[g].free_blocks++;
		fs->free_blocks++;
		fs->tables_dirty = true;
	}
	buffer_put(b);
}

/* Files go near their directory, directories where most is free. */
u32 ext2_inode_new(struct ext2 *fs, u32 near, bool directory)
{
	u32 start = near ? (near - 1) / fs->inodes_per_group : 0;
	if (directory)
		for (u32 g = 0; g < fs->groups; g++)
			if (fs->group[g].free_inodes && fs->group[g].free_blocks > fs->group[start].free_blocks * 2)
				start = g;
	for (u32 n = 0; n < fs->groups; n++) {
		u32 g = (start + n) % fs->groups;
		if (!fs->group[g].free_inodes)
			continue;
		struct buffer *b = buffer_get(fs->dev, fs->group[g].inode_bitmap, fs->block_size, true);
		if (!b)
			return 0;
		i64 bit = find_clear(b->data, g ? 0 : fs->first_inode - 1, fs->inodes_per_group, NULL, 0);
		if (bit >= 0) {
			b->data[bit / 8] |= 1 << bit % 8;
			buffer_mark_dirty(b);
			fs->group[g].free_inodes--;
			fs->group[g].directories += directory;
			fs->free_inodes--;
			fs->tables_dirty = true;
		}
		buffer_put(b);
		if (bit >= 0)
			return g * fs->inodes_per_group + bit + 1;
	}
	return 0;
}

void ext2_inode_free(struct ext2 *fs, u32 ino, bool directory)
{
	u32 g = (ino - 1) / fs->inodes_per_group, bit = (ino - 1) % fs->inodes_per_group;
	struct buffer *b = buffer_get(fs->dev, fs->group[g].inode_bitmap, fs->block_size, true);
	if (!b)
		return;
	if (test(b->data, bit)) {
		b->data[bit / 8] &= ~(1 << bit % 8);
		buffer_mark_dirty(b);
		fs->group[g].free_inodes++;
		fs->group[g].directories -= directory;
		fs->free_inodes++;
		fs->tables_dirty = true;
	}
	buffer_put(b);
}
