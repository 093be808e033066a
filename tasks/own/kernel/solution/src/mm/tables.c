/* Page tables, and the windows to devices' registers. */
#include "mm.h"

u64 *table_walk(u64 *pml4, u64 va, bool create)
{
	u64 *table = pml4;
	for (int shift = 39; shift > 12; shift -= 9) {
		u64 *entry = &table[va >> shift & 511];
		if (!(*entry & PTE_P)) {
			struct page *p = create ? page_alloc(0) : NULL;
			if (!p)
				return NULL;
			memset(page_address(p), 0, PAGE_SIZE);
			*entry = page_phys(p) | PTE_P | PTE_W | (va < USER_TOP ? PTE_U : 0);
		} else if (*entry & PTE_LARGE)
			return NULL;
		table = phys_address(*entry & PTE_ADDRESS);
	}
	return &table[va >> 12 & 511];
}

volatile void *mmio_map(u64 phys, u64 size)
{
	for (u64 at = ROUND_DOWN(phys, PAGE_SIZE); at < phys + size; at += PAGE_SIZE) {
		u64 va = DIRECT_MAP + at;
		u64 *entry = table_walk(kernel_pml4, va, true);
		if (!entry || *entry & PTE_P)
			continue;	/* already there, as memory or as a device */
		*entry = at | PTE_P | PTE_W | PTE_NOCACHE | PTE_NX;
		invlpg(va);
	}
	return (volatile void *)(DIRECT_MAP + phys);
}

u64 *pml4_new(void)
{
	struct page *p = page_alloc(0);
	if (!p)
		return NULL;
	u64 *pml4 = page_address(p);
	memset(pml4, 0, PAGE_SIZE / 2);
	memcpy(pml4 + 256, kernel_pml4 + 256, PAGE_SIZE / 2);
	return pml4;
}

static void free_level(u64 *table, int level, int entries)
{
	for (int i = 0; level > 1 && i < entries; i++)
		if (table[i] & PTE_P)
			free_level(phys_address(table[i] & PTE_ADDRESS), level - 1, 512);
	page_free(phys_page(virt_phys(table)), 0);
}

/* The pages themselves are gone already. */
void pml4_free(u64 *pml4) { free_level(pml4, 4, 256); }
