/* What is on the disk changes from one whole state to the next by one write of a superblock. */
#include "holm.h"
#include <linux/bio.h>
#include <linux/bitmap.h>
#include <linux/blkdev.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

static int block_io(struct super_block *sb, u64 at, struct page *page, unsigned offset, blk_opf_t how)
{
	struct bio_vec vec;
	struct bio bio;
	int err;

	bio_init(&bio, sb->s_bdev, &vec, 1, how);
	bio.bi_iter.bi_sector = at * (BLOCK / 512);
	__bio_add_page(&bio, page, BLOCK, offset);
	err = submit_bio_wait(&bio);
	bio_uninit(&bio);
	return err;
}

int block_read(struct super_block *sb, u64 at, void *data)
{
	return block_io(sb, at, virt_to_page(data), offset_in_page(data), REQ_OP_READ | REQ_META);
}

void landed(struct holm *h)
{
	if (atomic_dec_and_test(&h->flight))
		wake_up_all(&h->landed);
}

static void written(struct bio *bio)
{
	struct holm *h = bio->bi_private;

	if (bio->bi_status)
		atomic_inc(&h->write_errors);
	bio_put(bio);
	landed(h);
}

/* It begins; commit waits for its end. */
int block_write(struct holm *h, u64 at, void *data)
{
	struct bio *bio = bio_alloc(h->sb->s_bdev, 1, REQ_OP_WRITE | REQ_META, GFP_NOFS);

	bio->bi_iter.bi_sector = at * (BLOCK / 512);
	__bio_add_page(bio, virt_to_page(data), BLOCK, offset_in_page(data));
	bio->bi_private = h;
	bio->bi_end_io = written;
	atomic_inc(&h->flight);
	submit_bio(bio);
	return 0;
}

/* Also called where nothing may be slept for. */
void dirty(struct inode *inode)
{
	struct holm *h = holm_of(inode->i_sb);
	struct holm_inode *i = inode_of(inode);

	spin_lock(&h->list_lock);
	if (list_empty(&i->dirty))
		list_add_tail(&i->dirty, &h->dirty);
	h->changed = true;
	spin_unlock(&h->list_lock);
}

static struct holm_inode *next_dirty(struct holm *h)
{
	struct holm_inode *i;

	spin_lock(&h->list_lock);
	i = list_first_entry_or_null(&h->dirty, struct holm_inode, dirty);
	if (i)
		list_del_init(&i->dirty);
	spin_unlock(&h->list_lock);
	return i;
}

int super_write(struct holm *h)
{
	struct super_on_disk *s = kzalloc(BLOCK, GFP_NOFS);
	int err, slot = ++h->generation & 1;

	if (!s)
		return -ENOMEM;
	memcpy(s->magic, MAGIC, 8);
	s->version = cpu_to_le32(2);
	s->height = cpu_to_le32(h->table.height);
	s->blocks = cpu_to_le64(h->total);
	memcpy(s->uuid, h->uuid, sizeof s->uuid);
	memcpy(s->label, h->label, sizeof s->label);
	s->generation = cpu_to_le64(h->generation);
	s->table = h->table.root;
	s->crc = cpu_to_le32(sum_of(s, 508));
	err = block_io(h->sb, slot, virt_to_page(s), offset_in_page(s), REQ_OP_WRITE | REQ_META | REQ_SYNC) ?:
	      block_io(h->sb, slot + 2, virt_to_page(s), offset_in_page(s), REQ_OP_WRITE | REQ_META | REQ_SYNC);
	kfree(s);
	return err;
}

static int commit_steps(struct holm *h)
{
	struct blk_plug plug;
	struct holm_inode *i;
	int err = 0;

	blk_start_plug(&plug);
	while (!err && (i = next_dirty(h)))
		err = tree_flush(h, &i->tree) ?: record_write(h, &i->vfs);
	if (!err)
		err = tree_flush(h, &h->table);
	blk_finish_plug(&plug);
	wait_event(h->landed, !atomic_read(&h->flight));
	if (!err && atomic_read(&h->write_errors))
		err = -EIO;
	if (!err)
		err = blkdev_issue_flush(h->sb->s_bdev);
	if (!err)
		err = super_write(h);
	if (!err)
		err = blkdev_issue_flush(h->sb->s_bdev);
	return err;
}

int commit_locked(struct holm *h)
{
	unsigned nofs;
	int err;

	if (h->broken)
		return -EIO;
	if (!h->changed || sb_rdonly(h->sb))
		return 0;
	h->changed = false;
	nofs = memalloc_nofs_save();
	err = commit_steps(h);
	memalloc_nofs_restore(nofs);
	if (err) {
		pr_err("holm: a commit failed (%d), nothing more is written\n", err);
		h->broken = true;
		return err;
	}
	if (h->pending_count) {
		bitmap_andnot(h->used, h->used, h->pending, h->total);
		bitmap_zero(h->pending, h->total);
		h->free += h->pending_count;
		h->pending_count = 0;
	}
	return 0;
}

int commit(struct holm *h)
{
	int err;

	mutex_lock(&h->lock);
	err = commit_locked(h);
	mutex_unlock(&h->lock);
	return err;
}

void holm_work(struct work_struct *work)
{
	struct holm *h = container_of(to_delayed_work(work), struct holm, work);

	commit(h);
	queue_delayed_work(system_unbound_wq, &h->work, 5 * HZ);
}

static bool super_good(const struct super_on_disk *s)
{
	return !memcmp(s->magic, MAGIC, 8) && le32_to_cpu(s->version) == 2 &&
	       le32_to_cpu(s->crc) == sum_of(s, 508) && le32_to_cpu(s->height) <= MOST_HEIGHT &&
	       le64_to_cpu(s->blocks) >= 1024 && le64_to_cpu(s->blocks) < 1ull << 36;
}

/* The youngest of the four. 1: the old format. */
int super_read(struct super_block *sb, struct super_on_disk *best)
{
	u8 *data = kmalloc(BLOCK, GFP_KERNEL);
	bool found = false;
	int at;

	if (!data)
		return -ENOMEM;
	for (at = 0; at < 4; at++) {
		struct super_on_disk *s = (void *)data;

		if (block_read(sb, at, data))
			continue;
		if (!at && !memcmp(data, MAGIC_OLD, 8)) {
			kfree(data);
			return 1;
		}
		if (super_good(s) && (!found || le64_to_cpu(s->generation) > le64_to_cpu(best->generation))) {
			*best = *s;
			found = true;
		}
	}
	kfree(data);
	return found ? 0 : -EINVAL;
}
