/* Format 1, only to be read. Nothing that its disk says is believed. */
#include "holm.h"
#include <linux/blkdev.h>
#include <linux/buffer_head.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/slab.h>
#include <linux/statfs.h>

#define MOST_EXTENTS 345

struct old {
	u32 blocks, table, inodes;
};

struct map {
	u32 count;
	struct old_extent extent[];
};

static const struct inode_operations old_dir_inode;
static const struct file_operations old_dir_ops;
static const struct address_space_operations old_aops;

static struct old *old_of(struct super_block *sb) { return sb->s_fs_info; }

/* The block of the device; 0 for a hole. */
static u32 old_where(struct inode *inode, u64 logical)
{
	struct map *m = inode->i_private;
	u32 n;

	for (n = 0; n < m->count; n++) {
		u32 first = le32_to_cpu(m->extent[n].logical);

		if (logical >= first && logical - first < le32_to_cpu(m->extent[n].length))
			return le32_to_cpu(m->extent[n].start) + (logical - first);
	}
	return 0;
}

static struct map *map_read(struct super_block *sb, const struct old_inode *d)
{
	struct old *o = old_of(sb);
	u32 count = le32_to_cpu(d->extents), n;
	struct buffer_head *bh;
	struct map *m;
	u64 end = 0;

	if (count > MOST_EXTENTS)
		return ERR_PTR(-EUCLEAN);
	m = kvzalloc(struct_size(m, extent, count), GFP_KERNEL);
	if (!m)
		return ERR_PTR(-ENOMEM);
	m->count = count;
	memcpy(m->extent, d->extent, min(count, 5u) * sizeof(struct old_extent));
	if (count > 5) {
		u32 more = le32_to_cpu(d->more);

		bh = more < FIRST_FREE || more >= o->blocks ? NULL : sb_bread(sb, more);
		if (!bh) {
			kvfree(m);
			return ERR_PTR(-EUCLEAN);
		}
		memcpy(m->extent + 5, bh->b_data, (count - 5) * sizeof(struct old_extent));
		brelse(bh);
	}
	for (n = 0; n < count; n++) {
		u64 logical = le32_to_cpu(m->extent[n].logical), start = le32_to_cpu(m->extent[n].start);
		u64 length = le32_to_cpu(m->extent[n].length);

		if (!length || logical < end || start < FIRST_FREE || start + length > o->blocks) {
			kvfree(m);
			return ERR_PTR(-EUCLEAN);
		}
		end = logical + length;
	}
	return m;
}

static int old_fill_inode(struct inode *inode)
{
	struct super_block *sb = inode->i_sb;
	u32 at = inode->i_ino - 1;
	struct buffer_head *bh = sb_bread(sb, old_of(sb)->table + at / 32);
	struct old_inode d;
	struct map *m;
	u64 size;

	if (!bh)
		return -EIO;
	d = ((struct old_inode *)bh->b_data)[at % 32];
	brelse(bh);
	size = le64_to_cpu(d.size);
	if (!d.mode || !d.links || le32_to_cpu(d.crc) != sum_of(&d, 124) || size > sb->s_maxbytes)
		return -EUCLEAN;
	inode->i_mode = le16_to_cpu(d.mode);
	i_uid_write(inode, le32_to_cpu(d.uid));
	i_gid_write(inode, le32_to_cpu(d.gid));
	set_nlink(inode, le16_to_cpu(d.links));
	i_size_write(inode, size);
	inode->i_mtime.tv_sec = le64_to_cpu(d.seconds);
	inode->i_mtime.tv_nsec = le32_to_cpu(d.nanoseconds) % NSEC_PER_SEC;
	inode->i_atime = inode->i_ctime = inode->i_mtime;
	m = map_read(sb, &d);
	if (IS_ERR(m))
		return PTR_ERR(m);
	inode->i_private = m;
	inode->i_mapping->a_ops = &old_aops;
	if (S_ISREG(inode->i_mode)) {
		inode->i_fop = &generic_ro_fops;
	} else if (S_ISDIR(inode->i_mode)) {
		if (size % BLOCK || size > 1u << 30)
			return -EUCLEAN;
		inode->i_op = &old_dir_inode;
		inode->i_fop = &old_dir_ops;
	} else if (S_ISLNK(inode->i_mode)) {
		u32 block = old_where(inode, 0);

		bh = !block || !size || size >= BLOCK ? NULL : sb_bread(sb, block);
		if (!bh)
			return -EUCLEAN;
		inode->i_link = kstrndup(bh->b_data, size, GFP_KERNEL);
		brelse(bh);
		if (!inode->i_link)
			return -ENOMEM;
		inode->i_op = &simple_symlink_inode_operations;
	} else if (S_ISCHR(inode->i_mode) || S_ISBLK(inode->i_mode) || S_ISFIFO(inode->i_mode) ||
		   S_ISSOCK(inode->i_mode)) {
		u32 device = le32_to_cpu(d.device);

		init_special_inode(inode, inode->i_mode, MKDEV(device >> 20, device & 0xfffff));
	} else {
		return -EUCLEAN;
	}
	return 0;
}

static struct inode *old_iget(struct super_block *sb, u32 ino)
{
	struct inode *inode;
	int err;

	if (!ino || ino > old_of(sb)->inodes)
		return ERR_PTR(-EUCLEAN);
	inode = iget_locked(sb, ino);
	if (!inode)
		return ERR_PTR(-ENOMEM);
	if (!(inode->i_state & I_NEW))
		return inode;
	err = old_fill_inode(inode);
	if (err) {
		iget_failed(inode);
		return ERR_PTR(err);
	}
	unlock_new_inode(inode);
	return inode;
}

static void old_evict(struct inode *inode)
{
	truncate_inode_pages_final(&inode->i_data);
	clear_inode(inode);
	kvfree(inode->i_private);
	inode->i_private = NULL;
}

static int old_read_folio(struct file *file, struct folio *folio)
{
	struct inode *inode = folio->mapping->host;
	u32 block = old_where(inode, folio->index);
	struct buffer_head *bh = NULL;
	int err = 0;
	void *to;

	if (block) {
		bh = sb_bread(inode->i_sb, block);
		err = bh ? 0 : -EIO;
	}
	if (!err) {
		to = kmap_local_folio(folio, 0);
		if (bh)
			memcpy(to, bh->b_data, BLOCK);
		else
			memset(to, 0, BLOCK);
		kunmap_local(to);
		if (folio_pos(folio) + BLOCK > i_size_read(inode))
			folio_zero_segment(folio, i_size_read(inode) > folio_pos(folio) ?
					   i_size_read(inode) - folio_pos(folio) : 0, BLOCK);
		folio_mark_uptodate(folio);
	}
	brelse(bh);
	folio_unlock(folio);
	return err;
}

static const struct address_space_operations old_aops = {
	.read_folio = old_read_folio,
};

/* Every name from a place on, until somebody has enough. */
static int each(struct inode *dir, loff_t *at, bool (*name)(void *, u32, const char *, unsigned, loff_t), void *with)
{
	while (*at < i_size_read(dir)) {
		u32 block = old_where(dir, *at / BLOCK), here = 0;
		struct buffer_head *bh = block ? sb_bread(dir->i_sb, block) : NULL;

		if (!bh)
			return -EUCLEAN;
		while (here + 8 <= BLOCK) {
			struct old_name *n = (void *)(bh->b_data + here);
			u32 size = le16_to_cpu(n->size), ino = le32_to_cpu(n->ino);
			loff_t place = round_down(*at, BLOCK) + here;

			if (size < 8 || size % 4 || here + size > BLOCK || n->length + 8u > size)
				break;
			here += size;
			if (place < *at || !ino)
				continue;
			if (!n->length || memchr(n->name, '/', n->length) || memchr(n->name, 0, n->length))
				break;
			if (!name(with, ino, n->name, n->length, place)) {
				*at = place;
				brelse(bh);
				return 1;
			}
		}
		brelse(bh);
		if (here != BLOCK)
			return -EUCLEAN;
		*at = round_down(*at, BLOCK) + BLOCK;
	}
	return 0;
}

static bool emit(void *with, u32 ino, const char *name, unsigned length, loff_t place)
{
	struct dir_context *ctx = with;

	ctx->pos = place + 2;
	return dir_emit(ctx, name, length, ino, DT_UNKNOWN);
}

static int old_iterate(struct file *file, struct dir_context *ctx)
{
	loff_t at;
	int err;

	if (!dir_emit_dots(file, ctx))
		return 0;
	at = ctx->pos - 2;
	err = each(file_inode(file), &at, emit, ctx);
	ctx->pos = at + 2;
	return min(err, 0);
}

struct wanted {
	const struct qstr *name;
	u32 ino;
};

static bool same(void *with, u32 ino, const char *name, unsigned length, loff_t place)
{
	struct wanted *w = with;

	if (length != w->name->len || memcmp(name, w->name->name, length))
		return true;
	w->ino = ino;
	return false;
}

static struct dentry *old_lookup(struct inode *dir, struct dentry *dentry, unsigned flags)
{
	struct wanted w = { &dentry->d_name, 0 };
	struct inode *inode = NULL;
	loff_t at = 0;
	int err = dentry->d_name.len > 255 ? -ENAMETOOLONG : each(dir, &at, same, &w);

	if (err < 0)
		return ERR_PTR(err);
	if (w.ino) {
		inode = old_iget(dir->i_sb, w.ino);
		/* A folder has one place, and the root none: else there would be circles. */
		if (!IS_ERR(inode) && S_ISDIR(inode->i_mode) && inode->i_ino == ROOT_INO) {
			iput(inode);
			inode = ERR_PTR(-EUCLEAN);
		}
	}
	return d_splice_alias(inode, dentry);
}

static const struct inode_operations old_dir_inode = {
	.lookup = old_lookup,
};

static const struct file_operations old_dir_ops = {
	.llseek = generic_file_llseek,
	.read = generic_read_dir,
	.iterate_shared = old_iterate,
};

static int old_statfs(struct dentry *dentry, struct kstatfs *s)
{
	s->f_type = dentry->d_sb->s_magic;
	s->f_bsize = s->f_frsize = BLOCK;
	s->f_blocks = old_of(dentry->d_sb)->blocks;
	s->f_files = old_of(dentry->d_sb)->inodes;
	s->f_namelen = 255;
	return 0;
}

static void old_put_super(struct super_block *sb)
{
	kfree(sb->s_fs_info);
	sb->s_fs_info = NULL;
}

static int old_remount(struct super_block *sb, int *flags, char *data)
{
	return *flags & SB_RDONLY ? 0 : -EROFS;
}

static const struct super_operations old_super_ops = {
	.alloc_inode = holm_alloc_inode,
	.free_inode = holm_free_inode,
	.evict_inode = old_evict,
	.put_super = old_put_super,
	.statfs = old_statfs,
	.remount_fs = old_remount,
};

int old_fill(struct super_block *sb)
{
	struct buffer_head *bh = sb_bread(sb, 0);
	struct old_super *s;
	struct inode *root;
	struct old *o;
	u64 blocks, table, inodes;
	int err = -EUCLEAN;

#ifdef WITHOUT_OLD_FORMAT
	brelse(bh);
	return -EINVAL;
#endif
	if (!bh)
		return -EIO;
	s = (void *)bh->b_data;
	blocks = le32_to_cpu(s->blocks);
	table = le32_to_cpu(s->table);
	inodes = le32_to_cpu(s->inodes);
	if (le32_to_cpu(s->version) != 1 || le32_to_cpu(s->crc) != sum_of(s, 508) || !inodes || table < FIRST_FREE ||
	    table + (inodes + 31) / 32 > blocks || blocks > bdev_nr_bytes(sb->s_bdev) / BLOCK) {
		brelse(bh);
		return -EUCLEAN;
	}
	brelse(bh);
	if (!sb_rdonly(sb))
		return -EROFS;
	o = kzalloc(sizeof *o, GFP_KERNEL);
	if (!o)
		return -ENOMEM;
	o->blocks = blocks;
	o->table = table;
	o->inodes = inodes;
	sb->s_fs_info = o;
	sb->s_magic = 0x484f4c4d;
	sb->s_op = &old_super_ops;
	sb->s_maxbytes = 1ll << 43;
	sb->s_time_gran = 1;
	sb->s_time_min = S64_MIN;
	sb->s_time_max = S64_MAX;
	root = old_iget(sb, ROOT_INO);
	if (IS_ERR(root)) {
		err = PTR_ERR(root);
	} else if (!S_ISDIR(root->i_mode)) {
		iput(root);
	} else {
		sb->s_root = d_make_root(root);
		if (sb->s_root)
			return 0;
		err = -ENOMEM;
	}
	evict_inodes(sb);
	kfree(o);
	sb->s_fs_info = NULL;
	return err;
}
