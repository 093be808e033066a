#ifndef HOLM_H
#define HOLM_H
#include <linux/fs.h>
#include <linux/idr.h>
#include <linux/mutex.h>
#include <linux/workqueue.h>
#include <linux/xarray.h>
#include "disk.h"

/* A node in memory. `a` is 0 as long as it was never written. */
struct node {
	u8 *data;
	u64 a, b, index;
	u8 level;
	bool dirty;
};

/* A tree of nodes: what an inode has besides its record. Level 0 is what is kept, the others point. */
struct tree {
	struct xarray nodes;
	struct ptr root;
	u8 height;
	bool file;
};

struct names {
	u32 slots, heads_count, free, used;
	u32 *next, *heads;
};

struct holm_inode {
	struct tree tree;
	struct names *names;
	struct list_head dirty;
	u64 blocks;
	struct inode vfs;
};

struct holm {
	struct super_block *sb;
	struct mutex lock;		/* everything below, and all trees */
	unsigned long *used, *pending;
	u64 total, free, pending_count, cursor, spare;
	u64 dirty_nodes;
	struct tree table;
	struct ida inos;
	u64 inodes, generation;
	u8 uuid[16], label[32];
	spinlock_t list_lock;
	struct list_head dirty;
	bool changed, broken, doubtful;
	atomic64_t reserved;
	atomic_t flight;
	atomic_t write_errors;
	wait_queue_head_t landed;
	struct delayed_work work;
};

static inline struct holm *holm_of(struct super_block *sb) { return sb->s_fs_info; }
static inline struct holm_inode *inode_of(struct inode *i) { return container_of(i, struct holm_inode, vfs); }

/* space.c */
u64 take(struct holm *h);
void give(struct holm *h, u64 at);
int claim(struct holm *h, u64 at);
s64 available(struct holm *h);
int room(struct holm *h, unsigned nodes);
int resize(struct holm *h, u64 blocks);

/* tree.c */
void tree_init(struct tree *t, bool file);
void tree_forget(struct holm *h, struct tree *t);
struct node *node_get(struct holm *h, struct tree *t, int level, u64 index, bool create);
void node_dirty(struct holm *h, struct tree *t, struct node *n);
void node_drop(struct holm *h, struct tree *t, struct node *n);
int tree_cut(struct holm *h, struct tree *t, u64 first, u64 *freed);
int tree_flush(struct holm *h, struct tree *t);
int tree_claim(struct holm *h, struct tree *t, int (*leaf)(struct holm *, struct node *, void *), void *with);
u32 sum_of(const void *data, unsigned size);

/* commit.c */
int block_read(struct super_block *sb, u64 at, void *data);
int block_write(struct holm *h, u64 at, void *data);
void landed(struct holm *h);
int super_write(struct holm *h);
int commit(struct holm *h);
int commit_locked(struct holm *h);
void dirty(struct inode *inode);
void holm_work(struct work_struct *work);
int super_read(struct super_block *sb, struct super_on_disk *best);

/* inode.c */
struct inode *holm_iget(struct super_block *sb, u64 ino);
struct inode *holm_new(struct inode *dir, umode_t mode, dev_t dev);
struct inode_on_disk *record_of(struct holm *h, u64 ino, struct node **n, bool create);
int record_write(struct holm *h, struct inode *inode);
void holm_evict(struct inode *inode);
int holm_setattr(struct user_namespace *ns, struct dentry *dentry, struct iattr *attr);
int holm_getattr(struct user_namespace *ns, const struct path *path, struct kstat *stat, u32 mask, unsigned flags);
void names_free(struct names *names);

/* file.c, dir.c, old.c */
extern const struct address_space_operations holm_aops;
extern const struct file_operations holm_file_ops, holm_dir_ops;
extern const struct inode_operations holm_file_inode, holm_dir_inode, holm_special_inode, holm_link_inode;
int holm_fsync(struct file *file, loff_t from, loff_t to, int datasync);
int holm_truncate(struct inode *inode, loff_t size);
int old_fill(struct super_block *sb);
struct inode *holm_alloc_inode(struct super_block *sb);
void holm_free_inode(struct inode *inode);

#endif
