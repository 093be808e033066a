/* Disks and the blocks of theirs that file systems keep in memory for their own tables. */
#include "fs.h"

#define BUCKETS 4096

struct disk *disks[4];
int disk_count;
u64 buffer_bytes;
static struct link buckets[BUCKETS];
static struct link idle = LINK_INIT(idle);
static WAITQUEUE(buffer_wait);
struct link dirty_buffers = LINK_INIT(dirty_buffers);
static bool ready;

struct disk *disk_of(u64 rdev)
{
	u32 n = rdev & 0xff;
	return rdev >> 8 == 254 && n < (u32)disk_count ? disks[n] : NULL;
}

static struct link *bucket(u64 dev, u64 block)
{
	if (!ready) {
		for (int i = 0; i < BUCKETS; i++)
			link_init(&buckets[i]);
		ready = true;
	}
	return &buckets[(dev * 31 + block) % BUCKETS];
}

static struct buffer *find(u64 dev, u64 block)
{
	struct buffer *b;
	EACH(b, bucket(dev, block), hash)
		if (b->block == block && b->dev == dev)
			return b;
	return NULL;
}

static int transfer(struct buffer *b, bool write)
{
	struct disk *d = disk_of(b->dev);
	u32 sectors = b->size / 512;
	return d ? d->transfer(d, b->block * sectors, b->data, sectors, write) : -EIO;
}

static u32 dirty_count[4];

static void clean(struct buffer *b)
{
	if (b->dirty)
		dirty_count[b->dev & 3]--;
	b->dirty = false;
	link_remove(&b->dirty_link);
}

static void destroy(struct buffer *b)
{
	link_remove(&b->hash);
	link_remove(&b->lru);
	buffer_bytes -= b->size;
	kfree(b->data);
	kfree(b);
}

/* Without `read` the caller fills the block; it is zeroed if it was not known. */
struct buffer *buffer_get(u64 dev, u64 block, u32 size, bool read)
{
	struct buffer *b = find(dev, block);
	if (!b) {
		b = kmalloc(sizeof *b);
		u8 *data = b ? kmalloc(size) : NULL;
		if (!data) {
			kfree(b);
			return NULL;
		}
		*b = (struct buffer){ .dev = dev, .block = block, .size = size, .data = data };
		link_init(&b->lru);
		link_init(&b->dirty_link);
		link_append(bucket(dev, block), &b->hash);
		buffer_bytes += size;
	}
	b->refs++;
	link_remove(&b->lru);
	if (b->busy)
		WAIT_DEEP(&buffer_wait, !b->busy);
	if (!b->valid && read) {
		b->busy = true;
		int error = transfer(b, false);
		b->busy = false;
		b->valid = !error;
		wake_all(&buffer_wait);
		if (error) {
			buffer_put(b);
			return NULL;
		}
	}
	if (!read && !b->valid) {
		memset(b->data, 0, size);
		b->valid = true;
	}
	return b;
}

void buffer_put(struct buffer *b)
{
	if (--b->refs)
		return;
	if (!b->valid)
		destroy(b);
	else
		link_append(&idle, &b->lru);
}

int buffer_write(struct buffer *b)
{
	b->refs++;
	link_remove(&b->lru);
	if (b->busy)
		WAIT_DEEP(&buffer_wait, !b->busy);
	clean(b);
	b->busy = true;
	int error = transfer(b, true);
	b->busy = false;
	wake_all(&buffer_wait);
	buffer_put(b);
	return error;
}

/* The block was freed: what it held must never be written again. */
void buffer_forget(u64 dev, u64 block)
{
	struct buffer *b = find(dev, block);
	if (!b)
		return;
	clean(b);
	if (!b->refs)
		destroy(b);
	else
		b->valid = false;
}

void buffer_mark_dirty(struct buffer *b)
{
	if (b->dirty)
		return;
	b->dirty = true;
	dirty_count[b->dev & 3]++;
	link_append(&dirty_buffers, &b->dirty_link);
}

u32 buffers_dirty(u64 dev) { return dirty_count[dev & 3]; }

u64 buffers_shrink(u64 want)
{
	struct buffer *b;
	u64 n = 0;
	EACH(b, &idle, lru) {
		if (n >= want)
			break;
		if (b->dirty)
			continue;
		destroy(b);
		n++;
	}
	return n;
}

void buffers_drop(u64 dev)
{
	struct buffer *b;
	EACH(b, &idle, lru)
		if (b->dev == dev && !b->dirty)
			destroy(b);
}
