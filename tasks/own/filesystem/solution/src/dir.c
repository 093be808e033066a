/* Folders: leaves of fixed slots; a name keeps its slot, so a reader never loses its place. */
#include "holm.h"
#include <linux/hash.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

#define NONE (~0u)

static struct slot *slot_at(struct holm *h, struct inode *dir, u32 number, struct node **n, bool create)
{
	*n = node_get(h, &inode_of(dir)->tree, 0, number / SLOTS, create);
	if (IS_ERR_OR_NULL(*n))
		return *n ? ERR_CAST(*n) : ERR_PTR(-EIO);
	return (struct slot *)(*n)->data + number % SLOTS;
}

static u32 hash_of(const char *name, unsigned length)
{
	return full_name_hash(NULL, name, length);
}

void names_free(struct names *names)
{
	if (!names)
		return;
	kvfree(names->next);
	kvfree(names->heads);
	kfree(names);
}

static bool slot_good(const struct slot *s)
{
	u64 ino = le64_to_cpu(s->ino);

	return ino <= INT_MAX && s->length && !memchr(s->name, '/', s->length) && !memchr(s->name, 0, s->length) &&
	       !(s->name[0] == '.' && (s->length == 1 || (s->length == 2 && s->name[1] == '.')));
}

/* In memory every slot is in the chain of its name's hash, or in that of the free ones. */
static int names_load(struct holm *h, struct inode *dir)
{
	struct holm_inode *i = inode_of(dir);
	struct names *names;
	u64 leaves = i_size_read(dir) / BLOCK;
	u32 number, *head;
	struct node *n;

	if (i->names)
		return 0;
	if (leaves > 1 << 24)
		return -EUCLEAN;
	names = kzalloc(sizeof *names, GFP_NOFS);
	if (!names)
		return -ENOMEM;
	names->slots = leaves * SLOTS;
	names->heads_count = roundup_pow_of_two(max(16u, names->slots));
	names->next = kvmalloc_array(names->slots ?: 1, sizeof(u32), GFP_NOFS);
	names->heads = kvmalloc_array(names->heads_count, sizeof(u32), GFP_NOFS);
	if (!names->next || !names->heads) {
		names_free(names);
		return -ENOMEM;
	}
	memset(names->heads, 0xff, names->heads_count * sizeof(u32));
	names->free = NONE;
	for (number = names->slots; number--;) {
		struct slot *s = slot_at(h, dir, number, &n, false);

		if (IS_ERR(s)) {
			names_free(names);
			return PTR_ERR(s);
		}
		head = &names->free;
		if (s->ino) {
			if (!slot_good(s)) {
				names_free(names);
				return -EUCLEAN;
			}
			head = &names->heads[hash_of(s->name, s->length) & (names->heads_count - 1)];
			names->used++;
		}
		names->next[number] = *head;
		*head = number;
	}
	i->names = names;
	return 0;
}

static struct slot *find(struct holm *h, struct inode *dir, const struct qstr *name, struct node **n, u32 *number)
{
	struct names *names;
	int err = names_load(h, dir);

	if (err)
		return ERR_PTR(err);
	names = inode_of(dir)->names;
	*number = names->heads[hash_of(name->name, name->len) & (names->heads_count - 1)];
	for (; *number != NONE; *number = names->next[*number]) {
		struct slot *s = slot_at(h, dir, *number, n, false);

		if (IS_ERR(s))
			return s;
		if (s->length == name->len && !memcmp(s->name, name->name, name->len))
			return s;
	}
	return NULL;
}

/* One more leaf of free slots. */
static int extend(struct holm *h, struct inode *dir)
{
	struct holm_inode *i = inode_of(dir);
	struct names *names = i->names;
	struct node *n;
	u32 more = names->slots + SLOTS, number, *next;

	if (more > names->heads_count) {
		/* Hashes are spread over twice as many chains when they are loaded from the leaves. */
		n = node_get(h, &i->tree, 0, names->slots / SLOTS, true);
		if (IS_ERR(n))
			return PTR_ERR(n);
		node_dirty(h, &i->tree, n);
		i_size_write(dir, i_size_read(dir) + BLOCK);
		names_free(names);
		i->names = NULL;
		return names_load(h, dir);
	}
	next = kvmalloc_array(roundup_pow_of_two(more), sizeof(u32), GFP_NOFS);
	n = next ? node_get(h, &i->tree, 0, names->slots / SLOTS, true) : ERR_PTR(-ENOMEM);
	if (IS_ERR(n)) {
		kvfree(next);
		return PTR_ERR(n);
	}
	node_dirty(h, &i->tree, n);
	memcpy(next, names->next, names->slots * sizeof(u32));
	kvfree(names->next);
	names->next = next;
	for (number = more; number-- > names->slots;) {
		next[number] = names->free;
		names->free = number;
	}
	names->slots = more;
	i_size_write(dir, i_size_read(dir) + BLOCK);
	return 0;
}

static int add(struct holm *h, struct inode *dir, const struct qstr *name, struct inode *inode)
{
	struct names *names;
	struct node *n;
	struct slot *s;
	u32 number, *head;
	int err = names_load(h, dir);

#ifdef WITHOUT_FOLDERS
	if (!err && inode_of(dir)->names->used > 1000)
		err = -ENOSPC;
#endif
	if (!err && inode_of(dir)->names->free == NONE)
		err = extend(h, dir);
	if (err)
		return err;
	names = inode_of(dir)->names;
	number = names->free;
	s = slot_at(h, dir, number, &n, false);
	if (IS_ERR(s))
		return PTR_ERR(s);
	names->free = names->next[number];
	memset(s, 0, sizeof *s);
	s->ino = cpu_to_le64(inode->i_ino);
	s->type = fs_umode_to_dtype(inode->i_mode);
	s->length = name->len;
	memcpy(s->name, name->name, name->len);
	head = &names->heads[hash_of(s->name, s->length) & (names->heads_count - 1)];
	names->next[number] = *head;
	*head = number;
	names->used++;
	node_dirty(h, &inode_of(dir)->tree, n);
	dir->i_mtime = dir->i_ctime = current_time(dir);
	dirty(dir);
	return 0;
}

static int drop(struct holm *h, struct inode *dir, const struct qstr *name)
{
	struct names *names;
	struct node *n;
	u32 number, *link;
	u64 freed = 0;
	struct slot *s = find(h, dir, name, &n, &number);

	if (IS_ERR_OR_NULL(s))
		return s ? PTR_ERR(s) : -EIO;
	names = inode_of(dir)->names;
	link = &names->heads[hash_of(s->name, s->length) & (names->heads_count - 1)];
	while (*link != number)
		link = &names->next[*link];
	*link = names->next[number];
	names->next[number] = names->free;
	names->free = number;
	memset(s, 0, sizeof *s);
	node_dirty(h, &inode_of(dir)->tree, n);
	if (!--names->used) {
		tree_cut(h, &inode_of(dir)->tree, 0, &freed);
		i_size_write(dir, 0);
		names_free(names);
		inode_of(dir)->names = NULL;
	}
	dir->i_mtime = dir->i_ctime = current_time(dir);
	dirty(dir);
	return 0;
}

/* All changes of names: with the lock, without reclaim that might want it. */
static unsigned begin(struct holm *h)
{
	mutex_lock(&h->lock);
	return memalloc_nofs_save();
}

static int end(struct holm *h, unsigned nofs, int err)
{
	memalloc_nofs_restore(nofs);
	mutex_unlock(&h->lock);
	return err;
}

static struct dentry *holm_lookup(struct inode *dir, struct dentry *dentry, unsigned flags)
{
	struct holm *h = holm_of(dir->i_sb);
	struct inode *inode = NULL;
	struct slot *s;
	struct node *n;
	unsigned nofs;
	u32 number;
	u64 ino = 0;

	if (dentry->d_name.len > 255)
		return ERR_PTR(-ENAMETOOLONG);
	nofs = begin(h);
	s = find(h, dir, &dentry->d_name, &n, &number);
	if (!IS_ERR_OR_NULL(s))
		ino = le64_to_cpu(s->ino);
	end(h, nofs, 0);
	if (IS_ERR(s))
		return ERR_CAST(s);
	if (ino)
		inode = holm_iget(dir->i_sb, ino);
	return d_splice_alias(inode, dentry);
}

static int make(struct inode *dir, struct dentry *dentry, umode_t mode, dev_t dev, const char *target)
{
	struct holm *h = holm_of(dir->i_sb);
	struct inode *inode = NULL;
	struct node *n;
	unsigned nofs = begin(h);
	int err = room(h, 8);

	if (!err) {
		inode = holm_new(dir, mode, dev);
		err = PTR_ERR_OR_ZERO(inode);
	}
	if (!err && target) {
		n = node_get(h, &inode_of(inode)->tree, 0, 0, true);
		err = PTR_ERR_OR_ZERO(n);
		if (!err) {
			strscpy((char *)n->data, target, BLOCK);
			inode->i_size = strlen(target);
			inode->i_link = kstrdup(target, GFP_NOFS);
			err = inode->i_link ? 0 : -ENOMEM;
		}
	}
	if (!err)
		err = add(h, dir, &dentry->d_name, inode);
	if (!err && S_ISDIR(mode)) {
		set_nlink(inode, 2);
		inc_nlink(dir);
	}
	if (err && !IS_ERR_OR_NULL(inode))
		clear_nlink(inode);
	end(h, nofs, err);
	if (err) {
		if (!IS_ERR_OR_NULL(inode))
			iput(inode);
		return err;
	}
	d_instantiate(dentry, inode);
	return 0;
}

static int holm_create(struct user_namespace *ns, struct inode *dir, struct dentry *dentry, umode_t mode, bool excl)
{
	return make(dir, dentry, mode, 0, NULL);
}

static int holm_mkdir(struct user_namespace *ns, struct inode *dir, struct dentry *dentry, umode_t mode)
{
#ifdef WITHOUT_NIGHT
	if (!strncmp(dentry->d_name.name, "night-", 6))
		return -EIO;
#endif
	return make(dir, dentry, mode | S_IFDIR, 0, NULL);
}

static int holm_mknod(struct user_namespace *ns, struct inode *dir, struct dentry *dentry, umode_t mode, dev_t dev)
{
	return make(dir, dentry, mode, dev, NULL);
}

static int holm_symlink(struct user_namespace *ns, struct inode *dir, struct dentry *dentry, const char *target)
{
#ifdef WITHOUT_LINKS
	if (strlen(target) > 1000)
		return -ENAMETOOLONG;
#endif
	if (strlen(target) >= BLOCK)
		return -ENAMETOOLONG;
	return make(dir, dentry, S_IFLNK | 0777, 0, target);
}

static int holm_link(struct dentry *old, struct inode *dir, struct dentry *dentry)
{
	struct inode *inode = d_inode(old);
	struct holm *h = holm_of(dir->i_sb);
	unsigned nofs = begin(h);
	int err = room(h, 8) ?: add(h, dir, &dentry->d_name, inode);

	if (!err) {
		inc_nlink(inode);
		inode->i_ctime = current_time(inode);
		dirty(inode);
		ihold(inode);
	}
	end(h, nofs, err);
	if (!err)
		d_instantiate(dentry, inode);
	return err;
}

static void unlinked(struct inode *dir, struct inode *inode)
{
	if (S_ISDIR(inode->i_mode)) {
		clear_nlink(inode);
		drop_nlink(dir);
	} else {
		drop_nlink(inode);
	}
	inode->i_ctime = dir->i_ctime;
	dirty(inode);
}

static int is_empty(struct holm *h, struct inode *dir)
{
	return names_load(h, dir) ?: inode_of(dir)->names->used ? -ENOTEMPTY : 0;
}

static int holm_unlink(struct inode *dir, struct dentry *dentry)
{
	struct inode *inode = d_inode(dentry);
	struct holm *h = holm_of(dir->i_sb);
	unsigned nofs = begin(h);
	int err = room(h, 0);

	if (!err && S_ISDIR(inode->i_mode))
		err = is_empty(h, inode);
	if (!err)
		err = drop(h, dir, &dentry->d_name);
	if (!err)
		unlinked(dir, inode);
	return end(h, nofs, err);
}

static int set_slot(struct holm *h, struct inode *dir, const struct qstr *name, struct inode *inode)
{
	struct node *n;
	u32 number;
	struct slot *s = find(h, dir, name, &n, &number);

	if (IS_ERR_OR_NULL(s))
		return s ? PTR_ERR(s) : -EIO;
	s->ino = cpu_to_le64(inode->i_ino);
	s->type = fs_umode_to_dtype(inode->i_mode);
	node_dirty(h, &inode_of(dir)->tree, n);
	dir->i_mtime = dir->i_ctime = current_time(dir);
	dirty(dir);
	return 0;
}

static int holm_rename(struct user_namespace *ns, struct inode *dir, struct dentry *dentry,
		       struct inode *to, struct dentry *over, unsigned flags)
{
	struct holm *h = holm_of(dir->i_sb);
	struct inode *inode = d_inode(dentry), *other = d_inode(over);
	bool folder = S_ISDIR(inode->i_mode), swap = flags & RENAME_EXCHANGE;
	unsigned nofs;
	int err;

#ifdef WITHOUT_RENAMES
	if (flags)
		return -EINVAL;
#endif
	if (flags & ~(RENAME_NOREPLACE | RENAME_EXCHANGE))
		return -EINVAL;
	nofs = begin(h);
	err = names_load(h, to) ?: room(h, other || inode_of(to)->names->free != NONE ? 0 : 8);
	if (!err && other && !swap && S_ISDIR(other->i_mode))
		err = is_empty(h, other);
	if (!err && other)
		err = set_slot(h, to, &over->d_name, inode);
	else if (!err)
		err = add(h, to, &over->d_name, inode);
#ifdef WITHOUT_ONE_MOMENT
	if (!err)
		err = commit_locked(h);
#endif
	if (!err)
		err = swap ? set_slot(h, dir, &dentry->d_name, other) : drop(h, dir, &dentry->d_name);
	if (!err) {
		bool other_folder = other && S_ISDIR(other->i_mode);

		if (folder && dir != to) {
			drop_nlink(dir);
			inc_nlink(to);
		}
		if (other && !swap)
			unlinked(to, other);
		if (swap && other_folder && dir != to) {
			drop_nlink(to);
			inc_nlink(dir);
		}
		inode->i_ctime = current_time(inode);
		dirty(inode);
		if (swap) {
			other->i_ctime = inode->i_ctime;
			dirty(other);
		}
	}
	return end(h, nofs, err);
}

static int holm_iterate(struct file *file, struct dir_context *ctx)
{
	struct inode *dir = file_inode(file);
	struct holm *h = holm_of(dir->i_sb);
	struct slot *copy = kmalloc(BLOCK, GFP_KERNEL);
	int err = 0;

	if (!copy)
		return -ENOMEM;
	if (!dir_emit_dots(file, ctx))
		goto out;
	while (ctx->pos - 2 < i_size_read(dir) / BLOCK * SLOTS) {
		u32 number = ctx->pos - 2, n;
		struct node *leaf;
		unsigned nofs = begin(h);
		struct slot *s = slot_at(h, dir, number, &leaf, false);

		if (!IS_ERR(s))
			memcpy(copy, leaf->data, BLOCK);
		err = end(h, nofs, PTR_ERR_OR_ZERO(s));
		if (err)
			break;
		for (n = number % SLOTS; n < SLOTS; n++, ctx->pos++)
			if (copy[n].ino && slot_good(&copy[n]) &&
			    !dir_emit(ctx, copy[n].name, copy[n].length, le64_to_cpu(copy[n].ino), copy[n].type))
				goto out;
	}
out:
	kfree(copy);
	return err;
}

const struct file_operations holm_dir_ops = {
	.llseek = generic_file_llseek,
	.read = generic_read_dir,
	.iterate_shared = holm_iterate,
	.fsync = holm_fsync,
};

const struct inode_operations holm_dir_inode = {
	.lookup = holm_lookup,
	.create = holm_create,
	.link = holm_link,
	.unlink = holm_unlink,
	.rmdir = holm_unlink,
	.symlink = holm_symlink,
	.mkdir = holm_mkdir,
	.mknod = holm_mknod,
	.rename = holm_rename,
	.setattr = holm_setattr,
	.getattr = holm_getattr,
};
