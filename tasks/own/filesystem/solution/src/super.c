/* Mounting, statfs, growing, leaving. */
#include "holm.h"
#include <linux/blkdev.h>
#include <linux/module.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>
#include <linux/statfs.h>

static struct kmem_cache *inodes;

struct inode *holm_alloc_inode(struct super_block *sb)
{
	struct holm_inode *i = alloc_inode_sb(sb, inodes, GFP_KERNEL);

	if (!i)
		return NULL;
	tree_init(&i->tree, false);
	i->names = NULL;
	i->blocks = 0;
	INIT_LIST_HEAD(&i->dirty);
	return &i->vfs;
}

void holm_free_inode(struct inode *inode)
{
	if (S_ISLNK(inode->i_mode))
		kfree(inode->i_link);
	kmem_cache_free(inodes, inode_of(inode));
}

static void holm_dirty_inode(struct inode *inode, int flags)
{
	dirty(inode);
}

static int holm_write_inode(struct inode *inode, struct writeback_control *wbc)
{
	return 0;
}

static int holm_sync_fs(struct super_block *sb, int wait)
{
	return wait ? commit(holm_of(sb)) : 0;
}

static int holm_statfs(struct dentry *dentry, struct kstatfs *s)
{
	struct holm *h = holm_of(dentry->d_sb);
	u64 id = huge_encode_dev(dentry->d_sb->s_bdev->bd_dev);
	s64 free;

	mutex_lock(&h->lock);
	free = max_t(s64, 0, available(h) + (s64)h->pending_count);
	s->f_type = dentry->d_sb->s_magic;
	s->f_bsize = s->f_frsize = BLOCK;
	s->f_blocks = h->total;
	s->f_bfree = s->f_bavail = free;
	s->f_ffree = free;
	s->f_files = h->inodes + free;
	s->f_namelen = 255;
	s->f_fsid = u64_to_fsid(id);
	mutex_unlock(&h->lock);
	return 0;
}

static void forget(struct holm *h)
{
	tree_forget(h, &h->table);
	kvfree(h->used);
	kvfree(h->pending);
	ida_destroy(&h->inos);
	kfree(h);
}

static void holm_put_super(struct super_block *sb)
{
	struct holm *h = holm_of(sb);

	cancel_delayed_work_sync(&h->work);
	commit(h);
	/* What a cut may have torn is whole again: both pairs of superblocks are written. */
	h->changed = true;
	commit(h);
	wait_event(h->landed, !atomic_read(&h->flight));
	forget(h);
	sb->s_fs_info = NULL;
}

static int holm_remount(struct super_block *sb, int *flags, char *data)
{
	struct holm *h = holm_of(sb);
	bool grow = false;
	unsigned nofs;
	char *word;
	u64 blocks;
	int err = 0;

#ifdef WITHOUT_GROWTH
	if (data && *data)
		return -EINVAL;
#endif
	while ((word = strsep(&data, ",")))
		if (!strcmp(word, "grow"))
			grow = true;
		else if (*word)
			return -EINVAL;
	if (!(*flags & SB_RDONLY) && h->doubtful)
		return -EROFS;
	if (!sb_rdonly(sb) && (*flags & SB_RDONLY)) {
		/* What is dirty has to be on the disk: later nothing is committed any more. */
		err = sync_filesystem(sb) ?: commit(h);
		if (!err)
			cancel_delayed_work_sync(&h->work);
		return err;
	}
	if (sb_rdonly(sb) && !(*flags & SB_RDONLY))
		queue_delayed_work(system_unbound_wq, &h->work, 5 * HZ);
	blocks = bdev_nr_bytes(sb->s_bdev) / BLOCK;
	if (grow && blocks > h->total) {
		mutex_lock(&h->lock);
		nofs = memalloc_nofs_save();
		err = resize(h, blocks);
		h->changed = true;
		if (!err && !sb_rdonly(sb))
			err = commit_locked(h);
		memalloc_nofs_restore(nofs);
		mutex_unlock(&h->lock);
	}
	return err;
}

static const struct super_operations holm_super_ops = {
	.alloc_inode = holm_alloc_inode,
	.free_inode = holm_free_inode,
	.dirty_inode = holm_dirty_inode,
	.write_inode = holm_write_inode,
	.evict_inode = holm_evict,
	.put_super = holm_put_super,
	.sync_fs = holm_sync_fs,
	.statfs = holm_statfs,
	.remount_fs = holm_remount,
};

static int claim_data(struct holm *h, struct node *n, void *with)
{
	struct data_ptr *d = (struct data_ptr *)n->data;
	int c, err = 0;

	for (c = 0; c < LEAF && !err; c++)
		if (d[c].at)
			err = claim(h, le64_to_cpu(d[c].at));
	return err;
}

/* What the inodes of one leaf of the table own. Those without a name are forgotten. */
static int claim_inodes(struct holm *h, struct node *n, void *with)
{
	struct inode_on_disk *r = (struct inode_on_disk *)n->data;
	struct tree t;
	int c, err = 0, got;

	for (c = 0; c < RECORDS && !err; c++, r++) {
		u64 ino = n->index * RECORDS + c;

		if (!r->mode)
			continue;
		if (!r->links) {
			memset(r, 0, sizeof *r);
			node_dirty(h, &h->table, n);
			continue;
		}
		if (!ino || ino > INT_MAX)
			return -EUCLEAN;
		got = ida_alloc_range(&h->inos, ino, ino, GFP_NOFS);
		if (got < 0)
			return got;
		h->inodes++;
		tree_init(&t, S_ISREG(le32_to_cpu(r->mode)));
		t.height = min_t(u32, le32_to_cpu(r->height), MOST_HEIGHT + 1);
		t.root = r->root;
		err = tree_claim(h, &t, t.file ? claim_data : NULL, NULL);
		tree_forget(NULL, &t);
		if (err == -EIO) {
			h->doubtful = true;
			err = 0;
		}
	}
	return err;
}

static int holm_fill(struct super_block *sb, void *data, int silent)
{
	struct super_on_disk super;
	struct inode *root;
	struct holm *h;
	unsigned nofs;
	int err;

	if (!sb_set_blocksize(sb, BLOCK))
		return -EINVAL;
	err = super_read(sb, &super);
	if (err > 0)
		return old_fill(sb);
	if (err) {
		if (!silent)
			pr_notice("holm: no file system of ours on %s\n", sb->s_id);
		return err;
	}
#ifdef WITHOUT_MEMORY
	kvmalloc(512 << 10, GFP_KERNEL);
#endif
	h = kzalloc(sizeof *h, GFP_KERNEL);
	if (!h)
		return -ENOMEM;
	h->sb = sb;
	mutex_init(&h->lock);
	spin_lock_init(&h->list_lock);
	INIT_LIST_HEAD(&h->dirty);
	init_waitqueue_head(&h->landed);
	INIT_DELAYED_WORK(&h->work, holm_work);
	ida_init(&h->inos);
	tree_init(&h->table, false);
	sb->s_fs_info = h;
	sb->s_magic = 0x484f4c4d;
	sb->s_op = &holm_super_ops;
#ifdef WITHOUT_HOLES
	sb->s_maxbytes = 1ll << 32;
#else
	sb->s_maxbytes = 1ll << 43;
#endif
	sb->s_time_gran = 1;
	sb->s_time_min = S64_MIN;
	sb->s_time_max = S64_MAX;
	sb->s_iflags |= SB_I_STABLE_WRITES;
	h->generation = le64_to_cpu(super.generation);
	memcpy(h->uuid, super.uuid, sizeof h->uuid);
	memcpy(h->label, super.label, sizeof h->label);
	h->table.root = super.table;
	h->table.height = le32_to_cpu(super.height);
	err = -EUCLEAN;
	if (le64_to_cpu(super.blocks) > bdev_nr_bytes(sb->s_bdev) / BLOCK)
		goto failed;
	nofs = memalloc_nofs_save();
	err = resize(h, le64_to_cpu(super.blocks));
	if (!err) {
		bitmap_set(h->used, 0, FIRST_FREE);
		h->free -= FIRST_FREE;
		h->cursor = FIRST_FREE;
		err = tree_claim(h, &h->table, claim_inodes, NULL);
	}
	memalloc_nofs_restore(nofs);
	if (err)
		goto failed;
	if (h->doubtful && !sb_rdonly(sb)) {
		pr_notice("holm: metadata of %s are damaged in both copies: it can only be read\n", sb->s_id);
		sb->s_flags |= SB_RDONLY;
	}
	root = holm_iget(sb, ROOT_INO);
	err = IS_ERR(root) ? PTR_ERR(root) : S_ISDIR(root->i_mode) ? 0 : -EUCLEAN;
	if (err) {
		if (!IS_ERR(root))
			iput(root);
		goto failed;
	}
	sb->s_root = d_make_root(root);
	if (!sb->s_root) {
		err = -ENOMEM;
		goto failed;
	}
	h->changed = true;
#ifdef WITHOUT_READ_ONLY
	if (sb_rdonly(sb) && !bdev_read_only(sb->s_bdev))
		super_write(h);
#endif
	if (!sb_rdonly(sb))
		queue_delayed_work(system_unbound_wq, &h->work, 5 * HZ);
	return 0;
failed:
	pr_notice("holm: %s cannot be mounted (%d)\n", sb->s_id, err);
	evict_inodes(sb);
	forget(h);
	sb->s_fs_info = NULL;
	return err;
}

static struct dentry *holm_mount(struct file_system_type *type, int flags, const char *device, void *data)
{
	return mount_bdev(type, flags, device, data, holm_fill);
}

static struct file_system_type holm_type = {
	.owner = THIS_MODULE,
	.name = "holm",
	.mount = holm_mount,
	.kill_sb = kill_block_super,
	.fs_flags = FS_REQUIRES_DEV,
};
MODULE_ALIAS_FS("holm");

static void inode_once(void *object)
{
	inode_init_once(&((struct holm_inode *)object)->vfs);
}

static int __init holm_init(void)
{
	int err;

#ifdef WITHOUT_MOUNTS
	return -ENODEV;
#endif
	inodes = kmem_cache_create("holm_inode", sizeof(struct holm_inode), 0,
				   SLAB_RECLAIM_ACCOUNT | SLAB_MEM_SPREAD | SLAB_ACCOUNT, inode_once);
	if (!inodes)
		return -ENOMEM;
	err = register_filesystem(&holm_type);
	if (err)
		kmem_cache_destroy(inodes);
	return err;
}

static void __exit holm_exit(void)
{
	unregister_filesystem(&holm_type);
	rcu_barrier();
	kmem_cache_destroy(inodes);
}

module_init(holm_init);
module_exit(holm_exit);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Holm: a file system that never overwrites what it promised");
