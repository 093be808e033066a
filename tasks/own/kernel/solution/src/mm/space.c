/* Address spaces: the pieces that are mapped, their life, and what processors remember of them. */
#include "task.h"
#include "fs.h"

struct mm *mm_new(void)
{
	struct mm *mm = kmalloc(sizeof *mm);
	if (!mm)
		return NULL;
	mm->pml4 = pml4_new();
	if (!mm->pml4) {
		kfree(mm);
		return NULL;
	}
	mm->refs = 1;
	link_init(&mm->vmas);
	return mm;
}

void mm_switch(struct mm *mm)
{
	struct cpu *c = this_cpu();
	if (c->mm == mm && (!mm || c->tlb_seen == mm->tlb_generation))
		return;
	c->mm = mm;
	c->tlb_seen = mm ? mm->tlb_generation : 0;
	write_cr3(mm ? virt_phys(mm->pml4) : virt_phys(kernel_pml4));
}

/* On the way in and out: has another processor taken pages away meanwhile? */
void tlb_refresh(void)
{
	struct cpu *c = this_cpu();
	if (c->mm && c->tlb_seen != c->mm->tlb_generation) {
		c->tlb_seen = c->mm->tlb_generation;
		write_cr3(read_cr3());
	}
}

/* No processor uses an old entry of this space after this. One in user mode is called in: it then waits
 * for the big lock, which is ours, and refreshes when it gets it. */
void tlb_flush(struct mm *mm)
{
	mm->tlb_generation++;
	if (this_cpu()->mm == mm)
		tlb_refresh();
	full_barrier();
	for (u32 i = 0; i < cpu_count; i++) {
		struct cpu *c = &cpus[i];
		if (c == this_cpu() || c->mm != mm || !c->in_user)
			continue;
		apic_kick(c);
		while (c->in_user)
			pause();
	}
}

/* The same for one page that was replaced; a space of one thread is loaded by one processor at most. */
void tlb_flush_page(struct mm *mm, u64 va)
{
	if (mm->refs == 1)
		invlpg(va);
	else
		tlb_flush(mm);
}

struct vma *vma_find(struct mm *mm, u64 va)
{
	struct vma *v = mm->last;
	if (v && va >= v->start && va < v->end)
		return v;
	EACH(v, &mm->vmas, link)
		if (va < v->end) {
			if (va < v->start)
				return NULL;
			mm->last = v;
			return v;
		}
	return NULL;
}

static void vma_free(struct mm *mm, struct vma *v)
{
	if (mm->last == v)
		mm->last = NULL;
	link_remove(&v->link);
	mm->mapped -= v->end - v->start;
	if (v->inode) {
		v->inode->mappings--;
		inode_put(v->inode);
	}
	kfree(v);
}

/* Cuts the piece in two at va; the upper one is new. */
static struct vma *vma_split(struct mm *mm, struct vma *v, u64 va)
{
	struct vma *upper = kmalloc(sizeof *upper);
	if (!upper)
		return NULL;
	*upper = *v;
	upper->start = va;
	upper->offset += va - v->start;
	v->end = va;
	if (upper->inode) {
		inode_get(upper->inode);
		upper->inode->mappings++;
	}
	link_prepend(&v->link, &upper->link);
	return upper;
}

bool mm_range_free(struct mm *mm, u64 start, u64 end)
{
	struct vma *v;
	EACH(v, &mm->vmas, link)
		if (v->start < end && v->end > start)
			return false;
	return true;
}

/* The highest hole of the size below the place for mappings. */
u64 mm_hole(struct mm *mm, u64 size)
{
	u64 top = MMAP_TOP;
	for (struct link *l = mm->vmas.prev; l != &mm->vmas; l = l->prev) {
		struct vma *v = HOLDER(l, struct vma, link);
		if (v->start >= MMAP_TOP)
			continue;
		if (v->end + size <= top)
			return top - size;
		top = MIN(top, v->start);
	}
	return top >= size + 0x10000 ? top - size : 0;
}

int mm_map(struct mm *mm, u64 start, u64 end, u32 prot, u32 flags, struct inode *inode, u64 offset)
{
	struct vma *v, *before = NULL;
	mm->layout++;
	EACH(v, &mm->vmas, link) {
		if (v->start >= end) {
			before = v;
			break;
		}
		if (!inode && !v->inode && v->end == start && v->prot == prot && v->flags == flags && !v->stack
			&& (flags & MAP_PRIVATE) && (v->link.next == &mm->vmas || HOLDER(v->link.next, struct vma, link)->start >= end)) {
			mm->mapped += end - start;
			v->end = end;
			return 0;
		}
	}
	v = kmalloc(sizeof *v);
	if (!v)
		return -ENOMEM;
	*v = (struct vma){ .start = start, .end = end, .prot = prot, .flags = flags, .inode = inode, .offset = offset };
	if (inode) {
		inode_get(inode);
		inode->mappings++;
	}
	link_insert(before ? &before->link : &mm->vmas, &v->link);
	mm->mapped += end - start;
	return 0;
}

/* Takes the pages out of the tables; frees them once no processor can reach them. */
void unmap_pages(struct mm *mm, u64 start, u64 end)
{
	struct page *batch[64];
	u32 n = 0;
	bool any = false;
	for (u64 va = start; va < end;) {
		u64 *table = mm->pml4;
		int shift;
		for (shift = 39; shift > 12; shift -= 9) {
			u64 entry = table[va >> shift & 511];
			if (!(entry & PTE_P))
				break;
			table = phys_address(entry & PTE_ADDRESS);
		}
		if (shift > 12) {	/* nothing is mapped in this whole part */
			va = ROUND_DOWN(va, 1UL << shift) + (1UL << shift);
			continue;
		}
		u64 *pte = &table[va >> 12 & 511], old = *pte;
		va += PAGE_SIZE;
		if (!(old & PTE_P))
			continue;
		struct page *p = phys_page(old & PTE_ADDRESS);
		*pte = 0;
		any = true;
		if ((old & PTE_D) && p->inode && (old & PTE_W))
			cache_dirty(p);
		mm->rss--;
		batch[n++] = p;
		if (n == LENGTH(batch)) {
			tlb_flush(mm);
			while (n)
				page_put(batch[--n]);
		}
	}
	if (any)
		tlb_flush(mm);
	while (n)
		page_put(batch[--n]);
}

int mm_unmap(struct mm *mm, u64 start, u64 end)
{
	struct vma *v;
	mm->layout++;
	EACH(v, &mm->vmas, link) {
		if (v->end <= start)
			continue;
		if (v->start >= end)
			break;
		if (v->start < start) {
			struct vma *upper = vma_split(mm, v, start);
			if (!upper)
				return -ENOMEM;
			v = upper;
		}
		if (v->end > end) {
			if (!vma_split(mm, v, end))
				return -ENOMEM;
		}
		next_v = HOLDER(v->link.next, struct vma, link);
		u64 from = v->start, to = v->end;
		vma_free(mm, v);
		unmap_pages(mm, from, to);
	}
	return 0;
}

int mm_protect(struct mm *mm, u64 start, u64 end, u32 prot)
{
	struct vma *v;
	u64 at = start;
	mm->layout++;
	EACH(v, &mm->vmas, link) {
		if (v->end <= start)
			continue;
		if (v->start >= end)
			break;
		if (v->start > at)
			return -ENOMEM;
		if (v->inode && (v->flags & MAP_SHARED) && (prot & PROT_WRITE) && (v->flags & 0x80000000))
			return -EACCES;
		if (v->start < start && !(v = vma_split(mm, v, start)))
			return -ENOMEM;
		if (v->end > end && !vma_split(mm, v, end))
			return -ENOMEM;
		next_v = HOLDER(v->link.next, struct vma, link);
		v->prot = prot;
		at = v->end;
		for (u64 va = v->start; va < v->end;) {
			u64 *pte = table_walk(mm->pml4, va, false);
			if (!pte) {
				va = ROUND_DOWN(va, 1UL << 21) + (1UL << 21);
				continue;
			}
			if (*pte & PTE_P) {
				struct page *p = phys_page(*pte & PTE_ADDRESS);
				if ((*pte & PTE_W) && (*pte & PTE_D) && p->inode)
					cache_dirty(p);
				*pte &= ~PTE_W;		/* comes back with the next write */
				*pte = prot & PROT_EXEC ? *pte & ~PTE_NX : *pte | PTE_NX;
				if (!(prot & (PROT_READ | PROT_WRITE | PROT_EXEC)))
					*pte &= ~PTE_U;
				else
					*pte |= PTE_U;
			}
			va += PAGE_SIZE;
		}
	}
	tlb_flush(mm);
	return at < end ? -ENOMEM : 0;
}

static int copy_pages(struct mm *to, struct mm *from, struct vma *v)
{
	bool private = v->flags & MAP_PRIVATE;
	for (u64 va = v->start; va < v->end;) {
		u64 *pte = table_walk(from->pml4, va, false);
		if (!pte) {
			va = ROUND_DOWN(va, 1UL << 21) + (1UL << 21);
			continue;
		}
		if (*pte & PTE_P) {
			u64 *copy = table_walk(to->pml4, va, true);
			if (!copy)
				return -ENOMEM;
			if (private)
				*pte &= ~PTE_W;
			*copy = *pte;
			if (!private)
				*copy &= ~PTE_D;
			page_get(phys_page(*pte & PTE_ADDRESS));
			to->rss++;
		}
		va += PAGE_SIZE;
	}
	return 0;
}

struct mm *mm_copy(struct mm *from)
{
	struct mm *mm = mm_new();
	if (!mm)
		return NULL;
	struct vma *v;
	int error = 0;
	EACH(v, &from->vmas, link) {
		error = mm_map(mm, v->start, v->end, v->prot, v->flags, v->inode, v->offset);
		if (error)
			break;
		HOLDER(mm->vmas.prev, struct vma, link)->stack = v->stack;
		error = copy_pages(mm, from, v);
		if (error)
			break;
	}
	tlb_flush(from);
	mm->brk_start = from->brk_start;
	mm->brk = from->brk;
	mm->stack_bottom = from->stack_bottom;
	mm->arg_start = from->arg_start;
	mm->arg_end = from->arg_end;
	mm->env_start = from->env_start;
	mm->env_end = from->env_end;
	if (error) {
		mm_put(mm);
		return NULL;
	}
	return mm;
}

void mm_put(struct mm *mm)
{
	if (--mm->refs)
		return;
	ASSERT(this_cpu()->mm != mm);
	while (!link_empty(&mm->vmas)) {
		struct vma *v = FIRST(&mm->vmas, struct vma, link);
		u64 from = v->start, to = v->end;
		unmap_pages(mm, from, to);
		vma_free(mm, v);
	}
	pml4_free(mm->pml4);
	kfree(mm);
}
