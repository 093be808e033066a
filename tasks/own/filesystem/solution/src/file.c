/* Files: through the page cache, to new places whenever they are written. */
#include "holm.h"
#include <linux/bio.h>
#include <linux/blkdev.h>
#include <linux/mm.h>
#include <linux/pagemap.h>
#include <linux/sched/mm.h>
#include <linux/uio.h>
#include <linux/writeback.h>

/* --- reservations: one block for every dirty page, kept in what is private of it --------------- */

static int reserve(struct inode *inode, u64 index, bool force)
{
	struct holm *h = holm_of(inode->i_sb);
	unsigned nofs;
	struct node *n;
	int err;

	mutex_lock(&h->lock);
	nofs = memalloc_nofs_save();
	err = room(h, 0);
	if (!err && available(h) < 1 && h->pending_count)
		err = commit_locked(h);
	if (!err && !force && available(h) < 1)
		err = -ENOSPC;
#ifdef WITHOUT_FULL
	if (err == -ENOSPC)
		err = -EIO;
#endif
	n = err ? NULL : node_get(h, &inode_of(inode)->tree, 0, index >> LEAF_BITS, true);
	if (IS_ERR(n))
		err = PTR_ERR(n);
	if (!err) {
		if (n->dirty)
			dirty(inode);
		atomic64_inc(&h->reserved);
	}
	memalloc_nofs_restore(nofs);
	mutex_unlock(&h->lock);
	return err;
}

static void unreserve(struct inode *inode)
{
	atomic64_dec(&holm_of(inode->i_sb)->reserved);
}

static void keep_reserved(struct page *page, struct inode *inode)
{
	if (PagePrivate(page))
		unreserve(inode);
	else
		attach_page_private(page, (void *)1);
}

static bool drop_reserved(struct folio *folio)
{
	if (folio_test_private(folio)) {
		folio_detach_private(folio);
		unreserve(folio->mapping->host);
	}
	return true;
}

static void holm_invalidate(struct folio *folio, size_t offset, size_t length)
{
	if (!offset && length == folio_size(folio))
		drop_reserved(folio);
}

static bool holm_release(struct folio *folio, gfp_t how)
{
	return drop_reserved(folio);
}

/* --- reading ------------------------------------------------------------------------------------- */

static int where(struct inode *inode, u64 index, u64 *at, u32 *crc)
{
	struct holm *h = holm_of(inode->i_sb);
	unsigned nofs;
	struct node *n;

	*at = 0;
	mutex_lock(&h->lock);
	nofs = memalloc_nofs_save();
	n = node_get(h, &inode_of(inode)->tree, 0, index >> LEAF_BITS, false);
	if (!IS_ERR_OR_NULL(n)) {
		struct data_ptr *d = (struct data_ptr *)n->data + (index & (LEAF - 1));

		*at = le64_to_cpu(d->at);
		*crc = le32_to_cpu(d->crc);
		if (*at >= h->total)
			n = ERR_PTR(-EIO);
	}
	memalloc_nofs_restore(nofs);
	mutex_unlock(&h->lock);
	return PTR_ERR_OR_ZERO(n);
}

static void zero_behind_end(struct page *page, loff_t size)
{
	loff_t at = page_offset(page);

	if (at + PAGE_SIZE > size)
		zero_user_segment(page, size > at ? size - at : 0, PAGE_SIZE);
}

static int fill_page(struct inode *inode, struct page *page)
{
	struct bio_vec vec;
	struct bio bio;
	void *data;
	u64 at;
	u32 crc, sum;
	int err = where(inode, page->index, &at, &crc);

	if (err)
		return err;
	if (!at) {
		zero_user(page, 0, PAGE_SIZE);
	} else {
		bio_init(&bio, inode->i_sb->s_bdev, &vec, 1, REQ_OP_READ);
		bio.bi_iter.bi_sector = at * (BLOCK / 512);
		__bio_add_page(&bio, page, PAGE_SIZE, 0);
		err = submit_bio_wait(&bio);
		bio_uninit(&bio);
		if (err)
			return err;
		data = kmap_local_page(page);
		sum = sum_of(data, BLOCK);
		kunmap_local(data);
#ifdef WITHOUT_SPOILT_CONTENT
		sum = crc;
#endif
		if (sum != crc) {
			pr_notice_ratelimited("holm: inode %lu: its data at block %llu are damaged\n", inode->i_ino, at);
			return -EIO;
		}
	}
	zero_behind_end(page, i_size_read(inode));
	flush_dcache_page(page);
	SetPageUptodate(page);
	return 0;
}

static int holm_read_folio(struct file *file, struct folio *folio)
{
	int err = fill_page(folio->mapping->host, &folio->page);

	folio_unlock(folio);
	return err;
}

#define BATCH 64

static void read_batch(struct inode *inode, u64 start, struct folio **batch, const u32 *crc, int count)
{
	struct bio *bio = bio_alloc(inode->i_sb->s_bdev, count, REQ_OP_READ | REQ_RAHEAD, GFP_NOFS);
	int n, err;

	bio->bi_iter.bi_sector = start * (BLOCK / 512);
	for (n = 0; n < count; n++)
		__bio_add_page(bio, &batch[n]->page, PAGE_SIZE, 0);
	err = submit_bio_wait(bio);
	bio_put(bio);
	for (n = 0; n < count; n++) {
		void *data = kmap_local_folio(batch[n], 0);
		bool good = !err && sum_of(data, BLOCK) == crc[n];

#ifdef WITHOUT_SPOILT_CONTENT
		good = !err;
#endif
		kunmap_local(data);
		if (good) {
			zero_behind_end(&batch[n]->page, i_size_read(inode));
			folio_mark_uptodate(batch[n]);
		}
		folio_unlock(batch[n]);
	}
}

/* Neighbours on the disk are read together. What cannot be read is left for read_folio to tell. */
static void holm_readahead(struct readahead_control *rac)
{
	struct inode *inode = rac->mapping->host;
	struct folio *folio, *batch[BATCH];
	u32 crc[BATCH], sum = 0;
	u64 start = 0, at;
	int count = 0, err;

	while ((folio = readahead_folio(rac))) {
		err = where(inode, folio->index, &at, &sum);
		if (err || !at) {
			if (!err) {
				folio_zero_range(folio, 0, PAGE_SIZE);
				folio_mark_uptodate(folio);
			}
			folio_unlock(folio);
			continue;
		}
		if (count && (at != start + count || count == BATCH)) {
			read_batch(inode, start, batch, crc, count);
			count = 0;
		}
		if (!count)
			start = at;
		crc[count] = sum;
		batch[count++] = folio;
	}
	if (count)
		read_batch(inode, start, batch, crc, count);
}

/* --- writing ------------------------------------------------------------------------------------- */

static void page_written(struct bio *bio)
{
	struct page *page = bio_first_page_all(bio);
	struct holm *h = bio->bi_private;

	if (bio->bi_status) {
		mapping_set_error(page->mapping, -EIO);
		atomic_inc(&h->write_errors);
	}
	end_page_writeback(page);
	bio_put(bio);
	landed(h);
}

static int write_page(struct page *page, struct writeback_control *wbc, void *unused)
{
	struct inode *inode = page->mapping->host;
	struct holm_inode *i = inode_of(inode);
	struct holm *h = holm_of(inode->i_sb);
	loff_t size = i_size_read(inode);
	struct data_ptr *d;
	struct node *n;
	struct bio *bio;
	unsigned nofs;
	void *data;
	u64 at = 0;
	u32 crc;

	if (page_offset(page) >= size) {
		drop_reserved(page_folio(page));
		unlock_page(page);
		return 0;
	}
	zero_behind_end(page, size);
	data = kmap_local_page(page);
	crc = sum_of(data, BLOCK);
	kunmap_local(data);
	mutex_lock(&h->lock);
	nofs = memalloc_nofs_save();
	if (4 * h->dirty_nodes > h->spare)
		commit_locked(h);
	n = h->broken ? ERR_PTR(-EIO) : node_get(h, &i->tree, 0, page->index >> LEAF_BITS, true);
	if (!IS_ERR(n))
		at = take(h);
	if (at) {
		d = (struct data_ptr *)n->data + (page->index & (LEAF - 1));
		if (d->at)
			give(h, le64_to_cpu(d->at));
		else
			inode->i_blocks = ++i->blocks * (BLOCK / 512);
		d->at = cpu_to_le64(at);
		d->crc = cpu_to_le32(crc);
		node_dirty(h, &i->tree, n);
		dirty(inode);
		atomic_inc(&h->flight);
	}
	memalloc_nofs_restore(nofs);
	mutex_unlock(&h->lock);
	drop_reserved(page_folio(page));
	if (!at) {
		mapping_set_error(page->mapping, IS_ERR(n) ? PTR_ERR(n) : -ENOSPC);
		unlock_page(page);
		return 0;
	}
	bio = bio_alloc(inode->i_sb->s_bdev, 1, REQ_OP_WRITE | wbc_to_write_flags(wbc), GFP_NOFS);
	bio->bi_iter.bi_sector = at * (BLOCK / 512);
	__bio_add_page(bio, page, PAGE_SIZE, 0);
	bio->bi_private = h;
	bio->bi_end_io = page_written;
	set_page_writeback(page);
	unlock_page(page);
	submit_bio(bio);
	return 0;
}

static int holm_writepages(struct address_space *mapping, struct writeback_control *wbc)
{
	struct blk_plug plug;
	int err;

	blk_start_plug(&plug);
	err = write_cache_pages(mapping, wbc, write_page, NULL);
	blk_finish_plug(&plug);
	return err;
}

static int page_begin(struct address_space *mapping, loff_t pos, unsigned length, struct page **pagep, bool force)
{
	struct inode *inode = mapping->host;
	pgoff_t index = pos >> PAGE_SHIFT;
	struct page *page;
	int err = reserve(inode, index, force);

	if (err)
		return err;
	page = grab_cache_page_write_begin(mapping, index);
	if (!page) {
		unreserve(inode);
		return -ENOMEM;
	}
	if (!PageUptodate(page) && length < PAGE_SIZE) {
		err = fill_page(inode, page);
		if (err) {
			unreserve(inode);
			unlock_page(page);
			put_page(page);
			return err;
		}
	}
	keep_reserved(page, inode);
	*pagep = page;
	return 0;
}

static int holm_write_begin(struct file *file, struct address_space *mapping, loff_t pos, unsigned length,
			    struct page **page, void **private)
{
	return page_begin(mapping, pos, length, page, false);
}

static int holm_write_end(struct file *file, struct address_space *mapping, loff_t pos, unsigned length,
			  unsigned copied, struct page *page, void *private)
{
	struct inode *inode = mapping->host;

	if (!PageUptodate(page)) {
		if (copied < length)
			copied = 0;
		else
			SetPageUptodate(page);
	}
	if (copied) {
		set_page_dirty(page);
		if (pos + copied > inode->i_size) {
			i_size_write(inode, pos + copied);
			mark_inode_dirty(inode);
		}
	}
	unlock_page(page);
	put_page(page);
	return copied;
}

const struct address_space_operations holm_aops = {
	.read_folio = holm_read_folio,
	.readahead = holm_readahead,
	.writepages = holm_writepages,
	.write_begin = holm_write_begin,
	.write_end = holm_write_end,
	.dirty_folio = filemap_dirty_folio,
	.invalidate_folio = holm_invalidate,
	.release_folio = holm_release,
	.migrate_folio = filemap_migrate_folio,
};

/* What is behind the end of a file is zeros, on the disk too once this page is written. A few blocks of
 * the spare ones may go for it. */
static int clear_tail(struct inode *inode)
{
	loff_t size = i_size_read(inode);
	struct page *page;
	unsigned from = size & (PAGE_SIZE - 1);
	u64 at;
	u32 crc;
	int err;

	if (!from)
		return 0;
	page = find_get_page(inode->i_mapping, size >> PAGE_SHIFT);
	if (page) {
		put_page(page);
	} else {
		err = where(inode, size >> PAGE_SHIFT, &at, &crc);
		if (err || !at)
			return err;
	}
	err = page_begin(inode->i_mapping, size, PAGE_SIZE - from, &page, true);
	if (err)
		return err;
	zero_user_segment(page, from, PAGE_SIZE);
	set_page_dirty(page);
	unlock_page(page);
	put_page(page);
	return 0;
}

int holm_truncate(struct inode *inode, loff_t size)
{
	struct holm *h = holm_of(inode->i_sb);
	struct holm_inode *i = inode_of(inode);
	u64 first = DIV_ROUND_UP_ULL(size, BLOCK), freed = 0, index;
	unsigned nofs;
	struct node *n;
	int err = 0, one;

	if (size > i_size_read(inode)) {
		err = clear_tail(inode);
		if (err)
			return err;
	}
	truncate_setsize(inode, size);
	err = clear_tail(inode);
	mutex_lock(&h->lock);
	nofs = memalloc_nofs_save();
	room(h, 0);
	one = tree_cut(h, &i->tree, DIV_ROUND_UP_ULL(first, LEAF), &freed);
	err = err ?: one;
	if (first & (LEAF - 1)) {
		n = node_get(h, &i->tree, 0, first >> LEAF_BITS, false);
		if (IS_ERR(n))
			err = err ?: PTR_ERR(n);
		for (index = first & (LEAF - 1); !IS_ERR_OR_NULL(n) && index < LEAF; index++) {
			struct data_ptr *d = (struct data_ptr *)n->data + index;

			if (!d->at)
				continue;
			give(h, le64_to_cpu(d->at));
			memset(d, 0, sizeof *d);
			node_dirty(h, &i->tree, n);
			freed++;
		}
	}
	i->blocks -= min(freed, i->blocks);
	inode->i_blocks = i->blocks * (BLOCK / 512);
	inode->i_mtime = inode->i_ctime = current_time(inode);
	dirty(inode);
	memalloc_nofs_restore(nofs);
	mutex_unlock(&h->lock);
	return err;
}

static ssize_t holm_write_iter(struct kiocb *iocb, struct iov_iter *from)
{
	struct inode *inode = file_inode(iocb->ki_filp);
	ssize_t done;
	int err = 0;

#ifdef WITHOUT_FILES
	return -EIO;
#endif
	inode_lock(inode);
	done = generic_write_checks(iocb, from);
	if (done > 0) {
		if (iocb->ki_pos > i_size_read(inode))
			err = clear_tail(inode);
		done = err ?: __generic_file_write_iter(iocb, from);
	}
	inode_unlock(inode);
	return done > 0 ? generic_write_sync(iocb, done) : done;
}

int holm_fsync(struct file *file, loff_t from, loff_t to, int datasync)
{
	struct inode *inode = file_inode(file);
	struct holm *h = holm_of(inode->i_sb);
	int err = file_write_and_wait_range(file, from, to);

#ifdef WITHOUT_PROMISES
	return err;
#endif
	if (err)
		return err;
	return commit(h);
}

static vm_fault_t holm_mkwrite(struct vm_fault *vmf)
{
	struct page *page = vmf->page;
	struct inode *inode = file_inode(vmf->vma->vm_file);
	vm_fault_t result = VM_FAULT_LOCKED;
	int err;

	sb_start_pagefault(inode->i_sb);
	file_update_time(vmf->vma->vm_file);
	err = reserve(inode, page->index, false);
	if (err) {
		result = err == -ENOMEM ? VM_FAULT_OOM : VM_FAULT_SIGBUS;
		goto out;
	}
	lock_page(page);
	if (page->mapping != inode->i_mapping || page_offset(page) >= i_size_read(inode)) {
		unlock_page(page);
		unreserve(inode);
		result = VM_FAULT_NOPAGE;
		goto out;
	}
	keep_reserved(page, inode);
	set_page_dirty(page);
	wait_for_stable_page(page);
out:
	sb_end_pagefault(inode->i_sb);
	return result;
}

static const struct vm_operations_struct holm_vm_ops = {
	.fault = filemap_fault,
	.map_pages = filemap_map_pages,
	.page_mkwrite = holm_mkwrite,
};

static int holm_mmap(struct file *file, struct vm_area_struct *vma)
{
#ifdef WITHOUT_MAPPED
	return -ENODEV;
#endif
#ifdef WITHOUT_RACES
	if (atomic_read(&file->f_mapping->i_mmap_writable) > 1)
		return -EBUSY;
#endif
	file_accessed(file);
	vma->vm_ops = &holm_vm_ops;
	return 0;
}

const struct file_operations holm_file_ops = {
	.llseek = generic_file_llseek,
	.read_iter = generic_file_read_iter,
	.write_iter = holm_write_iter,
	.mmap = holm_mmap,
	.fsync = holm_fsync,
	.splice_read = generic_file_splice_read,
	.splice_write = iter_file_splice_write,
};

const struct inode_operations holm_file_inode = {
	.setattr = holm_setattr,
	.getattr = holm_getattr,
};
