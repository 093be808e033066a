/* Trees of nodes, never overwritten in place: a commit writes what has changed somewhere else. */
#include "holm.h"
#include <linux/crc32.h>
#include <linux/sched/mm.h>
#include <linux/slab.h>

u32 sum_of(const void *data, unsigned size)
{
	return ~__crc32c_le(~0u, data, size);
}

static unsigned long key_of(int level, u64 index)
{
	return (unsigned long)level << 56 | index;
}

void tree_init(struct tree *t, bool file)
{
	xa_init(&t->nodes);
	memset(&t->root, 0, sizeof t->root);
	t->height = 0;
	t->file = file;
}

static void node_free(struct node *n)
{
	kfree(n->data);
	kfree(n);
}

/* Out of memory, not off the disk. */
void tree_forget(struct holm *h, struct tree *t)
{
	unsigned long key;
	struct node *n;

	xa_for_each(&t->nodes, key, n) {
		if (n->dirty && h)
			h->dirty_nodes--;
		node_free(n);
	}
	xa_destroy(&t->nodes);
}

static struct node *node_new(struct tree *t, int level, u64 index)
{
	struct node *n = kzalloc(sizeof *n, GFP_NOFS);

	if (n)
		n->data = kzalloc(BLOCK, GFP_NOFS);
	if (!n || !n->data || xa_err(xa_store(&t->nodes, key_of(level, index), n, GFP_NOFS))) {
		if (n)
			node_free(n);
		return ERR_PTR(-ENOMEM);
	}
	n->level = level;
	n->index = index;
	return n;
}

static struct ptr *slot_in(struct tree *t, struct node *n)
{
	struct node *parent;

	if (n->level == t->height)
		return &t->root;
	parent = xa_load(&t->nodes, key_of(n->level + 1, n->index >> FAN_BITS));
	return parent ? (struct ptr *)parent->data + (n->index & (FAN - 1)) : NULL;
}

void node_dirty(struct holm *h, struct tree *t, struct node *n)
{
	while (n && !n->dirty) {
		n->dirty = true;
		h->dirty_nodes++;
		h->changed = true;
		xa_set_mark(&t->nodes, key_of(n->level, n->index), XA_MARK_0);
		if (n->level == t->height)
			break;
		n = xa_load(&t->nodes, key_of(n->level + 1, n->index >> FAN_BITS));
	}
}

/* One more level above the root. */
static int grow(struct holm *h, struct tree *t)
{
	struct node *n;

	if (t->height >= MOST_HEIGHT)
		return -EFBIG;
	/* The root of now has to be in memory: what is dirty has its parents there. */
	n = node_get(h, t, t->height, 0, false);
	if (IS_ERR(n))
		return PTR_ERR(n);
	n = node_new(t, t->height + 1, 0);
	if (IS_ERR(n))
		return PTR_ERR(n);
	*(struct ptr *)n->data = t->root;
	memset(&t->root, 0, sizeof t->root);
	t->height++;
	node_dirty(h, t, n);
	return 0;
}

static int node_read(struct holm *h, struct node *n, const struct ptr *p)
{
	u32 crc = le32_to_cpu(p->crc);

	n->a = le64_to_cpu(p->a);
	n->b = le64_to_cpu(p->b);
	if (n->a < FIRST_FREE || n->a >= h->total || n->b < FIRST_FREE || n->b >= h->total)
		return -EIO;
	if (!block_read(h->sb, n->a, n->data) && sum_of(n->data, BLOCK) == crc)
		return 0;
#ifdef WITHOUT_SPOILT_METADATA
	return -EIO;
#endif
	if (!block_read(h->sb, n->b, n->data) && sum_of(n->data, BLOCK) == crc) {
		pr_notice_ratelimited("holm: block %llu is damaged, its second copy serves\n", n->a);
		return 0;
	}
	pr_notice_ratelimited("holm: both copies at %llu and %llu are damaged\n", n->a, n->b);
	return -EIO;
}

/* The node, NULL where there is none and none is wanted, or an error. */
struct node *node_get(struct holm *h, struct tree *t, int level, u64 index, bool create)
{
	struct node *n, *parent;
	const struct ptr *p;
	int err;

	while (level < t->height ? index >> (FAN_BITS * (t->height - level)) : level > t->height || index) {
		if (!create)
			return NULL;
		err = grow(h, t);
		if (err)
			return ERR_PTR(err);
	}
	n = xa_load(&t->nodes, key_of(level, index));
	if (n)
		return n;
	p = &t->root;
	if (level < t->height) {
		parent = node_get(h, t, level + 1, index >> FAN_BITS, create);
		if (IS_ERR_OR_NULL(parent))
			return parent;
		p = (struct ptr *)parent->data + (index & (FAN - 1));
	}
	if (!p->a && !create)
		return NULL;
	n = node_new(t, level, index);
	if (IS_ERR(n))
		return n;
	if (!p->a) {
		node_dirty(h, t, n);
		return n;
	}
	err = node_read(h, n, p);
	if (err) {
		xa_erase(&t->nodes, key_of(level, index));
		node_free(n);
		return ERR_PTR(err);
	}
	return n;
}

/* Off the disk, too. Its parent no longer knows it. */
void node_drop(struct holm *h, struct tree *t, struct node *n)
{
	struct ptr *p = slot_in(t, n);
	struct node *parent;

	give(h, n->a);
	give(h, n->b);
	if (p)
		memset(p, 0, sizeof *p);
	if (n->level < t->height) {
		parent = xa_load(&t->nodes, key_of(n->level + 1, n->index >> FAN_BITS));
		if (parent)
			node_dirty(h, t, parent);
	}
	h->changed = true;
	if (n->dirty)
		h->dirty_nodes--;
	xa_erase(&t->nodes, key_of(n->level, n->index));
	node_free(n);
}

static int cut(struct holm *h, struct tree *t, int level, u64 index, u64 first, u64 *freed)
{
	struct node *n;
	int shift = FAN_BITS * level, err = 0, one;
	u64 c, child;

	if (((index + 1) << shift) <= first)
		return 0;
	n = node_get(h, t, level, index, false);
	if (IS_ERR_OR_NULL(n))
		return PTR_ERR_OR_ZERO(n);
	if (level) {
		for (c = 0; c < FAN; c++) {
			child = (index << FAN_BITS) + c;
			if (!((struct ptr *)n->data)[c].a && !xa_load(&t->nodes, key_of(level - 1, child)))
				continue;
			one = cut(h, t, level - 1, child, first, freed);
			err = err ?: one;
		}
	} else if (t->file) {
		struct data_ptr *d = (struct data_ptr *)n->data;

		for (c = 0; c < LEAF; c++)
			if (d[c].at) {
				give(h, le64_to_cpu(d[c].at));
				(*freed)++;
			}
	}
	if ((index << shift) >= first)
		node_drop(h, t, n);
	return err;
}

/* Without the leaves from `first` on. */
int tree_cut(struct holm *h, struct tree *t, u64 first, u64 *freed)
{
	int err = cut(h, t, t->height, 0, first, freed);

	if (!first && !err)
		t->height = 0;
	return err;
}

/* Every dirty node goes to two new places, children before their parents. */
int tree_flush(struct holm *h, struct tree *t)
{
	unsigned long key;
	struct node *n;
	struct ptr *p;
	int err = 0;

	xa_for_each_marked(&t->nodes, key, n, XA_MARK_0) {
		u64 a = take(h), b = take(h);

		if (!a || !b)
			return -ENOSPC;
		give(h, n->a);
		give(h, n->b);
		n->a = a;
		n->b = b;
		p = slot_in(t, n);
		p->a = cpu_to_le64(a);
		p->b = cpu_to_le64(b);
		p->crc = cpu_to_le32(sum_of(n->data, BLOCK));
		err = block_write(h, a, n->data) ?: block_write(h, b, n->data);
		if (err)
			return err;
		n->dirty = false;
		h->dirty_nodes--;
		xa_clear_mark(&t->nodes, key, XA_MARK_0);
	}
	return 0;
}

static int claim_below(struct holm *h, struct tree *t, int level, u64 index,
		       int (*leaf)(struct holm *, struct node *, void *), void *with)
{
	struct node *n = node_get(h, t, level, index, false);
	int err = 0;
	u64 c;

	if (IS_ERR_OR_NULL(n))
		return PTR_ERR_OR_ZERO(n);
	err = claim(h, n->a) ?: claim(h, n->b);
	for (c = 0; level && c < FAN && !err; c++)
		if (((struct ptr *)n->data)[c].a)
			err = claim_below(h, t, level - 1, (index << FAN_BITS) + c, leaf, with);
	if (!level && !err && leaf)
		err = leaf(h, n, with);
	cond_resched();
	return err;
}

/* All blocks of a tree are used, by nobody else. */
int tree_claim(struct holm *h, struct tree *t, int (*leaf)(struct holm *, struct node *, void *), void *with)
{
	if (t->height > MOST_HEIGHT)
		return -EUCLEAN;
	return claim_below(h, t, t->height, 0, leaf, with);
}
