/* Pages come when they are touched: zeroes, file contents, copies on write. */
#include "task.h"
#include "fs.h"

static u64 pte_bits(struct vma *v, bool write)
{
	return PTE_P | PTE_U | PTE_A | (write ? PTE_W | PTE_D : 0) | (v->prot & PROT_EXEC ? 0 : PTE_NX);
}

static bool allowed(struct vma *v, int how)
{
	if (how & FAULT_WRITE)
		return v->prot & PROT_WRITE;
	if (how & FAULT_EXEC)
		return v->prot & PROT_EXEC;
	return v->prot & (PROT_READ | PROT_WRITE | PROT_EXEC);
}

static struct page *copied(struct page *from)
{
	if (from)
		page_get(from);
	struct page *p = page_alloc_user();
	if (p) {
		if (from)
			memcpy(page_address(p), page_address(from), PAGE_SIZE);
		else
			memset(page_address(p), 0, PAGE_SIZE);
	}
	if (from)
		page_put(from);
	return p;
}

/* Sleeping (for a disk, for memory) lets others change the space: then the fault begins again. */
static int fault_once(struct mm *mm, u64 va, int how, int *code, bool *again)
{
	struct vma *v = vma_find(mm, va);
	*code = 1;
	if (!v)
		return SIGSEGV;
	*code = 2;
	if (!allowed(v, how))
		return SIGSEGV;
	bool write = how & FAULT_WRITE, private = v->flags & MAP_PRIVATE;
	u64 *pte = table_walk(mm->pml4, va, true);
	u64 layout = mm->layout;
	if (!pte) {
		struct page *room = page_alloc_user();
		if (!room)
			return SIGKILL;
		page_put(room);
		*again = true;
		return 0;
	}

	if (*pte & PTE_P) {
		struct page *p = phys_page(*pte & PTE_ADDRESS);
		if (!write || *pte & PTE_W) {
			*pte |= PTE_U | PTE_A | (write ? PTE_D : 0);
			invlpg(va);
			return 0;	/* an old entry of this processor */
		}
		if (!private || (p->refs == 1 && !p->inode)) {
			*pte |= PTE_W | PTE_D;
			if (p->inode)
				cache_dirty(p);
			invlpg(va);
			return 0;
		}
		u64 before = *pte;
		struct page *copy = copied(p);
		if (!copy)
			return SIGKILL;
		if (mm->layout != layout || *pte != before) {
			page_put(copy);
			*again = true;
			return 0;
		}
		*pte = page_phys(copy) | pte_bits(v, true);
		tlb_flush_page(mm, va);
		page_put(p);
		return 0;
	}

	struct page *p;
	if (v->inode) {
		struct inode *inode = inode_get(v->inode);
		u64 index = (v->offset + (ROUND_DOWN(va, PAGE_SIZE) - v->start)) >> PAGE_SHIFT;
		if (index << PAGE_SHIFT >= ROUND_UP(inode->size, PAGE_SIZE)) {
			inode_put(inode);
			return SIGBUS;
		}
		if (write && !private && inode->ops->reserve) {
			int error = inode->ops->reserve(inode, index << PAGE_SHIFT, MIN((index + 1) << PAGE_SHIFT, inode->size));
			if (error) {
				inode_put(inode);
				return SIGBUS;
			}
		}
		p = cache_get(inode, index, true);
		inode_put(inode);
		if (IS_ERR(p))
			return current()->killed ? SIGKILL : SIGBUS;
		if (write && private) {
			struct page *copy = copied(p);
			page_put(p);
			p = copy;
		}
	} else
		p = copied(NULL);
	if (!p)
		return SIGKILL;
	pte = table_walk(mm->pml4, va, false);
	if (mm->layout != layout || !pte || *pte & PTE_P) {
		page_put(p);
		*again = true;
		return 0;
	}
	if (write && !private && p->inode)
		cache_dirty(p);
	*pte = page_phys(p) | pte_bits(v, write);
	mm->rss++;
	if (mm->rss > self()->max_rss)
		self()->max_rss = mm->rss;
	return 0;
}

int mm_fault(struct mm *mm, u64 va, int how, int *code)
{
	int sig;
	bool again;
	do {
		again = false;
		sig = fault_once(mm, va, how, code, &again);
	} while (again && !current()->killed);
	return sig;
}

void *mm_reach(struct mm *mm, u64 va, bool write)
{
	int code;
	if (va >= USER_TOP)
		return NULL;
	for (int i = 0; i < 8; i++) {
		u64 *pte = table_walk(mm->pml4, va, false);
		if (pte && (*pte & PTE_P) && (*pte & PTE_U) && (!write || *pte & PTE_W)) {
			if (write)
				*pte |= PTE_D | PTE_A;
			return phys_address((*pte & PTE_ADDRESS) + (va & (PAGE_SIZE - 1)));
		}
		if (mm_fault(mm, va, write ? FAULT_WRITE : 0, &code))
			return NULL;
	}
	return NULL;
}

/* A file became shorter: its pages go from every space that maps them, copies too. */
void mm_drop_file_pages(struct inode *inode, u64 from_index)
{
	struct process *p;
	if (!inode->mappings)
		return;
	EACH(p, &all_processes, all) {
		struct mm *mm = link_empty(&p->threads) ? NULL : FIRST(&p->threads, struct task, thread_link)->mm;
		if (!mm)
			continue;
		struct vma *v;
		EACH(v, &mm->vmas, link) {
			if (v->inode != inode)
				continue;
			u64 first = v->offset >> PAGE_SHIFT;
			u64 start = from_index > first ? v->start + ((from_index - first) << PAGE_SHIFT) : v->start;
			if (start < v->end)
				unmap_pages(mm, start, v->end);
		}
	}
}
