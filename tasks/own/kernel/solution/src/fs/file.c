/* Open files. */
#include "fs.h"

struct file *file_new(struct path *p, const struct file_ops *ops, u32 flags)
{
	struct file *f = kmalloc(sizeof *f);
	if (!f)
		return NULL;
	f->refs = 1;
	f->flags = flags;
	f->ops = ops;
	link_init(&f->epolls);
	if (p) {
		f->path = *p;
		path_get(&f->path);
	}
	return f;
}

static u64 next_anonymous = 1000;
static struct superblock anonymous = { .dev = 9, .block_size = 4096, .type = "anon" };

/* A file without a name: pipe, socket, event. */
struct file *file_anonymous(const struct file_ops *ops, void *data, u32 flags, const char *name)
{
	static const struct inode_ops none;
	u32 mode = !strcmp(name, "pipe") ? S_IFIFO | 0600 : !strcmp(name, "socket") ? S_IFSOCK | 0777 : 0600;
	struct inode *i = inode_new(&anonymous, 0, mode);
	struct file *f = file_new(NULL, ops, flags);
	if (!i || !f) {
		kfree(i);
		kfree(f);
		return NULL;
	}
	i->ino = next_anonymous++;
	i->ops = &none;
	i->fops = ops;
	i->uid = self()->cred.euid;
	i->gid = self()->cred.egid;
	f->path.inode = i;
	f->data = data;
	char text[48];
	format(text, sizeof text, *name == 'p' || *name == 's' ? "%s:[%lu]" : "anon_inode:[%s]", name, i->ino);
	f->name = kstrdup(text);
	return f;
}

void file_put(struct file *f)
{
	if (--f->refs)
		return;
	epoll_forget(f);
	struct inode *i = f->path.inode;
	if (i && !link_empty(&i->locks))
		flock_drop(f);
	if (i && IS_REG(i->mode) && (f->flags & O_ACCMODE) != O_RDONLY && i->writers && !(f->flags & O_PATH))
		i->writers--;
	if (f->ops && f->ops->release)
		f->ops->release(f);
	path_put(&f->path);
	path_put(&f->folder);
	kfree(f->last);
	kfree(f->name);
	kfree(f);
}

static int may_open(struct inode *i, u32 flags)
{
	u32 access = flags & O_ACCMODE;
	int want = access == O_RDONLY ? 4 : access == O_WRONLY ? 2 : 6;
	if (IS_LNK(i->mode))
		return -ELOOP;
	if (IS_DIR(i->mode) && (access != O_RDONLY || flags & O_CREAT))
		return -EISDIR;
	if (IS_SOCK(i->mode))
		return -ENXIO;
	if (flags & 0x80000000)
		return 0;
	if (flags & O_TRUNC)
		want |= 2;
	return permission(i, want);
}

static int create_missing(struct lookup *l, u32 flags, u32 mode)
{
	struct inode *dir = l->parent.inode;
	if (l->want_dir)
		return -EISDIR;
	if (!dir->nlink)
		return -ENOENT;
	int error = permission(dir, 3);
	if (error)
		return error;
	if (!dir->ops->create)
		return -EACCES;
	struct inode *i = dir->ops->create(dir, l->last, S_IFREG | (mode & 07777), 0, NULL);
	if (IS_ERR(i))
		return PTR_ERR(i);
	l->path.mount = l->parent.mount;
	l->path.inode = i;
	return 0;
}

static struct file *open_found(struct path *p, u32 flags)
{
	struct inode *i = p->inode;
	const struct file_ops *ops = IS_CHR(i->mode) || IS_BLK(i->mode) ? device_ops(i->mode, i->rdev) : i->fops;
	if (flags & O_PATH)
		ops = NULL;
	else if (!ops && !IS_FIFO(i->mode))
		return ERR_PTR(-ENXIO);
	struct file *f = file_new(p, ops, flags & ~(O_CREAT | O_EXCL | O_TRUNC | O_NOCTTY | O_CLOEXEC | 0x80000000));
	if (!f)
		return ERR_PTR(-ENOMEM);
	if (IS_REG(i->mode) && (flags & O_ACCMODE) != O_RDONLY && !(flags & O_PATH))
		i->writers++;
	f->dir_cursor = flags;	/* for the open call: it may want O_NOCTTY */
	int error = flags & O_PATH ? 0 : IS_FIFO(i->mode) ? fifo_open(f) : ops->open ? ops->open(f) : 0;
	f->dir_cursor = 0;
	if (error) {
		f->ops = NULL;
		file_put(f);
		return ERR_PTR(error);
	}
	return f;
}

static struct file *open_temporary(int dirfd, const char *name, u32 flags, u32 mode)
{
	struct path p;
	int error = path_open(dirfd, name, &p, true);
	if (error)
		return ERR_PTR(error);
	char hidden[40];
	format(hidden, sizeof hidden, ".tmpfile-%lx", random_u64());
	struct file *f = ERR_PTR(IS_DIR(p.inode->mode) && p.inode->ops->create ? permission(p.inode, 3) : -ENOTDIR);
	if (!f) {
		struct path file = { p.mount, p.inode->ops->create(p.inode, hidden, S_IFREG | (mode & 07777), 0, NULL) };
		f = (struct file *)file.inode;
		if (!IS_ERR(f)) {
			p.inode->ops->unlink(p.inode, hidden, false);
			f = open_found(&file, flags & ~O_TMPFILE);
			path_put(&file);
		}
	}
	path_put(&p);
	return f;
}

struct file *file_open(int dirfd, const char *name, u32 flags, u32 mode)
{
	struct lookup l;
	if ((flags & O_TMPFILE) == O_TMPFILE)
		return open_temporary(dirfd, name, flags, mode);
	if (flags & O_PATH)
		flags &= O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC;
	bool exclusive = flags & O_CREAT && flags & O_EXCL;
	int walk = (flags & O_CREAT ? WALK_PARENT | WALK_ANY : 0) | (flags & O_NOFOLLOW || exclusive ? 0 : WALK_FOLLOW);
	int error = path_walk(dirfd, name, walk, &l);
	bool created = false;
	for (int i = 0; !error && (created = !l.path.inode); i++) {
		error = create_missing(&l, flags, mode);
		if (error != -EEXIST || exclusive || i == 10)
			break;
		lookup_end(&l);		/* somebody else was faster */
		error = path_walk(dirfd, name, walk, &l);
		if (error)
			return ERR_PTR(error);
	}
	if (error && !created)
		return ERR_PTR(error);
	if (created)
		;
	else if (exclusive)
		error = -EEXIST;
	else if (flags & O_CREAT && l.want_dir)
		error = -EISDIR;
	else if (flags & O_DIRECTORY && !IS_DIR(l.path.inode->mode))
		error = -ENOTDIR;
	else if (!(flags & O_PATH))
		error = may_open(l.path.inode, flags);
	struct inode *i = l.path.inode;
	if (!error && !created && flags & O_TRUNC && IS_REG(i->mode) && i->ops->truncate) {
		mutex_lock(&i->lock);
		error = i->ops->truncate(i, 0);
		mutex_unlock(&i->lock);
		inode_touch(i, true, false);
	}
	struct file *f = error ? ERR_PTR(error) : open_found(&l.path, flags);
	if (!IS_ERR(f) && !IS_DIR(i->mode) && l.parent.inode) {
		f->folder = l.parent;
		path_get(&f->folder);
		f->last = kstrdup(l.last);
	}
	lookup_end(&l);
	return f;
}

/* The file's absolute name as it was when it was opened; its length or an error. */
int file_text(struct file *f, char *to, size_t room)
{
	if (!f->last)
		return path_text(&f->path, to, room);
	int n = path_text(&f->folder, to, room - 258);
	if (n < 0)
		return n;
	return n + format(to + n, room - n, "%s%s", n > 1 ? "/" : "", f->last);
}

ssize_t file_read_at(struct file *f, struct uio *u, u64 *pos)
{
	if ((f->flags & O_ACCMODE) == O_WRONLY || f->flags & O_PATH || !f->ops)
		return -EBADF;
	if (IS_DIR(f->path.inode->mode))
		return -EISDIR;
	return f->ops->read ? f->ops->read(f, u, pos) : -EINVAL;
}

ssize_t file_write_at(struct file *f, struct uio *u, u64 *pos)
{
	if ((f->flags & O_ACCMODE) == O_RDONLY || f->flags & O_PATH || !f->ops)
		return -EBADF;
	return f->ops->write ? f->ops->write(f, u, pos) : -EINVAL;
}
