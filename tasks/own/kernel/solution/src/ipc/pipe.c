/* Pipes, with and without a name. Up to 4096 bytes go in as one piece. */
#include "fs.h"
#include "without.h"

#define SLOTS 16
#define CAPACITY (SLOTS * PAGE_SIZE)
#define ATOMIC 4096

struct pipe {
	u8 *page[SLOTS];
	u64 head, tail;		/* counts of bytes */
	u32 readers, writers, reader_opens, writer_opens;
	struct waitqueue wait_read, wait_write, wait_open;
};

static struct pipe *pipe_new(void)
{
	struct pipe *p = kmalloc(sizeof *p);
	if (p) {
		waitqueue_init(&p->wait_read);
		waitqueue_init(&p->wait_write);
		waitqueue_init(&p->wait_open);
	}
	return p;
}

static void pipe_free(struct pipe *p)
{
	for (int i = 0; i < SLOTS; i++)
		kfree(p->page[i]);
	kfree(p);
}

static size_t used(struct pipe *p) { return p->head - p->tail; }

static u8 *place(struct pipe *p, u64 at, bool make)
{
	u8 **page = &p->page[at / PAGE_SIZE % SLOTS];
	if (!*page && make) {
		struct page *fresh = page_alloc(0);
		*page = fresh ? page_address(fresh) : NULL;
	}
	return *page ? *page + at % PAGE_SIZE : NULL;
}

static ssize_t pipe_read(struct file *f, struct uio *u, u64 *pos)
{
	struct pipe *p = f->data;
	size_t done = 0;
	if (!u->left)
		return 0;
	while (!used(p)) {
		if (!p->writers)
			return 0;
		if (f->flags & O_NONBLOCK)
			return -EAGAIN;
		int error = WAIT_UNTIL(&p->wait_read, used(p) || !p->writers, 0);
		if (error)
			return error;
	}
	while (u->left && used(p)) {
		size_t part = MIN(MIN(u->left, used(p)), PAGE_SIZE - p->tail % PAGE_SIZE);
		u64 at = p->tail;
		u8 bounce[512];
		part = MIN(part, sizeof bounce);
		/* Taken out before it is copied: the copy may sleep. */
		memcpy(bounce, place(p, at, false), part);
		p->tail += part;
		if (p->tail % PAGE_SIZE == 0 || !used(p)) {
			u32 n = at / PAGE_SIZE % SLOTS;
			kfree(p->page[n]);
			p->page[n] = NULL;
			if (!used(p))
				p->head = p->tail = ROUND_UP(p->tail, PAGE_SIZE);
		}
		if (uio_out(u, bounce, part))
			return done ? done : -EFAULT;
		done += part;
	}
	wake_all(&p->wait_write);
	return done;
}

static bool can_write(struct pipe *p, size_t want)
{
	/* A page per slot: what is left of the last one counts. */
	return CAPACITY - used(p) - (p->tail % PAGE_SIZE) >= want || !p->readers;
}

static ssize_t broken(size_t done)
{
	struct siginfo info;
#ifdef WITHOUT_PIPES
	return -EIO;
#endif
	signal_info_user(&info, SIGPIPE, SI_USER);
	signal_task(current(), SIGPIPE, &info);
	return done ? (ssize_t)done : -EPIPE;
}

static int put_in(struct pipe *p, const u8 *from, size_t n)
{
	u64 at = p->head;
	for (size_t done = 0; done < n;) {	/* all pages first, so that it fails as a whole */
		if (!place(p, at + done, true))
			return -ENOMEM;
		done += MIN(n - done, PAGE_SIZE - (at + done) % PAGE_SIZE);
	}
	for (size_t done = 0; done < n;) {
		size_t part = MIN(n - done, PAGE_SIZE - p->head % PAGE_SIZE);
		memcpy(place(p, p->head, false), from + done, part);
		p->head += part;
		done += part;
	}
	return 0;
}

static ssize_t pipe_write(struct file *f, struct uio *u, u64 *pos)
{
	struct pipe *p = f->data;
	size_t done = 0, total = u->left;
	int error = 0;
	if (!total)
		return 0;
	u8 *bounce = kmalloc(PAGE_SIZE);
	if (!bounce)
		return -ENOMEM;
	while (u->left && !error) {
		size_t part = MIN(u->left, (size_t)ATOMIC), want = total <= ATOMIC ? part : 1;
		if (p->readers && !can_write(p, want)) {
			if (f->flags & O_NONBLOCK) {
				error = -EAGAIN;
				break;
			}
			error = WAIT_UNTIL(&p->wait_write, can_write(p, want), 0);
			if (error)
				break;
		}
		if (!p->readers)
			break;
		if (total > ATOMIC)
			part = MIN(part, CAPACITY - used(p) - p->tail % PAGE_SIZE);
		if (uio_in(u, bounce, part)) {
			error = -EFAULT;
			break;
		}
		/* The copy may have slept: is there still room? */
		if (p->readers && !can_write(p, part))
			error = WAIT_UNTIL(&p->wait_write, can_write(p, part), 0);
		if (!p->readers || error)
			break;
		error = put_in(p, bounce, part);
		if (!error) {
			done += part;
			wake_all(&p->wait_read);
		}
	}
	kfree(bounce);
	if (!p->readers && u->left)
		return broken(done);
	if (!p->readers && !error && done < total)
		return broken(done);
	return done ? done : error;
}

static u32 pipe_poll(struct file *f, struct poll_table *t)
{
	struct pipe *p = f->data;
	u32 access = f->flags & O_ACCMODE, events = 0;
	if (access != O_WRONLY) {
		poll_wait(t, &p->wait_read);
		events |= (used(p) ? POLLIN | POLLRDNORM : 0) | (!p->writers && p->writer_opens ? POLLHUP : 0);
	}
	if (access != O_RDONLY) {
		poll_wait(t, &p->wait_write);
		events |= (can_write(p, ATOMIC) && p->readers ? POLLOUT | POLLWRNORM : 0) | (!p->readers ? POLLERR | POLLOUT : 0);
	}
	return events;
}

static i64 pipe_ioctl(struct file *f, u32 command, u64 arg)
{
	i32 n = used(f->data);
	return command == FIONREAD ? copy_out(arg, &n, 4) : -ENOTTY;
}

static void pipe_release(struct file *f)
{
	struct pipe *p = f->data;
	u32 access = f->flags & O_ACCMODE;
	if (access != O_WRONLY)
		p->readers--;
	if (access != O_RDONLY)
		p->writers--;
	wake_all(&p->wait_read);
	wake_all(&p->wait_write);
	if (!p->readers && !p->writers) {
		if (f->path.inode->data_pipe == p)
			f->path.inode->data_pipe = NULL;
		pipe_free(p);
	}
}

const struct file_ops pipe_ops = { .read = pipe_read, .write = pipe_write, .poll = pipe_poll, .ioctl = pipe_ioctl,
	.release = pipe_release, .no_seek = true };

int pipe_make(struct file *ends[2], u32 flags)
{
	struct pipe *p = pipe_new();
	if (!p)
		return -ENOMEM;
	ends[0] = file_anonymous(&pipe_ops, p, O_RDONLY | (flags & O_NONBLOCK), "pipe");
	if (!ends[0]) {
		pipe_free(p);
		return -ENOMEM;
	}
	ends[1] = file_new(&ends[0]->path, &pipe_ops, O_WRONLY | (flags & O_NONBLOCK));
	p->readers = p->writers = p->reader_opens = p->writer_opens = 1;
	if (!ends[1]) {
		p->writers = 0;
		file_put(ends[0]);
		return -ENOMEM;
	}
	ends[1]->data = p;
	ends[0]->path.inode->data_pipe = p;	/* found there by who opens it below /proc */
	ends[1]->name = kstrdup(ends[0]->name);
	return 0;
}

i64 sys_close(u32 fd);

i64 sys_pipe2(u64 out, u32 flags)
{
	struct file *ends[2];
	i32 fd[2];
	if (flags & ~(O_NONBLOCK | O_CLOEXEC | O_DIRECT))
		return -EINVAL;
#ifdef WITHOUT_PIPES
	if (flags & O_NONBLOCK)
		return -EINVAL;
#endif
	int error = pipe_make(ends, flags);
	if (error)
		return error;
	fd[0] = fd_install(ends[0], 0, flags & O_CLOEXEC);
	if (fd[0] < 0) {
		file_put(ends[1]);
		return fd[0];
	}
	fd[1] = fd_install(ends[1], 0, flags & O_CLOEXEC);
	if (fd[1] < 0) {
		sys_close(fd[0]);
		return fd[1];
	}
	if (copy_out(out, fd, sizeof fd)) {
		sys_close(fd[0]);
		sys_close(fd[1]);
		return -EFAULT;
	}
	return 0;
}

/* Opening one end waits for the other, unless it is to read without waiting, or the pipe has no name. */
int fifo_open(struct file *f)
{
	struct inode *i = f->path.inode;
	u32 access = f->flags & O_ACCMODE;
	struct pipe *p = i->data_pipe;
	if (!p) {
		p = pipe_new();
		if (!p)
			return -ENOMEM;
		i->data_pipe = p;
	}
	f->data = p;
	bool named = i->sb->type && strcmp(i->sb->type, "anon");
	if (named && access == O_WRONLY && f->flags & O_NONBLOCK && !p->readers)
		return -ENXIO;
	f->ops = &pipe_ops;
	if (access != O_WRONLY) {
		p->readers++;
		p->reader_opens++;
	}
	if (access != O_RDONLY) {
		p->writers++;
		p->writer_opens++;
	}
	wake_all(&p->wait_open);
	int error = 0;
	u32 seen;
	if (named && access == O_RDONLY && !p->writers && !(f->flags & O_NONBLOCK)) {
		seen = p->writer_opens;
		error = WAIT_UNTIL(&p->wait_open, p->writer_opens != seen, 0);
	} else if (named && access == O_WRONLY && !p->readers) {
		seen = p->reader_opens;
		error = WAIT_UNTIL(&p->wait_open, p->reader_opens != seen, 0);
	}
	if (error)
		pipe_release(f);
	return error;
}
