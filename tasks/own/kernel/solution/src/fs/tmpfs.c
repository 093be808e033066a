/* Files in memory only: tmpfs, the empty /sys, and /dev, which is one that is filled with device nodes. */
#include "fs.h"

/* `place`: where a reader of the folder is when it has come to the entry; no other one ever has it. */
struct entry { struct link link; struct inode *inode; u64 place; char name[]; };
struct node { struct link entries; struct inode *parent; char *target; u64 last_place; };

static u64 next_ino = 100, next_dev = 40;
static const struct inode_ops dir_ops, file_ops_memory, link_ops;
static const struct file_ops dir_file_ops;

static struct entry *find(struct inode *dir, const char *name)
{
	struct node *n = dir->data;
	struct entry *e;
	EACH(e, &n->entries, link)
		if (!strcmp(e->name, name))
			return e;
	return NULL;
}

static struct inode *node_new(struct superblock *sb, struct inode *parent, u32 mode, u64 rdev, const char *target)
{
	struct node *n = kmalloc(sizeof *n);
	struct inode *i = n ? inode_new(sb, next_ino++, mode) : NULL;
	if (!i) {
		kfree(n);
		return NULL;
	}
	link_init(&n->entries);
	n->last_place = 2;
	n->parent = parent ? parent : i;
	n->target = target ? kstrdup(target) : NULL;
	i->data = n;
	i->rdev = rdev;
	i->ops = IS_DIR(mode) ? &dir_ops : IS_LNK(mode) ? &link_ops : &file_ops_memory;
	i->fops = IS_DIR(mode) ? &dir_file_ops : IS_REG(mode) ? &regular_ops : NULL;
	if (target)
		i->size = strlen(target);
	if (IS_DIR(mode))
		i->nlink = 2;
	return i;
}

/* Each name holds a reference. */
static int enter(struct inode *dir, const char *name, struct inode *i)
{
	struct entry *e = kmalloc(sizeof *e + strlen(name) + 1);
	if (!e)
		return -ENOSPC;
	memcpy(e->name, name, strlen(name) + 1);
	struct node *n = dir->data;
	e->inode = inode_get(i);
	e->place = ++n->last_place;
	link_append(&n->entries, &e->link);
	dir->size += 32;
	dir->mtime = dir->ctime = real_ns();
	return 0;
}

static void leave(struct inode *dir, struct entry *e)
{
	link_remove(&e->link);
	dir->size -= 32;
	dir->mtime = dir->ctime = real_ns();
	inode_put(e->inode);
	kfree(e);
}

static struct inode *lookup(struct inode *dir, const char *name)
{
	if (!strcmp(name, ".."))
		return inode_get(((struct node *)dir->data)->parent);
	struct entry *e = find(dir, name);
	return e ? inode_get(e->inode) : ERR_PTR(-ENOENT);
}

static struct inode *create(struct inode *dir, const char *name, u32 mode, u64 rdev, const char *target)
{
	if (find(dir, name))
		return ERR_PTR(-EEXIST);
	struct inode *i = node_new(dir->sb, dir, mode, rdev, target);
	if (!i)
		return ERR_PTR(-ENOSPC);
	i->uid = self()->cred.fsuid;
	i->gid = dir->mode & S_ISGID ? dir->gid : self()->cred.fsgid;
	int error = enter(dir, name, i);
	if (error) {
		i->nlink = 0;
		inode_put(i);
		return ERR_PTR(error);
	}
	if (IS_DIR(mode))
		dir->nlink++;
	return i;
}

static int link(struct inode *dir, const char *name, struct inode *target)
{
	if (find(dir, name))
		return -EEXIST;
	int error = enter(dir, name, target);
	if (!error)
		target->nlink++;
	return error;
}

static bool empty(struct inode *dir) { return link_empty(&((struct node *)dir->data)->entries); }

static void unname(struct inode *dir, struct entry *e)
{
	struct inode *i = e->inode;
	if (IS_DIR(i->mode)) {
		i->nlink = 0;
		dir->nlink--;
	} else
		i->nlink--;
	i->ctime = real_ns();
	leave(dir, e);
}

static int unlink(struct inode *dir, const char *name, bool directory)
{
	struct entry *e = find(dir, name);
	if (!e)
		return -ENOENT;
	if (directory != !!IS_DIR(e->inode->mode))
		return directory ? -ENOTDIR : -EISDIR;
	if (directory && e->inode->mounted)
		return -EBUSY;
	if (directory && !empty(e->inode))
		return -ENOTEMPTY;
	unname(dir, e);
	return 0;
}

static int rename(struct inode *from, const char *name, struct inode *to, const char *new_name, bool replace)
{
	struct entry *e = find(from, name), *old = find(to, new_name);
	if (!e)
		return -ENOENT;
	struct inode *i = e->inode;
	for (struct inode *up = to; IS_DIR(i->mode); up = ((struct node *)up->data)->parent) {
		if (up == i)
			return -EINVAL;
		if (up == ((struct node *)up->data)->parent)
			break;
	}
	if (old) {
		if (!replace)
			return -EEXIST;
		if (old->inode == i)
			return 0;
		if (IS_DIR(old->inode->mode) != IS_DIR(i->mode))
			return IS_DIR(old->inode->mode) ? -EISDIR : -ENOTDIR;
		if (IS_DIR(i->mode) && !empty(old->inode))
			return -ENOTEMPTY;
		unname(to, old);
	}
	int error = enter(to, new_name, i);
	if (error)
		return error;
	if (IS_DIR(i->mode)) {
		from->nlink--;
		to->nlink++;
		((struct node *)i->data)->parent = to;
	}
	leave(from, e);
	return 0;
}

static int readlink(struct inode *i, char *to, size_t room)
{
	struct node *n = i->data;
	size_t length = MIN(strlen(n->target), room);
	memcpy(to, n->target, length);
	return length;
}

static int truncate(struct inode *i, u64 size)
{
	cache_truncate(i, size);
	i->size = size;
	i->mtime = i->ctime = real_ns();
	return 0;
}

static void evict(struct inode *i)
{
	struct node *n = i->data;
	kfree(n->target);
	kfree(n);
}

static int getdents(struct file *f, struct dirent_sink *sink)
{
	struct inode *dir = f->path.inode;
	struct node *n = dir->data;
	struct entry *e;
	int stop = 0;
	if (f->pos == 0 && !(stop = sink->put(sink, ".", 1, dir->ino, 4, 1)))
		f->pos = 1;
	if (!stop && f->pos == 1 && !(stop = sink->put(sink, "..", 2, n->parent->ino, 4, 2)))
		f->pos = 2;
	EACH(e, &n->entries, link) {
		if (stop)
			break;
		if (e->place <= f->pos)
			continue;
		stop = sink->put(sink, e->name, strlen(e->name), e->inode->ino, e->inode->mode >> 12 & 15, e->place);
		if (!stop)
			f->pos = e->place;
	}
	return stop < 0 ? stop : 0;
}

static const struct inode_ops dir_ops = { .lookup = lookup, .create = create, .link = link, .unlink = unlink, .rename = rename, .evict = evict };
static const struct inode_ops file_ops_memory = { .truncate = truncate, .evict = evict };
static const struct inode_ops link_ops = { .readlink = readlink, .evict = evict };
static const struct file_ops dir_file_ops = { .getdents = getdents };

static int statfs(struct superblock *sb, u64 out[8])
{
	out[0] = 0x01021994;
	out[1] = 4096;
	out[2] = total_pages / 2;
	out[3] = out[4] = MIN(memory_available(), total_pages / 2);
	out[5] = out[6] = 100000;
	out[7] = 255;
	return 0;
}

struct superblock *tmpfs_new(const char *type)
{
	struct superblock *sb = kmalloc(sizeof *sb);
	if (!sb)
		return NULL;
	*sb = (struct superblock){ .dev = next_dev++, .block_size = 4096, .type = type, .statfs = statfs };
	sb->root = node_new(sb, NULL, S_IFDIR | (!strcmp(type, "tmpfs") ? 01777 : 0755), 0, NULL);
	return sb->root ? sb : NULL;
}

static struct inode *add(struct inode *dir, const char *name, u32 mode, u64 rdev, const char *target)
{
	struct inode *i = node_new(dir->sb, dir, mode, rdev, target);
	ASSERT(i && !enter(dir, name, i));
	if (IS_DIR(mode))
		dir->nlink++;
	return i;
}

struct superblock *devfs(void)
{
	static struct superblock *sb;
	if (sb)
		return sb;
	sb = tmpfs_new("devtmpfs");
	ASSERT(sb);
	struct inode *root = sb->root;
	static const struct { const char *name; u16 mode; u8 major, minor; } nodes[] = {
		{ "null", 0666, 1, 3 }, { "zero", 0666, 1, 5 }, { "full", 0666, 1, 7 }, { "random", 0666, 1, 8 },
		{ "urandom", 0666, 1, 9 }, { "kmsg", 0644, 1, 11 }, { "tty", 0666, 5, 0 }, { "console", 0600, 5, 1 },
		{ "ptmx", 0666, 5, 2 }, { "ttyS0", 0660, 4, 64 },
	};
	for (u32 i = 0; i < LENGTH(nodes); i++)
		add(root, nodes[i].name, S_IFCHR | nodes[i].mode, DEV(nodes[i].major, nodes[i].minor), NULL);
	for (int i = 0; i < disk_count; i++)
		add(root, disks[i]->name, S_IFBLK | 0660, DEV(254, i), NULL);
	add(root, "fd", S_IFLNK | 0777, 0, "/proc/self/fd");
	add(root, "stdin", S_IFLNK | 0777, 0, "/proc/self/fd/0");
	add(root, "stdout", S_IFLNK | 0777, 0, "/proc/self/fd/1");
	add(root, "stderr", S_IFLNK | 0777, 0, "/proc/self/fd/2");
	add(root, "pts", S_IFDIR | 0755, 0, NULL);
	add(root, "shm", S_IFDIR | 01777, 0, NULL);
	return sb;
}

/* Nodes of /dev/pts come and go with their terminals. */
void devfs_pts(int n, bool there)
{
	char name[16];
	struct inode *dir = lookup(devfs()->root, "pts");
	format(name, sizeof name, "%d", n);
	if (there && !find(dir, name)) {
		struct inode *i = add(dir, name, S_IFCHR | 0620, DEV(136, n), NULL);
		i->uid = self()->cred.euid;
		inode_put(i);
	} else if (!there && find(dir, name))
		unname(dir, find(dir, name));
	inode_put(dir);
}

/* What shared anonymous memory is mapped from. */
struct inode *shm_inode(u64 size)
{
	static struct superblock *sb;
	if (!sb)
		sb = tmpfs_new("tmpfs");
	struct inode *i = sb ? node_new(sb, NULL, S_IFREG | 0600, 0, NULL) : NULL;
	if (i) {
		i->nlink = 0;
		i->size = size;
	}
	return i;
}
