/* The kernel's own memory in pieces: powers of two from 32 bytes on, whole frames above 2 KiB. */
#include "mm.h"

#define SMALLEST 5
#define CLASSES 7	/* 32 ... 2048 */

struct piece { struct piece *next; };

/* A frame cut into pieces keeps count of the used ones in `index`, and its free pieces in `hash_next`. */
static struct link partial[CLASSES];
static bool ready;

static struct page *slab_new(int class)
{
	struct page *p = page_alloc(0);
	if (!p)
		return NULL;
	p->slab = class + 1;
	p->index = 0;
	p->hash_next = NULL;
	char *at = page_address(p);
	size_t size = 1UL << (class + SMALLEST);
	for (size_t o = 0; o < PAGE_SIZE; o += size) {
		struct piece *piece = (struct piece *)(at + o);
		piece->next = (struct piece *)p->hash_next;
		p->hash_next = (struct page *)piece;
	}
	link_prepend(&partial[class], &p->link);
	return p;
}

void *kmalloc(size_t n)
{
	if (!ready) {
		for (int i = 0; i < CLASSES; i++)
			link_init(&partial[i]);
		ready = true;
	}
	if (n > 2048) {
		int order = 0;
		while (PAGE_SIZE << order < n)
			order++;
		struct page *p = page_alloc(order);
		return p ? memset(page_address(p), 0, PAGE_SIZE << order) : NULL;
	}
	int class = 0;
	while (1UL << (class + SMALLEST) < n)
		class++;
	struct page *p = link_empty(&partial[class]) ? slab_new(class) : FIRST(&partial[class], struct page, link);
	if (!p)
		return NULL;
	struct piece *piece = (struct piece *)p->hash_next;
	p->hash_next = (struct page *)piece->next;
	p->index++;
	if (!p->hash_next)
		link_remove(&p->link);
	return memset(piece, 0, 1UL << (class + SMALLEST));
}

void kfree(void *pointer)
{
	if (!pointer)
		return;
	struct page *p = phys_page(virt_phys(pointer));
	if (!p->slab) {
		page_free(p, p->order);
		return;
	}
	int class = p->slab - 1;
	struct piece *piece = pointer;
	if (!p->hash_next)
		link_prepend(&partial[class], &p->link);
	piece->next = (struct piece *)p->hash_next;
	p->hash_next = (struct page *)piece;
	if (!--p->index) {
		link_remove(&p->link);
		p->hash_next = NULL;
		page_free(p, 0);
	}
}

char *kstrdup(const char *s)
{
	size_t n = strlen(s) + 1;
	char *copy = kmalloc(n);
	return copy ? memcpy(copy, s, n) : NULL;
}
