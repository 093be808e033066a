/* ext2: mounting and unmounting. */
#include "ext2.h"

static u32 get32(const u8 *p) { u32 v; memcpy(&v, p, 4); return v; }
static u16 get16(const u8 *p) { u16 v; memcpy(&v, p, 2); return v; }
static void put32(u8 *p, u32 v) { memcpy(p, &v, 4); }
static void put16(u8 *p, u16 v) { memcpy(p, &v, 2); }

static int statfs(struct superblock *sb, u64 out[8])
{
	struct ext2 *fs = sb->data;
	out[0] = 0xef53;
	out[1] = fs->block_size;
	out[2] = fs->blocks;
	out[3] = fs->free_blocks;
	out[4] = fs->free_blocks > fs->reserved_blocks ? fs->free_blocks - fs->reserved_blocks : 0;
	out[5] = fs->inodes;
	out[6] = fs->free_inodes;
	out[7] = 255;
	return 0;
}

void ext2_unmount(struct superblock *sb)
{
	struct ext2 *fs = sb->data;
	if (sb->read_only)
		return;
	ext2_sync(sb);
	ext2_journal_close(fs);
	put16(fs->super + 58, get16(fs->super + 58) | 1);
	ext2_journal_mark(fs, false);
	ext2_sync(sb);
}

static int read_super(struct ext2 *fs, bool *read_only)
{
	const u8 *s = fs->super;
	int error = fs->disk->transfer(fs->disk, 2, fs->super, 2, false);
	if (error)
		return error;
	if (get16(s + 56) != 0xef53)
		return -EINVAL;
	u32 incompatible = get32(s + 96), read_only_features = get32(s + 100);
	if (incompatible & ~6u) {
		printk("ext2: features %x are not known\n", incompatible & ~6u);
		return -EINVAL;
	}
	if (read_only_features & ~3u)
		*read_only = true;
	fs->file_types = incompatible & 2;
	fs->large_files = read_only_features & 2;
	fs->inodes = get32(s);
	fs->blocks = get32(s + 4);
	fs->reserved_blocks = get32(s + 8);
	fs->free_blocks = get32(s + 12);
	fs->free_inodes = get32(s + 16);
	fs->first_block = get32(s + 20);
	fs->block_size = 1024u << get32(s + 24);
	fs->blocks_per_group = get32(s + 32);
	fs->inodes_per_group = get32(s + 40);
	bool dynamic = get32(s + 76);
	fs->first_inode = dynamic ? get32(s + 84) : 11;
	fs->inode_size = dynamic ? get16(s + 88) : 128;
	if (fs->block_size > 4096 || !fs->blocks_per_group || !fs->inodes_per_group || fs->inode_size < 128 || fs->inode_size > fs->block_size)
		return -EINVAL;
	fs->groups = (fs->blocks - fs->first_block + fs->blocks_per_group - 1) / fs->blocks_per_group;
	fs->group_block = fs->first_block + 1;
	fs->group_blocks = (fs->groups * sizeof(struct ext2_group) + fs->block_size - 1) / fs->block_size;
	fs->group = kmalloc(fs->group_blocks * fs->block_size);
	for (u32 i = 0; fs->group && i < fs->group_blocks; i++) {
		struct buffer *b = buffer_get(fs->dev, fs->group_block + i, fs->block_size, true);
		if (!b)
			return -EIO;
		memcpy((u8 *)fs->group + i * fs->block_size, b->data, fs->block_size);
		buffer_put(b);
	}
	return fs->group ? 0 : -ENOMEM;
}

/* After a journal was opened: made now, the tables in memory are right; played back, the disk's are. */
static int reread(struct ext2 *fs)
{
	if (!fs->replayed)
		return 0;
	buffers_drop(fs->dev);
	kfree(fs->group);
	bool read_only;
	return read_super(fs, &read_only);
}

/* Files that were open without a name when the power went. */
static void free_orphans(struct ext2 *fs)
{
	u32 ino = get32(fs->super + 232);
	put32(fs->super + 232, 0);
	for (int n = 0; ino && ino <= fs->inodes && n < 10000; n++) {
		struct inode *i = ext2_inode_get(fs, ino);
		if (IS_ERR(i))
			break;
		ino = ext2_inode(i)->dtime;
		inode_put(i);
	}
	fs->tables_dirty = true;
	ext2_sync(fs->sb);
}

struct superblock *ext2_mount(u64 dev, bool read_only, int *error)
{
	static struct superblock *known[4];
	struct disk *d = disk_of(dev);
	if (!d) {
		*error = -ENODEV;
		return NULL;
	}
	if (known[dev & 3])	/* the same file system twice is one file system */
		return known[dev & 3];
	struct ext2 *fs = kmalloc(sizeof *fs);
	struct superblock *sb = kmalloc(sizeof *sb);
	*error = -ENOMEM;
	if (!fs || !sb)
		return NULL;
	fs->dev = dev;
	fs->disk = d;
	fs->sb = sb;
	mutex_init(&fs->lock);
	link_init(&fs->orphans);
	*error = read_super(fs, &read_only);
	if (*error)
		goto bad;
	*sb = (struct superblock){ .dev = dev, .block_size = fs->block_size, .type = "ext2", .statfs = statfs,
		.sync = ext2_sync, .data = fs, .read_only = read_only || d->read_only };
	fs->held = kmalloc((fs->blocks + 7) / 8 + 8);
	if (!fs->held)
		goto bad;
	if (!sb->read_only) {
		ext2_journal_open(fs);
		/* What was played back may have changed what was read before. */
		*error = reread(fs);
		if (*error)
			goto bad;
		put16(fs->super + 52, get16(fs->super + 52) + 1);
		put16(fs->super + 58, get16(fs->super + 58) & ~1);
		put32(fs->super + 44, real_ns() / 1000000000);
		ext2_journal_mark(fs, true);
		ext2_sync(sb);
	}
	sb->root = ext2_inode_get(fs, EXT2_ROOT);
	if (IS_ERR(sb->root)) {
		*error = PTR_ERR(sb->root);
		goto bad;
	}
	if (!sb->read_only)
		free_orphans(fs);
	known[dev & 3] = sb;
	return sb;
bad:
	kfree(fs->group);
	kfree(fs);
	kfree(sb);
	return NULL;
}
