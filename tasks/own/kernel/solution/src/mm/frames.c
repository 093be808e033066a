/* Frames of memory: buddies of 1 to 1024 frames, and what happens when there are none left. */
#include "task.h"
#include "fs.h"

#define ORDERS 11
#define RESERVE 768		/* frames that programs' pages never take */

struct page *pages;
u64 page_count, free_pages, usable_kib, total_pages;
static struct link free_lists[ORDERS];
extern char kernel_end[];

struct map_entry { u64 start, size; u32 type, reserved; };
struct start_info {
	u32 magic, version, flags, module_count;
	u64 modules, command_line, rsdp, memory_map;
	u32 memory_map_entries, reserved;
};

static u64 early_at, early_end;

/* Zeroed memory for tables, before there are lists of frames. */
static void *early_alloc(u64 size)
{
	u64 at = ROUND_UP(early_at, PAGE_SIZE);
	early_at = at + size;
	if (early_at > early_end)
		panic("too little memory");
	return memset(phys_address(at), 0, size);
}

static void free_block(u64 frame, int order)
{
	while (order < ORDERS - 1) {
		u64 buddy = frame ^ 1UL << order;
		struct page *b = &pages[buddy];
		if (buddy + (1UL << order) > page_count || !(b->flags & PG_FREE) || b->order != order)
			break;
		link_remove(&b->link);
		b->flags = 0;
		frame &= ~(1UL << order);
		order++;
	}
	struct page *p = &pages[frame];
	p->flags = PG_FREE;
	p->order = order;
	link_prepend(&free_lists[order], &p->link);
}

void frames_init(const void *start_info)
{
	const struct start_info *info = start_info;
	const struct map_entry *map = phys_address(info->memory_map);
	u64 image_end = ROUND_UP((u64)kernel_end - KERNEL_BASE, PAGE_SIZE), top = 0, bytes = 0;
	for (u32 i = 0; i < info->memory_map_entries; i++) {
		if (map[i].type != 1)
			continue;
		u64 end = map[i].start + map[i].size;
		bytes += map[i].size;
		top = MAX(top, end);
		if (map[i].start <= image_end && end > image_end) {
			early_at = image_end;
			early_end = MIN(end, 1UL << 30);
		}
	}
	usable_kib = bytes / 1024;
	/* The map itself lies in memory that is about to be used. */
	struct map_entry copy[32];
	u32 entries = MIN(info->memory_map_entries, 32u);
	memcpy(copy, map, entries * sizeof *map);

	page_count = top >> PAGE_SHIFT;
	if (top > 1UL << 30) {
		for (u64 at = 1UL << 30; at < top; at += 1UL << 30) {
			u64 *pd = early_alloc(PAGE_SIZE), *pdpt = phys_address(kernel_pml4[256] & PTE_ADDRESS);
			for (int i = 0; i < 512; i++)
				pd[i] = (at + ((u64)i << 21)) | PTE_P | PTE_W | PTE_LARGE | PTE_NX;
			ASSERT(at >> 30 < 512);
			pdpt[at >> 30] = virt_phys(pd) | PTE_P | PTE_W;
		}
	}
	pages = early_alloc(page_count * sizeof(struct page));
	for (int i = 0; i < ORDERS; i++)
		link_init(&free_lists[i]);
	for (u64 i = 0; i < page_count; i++) {
		link_init(&pages[i].link);
		link_init(&pages[i].dirty);
	}
	u64 first = ROUND_UP(early_at, PAGE_SIZE) >> PAGE_SHIFT;
	for (u32 i = 0; i < entries; i++) {
		if (copy[i].type != 1)
			continue;
		u64 from = ROUND_UP(copy[i].start, PAGE_SIZE) >> PAGE_SHIFT, to = (copy[i].start + copy[i].size) >> PAGE_SHIFT;
		for (u64 f = MAX(from, first); f < to; f++) {
			free_block(f, 0);
			free_pages++;
		}
	}
	total_pages = free_pages;
}

struct page *page_alloc(int order)
{
	for (int attempt = 0; attempt < 4; attempt++) {
		for (int o = order; o < ORDERS; o++) {
			if (link_empty(&free_lists[o]))
				continue;
			struct page *p = FIRST(&free_lists[o], struct page, link);
			link_remove(&p->link);
			p->flags = 0;
			while (o > order) {
				o--;
				struct page *half = p + (1UL << o);
				half->flags = PG_FREE;
				half->order = o;
				link_prepend(&free_lists[o], &half->link);
			}
			p->order = order;
			p->refs = 1;
			p->slab = 0;
			p->inode = NULL;
			free_pages -= 1UL << order;
			return p;
		}
		cache_shrink(64UL << order);
	}
	return NULL;
}

void page_free(struct page *p, int order)
{
	ASSERT(!(p->flags & (PG_FREE | PG_DIRTY)) && !p->inode);
	p->refs = 0;
	p->slab = 0;
	free_pages += 1UL << order;
	free_block(p - pages, order);
}

void page_put(struct page *p)
{
	ASSERT(p->refs);
	if (!--p->refs)
		page_free(p, 0);
}

u64 memory_available(void) { return free_pages + cached_pages - homeless_pages + (buffer_bytes + inodes_unused_bytes()) / PAGE_SIZE; }

struct page *page_alloc_user(void)
{
	for (int round = 0;; round++) {
		if (free_pages <= RESERVE)
			cache_shrink(128);
		if (free_pages > RESERVE)
			return page_alloc(0);
		if (current()->in_file_system)
			return page_alloc(0);
		if (current()->killed)
			return NULL;
		if (round < 2) {
			cache_write_some();
			continue;
		}
		struct process *victim = oom_choose();
		if (victim) {
			process_end_by_oom(victim);
			if (victim == self())
				return NULL;
		}
		sleep_ns_deep(5000000);
	}
}
