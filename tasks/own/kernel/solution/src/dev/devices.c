/* The small devices of /dev, and disks as files. */
#include "fs.h"

extern const struct file_ops terminal_ops, terminal_current_ops, ptmx_ops;

static ssize_t null_read(struct file *f, struct uio *u, u64 *pos) { return 0; }

static ssize_t null_write(struct file *f, struct uio *u, u64 *pos)
{
	size_t n = u->left;
	u->left = 0;
	return n;
}

static ssize_t zero_read(struct file *f, struct uio *u, u64 *pos)
{
	size_t n = u->left;
	while (u->left) {
		if (uio_zero(u, MIN(u->left, 65536UL)))
			return n - u->left ? (ssize_t)(n - u->left) : -EFAULT;
		if (signal_waiting(current()))
			break;
	}
	return n - u->left;
}

static ssize_t full_write(struct file *f, struct uio *u, u64 *pos) { return -ENOSPC; }

static ssize_t random_read(struct file *f, struct uio *u, u64 *pos)
{
	size_t n = u->left;
	while (u->left) {
		u64 v = random_u64();
		if (uio_out(u, &v, MIN(u->left, sizeof v)))
			return -EFAULT;
	}
	return n;
}

static ssize_t kmsg_write(struct file *f, struct uio *u, u64 *pos)
{
	char line[256];
	size_t n = u->left, part = MIN(n, sizeof line - 1);
	if (uio_in(u, line, part))
		return -EFAULT;
	line[part] = 0;
	printk("%s%s", line, part && line[part - 1] == '\n' ? "" : "\n");
	return n;
}

static u32 always(struct file *f, struct poll_table *t) { return POLLIN | POLLOUT | POLLRDNORM | POLLWRNORM; }

static ssize_t disk_io(struct file *f, struct uio *u, u64 *pos, bool write)
{
	struct disk *d = disk_of(f->path.inode->rdev);
	size_t done = 0;
	u8 *block = kmalloc(PAGE_SIZE);
	int error = block ? 0 : -ENOMEM;
	while (!error && u->left && *pos < d->sectors * 512) {
		u64 sector = *pos / 512;
		u32 sectors = MIN(8UL, d->sectors - sector), offset = *pos % 512;
		size_t part = MIN(u->left, sectors * 512UL - offset);
		error = d->transfer(d, sector, block, sectors, false);
		if (!error)
			error = write ? uio_in(u, block + offset, part) : uio_out(u, block + offset, part);
		if (!error && write)
			error = d->transfer(d, sector, block, sectors, true);
		if (!error) {
			*pos += part;
			done += part;
		}
	}
	kfree(block);
	return done ? done : error ? error : write && u->left ? -ENOSPC : 0;
}

static ssize_t disk_read(struct file *f, struct uio *u, u64 *pos) { return disk_io(f, u, pos, false); }
static ssize_t disk_write(struct file *f, struct uio *u, u64 *pos) { return disk_io(f, u, pos, true); }

static int disk_open(struct file *f) { return disk_of(f->path.inode->rdev) ? 0 : -ENXIO; }

static i64 disk_ioctl(struct file *f, u32 command, u64 arg)
{
	struct disk *d = disk_of(f->path.inode->rdev);
	u64 bytes = d->sectors * 512;
	u32 size = 512;
	switch (command) {
	case 0x80081272: return copy_out(arg, &bytes, 8);	/* BLKGETSIZE64 */
	case 0x1260: return copy_out(arg, &d->sectors, 8);	/* BLKGETSIZE */
	case 0x1268: return copy_out(arg, &size, 4);		/* BLKSSZGET */
	case 0x1261: return d->flush(d);			/* BLKFLSBUF */
	}
	return -ENOTTY;
}

static const struct file_ops null_ops = { .read = null_read, .write = null_write, .poll = always };
static const struct file_ops zero_ops = { .read = zero_read, .write = null_write, .poll = always };
static const struct file_ops full_ops = { .read = zero_read, .write = full_write, .poll = always };
static const struct file_ops random_ops = { .read = random_read, .write = null_write, .poll = always };
static const struct file_ops kmsg_ops = { .read = null_read, .write = kmsg_write, .poll = always };
static const struct file_ops disk_ops = { .read = disk_read, .write = disk_write, .open = disk_open, .ioctl = disk_ioctl, .poll = always };

const struct file_ops *device_ops(u32 mode, u64 rdev)
{
	if (IS_BLK(mode))
		return disk_of(rdev) ? &disk_ops : NULL;
	switch (rdev) {
	case DEV(1, 3): return &null_ops;
	case DEV(1, 5): return &zero_ops;
	case DEV(1, 7): return &full_ops;
	case DEV(1, 8): case DEV(1, 9): return &random_ops;
	case DEV(1, 11): return &kmsg_ops;
	case DEV(5, 0): return &terminal_current_ops;
	case DEV(5, 1): case DEV(4, 64): return &terminal_ops;
	case DEV(5, 2): return &ptmx_ops;
	}
	return rdev >> 8 == 136 ? &terminal_ops : NULL;
}
