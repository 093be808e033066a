/* Pages of files in memory: reading, writing, mapping and giving back go through them. */
#include "fs.h"

#define BUCKETS 16384

static struct page *buckets[BUCKETS];
static struct link recent = LINK_INIT(recent);
static WAITQUEUE(page_wait);
u64 cached_pages, homeless_pages, dirty_page_count;

static struct page **bucket(struct inode *i, u64 index) { return &buckets[((u64)i / 64 * 31 + index) % BUCKETS]; }

static struct page *find(struct inode *i, u64 index)
{
	struct page *p = *bucket(i, index);
	while (p && (p->inode != i || p->index != index))
		p = p->hash_next;
	return p;
}

static void insert(struct inode *i, u64 index, struct page *p)
{
	struct page **b = bucket(i, index);
	p->inode = i;
	p->index = index;
	p->hash_next = *b;
	*b = p;
	i->cached++;
	cached_pages++;
	page_get(p);
	link_append(&recent, &p->link);
}

static void remove(struct page *p)
{
	struct page **b = bucket(p->inode, p->index);
	while (*b != p)
		b = &(*b)->hash_next;
	*b = p->hash_next;
	if (p->flags & PG_DIRTY) {
		p->flags &= ~PG_DIRTY;
		dirty_page_count--;
		link_remove(&p->dirty);
	}
	p->inode->cached--;
	cached_pages--;
	if (p->flags & PG_KEEP)
		homeless_pages--;
	p->inode = NULL;
	link_remove(&p->link);
	page_put(p);
}

struct page *cache_get(struct inode *i, u64 index, bool fill)
{
	struct page *p, *fresh = NULL;
	for (;;) {
		p = find(i, index);
		if (p) {
			if (fresh)
				page_put(fresh);
			fresh = NULL;
			if (p->flags & PG_BUSY) {
				WAIT_DEEP(&page_wait, find(i, index) != p || !(p->flags & PG_BUSY));
				continue;
			}
			p->flags |= PG_USED;
			page_get(p);
			return p;
		}
		if (fresh)
			break;
		fresh = page_alloc_user();
		if (!fresh)
			return ERR_PTR(-ENOMEM);
	}
	p = fresh;
	p->flags = PG_BUSY;
	insert(i, index, p);
	int error = 0;
	if (fill && i->ops->read_page)
		error = i->ops->read_page(i, p);
	else
		memset(page_address(p), 0, PAGE_SIZE);
	p->flags &= ~PG_BUSY;
	if (!i->ops->sync && p->inode) {
		p->flags |= PG_KEEP;
		homeless_pages++;
	}
	wake_all(&page_wait);
	if (error) {
		if (p->inode)
			remove(p);
		page_put(p);
		return ERR_PTR(error);
	}
	p->flags |= PG_UPTODATE;
	return p;
}

void cache_dirty(struct page *p)
{
	if (p->flags & (PG_DIRTY | PG_KEEP) || !p->inode)
		return;
	p->flags |= PG_DIRTY;
	dirty_page_count++;
	link_append(&p->inode->dirty_pages, &p->dirty);
	inode_mark_dirty(p->inode);
}

int cache_write_inode(struct inode *i)
{
	int error = 0;
	while (!link_empty(&i->dirty_pages)) {
		struct page *p = FIRST(&i->dirty_pages, struct page, dirty);
		link_remove(&p->dirty);
		p->flags &= ~PG_DIRTY;
		dirty_page_count--;
		page_get(p);
		int e = i->ops->write_page(i, p);
		if (e)
			error = e;
		page_put(p);
	}
	return error;
}

/* Forgets what lies beyond the size. */
void cache_truncate(struct inode *i, u64 size)
{
	u64 first = (size + PAGE_SIZE - 1) >> PAGE_SHIFT;
	if (i->mappings)
		mm_drop_file_pages(i, first);
	if (i->cached) {
		u64 last = (MAX(i->size, size) >> PAGE_SHIFT) + 1;
		if (last - first < 4 * i->cached + 64) {
			for (u64 n = first; n <= last && i->cached; n++) {
				struct page *p = find(i, n);
				if (p)
					remove(p);
			}
		}
		if (i->cached && (size == 0 || last - first >= 4 * i->cached + 64)) {
			struct page *p;
			EACH(p, &recent, link)
				if (p->inode == i && p->index >= first)
					remove(p);
		}
	}
	if (size & (PAGE_SIZE - 1)) {
		struct page *p = find(i, size >> PAGE_SHIFT);
		if (p && p->flags & PG_UPTODATE)
			memset((char *)page_address(p) + (size & (PAGE_SIZE - 1)), 0, PAGE_SIZE - (size & (PAGE_SIZE - 1)));
	}
}

u64 cache_shrink(u64 want)
{
	u64 n = buffers_shrink(want / 4), scanned = 0, limit = 2 * cached_pages;
	while (n < want && scanned++ < limit && !link_empty(&recent)) {
		struct page *p = FIRST(&recent, struct page, link);
		link_remove(&p->link);
		link_append(&recent, &p->link);
		if (p->refs > 1 || p->flags & (PG_BUSY | PG_DIRTY | PG_KEEP))
			continue;
		if (p->flags & PG_USED) {
			p->flags &= ~PG_USED;
			continue;
		}
		remove(p);
		n++;
	}
	if (n < want)
		n += inodes_shrink(16);
	return n;
}

/* Memory is short and what is in the cache is not yet on the disk. */
void cache_write_some(void)
{
	static bool writing;
	if (writing || !dirty_page_count)
		return;
	writing = true;
	sync_all();
	writing = false;
}

ssize_t inode_read(struct inode *i, void *to, size_t n, u64 pos)
{
	struct uio u;
	struct file f = { .path.inode = i };
	uio_kernel(&u, to, n);
	return file_read(&f, &u, &pos);
}

ssize_t file_read(struct file *f, struct uio *u, u64 *pos)
{
	struct inode *i = f->path.inode;
	size_t done = 0;
	while (u->left && *pos < i->size) {
		struct page *p = cache_get(i, *pos >> PAGE_SHIFT, true);
		if (IS_ERR(p))
			return done ? done : PTR_ERR(p);
		size_t offset = *pos & (PAGE_SIZE - 1), part = MIN(u->left, PAGE_SIZE - offset);
		if (*pos >= i->size) {
			page_put(p);
			break;
		}
		part = MIN(part, i->size - *pos);
		int error = uio_out(u, (char *)page_address(p) + offset, part);
		page_put(p);
		if (error)
			return done ? done : error;
		*pos += part;
		done += part;
	}
	if (done && !(f->flags & O_NOATIME))
		inode_touch(i, false, true);
	return done;
}

static int put_piece(struct inode *i, u64 pos, size_t part, const char *data)
{
	size_t offset = pos & (PAGE_SIZE - 1);
	bool whole = !offset && (part == PAGE_SIZE || pos + part >= i->size);
	int error = i->ops->reserve ? i->ops->reserve(i, pos, pos + part) : 0;
	if (error)
		return error;
	struct page *p = cache_get(i, pos >> PAGE_SHIFT, !whole);
	if (IS_ERR(p))
		return PTR_ERR(p);
	memcpy((char *)page_address(p) + offset, data, part);
	if (pos + part > i->size)
		i->size = pos + part;
	cache_dirty(p);
	page_put(p);
	return 0;
}

static int write_piece(struct inode *i, struct uio *u, u64 pos, size_t part, char *bounce)
{
	int error = uio_in(u, bounce, part);
	if (error)
		return error;
	for (int attempt = 0; attempt < 2; attempt++) {
		if (i->ops->begin)
			i->ops->begin(i);
		error = put_piece(i, pos, part, bounce);
		if (i->ops->end)
			i->ops->end(i);
		/* Room that was given back may be had after the next transaction only. */
		if (error != -ENOSPC || !i->sb->sync || i->sb->sync(i->sb))
			break;
	}
	return error;
}

ssize_t file_write(struct file *f, struct uio *u, u64 *pos)
{
	struct inode *i = f->path.inode;
	size_t done = 0;
	int error = 0;
	char *bounce = kmalloc(PAGE_SIZE);
	if (!bounce)
		return -ENOMEM;
	mutex_lock(&i->lock);
	if (f->flags & O_APPEND)
		*pos = i->size;
	u64 limit = MIN(self()->rlimit[RLIMIT_FSIZE][0], 1UL << 42);
	while (u->left && !error) {
		size_t part = MIN(u->left, PAGE_SIZE - (*pos & (PAGE_SIZE - 1)));
		if (*pos >= limit) {
			error = -EFBIG;
			if (!done) {
				struct siginfo info;
				signal_info_user(&info, SIGXFSZ, SI_KERNEL);
				signal_process(self(), SIGXFSZ, &info);
			}
			break;
		}
		part = MIN(part, limit - *pos);
		error = write_piece(i, u, *pos, part, bounce);
		if (error)
			break;
		*pos += part;
		done += part;
	}
	if (done) {
		if (self()->cred.euid && i->mode & (S_ISUID | S_ISGID))
			i->mode &= ~(S_ISUID | S_ISGID);
		inode_touch(i, true, false);
	}
	mutex_unlock(&i->lock);
	kfree(bounce);
	if (dirty_page_count > total_pages / 4)
		cache_write_some();
	if (done && f->flags & (O_SYNC | O_DSYNC) && i->sb->sync) {
		int e = i->sb->sync(i->sb);
		if (e)
			return e;
	}
	return done ? done : error;
}

const struct file_ops regular_ops = { .read = file_read, .write = file_write };
