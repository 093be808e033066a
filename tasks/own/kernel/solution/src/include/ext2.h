/* The second extended file system: what its files share. */
#pragma once
#include "fs.h"

#define EXT2_ROOT 2
#define EXT2_INDEXED 0x1000	/* inode flag: the directory has a hash tree */

struct ext2_group { u32 block_bitmap, inode_bitmap, inode_table; u16 free_blocks, free_inodes, directories, pad; u32 reserved[3]; };

struct ext2_raw {
	u16 mode, uid;
	u32 size, atime, ctime, mtime, dtime;
	u16 gid, links;
	u32 blocks, flags, osd1, block[15], generation, acl, size_high, fragment;
	u16 pad, reserved, uid_high, gid_high;
	u32 reserved2;
};

struct ext2 {
	struct superblock *sb;
	u64 dev;
	struct disk *disk;
	u32 block_size, groups, inodes_per_group, blocks_per_group, inode_size, first_inode, first_block;
	u32 inodes, blocks, reserved_blocks;
	u32 free_blocks, free_inodes;
	bool large_files, file_types, tables_dirty;
	u8 super[1024];
	struct ext2_group *group;
	u32 group_block, group_blocks;
	struct mutex lock;
	u8 *held;		/* freed blocks that the last transaction still uses */
	bool held_any, replaying, replayed, orphans_changed;
	struct link orphans;
	u32 *journal, journal_blocks, sequence;
	u8 *journal_buffer;
};

/* An inode's own part. */
struct ext2_inode { u32 block[15], flags, generation, dtime, acl; u32 last_block; struct inode *inode; struct link orphan; };

static inline struct ext2 *ext2_of(struct inode *i) { return i->sb->data; }
static inline struct ext2_inode *ext2_inode(struct inode *i) { return i->data; }

/* ext2_alloc.c */
int ext2_block_new(struct ext2 *fs, u32 goal, u32 *block);
void ext2_block_free(struct ext2 *fs, u32 block);
u32 ext2_inode_new(struct ext2 *fs, u32 near, bool directory);
void ext2_inode_free(struct ext2 *fs, u32 ino, bool directory);

/* ext2_data.c */
int ext2_map(struct inode *i, u64 index, bool create, u32 *block);
int ext2_truncate(struct inode *i, u64 size);
int ext2_read_page(struct inode *i, struct page *p);
int ext2_write_page(struct inode *i, struct page *p);
int ext2_reserve(struct inode *i, u64 from, u64 to);

/* ext2_inode.c */
struct inode *ext2_inode_get(struct ext2 *fs, u32 ino);
int ext2_inode_write(struct inode *i);
void ext2_set_ops(struct inode *i);

/* ext2_journal.c */
int ext2_sync(struct superblock *sb);
void ext2_begin(struct ext2 *fs);
void ext2_end(struct ext2 *fs);
void ext2_journal_open(struct ext2 *fs);
void ext2_journal_mark(struct ext2 *fs, bool in_use);
int ext2_journal_close(struct ext2 *fs);

/* ext2_dir.c */
extern const struct inode_ops ext2_dir_ops, ext2_file_ops, ext2_link_ops;
extern const struct file_ops ext2_dir_file_ops;
