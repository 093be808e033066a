/* ext2: inodes from and to their table. */
#include "ext2.h"

static struct buffer *table_block(struct ext2 *fs, u32 ino, u32 *offset)
{
	u32 g = (ino - 1) / fs->inodes_per_group, n = (ino - 1) % fs->inodes_per_group;
	if (!ino || g >= fs->groups)
		return NULL;
	u64 at = (u64)n * fs->inode_size;
	*offset = at % fs->block_size;
	return buffer_get(fs->dev, fs->group[g].inode_table + at / fs->block_size, fs->block_size, true);
}

void ext2_set_ops(struct inode *i)
{
	if (IS_DIR(i->mode)) {
		i->ops = &ext2_dir_ops;
		i->fops = &ext2_dir_file_ops;
	} else if (IS_LNK(i->mode))
		i->ops = &ext2_link_ops;
	else {
		i->ops = &ext2_file_ops;
		i->fops = IS_REG(i->mode) ? &regular_ops : NULL;
	}
}

struct inode *ext2_inode_get(struct ext2 *fs, u32 ino)
{
	u32 offset;
	struct inode *i = inode_find(fs->sb, ino);
	if (i)
		return i;
	struct buffer *b = table_block(fs, ino, &offset);
	if (!b)
		return ERR_PTR(-EIO);
	i = inode_find(fs->sb, ino);	/* the reading may have taken a while */
	if (i) {
		buffer_put(b);
		return i;
	}
	struct ext2_raw *raw = (void *)(b->data + offset);
	struct ext2_inode *own = kmalloc(sizeof *own);
	i = own ? inode_new(fs->sb, ino, raw->mode) : NULL;
	if (!i) {
		kfree(own);
		buffer_put(b);
		return ERR_PTR(-ENOMEM);
	}
	i->uid = raw->uid | raw->uid_high << 16;
	i->gid = raw->gid | raw->gid_high << 16;
	i->nlink = raw->links;
	i->size = raw->size | (IS_REG(i->mode) ? (u64)raw->size_high << 32 : 0);
	i->blocks = raw->blocks;
	i->atime = raw->atime * 1000000000UL;
	i->mtime = raw->mtime * 1000000000UL;
	i->ctime = raw->ctime * 1000000000UL;
	memcpy(own->block, raw->block, sizeof own->block);
	own->flags = raw->flags;
	own->generation = raw->generation;
	own->acl = raw->acl;
	own->dtime = raw->dtime;
	own->inode = i;
	link_init(&own->orphan);
	i->data = own;
	if (IS_CHR(i->mode) || IS_BLK(i->mode))
		i->rdev = own->block[0] ? DEV(own->block[0] >> 8 & 0xff, own->block[0] & 0xff)
			: DEV(own->block[1] >> 8 & 0xfff, (own->block[1] & 0xff) | (own->block[1] >> 12 & 0xfff00));
	ext2_set_ops(i);
	buffer_put(b);
	return i;
}

/* Into the block of the table, which goes out with the next transaction. */
int ext2_inode_write(struct inode *i)
{
	struct ext2 *fs = ext2_of(i);
	struct ext2_inode *own = ext2_inode(i);
	u32 offset;
	if (fs->sb->read_only)
		return 0;
	struct buffer *b = table_block(fs, i->ino, &offset);
	if (!b)
		return -EIO;
	struct ext2_raw *raw = (void *)(b->data + offset);
	if (!raw->mode && fs->inode_size > 128)
		memset(raw + 1, 0, fs->inode_size - 128);
	raw->mode = i->mode;
	raw->uid = i->uid;
	raw->uid_high = i->uid >> 16;
	raw->gid = i->gid;
	raw->gid_high = i->gid >> 16;
	raw->links = i->nlink;
	raw->size = i->size;
	raw->size_high = IS_REG(i->mode) ? i->size >> 32 : 0;
	raw->blocks = i->blocks;
	raw->atime = i->atime / 1000000000UL;
	raw->mtime = i->mtime / 1000000000UL;
	raw->ctime = i->ctime / 1000000000UL;
	raw->dtime = i->nlink ? 0 : own->dtime;
	raw->flags = own->flags;
	raw->generation = own->generation;
	raw->acl = own->acl;
	memcpy(raw->block, own->block, sizeof own->block);
	buffer_mark_dirty(b);
	buffer_put(b);
	return 0;
}
