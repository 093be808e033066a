/* System calls on names: status, links, directories, permissions, times. */
#include "fs.h"

static void fill_stat(struct inode *i, struct stat *s)
{
	*s = (struct stat){
		.dev = i->sb ? i->sb->dev : 0, .ino = i->ino, .nlink = i->nlink, .mode = i->mode, .uid = i->uid, .gid = i->gid,
		.rdev = i->rdev, .size = i->size, .blksize = 4096, .blocks = i->blocks,
		.atime = i->atime / 1000000000, .atime_ns = i->atime % 1000000000, .mtime = i->mtime / 1000000000,
		.mtime_ns = i->mtime % 1000000000, .ctime = i->ctime / 1000000000, .ctime_ns = i->ctime % 1000000000,
	};
	if (i->sb && i->ops && !i->ops->sync)
		s->blocks = i->cached * 8;
}

/* The inode of a name, or of dirfd itself for an empty one where that is allowed. */
static int at(i32 dirfd, u64 name_at, u32 flags, struct path *p)
{
	char *name;
	if (!name_at && !(flags & AT_EMPTY_PATH))
		return -EFAULT;
	int error = name_at ? user_path(name_at, &name) : 0;
	if (error)
		return error;
	if (!name_at || (!*name && flags & AT_EMPTY_PATH)) {
		if (name_at)
			kfree(name);
		if (dirfd == AT_FDCWD)
			*p = current()->fs->cwd;
		else {
			struct file *f = fd_file(dirfd);
			if (!f)
				return -EBADF;
			*p = f->path;
		}
		path_get(p);
		return 0;
	}
	error = path_open(dirfd, name, p, !(flags & AT_SYMLINK_NOFOLLOW));
	kfree(name);
	return error;
}

i64 sys_newfstatat(i32 dirfd, u64 name, u64 out, u32 flags)
{
	struct path p;
	struct stat s;
	int error = at(dirfd, name, flags, &p);
	if (error)
		return error;
	fill_stat(p.inode, &s);
	path_put(&p);
	return copy_out(out, &s, sizeof s);
}

i64 sys_stat(u64 name, u64 out) { return sys_newfstatat(AT_FDCWD, name, out, 0); }
i64 sys_lstat(u64 name, u64 out) { return sys_newfstatat(AT_FDCWD, name, out, AT_SYMLINK_NOFOLLOW); }

i64 sys_fstat(i32 fd, u64 out)
{
	struct file *f = fd_file(fd);
	struct stat s;
	if (!f)
		return -EBADF;
	fill_stat(f->path.inode, &s);
	return copy_out(out, &s, sizeof s);
}

struct statx_time { i64 sec; u32 nsec; i32 pad; };
struct statx {
	u32 mask, blksize;
	u64 attributes;
	u32 nlink, uid, gid;
	u16 mode, pad;
	u64 ino, size, blocks, attributes_mask;
	struct statx_time atime, btime, ctime, mtime;
	u32 rdev_major, rdev_minor, dev_major, dev_minor;
	u64 spare[14];
};

i64 sys_statx(i32 dirfd, u64 name, u32 flags, u32 mask, u64 out)
{
	struct path p;
	int error = at(dirfd, name, flags, &p);
	if (error)
		return error;
	struct stat s;
	fill_stat(p.inode, &s);
	path_put(&p);
	struct statx x = {
		.mask = 0x7ff, .blksize = s.blksize, .nlink = s.nlink, .uid = s.uid, .gid = s.gid, .mode = s.mode, .ino = s.ino,
		.size = s.size, .blocks = s.blocks, .atime = { s.atime, s.atime_ns }, .ctime = { s.ctime, s.ctime_ns },
		.mtime = { s.mtime, s.mtime_ns }, .rdev_major = s.rdev >> 8, .rdev_minor = s.rdev & 0xff,
		.dev_major = s.dev >> 8, .dev_minor = s.dev & 0xff,
	};
	return copy_out(out, &x, sizeof x);
}

static i64 access(i32 dirfd, u64 name, u32 mode, u32 flags)
{
	struct credentials *c = &self()->cred;
	struct path p;
	if (mode & ~7u)
		return -EINVAL;
	u32 uid = c->fsuid, gid = c->fsgid;
	if (!(flags & 0x200)) {
		c->fsuid = c->uid;
		c->fsgid = c->gid;
	}
	int error = at(dirfd, name, flags & ~0x200u, &p);
	if (!error) {
		error = mode ? permission(p.inode, mode) : 0;
		path_put(&p);
	}
	c->fsuid = uid;
	c->fsgid = gid;
	return error;
}

i64 sys_access(u64 name, u32 mode) { return access(AT_FDCWD, name, mode, 0); }
i64 sys_faccessat(i32 dirfd, u64 name, u32 mode) { return access(dirfd, name, mode, 0); }
i64 sys_faccessat2(i32 dirfd, u64 name, u32 mode, u32 flags) { return access(dirfd, name, mode, flags); }

i64 sys_readlinkat(i32 dirfd, u64 name, u64 out, i32 room)
{
	struct path p;
	if (room <= 0)
		return -EINVAL;
	int error = at(dirfd, name, AT_SYMLINK_NOFOLLOW | AT_EMPTY_PATH, &p);
	if (error)
		return error;
	char *text = kmalloc(4096);
	i64 n = !text ? -ENOMEM : IS_LNK(p.inode->mode) && p.inode->ops->readlink ? p.inode->ops->readlink(p.inode, text, 4096) : -EINVAL;
	path_put(&p);
	if (n > 0) {
		n = MIN(n, (i64)room);
		if (copy_out(out, text, n))
			n = -EFAULT;
	}
	kfree(text);
	return n;
}

i64 sys_readlink(u64 name, u64 out, i32 room) { return sys_readlinkat(AT_FDCWD, name, out, room); }

/* The parent of a name that is to be made. */
static int for_new(i32 dirfd, u64 name_at, struct lookup *l, bool directory)
{
	char *name;
	int error = user_path(name_at, &name);
	if (error)
		return error;
	error = path_walk(dirfd, name, WALK_PARENT, l);
	kfree(name);
	if (error)
		return error;
	if (l->path.inode || !l->parent.inode)
		error = -EEXIST;
	else if (l->want_dir && !directory)
		error = -ENOENT;
	else
		error = permission(l->parent.inode, 3);
	if (!error && !l->parent.inode->nlink)
		error = -ENOENT;
	if (error)
		lookup_end(l);
	return error;
}

static i64 make(i32 dirfd, u64 name, u32 mode, u64 rdev, const char *target)
{
	struct lookup l;
	int error = for_new(dirfd, name, &l, IS_DIR(mode));
	if (error)
		return error;
	struct inode *dir = l.parent.inode, *i = dir->ops->create ? dir->ops->create(dir, l.last, mode, rdev, target) : ERR_PTR(-EPERM);
	if (!IS_ERR(i))
		inode_put(i);
	lookup_end(&l);
	return IS_ERR(i) ? PTR_ERR(i) : 0;
}

i64 make_socket_node(const char *name, u32 mode, struct path *out)
{
	struct lookup l;
	int error = path_walk(AT_FDCWD, name, WALK_PARENT, &l);
	if (error)
		return error;
	struct inode *dir = l.parent.inode, *i;
	if (l.path.inode || !dir)
		error = -EADDRINUSE;
	else
		error = permission(dir, 3);
	if (!error) {
		i = dir->ops->create ? dir->ops->create(dir, l.last, S_IFSOCK | mode, 0, NULL) : ERR_PTR(-EPERM);
		error = IS_ERR(i) ? PTR_ERR(i) : 0;
		*out = (struct path){ l.parent.mount, error ? NULL : i };
	}
	lookup_end(&l);
	return error;
}

static u32 masked(u32 mode) { return mode & 07777 & ~current()->fs->umask; }

i64 sys_mkdirat(i32 dirfd, u64 name, u32 mode) { return make(dirfd, name, S_IFDIR | masked(mode & 01777), 0, NULL); }
i64 sys_mkdir(u64 name, u32 mode) { return sys_mkdirat(AT_FDCWD, name, mode); }

i64 sys_mknodat(i32 dirfd, u64 name, u32 mode, u64 dev)
{
	u32 type = mode & S_IFMT ? mode & S_IFMT : S_IFREG;
	if (IS_DIR(type))
		return -EPERM;
	if (!IS_REG(type) && !IS_FIFO(type) && !IS_SOCK(type) && !(IS_CHR(type) || IS_BLK(type)))
		return -EINVAL;
	if ((IS_CHR(type) || IS_BLK(type)) && !capable())
		return -EPERM;
	return make(dirfd, name, type | masked(mode), DEV(dev >> 8 & 0xfff, (dev & 0xff) | (dev >> 12 & 0xfff00)), NULL);
}

i64 sys_mknod(u64 name, u32 mode, u64 dev) { return sys_mknodat(AT_FDCWD, name, mode, dev); }

i64 sys_symlinkat(u64 target_at, i32 dirfd, u64 name)
{
	char *target;
	int error = user_path(target_at, &target);
	if (error)
		return error;
	i64 result = *target ? make(dirfd, name, S_IFLNK | 0777, 0, target) : -ENOENT;
	kfree(target);
	return result;
}

i64 sys_symlink(u64 target, u64 name) { return sys_symlinkat(target, AT_FDCWD, name); }

i64 sys_linkat(i32 from_fd, u64 from, i32 to_fd, u64 to, u32 flags)
{
	struct path p;
	struct lookup l;
	int error = at(from_fd, from, (flags & AT_EMPTY_PATH) | (flags & AT_SYMLINK_FOLLOW ? 0 : AT_SYMLINK_NOFOLLOW), &p);
	if (error)
		return error;
	error = for_new(to_fd, to, &l, false);
	if (!error) {
		if (IS_DIR(p.inode->mode))
			error = -EPERM;
		else if (p.inode->sb != l.parent.inode->sb)
			error = -EXDEV;
		else
			error = l.parent.inode->ops->link ? l.parent.inode->ops->link(l.parent.inode, l.last, p.inode) : -EPERM;
		lookup_end(&l);
	}
	path_put(&p);
	return error;
}

i64 sys_link(u64 from, u64 to) { return sys_linkat(AT_FDCWD, from, AT_FDCWD, to, 0); }

static int may_delete(struct inode *dir, struct inode *victim)
{
	int error = permission(dir, 3);
	u32 uid = self()->cred.fsuid;
	if (!error && dir->mode & S_ISVTX && uid && victim->uid != uid && dir->uid != uid)
		error = -EPERM;
	return error;
}

static i64 remove_name(i32 dirfd, u64 name_at, bool directory)
{
	char *name;
	struct lookup l;
	int error = user_path(name_at, &name);
	if (error)
		return error;
	size_t n = strlen(name);
	bool dot = n && name[n - 1] == '.' && (n == 1 || name[n - 2] == '/');
	bool dots = n > 1 && name[n - 1] == '.' && name[n - 2] == '.' && (n == 2 || name[n - 3] == '/');
	error = path_walk(dirfd, name, 0, &l);
	kfree(name);
	if (error)
		return error;
	if (directory && (dot || dots))
		error = dot ? -EINVAL : -ENOTEMPTY;
	else if (!l.parent.inode || l.path.inode == l.path.mount->root)
		error = directory ? -EBUSY : -EISDIR;
	else
		error = may_delete(l.parent.inode, l.path.inode);
	if (!error)
		error = l.parent.inode->ops->unlink ? l.parent.inode->ops->unlink(l.parent.inode, l.last, directory) : -EPERM;
	lookup_end(&l);
	return error;
}

i64 sys_unlinkat(i32 dirfd, u64 name, u32 flags) { return remove_name(dirfd, name, flags & AT_REMOVEDIR); }
i64 sys_unlink(u64 name) { return remove_name(AT_FDCWD, name, false); }
i64 sys_rmdir(u64 name) { return remove_name(AT_FDCWD, name, true); }

static int do_rename(struct lookup *from, struct lookup *to, u32 flags)
{
	struct inode *old = from->path.inode, *dir = to->parent.inode;
	if (!from->parent.inode || !dir || old == from->path.mount->root)
		return -EBUSY;
	if (!strcmp(from->last, ".") || !strcmp(from->last, "..") || !strcmp(to->last, ".") || !strcmp(to->last, ".."))
		return -EBUSY;
	if (from->parent.inode->sb != dir->sb)
		return -EXDEV;
	if (to->want_dir && !IS_DIR(old->mode))
		return -ENOTDIR;
	int error = may_delete(from->parent.inode, old);
	if (!error)
		error = to->path.inode ? may_delete(dir, to->path.inode) : permission(dir, 3);
	if (!error && !dir->nlink)
		error = -ENOENT;
	if (error)
		return error;
	return dir->ops->rename ? dir->ops->rename(from->parent.inode, from->last, dir, to->last, !(flags & 1)) : -EPERM;
}

i64 sys_renameat2(i32 from_fd, u64 from_at, i32 to_fd, u64 to_at, u32 flags)
{
	char *from = NULL, *to = NULL;
	struct lookup l, m;
	if (flags & ~1u)
		return -EINVAL;
	int error = user_path(from_at, &from);
	if (!error)
		error = user_path(to_at, &to);
	if (!error)
		error = path_walk(from_fd, from, 0, &l);
	if (!error) {
		error = path_walk(to_fd, to, WALK_PARENT, &m);
		if (!error) {
			error = do_rename(&l, &m, flags);
			lookup_end(&m);
		}
		lookup_end(&l);
	}
	kfree(from);
	kfree(to);
	return error;
}

i64 sys_renameat(i32 from_fd, u64 from, i32 to_fd, u64 to) { return sys_renameat2(from_fd, from, to_fd, to, 0); }
i64 sys_rename(u64 from, u64 to) { return sys_renameat2(AT_FDCWD, from, AT_FDCWD, to, 0); }

static void changed(struct inode *i)
{
	i->ctime = real_ns();
	if (i->ops && i->ops->changed)
		i->ops->changed(i);
}

static bool owner(struct inode *i) { return !self()->cred.fsuid || self()->cred.fsuid == i->uid; }

static int chmod(struct inode *i, u32 mode)
{
	if (i->sb && i->sb->read_only)
		return -EROFS;
	if (!owner(i))
		return -EPERM;
	if (self()->cred.fsuid && !in_group(i->gid))
		mode &= ~S_ISGID;
	i->mode = (i->mode & S_IFMT) | (mode & 07777);
	changed(i);
	return 0;
}

i64 sys_fchmodat(i32 dirfd, u64 name, u32 mode)
{
	struct path p;
	int error = at(dirfd, name, 0, &p);
	if (!error) {
		error = chmod(p.inode, mode);
		path_put(&p);
	}
	return error;
}

i64 sys_chmod(u64 name, u32 mode) { return sys_fchmodat(AT_FDCWD, name, mode); }

i64 sys_fchmod(i32 fd, u32 mode)
{
	struct file *f = fd_file(fd);
	return f ? chmod(f->path.inode, mode) : -EBADF;
}

static int chown(struct inode *i, u32 uid, u32 gid)
{
	u32 me = self()->cred.fsuid;
	if (i->sb && i->sb->read_only)
		return -EROFS;
	if (me && ((uid != ~0u && (uid != i->uid || i->uid != me)) || (gid != ~0u && (i->uid != me || !in_group(gid)))))
		return -EPERM;
	if (uid != ~0u)
		i->uid = uid;
	if (gid != ~0u)
		i->gid = gid;
	if (IS_REG(i->mode))
		i->mode &= ~(S_ISUID | (i->mode & 010 ? S_ISGID : 0));
	changed(i);
	return 0;
}

i64 sys_fchownat(i32 dirfd, u64 name, u32 uid, u32 gid, u32 flags)
{
	struct path p;
	int error = at(dirfd, name, flags, &p);
	if (!error) {
		error = chown(p.inode, uid, gid);
		path_put(&p);
	}
	return error;
}

i64 sys_chown(u64 name, u32 uid, u32 gid) { return sys_fchownat(AT_FDCWD, name, uid, gid, 0); }
i64 sys_lchown(u64 name, u32 uid, u32 gid) { return sys_fchownat(AT_FDCWD, name, uid, gid, AT_SYMLINK_NOFOLLOW); }

i64 sys_fchown(i32 fd, u32 uid, u32 gid)
{
	struct file *f = fd_file(fd);
	return f ? chown(f->path.inode, uid, gid) : -EBADF;
}

static int set_times(struct inode *i, const struct timespec *t)
{
	u64 now = real_ns();
	bool both_now = !t || (t[0].nsec == 0x3fffffff && t[1].nsec == 0x3fffffff);
	if (i->sb && i->sb->read_only)
		return -EROFS;
	if (!owner(i)) {
		int error = both_now ? permission(i, 2) : -EPERM;
		if (error)
			return error == -EPERM ? -EPERM : -EACCES;
	}
	u64 *to[2] = { &i->atime, &i->mtime };
	for (int n = 0; n < 2; n++) {
		if (t && t[n].nsec == 0x3ffffffe)
			continue;
		if (t && t[n].nsec != 0x3fffffff && (t[n].nsec < 0 || t[n].nsec >= 1000000000))
			return -EINVAL;
		*to[n] = !t || t[n].nsec == 0x3fffffff ? now : t[n].sec * 1000000000UL + t[n].nsec;
	}
	changed(i);
	return 0;
}

i64 sys_utimensat(i32 dirfd, u64 name, u64 times, u32 flags)
{
	struct timespec t[2];
	struct path p;
	if (times && copy_in(t, times, sizeof t))
		return -EFAULT;
	int error = at(dirfd, name, name ? flags : AT_EMPTY_PATH, &p);
	if (!error) {
		error = set_times(p.inode, times ? t : NULL);
		path_put(&p);
	}
	return error;
}

i64 sys_utimes(u64 name, u64 times)
{
	struct timeval v[2] = { 0 };
	struct path p;
	if (times && copy_in(v, times, sizeof v))
		return -EFAULT;
	struct timespec t[2] = { { v[0].sec, v[0].usec * 1000 }, { v[1].sec, v[1].usec * 1000 } };
	int error = at(AT_FDCWD, name, 0, &p);
	if (!error) {
		error = set_times(p.inode, times ? t : NULL);
		path_put(&p);
	}
	return error;
}

i64 sys_utime(u64 name, u64 times)
{
	i64 v[2] = { 0 };
	struct path p;
	if (times && copy_in(v, times, sizeof v))
		return -EFAULT;
	struct timespec t[2] = { { v[0], 0 }, { v[1], 0 } };
	int error = at(AT_FDCWD, name, 0, &p);
	if (!error) {
		error = set_times(p.inode, times ? t : NULL);
		path_put(&p);
	}
	return error;
}

static i64 change_dir(struct path *to, struct path *p)
{
	int error = IS_DIR(p->inode->mode) ? permission(p->inode, 1) : -ENOTDIR;
	if (error) {
		path_put(p);
		return error;
	}
	path_put(to);
	*to = *p;
	return 0;
}

i64 sys_chdir(u64 name)
{
	struct path p;
	int error = at(AT_FDCWD, name, 0, &p);
	return error ? error : change_dir(&current()->fs->cwd, &p);
}

i64 sys_fchdir(i32 fd)
{
	struct file *f = fd_file(fd);
	if (!f)
		return -EBADF;
	struct path p = f->path;
	path_get(&p);
	return change_dir(&current()->fs->cwd, &p);
}

i64 sys_chroot(u64 name)
{
	struct path p;
	if (!capable())
		return -EPERM;
	int error = at(AT_FDCWD, name, 0, &p);
	return error ? error : change_dir(&current()->fs->root, &p);
}

i64 sys_getcwd(u64 out, u64 room)
{
	char *text = kmalloc(4096);
	if (!text)
		return -ENOMEM;
	i64 n = path_text(&current()->fs->cwd, text, 4096);
	if (n >= 0) {
		n++;
		n = n > (i64)room ? -ERANGE : copy_out(out, text, n) ? -EFAULT : n;
	}
	kfree(text);
	return n;
}

i64 sys_umask(u32 mask)
{
	struct fs_state *fs = current()->fs;
	u32 old = fs->umask;
	fs->umask = mask & 0777;
	return old;
}

static i64 statfs_of(struct superblock *sb, u64 out)
{
	u64 v[8] = { 0x01021994, 4096, 0, 0, 0, 0, 0, 255 };
	if (sb && sb->statfs)
		sb->statfs(sb, v);
	u64 s[15] = { v[0], v[1], v[2], v[3], v[4], v[5], v[6], sb ? sb->dev : 0, v[7], v[1], sb && sb->read_only ? 1 : 0 };
	return copy_out(out, s, sizeof s);
}

i64 sys_statfs(u64 name, u64 out)
{
	struct path p;
	int error = at(AT_FDCWD, name, 0, &p);
	if (error)
		return error;
	i64 result = statfs_of(p.inode->sb, out);
	path_put(&p);
	return result;
}

i64 sys_fstatfs(i32 fd, u64 out)
{
	struct file *f = fd_file(fd);
	return f ? statfs_of(f->path.inode->sb, out) : -EBADF;
}
