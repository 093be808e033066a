/* Which blocks are used. The disk does not say: the trees do, and are walked when it is mounted. */
#include "holm.h"
#include <linux/bitmap.h>
#include <linux/mm.h>

/* A free block; 0 where there is none, which reservations prevent. */
u64 take(struct holm *h)
{
	u64 at = find_next_zero_bit(h->used, h->total, h->cursor);

	if (at >= h->total)
		at = find_next_zero_bit(h->used, h->total, 0);
	if (at >= h->total)
		return 0;
	set_bit(at, h->used);
	h->free--;
	h->cursor = at + 1;
	return at;
}

/* What the last commit points to is not overwritten before the next one is on the disk. */
void give(struct holm *h, u64 at)
{
	if (!at || at >= h->total || test_and_set_bit(at, h->pending))
		return;
	h->pending_count++;
}

/* For the walk: this block belongs to somebody. */
int claim(struct holm *h, u64 at)
{
	if (at < FIRST_FREE || at >= h->total || test_and_set_bit(at, h->used))
		return -EUCLEAN;
	h->free--;
	return 0;
}

s64 available(struct holm *h)
{
	return (s64)h->free - atomic64_read(&h->reserved) - 2 * (s64)h->dirty_nodes - (s64)h->spare;
}

/* Room for so many new nodes, and that the next commit finds room. Called with the lock held. */
int room(struct holm *h, unsigned nodes)
{
	int err = 0;

	if (h->broken)
		return -EIO;
	if (4 * h->dirty_nodes > h->spare || (available(h) < 2 * (s64)nodes && h->pending_count))
		err = commit_locked(h);
	if (!err && nodes && available(h) < 2 * (s64)nodes)
		err = -ENOSPC;
	return err;
}

int resize(struct holm *h, u64 blocks)
{
	size_t bytes = BITS_TO_LONGS(blocks) * sizeof(long);
	unsigned long *used = kvzalloc(bytes, GFP_KERNEL), *pending = kvzalloc(bytes, GFP_KERNEL);

	if (!used || !pending) {
		kvfree(used);
		kvfree(pending);
		return -ENOMEM;
	}
	if (h->used) {
		memcpy(used, h->used, BITS_TO_LONGS(h->total) * sizeof(long));
		memcpy(pending, h->pending, BITS_TO_LONGS(h->total) * sizeof(long));
	}
	kvfree(h->used);
	kvfree(h->pending);
	h->used = used;
	h->pending = pending;
	h->free += blocks - h->total;
	h->total = blocks;
	h->spare = clamp_t(u64, blocks / 32, 96, 2048);
	return 0;
}
