/* ext2: from places in a file to blocks of the disk, and the file's pages. */
#include "ext2.h"

/* The path of indices through the tree of indirect blocks: depth, or 0 if the file cannot be that long. */
static int locate(struct ext2 *fs, u64 index, u32 at[4])
{
	u64 per = fs->block_size / 4;
	if (index < 12) {
		at[0] = index;
		return 1;
	}
	index -= 12;
	if (index < per) {
		at[0] = 12;
		at[1] = index;
		return 2;
	}
	index -= per;
	if (index < per * per) {
		at[0] = 13;
		at[1] = index / per;
		at[2] = index % per;
		return 3;
	}
	index -= per * per;
	if (index < per * per * per) {
		at[0] = 14;
		at[1] = index / (per * per);
		at[2] = index / per % per;
		at[3] = index % per;
		return 4;
	}
	return 0;
}

static int new_block(struct inode *i, bool indirect, u32 goal, u32 *block)
{
	struct ext2 *fs = ext2_of(i);
	int error = ext2_block_new(fs, goal, block);
	if (error)
		return error;
	if (indirect) {
		struct buffer *b = buffer_get(fs->dev, *block, fs->block_size, false);
		error = b ? (memset(b->data, 0, fs->block_size), buffer_mark_dirty(b), 0) : -EIO;
		if (b)
			buffer_put(b);
		if (error) {
			ext2_block_free(fs, *block);
			return error;
		}
	}
	i->blocks += fs->block_size / 512;
	ext2_inode(i)->last_block = *block;
	return 0;
}

int ext2_map(struct inode *i, u64 index, bool create, u32 *block)
{
	struct ext2 *fs = ext2_of(i);
	struct ext2_inode *own = ext2_inode(i);
	u32 at[4], here, goal;
	int depth = locate(fs, index, at), error;
	*block = 0;
	if (!depth)
		return -EFBIG;
	goal = own->last_block ? own->last_block + 1
		: fs->first_block + (u32)((i->ino - 1) / fs->inodes_per_group) * fs->blocks_per_group;
	here = own->block[at[0]];
	if (!here) {
		if (!create)
			return 0;
		error = new_block(i, depth > 1, goal, &here);
		if (error)
			return error;
		own->block[at[0]] = here;
		inode_mark_dirty(i);
	}
	for (int n = 1; n < depth; n++) {
		struct buffer *b = buffer_get(fs->dev, here, fs->block_size, true);
		if (!b)
			return -EIO;
		u32 *entry = (u32 *)b->data + at[n];
		if (!*entry && create) {
			u32 fresh;
			error = new_block(i, n < depth - 1, own->last_block ? own->last_block + 1 : here + 1, &fresh);
			if (error) {
				buffer_put(b);
				return error;
			}
			*entry = fresh;
			buffer_mark_dirty(b);
			inode_mark_dirty(i);
		}
		here = *entry;
		buffer_put(b);
		if (!here)
			return 0;
	}
	*block = here;
	return 0;
}

static void cut_behind(struct inode *i);

int ext2_reserve(struct inode *i, u64 from, u64 to)
{
	struct ext2 *fs = ext2_of(i);
	int error = 0;
	u32 block;
	if (to > 0x7fffffff && !fs->large_files)
		return -EFBIG;
	ext2_begin(fs);
	for (u64 n = from / fs->block_size; n * fs->block_size < to && !error; n++)
		error = ext2_map(i, n, true, &block);
	if (error && to > i->size)
		cut_behind(i);
	ext2_end(fs);
	return error;
}

static int page_transfer(struct inode *i, struct page *p, bool write)
{
	struct ext2 *fs = ext2_of(i);
	u32 per = PAGE_SIZE / fs->block_size, sectors = fs->block_size / 512, blocks[4];
	u64 first = p->index * per, end = (i->size + fs->block_size - 1) / fs->block_size;
	u8 *data = page_address(p);
	int error = 0;
	for (u32 n = 0; n < per; n++) {
		blocks[n] = 0;
		if (first + n < end) {
			error = ext2_map(i, first + n, false, &blocks[n]);
			if (error)
				return error;
		}
	}
	for (u32 n = 0; n < per && !error;) {
		u32 run = 1;
		if (!blocks[n]) {
			if (!write)
				memset(data + n * fs->block_size, 0, fs->block_size);
			n++;
			continue;
		}
		while (n + run < per && blocks[n + run] == blocks[n] + run)
			run++;
		error = fs->disk->transfer(fs->disk, (u64)blocks[n] * sectors, data + n * fs->block_size, run * sectors, write);
		n += run;
	}
	return error;
}

int ext2_read_page(struct inode *i, struct page *p)
{
	int error = page_transfer(i, p, false);
	u64 start = p->index << PAGE_SHIFT;
	if (!error && i->size < start + PAGE_SIZE) {
		u64 from = i->size > start ? i->size - start : 0;
		memset((u8 *)page_address(p) + from, 0, PAGE_SIZE - from);
	}
	return error;
}

int ext2_write_page(struct inode *i, struct page *p) { return page_transfer(i, p, true); }

/* Roots of trees that are cut off. */
struct cut { u32 count, room; struct { u32 block; int level; } root[]; };

static void free_tree(struct inode *i, u32 block, int level)
{
	struct ext2 *fs = ext2_of(i);
	if (!block)
		return;
	if (level) {
		struct buffer *b = buffer_get(fs->dev, block, fs->block_size, true);
		for (u32 n = 0; b && n < fs->block_size / 4; n++)
			free_tree(i, ((u32 *)b->data)[n], level - 1);
		if (b)
			buffer_put(b);
	}
	ext2_block_free(fs, block);
	i->blocks -= MIN(i->blocks, (u64)fs->block_size / 512);
}

/* Takes everything from place `first` on out of the tree; true if nothing remains of it. */
static bool cut_tree(struct inode *i, u32 block, int level, u64 first, struct cut *cut)
{
	struct ext2 *fs = ext2_of(i);
	u64 per = fs->block_size / 4, span = 1;
	if (!block || !first)
		return true;
	for (int n = 1; n < level; n++)
		span *= per;
	struct buffer *b = buffer_get(fs->dev, block, fs->block_size, true);
	if (!b)
		return false;
	u32 *entry = (u32 *)b->data;
	for (u64 n = first / span; n < per; n++) {
		u64 inside = n == first / span ? first % span : 0;
		if (entry[n] && (!inside || cut_tree(i, entry[n], level - 1, inside, cut))) {
			if (cut->count == cut->room)
				break;
			cut->root[cut->count].block = entry[n];
			cut->root[cut->count++].level = level - 1;
			entry[n] = 0;
			buffer_mark_dirty(b);
		}
	}
	buffer_put(b);
	return false;
}

static void cut_off(struct inode *i, u64 first, struct cut *cut)
{
	struct ext2 *fs = ext2_of(i);
	struct ext2_inode *own = ext2_inode(i);
	u64 per = fs->block_size / 4, start = 12, span = per;
	for (u64 n = first; n < 12; n++)
		if (own->block[n]) {
			cut->root[cut->count].block = own->block[n];
			cut->root[cut->count++].level = 0;
			own->block[n] = 0;
		}
	for (int level = 1; level <= 3; level++, start += span, span *= per) {
		u32 *root = &own->block[11 + level];
		u64 inside = first > start ? first - start : 0;
		if (*root && inside < span && cut_tree(i, *root, level, inside, cut)) {
			cut->root[cut->count].block = *root;
			cut->root[cut->count++].level = level;
			*root = 0;
		}
	}
}

static struct cut *cut_new(struct ext2 *fs)
{
	u32 room = 3 * (fs->block_size / 4) + 32;
	struct cut *cut = kmalloc(sizeof *cut + room * sizeof *cut->root);
	if (cut)
		cut->room = room - 16;
	return cut;
}

/* What lies behind `size` belongs to nobody then. */
static void cut_and_free(struct inode *i, u64 size, struct cut *cut)
{
	struct ext2 *fs = ext2_of(i);
	ext2_inode(i)->last_block = 0;
	cut_off(i, (size + fs->block_size - 1) / fs->block_size, cut);
	for (u32 n = 0; n < cut->count; n++)
		free_tree(i, cut->root[n].block, cut->root[n].level);
	kfree(cut);
}

/* The room that a write had got before there was none left. */
static void cut_behind(struct inode *i)
{
	struct cut *cut = cut_new(ext2_of(i));
	if (!cut)
		return;
	cut_and_free(i, i->size, cut);
	ext2_inode_write(i);
}

int ext2_truncate(struct inode *i, u64 size)
{
	struct ext2 *fs = ext2_of(i);
	u64 old = i->size;
	if (size > 0x7fffffff && !fs->large_files)
		return -EFBIG;
	if (size < old && size & (PAGE_SIZE - 1)) {
		struct page *p = cache_get(i, size >> PAGE_SHIFT, true);
		if (IS_ERR(p))
			return PTR_ERR(p);
		cache_dirty(p);
		page_put(p);
	}
	if (size >= old && i->nlink) {
		cache_truncate(i, size);
		i->size = size;
		inode_touch(i, true, false);
		return 0;
	}
	struct cut *cut = cut_new(fs);
	if (!cut)
		return -ENOMEM;
	ext2_begin(fs);
	cache_truncate(i, size);
	i->size = size;
	inode_touch(i, true, false);
	cut_and_free(i, size, cut);
	int error = ext2_inode_write(i);
	ext2_end(fs);
	return error;
}
