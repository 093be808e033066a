/* ext2: changes of the tables reach the disk as transactions. Everything that changed since the last one is
 * written to a journal, then a commit block, then to its places; with a flush of the disk's cache between.
 * After a power cut the journal has the last transaction whole or not at all. The journal is ext3's, in
 * inode 8, so that e2fsck plays it back as well as we do. Each transaction begins at the journal's start. */
#include "ext2.h"
#include "without.h"

#define JOURNAL_INODE 8
#define MAGIC 0xc03b3998u
#define DESCRIPTOR 1
#define COMMIT 2
#define SUPERBLOCK 4
#define TAG_ESCAPED 1
#define TAG_SAME_UUID 2
#define TAG_LAST 8

struct header { u32 magic, type, sequence; };
struct tag { u32 block, flags; };
struct journal_super {
	struct header header;
	u32 block_size, length, first, sequence, start, error, compatible, incompatible, read_only;
	u8 uuid[16];
	u32 users;
};

static u32 be(u32 v) { return __builtin_bswap32(v); }
static u32 get32(const u8 *p) { u32 v; memcpy(&v, p, 4); return v; }
static void put32(u8 *p, u32 v) { memcpy(p, &v, 4); }

static int transfer(struct ext2 *fs, u32 block, void *data, bool write)
{
	u32 sectors = fs->block_size / 512;
	return fs->disk->transfer(fs->disk, (u64)block * sectors, data, sectors, write);
}

static int write_super(struct ext2 *fs, bool pending)
{
	struct journal_super *s = memset(fs->journal_buffer, 0, fs->block_size);
	*s = (struct journal_super){ { be(MAGIC), be(SUPERBLOCK), 0 }, be(fs->block_size), be(fs->journal_blocks), be(1),
		be(fs->sequence), be(pending ? 1 : 0), .users = be(1) };
	memcpy(s->uuid, fs->super + 104, 16);
	return transfer(fs, fs->journal[0], s, true);
}

static void start_block(struct ext2 *fs, u32 type)
{
	struct header *h = memset(fs->journal_buffer, 0, fs->block_size);
	*h = (struct header){ be(MAGIC), be(type), be(fs->sequence) };
}

/* One descriptor and the blocks that it names. */
static int write_group(struct ext2 *fs, struct buffer **b, u32 count, u32 at, bool last)
{
	struct tag *t;
	start_block(fs, DESCRIPTOR);
	t = (struct tag *)(fs->journal_buffer + sizeof(struct header));
	for (u32 i = 0; i < count; i++) {
		bool escaped = get32(b[i]->data) == be(MAGIC);
		t[i].block = be(b[i]->block);
		t[i].flags = be(TAG_SAME_UUID | (escaped ? TAG_ESCAPED : 0) | (i == count - 1 ? TAG_LAST : 0));
	}
	int error = transfer(fs, fs->journal[at], fs->journal_buffer, true);
	for (u32 i = 0; i < count && !error; i++) {
		u8 *data = b[i]->data;
		if (get32(data) == be(MAGIC)) {
			data = memcpy(fs->journal_buffer, data, fs->block_size);
			put32(data, 0);
		}
		error = transfer(fs, fs->journal[at + 1 + i], data, true);
	}
	return error;
}

static int write_journal(struct ext2 *fs, struct buffer **b, u32 count)
{
	u32 per = (fs->block_size - sizeof(struct header)) / sizeof(struct tag) - 2, at = 1;
	int error = fs->disk->flush(fs->disk);
	if (!error)
		error = write_super(fs, true);
	/* The last transaction is void before any of it is overwritten: half of ours in it would be played back. */
	if (!error)
		error = fs->disk->flush(fs->disk);
	for (u32 i = 0; i < count && !error; i += per) {
		u32 n = MIN(per, count - i);
		error = write_group(fs, b + i, n, at, i + n == count);
		at += 1 + n;
	}
	if (!error)
		error = fs->disk->flush(fs->disk);
	if (!error) {
		start_block(fs, COMMIT);
		error = transfer(fs, fs->journal[at], fs->journal_buffer, true);
	}
	return error ? error : fs->disk->flush(fs->disk);
}

/* Counters and group descriptors become part of the transaction. */
static void put_tables(struct ext2 *fs)
{
	if (!fs->tables_dirty)
		return;
	fs->tables_dirty = false;
	put32(fs->super + 12, fs->free_blocks);
	put32(fs->super + 16, fs->free_inodes);
	put32(fs->super + 48, real_ns() / 1000000000);
	u32 block = fs->block_size == 1024 ? 1 : 0, offset = fs->block_size == 1024 ? 0 : 1024;
	struct buffer *b = buffer_get(fs->dev, block, fs->block_size, true);
	if (b) {
		memcpy(b->data + offset, fs->super, 1024);
		buffer_mark_dirty(b);
		buffer_put(b);
	}
	for (u32 i = 0; i < fs->group_blocks; i++) {
		u8 *from = (u8 *)fs->group + i * fs->block_size;
		b = buffer_get(fs->dev, fs->group_block + i, fs->block_size, true);
		if (b && memcmp(b->data, from, fs->block_size)) {
			memcpy(b->data, from, fs->block_size);
			buffer_mark_dirty(b);
		}
		if (b)
			buffer_put(b);
	}
}

/* Inodes without a name that are still open: a chain from the super block through their times of deletion. */
static void put_orphans(struct ext2 *fs)
{
	struct ext2_inode *o;
	u32 next = 0;
	if (!fs->orphans_changed)
		return;
	fs->orphans_changed = false;
	EACH(o, &fs->orphans, orphan) {
		o->dtime = next;
		ext2_inode_write(o->inode);
		next = o->inode->ino;
	}
	put32(fs->super + 232, next);
	fs->tables_dirty = true;
}

static int commit(struct ext2 *fs)
{
	int error = inodes_sync(fs->sb);
	put_orphans(fs);
	put_tables(fs);
	u32 count = buffers_dirty(fs->dev), n = 0;
	if (!count) {
		int e = fs->disk->flush(fs->disk);
		return error ? error : e;
	}
	struct buffer *b, **all = kmalloc(count * sizeof *all);
	if (!all)
		return -ENOMEM;
	EACH(b, &dirty_buffers, dirty_link)
		if (b->dev == fs->dev && n < count) {
			b->refs++;
			link_remove(&b->lru);
			all[n++] = b;
		}
	u32 per = (fs->block_size - sizeof(struct header)) / sizeof(struct tag) - 2;
	int e = 0;
	if (fs->journal && n + n / per + 4 < fs->journal_blocks)
		e = write_journal(fs, all, n);
	for (u32 i = 0; i < n; i++) {
		if (!e)
			e = buffer_write(all[i]);
		buffer_put(all[i]);
	}
	kfree(all);
	if (!fs->journal && !e)
		e = fs->disk->flush(fs->disk);
	fs->sequence++;
	if (fs->held_any)
		memset(fs->held, 0, (fs->blocks + 7) / 8);
	fs->held_any = false;
	return error ? error : e;
}

int ext2_sync(struct superblock *sb)
{
	struct ext2 *fs = sb->data;
	int error = 0;
	mutex_lock(&fs->lock);
	if (fs->lock.depth == 1 && !sb->read_only)
		error = commit(fs);
	mutex_unlock(&fs->lock);
	return error;
}

/* Every change of the tables happens between these two, so that no transaction has half of it. */
void ext2_begin(struct ext2 *fs)
{
	mutex_lock(&fs->lock);
	current()->in_file_system++;
	if (fs->lock.depth == 1 && buffers_dirty(fs->dev) > MAX(fs->journal_blocks / 3, 64u))
		commit(fs);
}

void ext2_end(struct ext2 *fs)
{
	current()->in_file_system--;
	mutex_unlock(&fs->lock);
}

static int read_tags(struct ext2 *fs, u8 *descriptor, u8 *data, u32 *at)
{
	struct tag *t = (struct tag *)(descriptor + sizeof(struct header)), *end = (struct tag *)(descriptor + fs->block_size);
	while (t < end) {
		u32 flags = be(t->flags) & 0xffff, block = be(t->block);
		int error = *at < fs->journal_blocks ? transfer(fs, fs->journal[*at], data, false) : -EIO;
		if (error)
			return error;
		(*at)++;
		if (flags & TAG_ESCAPED)
			put32(data, be(MAGIC));
		if (fs->replaying && block < fs->blocks)
			error = transfer(fs, block, data, true);
		if (error || flags & TAG_LAST)
			return error;
		t = (struct tag *)((u8 *)(t + 1) + (flags & TAG_SAME_UUID ? 0 : 16));
	}
	return 0;
}

/* Goes over the journal; a whole transaction is there if its commit block is reached. */
static bool scan(struct ext2 *fs, u32 start, u8 *data)
{
	for (u32 at = start; at < fs->journal_blocks;) {
		struct header *h = (void *)fs->journal_buffer;
		if (transfer(fs, fs->journal[at], h, false) || h->magic != be(MAGIC) || be(h->sequence) != fs->sequence)
			return false;
		at++;
		if (be(h->type) == COMMIT)
			return true;
		if (be(h->type) != DESCRIPTOR || read_tags(fs, fs->journal_buffer, data, &at))
			return false;
	}
	return false;
}

static int replay(struct ext2 *fs)
{
	struct journal_super *s = (void *)fs->journal_buffer;
	int error = transfer(fs, fs->journal[0], s, false);
	if (error || s->header.magic != be(MAGIC))
		return error;
	fs->sequence = be(s->sequence);
	u32 start = be(s->start), played = 0;
	u8 *data = kmalloc(fs->block_size);
	while (data && start && scan(fs, start, data)) {
		fs->replaying = true;
		scan(fs, start, data);
		fs->replaying = false;
		fs->sequence++;
		played++;
		fs->replayed = true;
		start = 0;	/* ours hold one transaction */
	}
	kfree(data);
	if (played)
		printk("%s: journal played back\n", fs->disk->name);
	fs->sequence++;
	error = fs->disk->flush(fs->disk);
	return error ? error : write_super(fs, false);
}

static int map_journal(struct ext2 *fs, struct inode *i, u32 blocks, bool create)
{
	fs->journal = kmalloc(blocks * sizeof *fs->journal);
	fs->journal_buffer = kmalloc(fs->block_size);
	int error = fs->journal && fs->journal_buffer ? 0 : -ENOMEM;
	for (u32 n = 0; n < blocks && !error; n++) {
		error = ext2_map(i, n, create, &fs->journal[n]);
		if (!error && !fs->journal[n])
			error = -EIO;
	}
	fs->journal_blocks = blocks;
	return error;
}

static void note_in_super(struct ext2 *fs, struct inode *i)
{
	u8 *s = fs->super;
	put32(s + 92, get32(s + 92) | 4);
	put32(s + 224, JOURNAL_INODE);
	s[253] = 1;		/* a copy of where it lies */
	memcpy(s + 268, ext2_inode(i)->block, 60);
	put32(s + 268 + 60, i->size >> 32);
	put32(s + 268 + 64, i->size);
}

static int create(struct ext2 *fs)
{
	u32 blocks = 1024;	/* the least that e2fsck takes */
	if (fs->free_blocks < 3 * blocks || get32(fs->super + 76) == 0)
		return -ENOSPC;
	struct ext2_inode *own = kmalloc(sizeof *own);
	struct inode *i = own ? inode_new(fs->sb, JOURNAL_INODE, S_IFREG | 0600) : NULL;
	if (!i)
		return -ENOMEM;
	i->data = own;
	own->inode = i;
	link_init(&own->orphan);
	ext2_set_ops(i);
	int error = map_journal(fs, i, blocks, true);
	i->size = (u64)blocks * fs->block_size;
	fs->sequence = 1;
	if (!error)
		error = write_super(fs, false);
	if (!error)
		error = ext2_inode_write(i);
	if (!error) {
		u32 *journal = fs->journal;
		fs->journal = NULL;	/* the first time there is none to write to */
		error = commit(fs);
		fs->journal = journal;
		note_in_super(fs, i);
	}
	return error;
}

/* Finds or makes the journal and plays it back; without room for one the tables are written in place. */
void ext2_journal_open(struct ext2 *fs)
{
	int error;
#ifdef WITHOUT_POWER_CUTS
	return;
#endif
	if (get32(fs->super + 92) & 4 && get32(fs->super + 224)) {
		struct inode *i = ext2_inode_get(fs, get32(fs->super + 224));
		error = IS_ERR(i) ? PTR_ERR(i) : map_journal(fs, i, i->size / fs->block_size, false);
		if (!error)
			error = replay(fs);
	} else
		error = create(fs);
	if (error) {
		kfree(fs->journal);
		fs->journal = NULL;
		fs->journal_blocks = 0;
		return;
	}
}

/* From now on, or no more, there may be something in the journal that is not in its place. */
void ext2_journal_mark(struct ext2 *fs, bool in_use)
{
	u32 features = get32(fs->super + 96);
	if (fs->journal || !in_use)
		put32(fs->super + 96, in_use ? features | 4 : features & ~4u);
	fs->tables_dirty = true;
}

/* Everything is in its place: the journal is empty, and no more used. */
int ext2_journal_close(struct ext2 *fs)
{
	int error = fs->disk->flush(fs->disk);
	if (!error && fs->journal)
		error = write_super(fs, false);
	if (!error)
		error = fs->disk->flush(fs->disk);
	kfree(fs->journal);
	fs->journal = NULL;
	return error;
}
