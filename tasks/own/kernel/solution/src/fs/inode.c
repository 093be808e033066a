/* Inodes in memory: found by number, kept while somebody uses them and, clean, as long as there is room. */
#include "fs.h"

#define BUCKETS 1024

static struct link buckets[BUCKETS];
static struct link unused = LINK_INIT(unused);
static struct link dirty_inodes = LINK_INIT(dirty_inodes);
static u64 unused_count;

void inode_init_cache(void)
{
	for (int i = 0; i < BUCKETS; i++)
		link_init(&buckets[i]);
}

static struct link *bucket(struct superblock *sb, u64 ino) { return &buckets[((u64)sb / 64 + ino) % BUCKETS]; }

struct inode *inode_find(struct superblock *sb, u64 ino)
{
	struct inode *i;
	EACH(i, bucket(sb, ino), hash)
		if (i->sb == sb && i->ino == ino) {
			if (!i->refs++) {
				link_remove(&i->lru);
				unused_count--;
			}
			return i;
		}
	return NULL;
}

struct inode *inode_new(struct superblock *sb, u64 ino, u32 mode)
{
	struct inode *i = kmalloc(sizeof *i);
	if (!i)
		return NULL;
	i->refs = 1;
	i->sb = sb;
	i->ino = ino;
	i->mode = mode;
	i->nlink = 1;
	i->atime = i->mtime = i->ctime = real_ns();
	link_init(&i->hash);
	link_init(&i->lru);
	link_init(&i->dirty_pages);
	link_init(&i->dirty_link);
	link_init(&i->locks);
	waitqueue_init(&i->lock_wait);
	mutex_init(&i->lock);
	if (ino)
		link_append(bucket(sb, ino), &i->hash);
	return i;
}

static void inode_free(struct inode *i)
{
	link_remove(&i->hash);
	if (i->ops && i->ops->evict)
		i->ops->evict(i);
	cache_truncate(i, 0);
	ASSERT(link_empty(&i->dirty_pages));
	kfree(i);
}

static void forget_changes(struct inode *i)
{
	cache_truncate(i, 0);
	i->dirty = false;
	link_remove(&i->dirty_link);
	i->refs--;
}

void inode_put(struct inode *i)
{
	ASSERT(i->refs);
	if (i->dirty && i->refs == 2 && !i->nlink)
		forget_changes(i);
	if (--i->refs)
		return;
	if (!i->nlink || link_empty(&i->hash) || i->sb->transient) {
		inode_free(i);
		return;
	}
	link_append(&unused, &i->lru);
	if (++unused_count > 4000)
		inodes_shrink(64);
}

/* A changed inode is kept by a reference of the list of changed ones. */
void inode_mark_dirty(struct inode *i)
{
	if (i->dirty || !i->ops || !i->ops->sync)
		return;
	i->dirty = true;
	inode_get(i);
	link_append(&dirty_inodes, &i->dirty_link);
}

void inode_touch(struct inode *i, bool modified, bool accessed)
{
	u64 now = real_ns();
	if (accessed) {
		if (i->atime > i->mtime && now - i->atime < 86400000000000UL)
			return;
		i->atime = now;
	}
	if (modified)
		i->mtime = i->ctime = now;
	inode_mark_dirty(i);
}

/* Writes one changed inode with its data. */
static int write_out(struct inode *i)
{
	i->dirty = false;
	link_remove(&i->dirty_link);
	int error = i->ops->sync(i);
	inode_put(i);
	return error;
}

int inodes_sync(struct superblock *sb)
{
	int error = 0;
	for (u32 rounds = 0; rounds < 100000; rounds++) {
		struct inode *i, *found = NULL;
		EACH(i, &dirty_inodes, dirty_link)
			if (!sb || i->sb == sb) {
				found = i;
				break;
			}
		if (!found)
			break;
		int e = write_out(found);
		if (e)
			error = e;
	}
	return error;
}

u64 inodes_unused_bytes(void) { return unused_count * (sizeof(struct inode) + 256); }

u64 inodes_shrink(u64 want)
{
	struct inode *i;
	u64 n = 0;
	EACH(i, &unused, lru) {
		if (n >= want)
			break;
		if (i->cached > 0 && unused_count < 4000)
			continue;
		if (!link_empty(&i->dirty_pages))
			continue;
		link_remove(&i->lru);
		unused_count--;
		inode_free(i);
		n++;
		break;
	}
	return n;
}
