/* System calls on memory. */
#include "task.h"
#include "fs.h"
#include "without.h"

#define NO_WRITE 0x80000000u	/* a shared mapping of a file that was opened for reading only */

static bool too_much(struct mm *mm, u64 more)
{
	u64 limit = self()->rlimit[RLIMIT_AS][0];
	return limit != RLIM_INFINITY && mm->mapped + more > limit;
}

i64 sys_brk(u64 to)
{
	struct mm *mm = current()->mm;
	if (to < mm->brk_start || to > MMAP_TOP)
		return mm->brk;
	u64 old = ROUND_UP(mm->brk, PAGE_SIZE), new = ROUND_UP(to, PAGE_SIZE);
	if (new < old)
		mm_unmap(mm, new, old);
	else if (new > old) {
		if (!mm_range_free(mm, old, new) || too_much(mm, new - old)
			|| mm_map(mm, old, new, PROT_READ | PROT_WRITE, MAP_PRIVATE, NULL, 0))
			return mm->brk;
	}
	return mm->brk = to;
}

static void populate(struct mm *mm, u64 start, u64 end, bool write)
{
	for (u64 va = start; va < end && !current()->killed; va += PAGE_SIZE)
		if (!mm_reach(mm, va, write))
			break;
}

i64 sys_mmap(u64 address, u64 size, u32 prot, u32 flags, i32 fd, u64 offset)
{
	struct mm *mm = current()->mm;
	struct inode *inode = NULL;
	bool fixed = flags & (MAP_FIXED | MAP_FIXED_NOREPLACE), shared = (flags & 3) == MAP_SHARED || (flags & 3) == 3;
	if (!size || offset & (PAGE_SIZE - 1) || !(flags & 3))
		return -EINVAL;
	size = ROUND_UP(size, PAGE_SIZE);
	if (!size || size > USER_TOP)
		return -ENOMEM;
	if (too_much(mm, size))
		return -ENOMEM;
	u32 kept = shared ? MAP_SHARED : MAP_PRIVATE;
	if (!(flags & MAP_ANONYMOUS)) {
		struct file *f = fd_file(fd);
		if (!f || f->flags & O_PATH)
			return -EBADF;
#ifdef WITHOUT_DEMAND_PAGING
		return -ENODEV;
#endif
		if ((f->flags & O_ACCMODE) == O_WRONLY)
			return -EACCES;
		if (shared && (f->flags & O_ACCMODE) == O_RDONLY) {
			if (prot & PROT_WRITE)
				return -EACCES;
			kept |= NO_WRITE;
		}
		if (IS_CHR(f->path.inode->mode) && f->path.inode->rdev == DEV(1, 5))
			inode = NULL;		/* /dev/zero */
		else if (!IS_REG(f->path.inode->mode) || (!f->path.inode->ops->read_page && f->path.inode->ops->sync))
			return -ENODEV;
		else
			inode = inode_get(f->path.inode);
	}
	if (!inode && shared) {
		inode = shm_inode(size);
		offset = 0;
		if (!inode)
			return -ENOMEM;
	}
	i64 result = 0;
	if (fixed) {
		if (address & (PAGE_SIZE - 1))
			result = -EINVAL;
		else if (address < 0x1000 || address > USER_TOP || size > USER_TOP - address)
			result = address < 0x1000 ? -EPERM : -ENOMEM;
		else if (flags & MAP_FIXED_NOREPLACE && !mm_range_free(mm, address, address + size))
			result = -EEXIST;
		else
			result = mm_unmap(mm, address, address + size);
	} else {
		address = ROUND_DOWN(address, PAGE_SIZE);
		if (address < 0x10000 || address > USER_TOP || size > USER_TOP - address || !mm_range_free(mm, address, address + size))
			address = mm_hole(mm, size);
		if (!address)
			result = -ENOMEM;
	}
	if (!result)
		result = mm_map(mm, address, address + size, prot & 7, kept, inode, offset);
	if (inode)
		inode_put(inode);
	if (result)
		return result;
	if (flags & MAP_POPULATE)
		populate(mm, address, address + size, prot & PROT_WRITE);
	return address;
}

i64 sys_munmap(u64 address, u64 size)
{
	if (address & (PAGE_SIZE - 1) || !size || address >= USER_TOP || size > USER_TOP - address)
		return -EINVAL;
	return mm_unmap(current()->mm, address, address + ROUND_UP(size, PAGE_SIZE));
}

i64 sys_mprotect(u64 address, u64 size, u32 prot)
{
	if (address & (PAGE_SIZE - 1))
		return -EINVAL;
	if (prot & ~(7u | 0x01000000))
		return -EINVAL;
	if (!size)
		return 0;
	if (address >= USER_TOP || size > USER_TOP - address)
		return -ENOMEM;
	return mm_protect(current()->mm, address, address + ROUND_UP(size, PAGE_SIZE), prot & 7);
}

/* Moves the pages' entries to another place. */
static int move_pages(struct mm *mm, u64 from, u64 to, u64 size)
{
	for (u64 at = 0; at < size; at += PAGE_SIZE) {
		u64 *old = table_walk(mm->pml4, from + at, false);
		if (!old || !*old)
			continue;
		u64 *new = table_walk(mm->pml4, to + at, true);
		if (!new)
			return -ENOMEM;
		*new = *old;
		*old = 0;
	}
	tlb_flush(mm);
	return 0;
}

i64 sys_mremap(u64 old, u64 old_size, u64 new_size, u32 flags, u64 new)
{
	struct mm *mm = current()->mm;
	old_size = ROUND_UP(old_size, PAGE_SIZE);
	new_size = ROUND_UP(new_size, PAGE_SIZE);
	if (old & (PAGE_SIZE - 1) || !new_size || flags & ~3u || new_size > USER_TOP)
		return -EINVAL;
	struct vma *v = vma_find(mm, old);
	if (!v || old + old_size > v->end || !old_size)
		return v ? -EINVAL : -EFAULT;
	u32 prot = v->prot, kept = v->flags;
	struct inode *inode = v->inode;
	u64 offset = v->offset + old - v->start;
	if (!(flags & 2)) {
		if (new_size == old_size)
			return old;
		if (new_size < old_size) {
			int error = mm_unmap(mm, old + new_size, old + old_size);
			return error ? error : (i64)old;
		}
		if (too_much(mm, new_size - old_size))
			return -ENOMEM;
		if (v->end == old + old_size && mm_range_free(mm, v->end, old + new_size) && old + new_size < USER_TOP) {
			mm->mapped += old + new_size - v->end;
			v->end = old + new_size;
			mm->layout++;
			return old;
		}
		if (!(flags & 1))
			return -ENOMEM;
		new = mm_hole(mm, new_size);
		if (!new)
			return -ENOMEM;
	} else {
		if (new & (PAGE_SIZE - 1) || (new < old + old_size && new + new_size > old) || !(flags & 1) || new > USER_TOP - new_size)
			return -EINVAL;
		int error = mm_unmap(mm, new, new + new_size);
		if (error)
			return error;
	}
	if (inode)
		inode_get(inode);
	int error = mm_map(mm, new, new + new_size, prot, kept, inode, offset);
	if (inode)
		inode_put(inode);
	if (!error)
		error = move_pages(mm, old, new, MIN(old_size, new_size));
	if (!error)
		error = mm_unmap(mm, old, old + old_size);
	return error ? error : (i64)new;
}

/* Pages a program wrote to through shared mappings become changed pages of their files. */
static void harvest(struct mm *mm, struct vma *v, u64 start, u64 end)
{
	for (u64 va = start; va < end; va += PAGE_SIZE) {
		u64 *pte = table_walk(mm->pml4, va, false);
		if (!pte || !(*pte & PTE_P) || !(*pte & PTE_D))
			continue;
		struct page *p = phys_page(*pte & PTE_ADDRESS);
		*pte &= ~PTE_D;
		if (p->inode)
			cache_dirty(p);
	}
	tlb_flush(mm);
}

i64 sys_msync(u64 address, u64 size, u32 flags)
{
	struct mm *mm = current()->mm;
	struct vma *v;
	u64 end = address + ROUND_UP(size, PAGE_SIZE);
	if (address & (PAGE_SIZE - 1) || flags & ~7u || (flags & 5) == 5)
		return -EINVAL;
	if (size && !vma_find(mm, address))
		return -ENOMEM;
	struct inode *inode = NULL;
	EACH(v, &mm->vmas, link) {
		if (v->end <= address || v->start >= end || !v->inode || !(v->flags & MAP_SHARED))
			continue;
		harvest(mm, v, MAX(v->start, address), MIN(v->end, end));
		inode = v->inode;
	}
	if (inode && flags & 4 && inode->ops->sync) {
		inode_get(inode);
		int error = inode->sb->sync ? inode->sb->sync(inode->sb) : 0;
		inode_put(inode);
		return error;
	}
	return 0;
}

i64 sys_madvise(u64 address, u64 size, u32 advice)
{
	struct mm *mm = current()->mm;
	struct vma *v;
	if (address & (PAGE_SIZE - 1) || size > USER_TOP || address > USER_TOP)
		return -EINVAL;
	u64 end = address + ROUND_UP(size, PAGE_SIZE);
	if (advice != 4 && advice != 8)		/* DONTNEED, FREE */
		return 0;
	EACH(v, &mm->vmas, link)
		if (v->start < end && v->end > address && v->flags & MAP_PRIVATE)
			unmap_pages(mm, MAX(v->start, address), MIN(v->end, end));
	return 0;
}

i64 sys_mincore(u64 address, u64 size, u64 out)
{
	struct mm *mm = current()->mm;
	for (u64 va = address; va < address + size; va += PAGE_SIZE, out++) {
		if (!vma_find(mm, va))
			return -ENOMEM;
		u64 *pte = table_walk(mm->pml4, va, false);
		u8 there = pte && *pte & PTE_P;
		if (copy_out(out, &there, 1))
			return -EFAULT;
	}
	return 0;
}

i64 sys_mlock(u64 address, u64 size)
{
	u64 end = ROUND_UP(address + size, PAGE_SIZE);
	if (end > USER_TOP || !vma_find(current()->mm, address))
		return -ENOMEM;
	populate(current()->mm, ROUND_DOWN(address, PAGE_SIZE), end, false);
	return 0;
}
