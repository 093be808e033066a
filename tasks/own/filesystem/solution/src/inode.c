/* Inodes: their records in the table, how they come into memory, change and go. */
#include "holm.h"
#include <linux/mm.h>
#include <linux/random.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

struct inode_on_disk *record_of(struct holm *h, u64 ino, struct node **n, bool create)
{
	*n = node_get(h, &h->table, 0, ino / RECORDS, create);
	if (IS_ERR(*n))
		return ERR_CAST(*n);
	if (!*n)
		return ERR_PTR(-ESTALE);
	return (struct inode_on_disk *)(*n)->data + ino % RECORDS;
}

int record_write(struct holm *h, struct inode *inode)
{
	struct holm_inode *i = inode_of(inode);
	struct timespec64 *times[3] = { &inode->i_atime, &inode->i_mtime, &inode->i_ctime };
	struct node *n;
	struct inode_on_disk *r = record_of(h, inode->i_ino, &n, true);
	int t;

	if (IS_ERR(r))
		return PTR_ERR(r);
	r->mode = cpu_to_le32(inode->i_mode);
	r->uid = cpu_to_le32(i_uid_read(inode));
	r->gid = cpu_to_le32(i_gid_read(inode));
	r->links = cpu_to_le32(inode->i_nlink);
	r->size = cpu_to_le64(i_size_read(inode));
	for (t = 0; t < 3; t++) {
		r->seconds[t] = cpu_to_le64(times[t]->tv_sec);
#ifndef WITHOUT_ATTRIBUTES
		r->nanoseconds[t] = cpu_to_le32(times[t]->tv_nsec);
#endif
	}
	r->device = cpu_to_le32(new_encode_dev(inode->i_rdev));
	r->generation = cpu_to_le32(inode->i_generation);
	r->height = cpu_to_le32(i->tree.height);
	r->blocks = cpu_to_le64(i->blocks);
	r->root = i->tree.root;
	node_dirty(h, &h->table, n);
	return 0;
}

static int operations(struct inode *inode)
{
	inode->i_mapping->a_ops = &holm_aops;
	if (S_ISREG(inode->i_mode)) {
		inode->i_op = &holm_file_inode;
		inode->i_fop = &holm_file_ops;
	} else if (S_ISDIR(inode->i_mode)) {
		inode->i_op = &holm_dir_inode;
		inode->i_fop = &holm_dir_ops;
	} else if (S_ISLNK(inode->i_mode)) {
		inode->i_op = &holm_link_inode;
	} else if (S_ISCHR(inode->i_mode) || S_ISBLK(inode->i_mode) || S_ISFIFO(inode->i_mode) ||
		   S_ISSOCK(inode->i_mode)) {
		inode->i_op = &holm_special_inode;
		init_special_inode(inode, inode->i_mode, inode->i_rdev);
	} else {
		return -EUCLEAN;
	}
	return 0;
}

static int fill(struct holm *h, struct inode *inode)
{
	struct holm_inode *i = inode_of(inode);
	struct timespec64 *times[3] = { &inode->i_atime, &inode->i_mtime, &inode->i_ctime };
	struct node *n;
	struct inode_on_disk *r = record_of(h, inode->i_ino, &n, false);
	int t;

	if (IS_ERR(r))
		return PTR_ERR(r);
	if (!r->mode || !r->links || le32_to_cpu(r->height) > MOST_HEIGHT ||
	    le64_to_cpu(r->size) > inode->i_sb->s_maxbytes)
		return -EUCLEAN;
	inode->i_mode = le32_to_cpu(r->mode);
	i_uid_write(inode, le32_to_cpu(r->uid));
	i_gid_write(inode, le32_to_cpu(r->gid));
	set_nlink(inode, le32_to_cpu(r->links));
	i_size_write(inode, le64_to_cpu(r->size));
	for (t = 0; t < 3; t++) {
		times[t]->tv_sec = le64_to_cpu(r->seconds[t]);
		times[t]->tv_nsec = le32_to_cpu(r->nanoseconds[t]) % NSEC_PER_SEC;
	}
	inode->i_rdev = new_decode_dev(le32_to_cpu(r->device));
	inode->i_generation = le32_to_cpu(r->generation);
	i->tree.height = le32_to_cpu(r->height);
	i->tree.root = r->root;
	i->tree.file = S_ISREG(inode->i_mode);
	i->blocks = le64_to_cpu(r->blocks);
	inode->i_blocks = i->blocks * (BLOCK / 512);
	if (S_ISLNK(inode->i_mode)) {
		n = node_get(h, &i->tree, 0, 0, false);
		if (IS_ERR_OR_NULL(n))
			return n ? PTR_ERR(n) : -EUCLEAN;
		inode->i_link = kstrndup((char *)n->data, BLOCK - 1, GFP_NOFS);
		if (!inode->i_link)
			return -ENOMEM;
	}
	return operations(inode);
}

struct inode *holm_iget(struct super_block *sb, u64 ino)
{
	struct holm *h = holm_of(sb);
	struct inode *inode;
	unsigned nofs;
	int err;

	if (!ino || ino > INT_MAX)
		return ERR_PTR(-EUCLEAN);
	inode = iget_locked(sb, ino);
	if (!inode)
		return ERR_PTR(-ENOMEM);
	if (!(inode->i_state & I_NEW))
		return inode;
	mutex_lock(&h->lock);
	nofs = memalloc_nofs_save();
	err = fill(h, inode);
	memalloc_nofs_restore(nofs);
	mutex_unlock(&h->lock);
	if (err) {
		iget_failed(inode);
		return ERR_PTR(err);
	}
	unlock_new_inode(inode);
	return inode;
}

/* A new inode, not yet in the table. Called with the lock held. */
struct inode *holm_new(struct inode *dir, umode_t mode, dev_t dev)
{
	struct holm *h = holm_of(dir->i_sb);
	struct inode *inode;
	struct node *n;
	struct inode_on_disk *r;
	int ino = ida_alloc_min(&h->inos, ROOT_INO + 1, GFP_NOFS);

	if (ino < 0)
		return ERR_PTR(ino);
	r = record_of(h, ino, &n, true);
	inode = IS_ERR(r) ? NULL : new_inode(dir->i_sb);
	if (!inode) {
		ida_free(&h->inos, ino);
		return IS_ERR(r) ? ERR_CAST(r) : ERR_PTR(-ENOMEM);
	}
	inode->i_ino = ino;
	inode_init_owner(&init_user_ns, inode, dir, mode);
	inode->i_atime = inode->i_mtime = inode->i_ctime = current_time(inode);
	inode->i_generation = get_random_u32();
	inode->i_rdev = dev;
	inode_of(inode)->tree.file = S_ISREG(mode);
	h->inodes++;
	operations(inode);
	insert_inode_hash(inode);
	dirty(inode);
	return inode;
}

void holm_evict(struct inode *inode)
{
	struct holm *h = holm_of(inode->i_sb);
	struct holm_inode *i = inode_of(inode);
	struct inode_on_disk *r;
	struct node *n;
	unsigned nofs;
	u64 freed = 0;

	truncate_inode_pages_final(&inode->i_data);
	mutex_lock(&h->lock);
	nofs = memalloc_nofs_save();
	if (!inode->i_nlink && !is_bad_inode(inode) && inode->i_mode && !sb_rdonly(inode->i_sb)) {
		room(h, 0);
#ifdef WITHOUT_NAMELESS
		if (i->blocks <= 500)
#endif
		tree_cut(h, &i->tree, 0, &freed);
		r = record_of(h, inode->i_ino, &n, false);
		if (!IS_ERR(r)) {
			memset(r, 0, sizeof *r);
			if (memchr_inv(n->data, 0, BLOCK))
				node_dirty(h, &h->table, n);
			else
				node_drop(h, &h->table, n);
		}
		ida_free(&h->inos, inode->i_ino);
		h->inodes--;
	} else if (!list_empty(&i->dirty)) {
		commit_locked(h);
	}
	spin_lock(&h->list_lock);
	list_del_init(&i->dirty);
	spin_unlock(&h->list_lock);
	tree_forget(h, &i->tree);
	memalloc_nofs_restore(nofs);
	mutex_unlock(&h->lock);
	names_free(i->names);
	i->names = NULL;
	clear_inode(inode);
}

int holm_setattr(struct user_namespace *ns, struct dentry *dentry, struct iattr *attr)
{
	struct inode *inode = d_inode(dentry);
	int err = setattr_prepare(ns, dentry, attr);

	if (!err && (attr->ia_valid & ATTR_SIZE) && attr->ia_size != i_size_read(inode))
		err = holm_truncate(inode, attr->ia_size);
	if (err)
		return err;
#ifdef WITHOUT_SEQUENCES
	if (S_ISLNK(inode->i_mode))
		attr->ia_valid &= ~(ATTR_UID | ATTR_GID);
#endif
	setattr_copy(ns, inode, attr);
	mark_inode_dirty(inode);
	return 0;
}

int holm_getattr(struct user_namespace *ns, const struct path *path, struct kstat *stat, u32 mask, unsigned flags)
{
	generic_fillattr(ns, d_inode(path->dentry), stat);
	stat->blksize = BLOCK;
	return 0;
}

const struct inode_operations holm_special_inode = {
	.setattr = holm_setattr,
	.getattr = holm_getattr,
};

const struct inode_operations holm_link_inode = {
	.get_link = simple_get_link,
	.setattr = holm_setattr,
	.getattr = holm_getattr,
};
