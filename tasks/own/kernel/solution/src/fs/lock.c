/* Advisory locks: of ranges by processes (fcntl) and of whole files by open files (flock). */
#include "fs.h"

struct lock { struct link link; struct process *process; struct file *file; u64 start, end; bool write; };
struct flock { i16 type, whence; i64 start, length; i32 pid; };

static struct lock *conflict(struct inode *i, struct lock *want)
{
	struct lock *l;
	EACH(l, &i->locks, link)
		if (!l->file == !want->file && (l->process != want->process || l->file != want->file)
			&& l->start < want->end && l->end > want->start && (l->write || want->write))
			return l;
	return NULL;
}

/* Takes the owner's locks out of the range, which may leave a part on each side. */
static int clear_range(struct inode *i, struct lock *want)
{
	struct lock *l;
	EACH(l, &i->locks, link) {
		if (l->process != want->process || l->file != want->file || l->start >= want->end || l->end <= want->start)
			continue;
		if (l->start < want->start && l->end > want->end) {
			struct lock *upper = kmalloc(sizeof *upper);
			if (!upper)
				return -ENOLCK;
			*upper = *l;
			upper->start = want->end;
			l->end = want->start;
			link_prepend(&l->link, &upper->link);
			break;
		}
		if (l->start < want->start)
			l->end = want->start;
		else if (l->end > want->end)
			l->start = want->end;
		else {
			link_remove(&l->link);
			kfree(l);
		}
	}
	return 0;
}

static int take(struct inode *i, struct lock *want, bool wait)
{
	if (conflict(i, want)) {
		if (!wait)
			return -EAGAIN;
		int error = WAIT_UNTIL(&i->lock_wait, !conflict(i, want), 0);
		if (error)
			return error;
	}
	struct lock *l = kmalloc(sizeof *l);
	if (!l)
		return -ENOLCK;
	int error = clear_range(i, want);
	*l = *want;
	link_init(&l->link);
	link_append(&i->locks, &l->link);
	wake_all(&i->lock_wait);
	return error;
}

i64 lock_control(struct file *f, int command, u64 arg)
{
	struct flock fl;
	if (copy_in(&fl, arg, sizeof fl))
		return -EFAULT;
	i64 base = fl.whence == 1 ? (i64)f->pos : fl.whence == 2 ? (i64)f->path.inode->size : 0;
	i64 start = base + fl.start, end = fl.length ? start + fl.length : (1L << 62);
	if (fl.length < 0) {
		end = start;
		start += fl.length;
	}
	if (start < 0 || fl.type < 0 || fl.type > 2 || fl.whence < 0 || fl.whence > 2)
		return -EINVAL;
	struct lock want = { .process = self(), .start = start, .end = end, .write = fl.type == 1 };
	struct inode *i = f->path.inode;
	if (command == F_GETLK) {
		struct lock *l = fl.type == 2 ? NULL : conflict(i, &want);
		fl.type = 2;
		if (l) {
			fl.type = l->write;
			fl.whence = 0;
			fl.start = l->start;
			fl.length = l->end == 1UL << 62 ? 0 : l->end - l->start;
			fl.pid = l->process->pid;
		}
		return copy_out(arg, &fl, sizeof fl);
	}
	if (fl.type == 2) {
		int error = clear_range(i, &want);
		wake_all(&i->lock_wait);
		return error;
	}
	if ((fl.type == 0 && (f->flags & O_ACCMODE) == O_WRONLY) || (fl.type == 1 && (f->flags & O_ACCMODE) == O_RDONLY))
		return -EBADF;
	return take(i, &want, command == F_SETLKW);
}

i64 flock_control(struct file *f, int how)
{
	struct lock want = { .file = f, .end = 1UL << 62, .write = (how & 3) == 2 };
	struct inode *i = f->path.inode;
	if (how & 8) {
		flock_drop(f);
		return 0;
	}
	return how & 3 ? take(i, &want, !(how & 4)) : -EINVAL;
}

static void drop(struct inode *i, struct process *p, struct file *f)
{
	struct lock *l;
	EACH(l, &i->locks, link)
		if (l->process == p && l->file == f) {
			link_remove(&l->link);
			kfree(l);
		}
	wake_all(&i->lock_wait);
}

void flock_drop(struct file *f) { drop(f->path.inode, NULL, f); }

void locks_drop(struct inode *i, struct process *p)
{
	if (i && !link_empty(&i->locks))
		drop(i, p, NULL);
}
