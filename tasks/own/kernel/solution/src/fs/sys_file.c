/* System calls on open files. */
#include "fs.h"
#include "without.h"

#define MAX_TRANSFER 0x7ffff000UL

static i64 open_and_install(i32 dirfd, u64 name_at, u32 flags, u32 mode)
{
	char *name;
	int error = user_path(name_at, &name);
	if (error)
		return error;
	flags &= 0x7fffffff;
	if ((flags & O_ACCMODE) == 3)
		flags = (flags & ~O_ACCMODE) | O_RDWR;
	struct file *f = file_open(dirfd, name, flags, mode & ~current()->fs->umask);
	kfree(name);
	return IS_ERR(f) ? PTR_ERR(f) : fd_install(f, 0, flags & O_CLOEXEC);
}

i64 sys_open(u64 name, u32 flags, u32 mode) { return open_and_install(AT_FDCWD, name, flags, mode); }
i64 sys_openat(i32 dirfd, u64 name, u32 flags, u32 mode) { return open_and_install(dirfd, name, flags, mode); }
i64 sys_creat(u64 name, u32 mode) { return open_and_install(AT_FDCWD, name, O_CREAT | O_WRONLY | O_TRUNC, mode); }


static i64 transfer(i32 fd, struct uio *u, bool write, i64 offset, bool positioned)
{
	struct file *f = fd_get(fd);
	if (!f)
		return -EBADF;
	i64 result;
	bool seekable = !f->ops || !f->ops->no_seek;
	u64 pos = offset;
	if (positioned && !seekable)
		result = -ESPIPE;
	else if (positioned && offset < 0)
		result = -EINVAL;
	else {
		u64 *at = positioned ? &pos : &f->pos;
		result = write ? file_write_at(f, u, at) : file_read_at(f, u, at);
	}
	file_put(f);
	return result;
}

static i64 plain(i32 fd, u64 buffer, u64 n, bool write, i64 offset, bool positioned)
{
	struct uio u;
	if (!fd_file(fd))
		return -EBADF;
	if ((i64)n < 0)
		return -EINVAL;
	if (buffer > USER_TOP || n > USER_TOP - buffer)
		return -EFAULT;
	uio_user(&u, buffer, MIN(n, MAX_TRANSFER));
	return transfer(fd, &u, write, offset, positioned);
}

i64 sys_read(i32 fd, u64 buffer, u64 n) { return plain(fd, buffer, n, false, 0, false); }
i64 sys_write(i32 fd, u64 buffer, u64 n) { return plain(fd, buffer, n, true, 0, false); }
i64 sys_pread64(i32 fd, u64 buffer, u64 n, i64 at) { return plain(fd, buffer, n, false, at, true); }
i64 sys_pwrite64(i32 fd, u64 buffer, u64 n, i64 at) { return plain(fd, buffer, n, true, at, true); }

/* The pieces of readv, sendmsg and their like; to be freed by the caller. */
int uio_pieces(struct uio *u, u64 vector, u64 count, struct iovec **out)
{
	if (count > 1024)
		return -EINVAL;
	struct iovec *iov = kmalloc(MAX(count, 1UL) * sizeof *iov);
	if (!iov)
		return -ENOMEM;
	size_t total = 0;
	int error = copy_in(iov, vector, count * sizeof *iov);
	for (u64 i = 0; i < count && !error; i++) {
		if ((i64)iov[i].len < 0)
			error = -EINVAL;
		else if (iov[i].len && (iov[i].base > USER_TOP || iov[i].len > USER_TOP - iov[i].base))
			error = -EFAULT;
		iov[i].len = MIN(iov[i].len, MAX_TRANSFER - total);
		total += iov[i].len;
	}
	if (error) {
		kfree(iov);
		return error;
	}
	*u = (struct uio){ .iov = iov, .count = count, .left = total };
	*out = iov;
	return 0;
}

static i64 vectored(i32 fd, u64 vector, u64 count, bool write, i64 offset, bool positioned)
{
	struct uio u;
	struct iovec *iov;
	int error = uio_pieces(&u, vector, count, &iov);
	if (error)
		return error;
	i64 result = transfer(fd, &u, write, offset, positioned);
	kfree(iov);
	return result;
}

i64 sys_readv(i32 fd, u64 v, u64 n) { return vectored(fd, v, n, false, 0, false); }
i64 sys_writev(i32 fd, u64 v, u64 n) { return vectored(fd, v, n, true, 0, false); }
i64 sys_preadv(i32 fd, u64 v, u64 n, i64 at) { return vectored(fd, v, n, false, at, true); }
i64 sys_pwritev(i32 fd, u64 v, u64 n, i64 at) { return vectored(fd, v, n, true, at, true); }

i64 sys_lseek(i32 fd, i64 offset, i32 whence)
{
	struct file *f = fd_file(fd);
	if (!f)
		return -EBADF;
	if (!f->ops || f->ops->no_seek)
		return f->ops ? -ESPIPE : -EBADF;
	struct inode *i = f->path.inode;
	struct disk *d = IS_BLK(i->mode) ? disk_of(i->rdev) : NULL;
	i64 size = d ? d->sectors * 512 : i->size, at;
	switch (whence) {
	case 0: at = offset; break;
	case 1: at = f->pos + offset; break;
	case 2: at = size + offset; break;
	case 3: case 4:
		if (offset < 0 || offset >= size)
			return -ENXIO;
		at = whence == 3 ? offset : size;
		break;
	default: return -EINVAL;
	}
	if (at < 0)
		return -EINVAL;
	return f->pos = at;
}

i64 sys_fcntl(i32 fd, u32 command, u64 arg)
{
	struct file *f = fd_get(fd);
	struct fds *fds = current()->fds;
	i64 result = 0;
	if (!f)
		return -EBADF;
	switch (command) {
	case F_DUPFD: case F_DUPFD_CLOEXEC:
		if (arg >= self()->rlimit[RLIMIT_NOFILE][0])
			result = -EINVAL;
		else
			return fd_install(f, arg, command == F_DUPFD_CLOEXEC);
		break;
	case F_GETFD: result = fds->cloexec[fd]; break;
	case F_SETFD: fds->cloexec[fd] = arg & 1; break;
	case F_GETFL: result = f->flags | (f->ops && !f->ops->no_seek ? O_LARGEFILE : 0); break;
	case F_SETFL:
		f->flags = (f->flags & ~(O_APPEND | O_NONBLOCK | O_NOATIME)) | (arg & (O_APPEND | O_NONBLOCK | O_NOATIME));
		break;
	case F_GETLK: case F_SETLK: case F_SETLKW: result = lock_control(f, command, arg); break;
	case F_GETPIPE_SZ: case F_SETPIPE_SZ: result = 65536; break;
	case F_GETOWN: case F_SETOWN: break;
	default: result = -EINVAL;
	}
	file_put(f);
	return result;
}

i64 sys_flock(i32 fd, i32 how)
{
	struct file *f = fd_get(fd);
	if (!f)
		return -EBADF;
	i64 result = flock_control(f, how);
	file_put(f);
	return result;
}

i64 sys_ioctl(i32 fd, u32 command, u64 arg)
{
	struct file *f = fd_get(fd);
	i32 n;
	if (!f)
		return -EBADF;
	i64 result = -ENOTTY;
	if (command == FIONBIO) {
		result = copy_in(&n, arg, 4);
		if (!result)
			f->flags = n ? f->flags | O_NONBLOCK : f->flags & ~O_NONBLOCK;
	} else if (command == 0x5450 || command == 0x5451) {
		current()->fds->cloexec[fd] = command == 0x5451;
		result = 0;
	} else if (f->ops && f->ops->ioctl)
		result = f->ops->ioctl(f, command, arg);
	else if (command == FIONREAD && IS_REG(f->path.inode->mode)) {
		n = f->path.inode->size > f->pos ? f->path.inode->size - f->pos : 0;
		result = copy_out(arg, &n, 4);
	}
	file_put(f);
	return result;
}

static i64 sync_file(i32 fd)
{
	struct file *f = fd_get(fd);
	if (!f)
		return -EBADF;
	struct inode *i = f->path.inode;
	i64 error = 0;
#ifdef WITHOUT_POWER_CUTS
	file_put(f);
	return 0;
#endif
	if (f->flags & O_PATH)
		error = -EBADF;
	else if (i->sb && i->sb->sync)
		error = i->sb->sync(i->sb);
	else if (!IS_REG(i->mode) && !IS_DIR(i->mode) && !IS_BLK(i->mode))
		error = -EINVAL;
	file_put(f);
	return error;
}

i64 sys_fsync(i32 fd) { return sync_file(fd); }
i64 sys_syncfs(i32 fd)
{
	if (!fd_file(fd))
		return -EBADF;
	sync_all();
	return 0;
}

static i64 truncate_inode(struct inode *i, i64 size)
{
	if (size < 0)
		return -EINVAL;
	if (IS_DIR(i->mode))
		return -EISDIR;
	if (!IS_REG(i->mode) || !i->ops->truncate)
		return -EINVAL;
	if ((u64)size > self()->rlimit[RLIMIT_FSIZE][0])
		return -EFBIG;
	mutex_lock(&i->lock);
	int error = i->ops->truncate(i, size);
	mutex_unlock(&i->lock);
	return error;
}

i64 sys_ftruncate(i32 fd, i64 size)
{
	struct file *f = fd_get(fd);
	if (!f)
		return -EBADF;
	i64 error = (f->flags & O_ACCMODE) == O_RDONLY ? -EINVAL : truncate_inode(f->path.inode, size);
	file_put(f);
	return error;
}

i64 sys_truncate(u64 name_at, i64 size)
{
	char *name;
	struct path p;
	int error = user_path(name_at, &name);
	if (error)
		return error;
	error = path_open(AT_FDCWD, name, &p, true);
	kfree(name);
	if (error)
		return error;
	error = permission(p.inode, 2);
	i64 result = error ? error : truncate_inode(p.inode, size);
	path_put(&p);
	return result;
}

i64 sys_fallocate(i32 fd, i32 mode, i64 offset, i64 length)
{
	struct file *f = fd_get(fd);
	if (!f)
		return -EBADF;
	struct inode *i = f->path.inode;
	i64 error = 0;
	if ((f->flags & O_ACCMODE) == O_RDONLY)
		error = -EBADF;
	else if (offset < 0 || length <= 0)
		error = -EINVAL;
	else if (mode & ~1 || !IS_REG(i->mode))
		error = -EOPNOTSUPP;
	else if (!(mode & 1) && offset + length > (i64)i->size)
		error = truncate_inode(i, offset + length);
	file_put(f);
	return error;
}

struct dirents { struct dirent_sink sink; u64 to; size_t left; int error; };

static int put_dirent(struct dirent_sink *s, const char *name, size_t length, u64 ino, u8 type, u64 next)
{
	struct dirents *d = HOLDER(s, struct dirents, sink);
	struct { u64 ino, next; u16 size; u8 type; char name[257]; } packed out = { ino, next, ROUND_UP(19 + length + 1, 8), type };
	if (out.size > d->left) {
		d->error = -EINVAL;
		return 1;
	}
	memset(out.name, 0, sizeof out.name);
	memcpy(out.name, name, length);
	if (copy_out(d->to, &out, out.size)) {
		d->error = -EFAULT;
		return 1;
	}
	d->to += out.size;
	d->left -= out.size;
	return 0;
}

i64 sys_getdents64(i32 fd, u64 buffer, u32 room)
{
	struct file *f = fd_get(fd);
	if (!f)
		return -EBADF;
	i64 result = -ENOTDIR;
	if (f->ops && f->ops->getdents) {
		struct dirents d = { .sink.put = put_dirent, .to = buffer, .left = room };
		mutex_lock(&f->path.inode->lock);
		result = f->ops->getdents(f, &d.sink);
		mutex_unlock(&f->path.inode->lock);
		if (!result)
			result = d.left == room && d.error ? d.error : (i64)(room - d.left);
		inode_touch(f->path.inode, false, true);
	}
	file_put(f);
	return result;
}

i64 sys_sendfile(i32 to, i32 from, u64 offset_at, u64 n)
{
	struct file *in = fd_get(from), *out = fd_get(to);
	i64 offset = 0, done = 0, error = in && out ? 0 : -EBADF;
	char *block = kmalloc(PAGE_SIZE);
	if (!error && offset_at)
		error = copy_in(&offset, offset_at, 8);
	if (!error && in->ops && in->ops->no_seek)
		error = -EINVAL;
	u64 pos = !error ? offset_at ? (u64)offset : in->pos : 0;
	while (!error && block && n) {
		struct uio u;
		uio_kernel(&u, block, MIN(n, PAGE_SIZE));
		u64 before = pos;
		i64 got = file_read_at(in, &u, &pos);
		if (got <= 0) {
			error = got;
			break;
		}
		i64 put = 0;
		while (put < got) {
			uio_kernel(&u, block + put, got - put);
			i64 part = file_write_at(out, &u, &out->pos);
			if (part <= 0) {
				error = part;
				break;
			}
			put += part;
		}
		pos = before + put;
		done += put;
		n -= put;
	}
	if (in && out) {
		if (!offset_at)
			in->pos = pos;
		else
			copy_out(offset_at, &pos, 8);
	}
	if (in)
		file_put(in);
	if (out)
		file_put(out);
	kfree(block);
	return done ? done : error;
}

i64 sys_fadvise64(i32 fd) { return fd_file(fd) ? 0 : -EBADF; }
