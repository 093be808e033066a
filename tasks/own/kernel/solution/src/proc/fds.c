/* Descriptors of a process, and its place in the file tree. */
#include "task.h"
#include "fs.h"

static struct fds *fds_of(int room)
{
	struct fds *f = kmalloc(sizeof *f);
	if (!f)
		return NULL;
	f->file = kmalloc(room * sizeof *f->file);
	f->cloexec = kmalloc(room);
	if (!f->file || !f->cloexec) {
		kfree(f->file);
		kfree(f->cloexec);
		kfree(f);
		return NULL;
	}
	f->room = room;
	f->refs = 1;
	return f;
}

struct fds *fds_new(void) { return fds_of(32); }

struct fds *fds_copy(struct fds *from)
{
	if (!from)
		return NULL;
	struct fds *f = fds_of(from->room);
	for (int i = 0; f && i < from->room; i++)
		if (from->file[i]) {
			f->file[i] = file_get(from->file[i]);
			f->cloexec[i] = from->cloexec[i];
		}
	return f;
}

static void close_one(struct fds *f, int fd)
{
	struct file *file = f->file[fd];
	f->file[fd] = NULL;
	if (file) {
		if (self())
			locks_drop(file->path.inode, self());
		file_put(file);
	}
}

void fds_put(struct fds *f)
{
	if (--f->refs)
		return;
	for (int i = 0; i < f->room; i++)
		close_one(f, i);
	kfree(f->file);
	kfree(f->cloexec);
	kfree(f);
}

void fds_close_on_exec(struct fds *f)
{
	for (int i = 0; i < f->room; i++)
		if (f->file[i] && f->cloexec[i])
			close_one(f, i);
}

struct file *fd_file(int fd)
{
	struct fds *f = current()->fds;
	return fd >= 0 && fd < f->room ? f->file[fd] : NULL;
}

struct file *fd_get(int fd)
{
	struct file *f = fd_file(fd);
	return f ? file_get(f) : NULL;
}

static int grow(struct fds *f, int want)
{
	int room = f->room;
	while (room <= want)
		room *= 2;
	struct file **file = kmalloc(room * sizeof *file);
	u8 *cloexec = kmalloc(room);
	if (!file || !cloexec) {
		kfree(file);
		kfree(cloexec);
		return -ENOMEM;
	}
	memcpy(file, f->file, f->room * sizeof *file);
	memcpy(cloexec, f->cloexec, f->room);
	kfree(f->file);
	kfree(f->cloexec);
	f->file = file;
	f->cloexec = cloexec;
	f->room = room;
	return 0;
}

/* The lowest free one from `lowest` on; takes over the reference, also when it fails. */
int fd_install(struct file *file, int lowest, bool cloexec)
{
	struct fds *f = current()->fds;
	int limit = MIN(self()->rlimit[RLIMIT_NOFILE][0], 65536UL), fd = lowest;
	while (fd < f->room && f->file[fd])
		fd++;
	int error = fd >= limit ? -EMFILE : fd >= f->room ? grow(f, fd) : 0;
	if (error) {
		file_put(file);
		return error;
	}
	f->file[fd] = file;
	f->cloexec[fd] = cloexec;
	return fd;
}

i64 sys_close(u32 fd)
{
	if (!fd_file(fd))
		return -EBADF;
	close_one(current()->fds, fd);
	return 0;
}

i64 sys_close_range(u32 first, u32 last, u32 flags)
{
	struct fds *f = current()->fds;
	if (first > last || flags & ~6u)
		return -EINVAL;
	for (u32 i = first; i <= last && i < (u32)f->room; i++) {
		if (flags & 4)
			f->cloexec[i] = 1;
		else
			close_one(f, i);
	}
	return 0;
}

i64 sys_dup(u32 fd)
{
	struct file *f = fd_get(fd);
	return f ? fd_install(f, 0, false) : -EBADF;
}

i64 sys_dup3(u32 from, u32 to, u32 flags)
{
	struct fds *f = current()->fds;
	if (flags & ~O_CLOEXEC || from == to)
		return -EINVAL;
	if (!fd_file(from) || to >= self()->rlimit[RLIMIT_NOFILE][0])
		return -EBADF;
	if ((int)to >= f->room && grow(f, to))
		return -ENOMEM;
	struct file *file = fd_get(from);
	if (f->file[to])
		close_one(f, to);
	f->file[to] = file;
	f->cloexec[to] = flags & O_CLOEXEC ? 1 : 0;
	return to;
}

i64 sys_dup2(u32 from, u32 to)
{
	if (!fd_file(from))
		return -EBADF;
	return from == to ? to : sys_dup3(from, to, 0);
}

struct fs_state *fs_state_copy(struct fs_state *from)
{
	struct fs_state *f = kmalloc(sizeof *f);
	if (!f)
		return NULL;
	*f = *from;
	f->refs = 1;
	path_get(&f->cwd);
	path_get(&f->root);
	return f;
}

void fs_state_put(struct fs_state *f)
{
	if (--f->refs)
		return;
	path_put(&f->cwd);
	path_put(&f->root);
	kfree(f);
}
