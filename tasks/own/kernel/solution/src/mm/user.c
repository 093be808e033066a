/* Copies between the kernel and the current program. */
#include "task.h"

u64 user_copy(void *to, const void *from, u64 n);

/* The processor minds PROT_NONE for programs only; here it is looked up. */
static bool user_range(u64 address, u64 n)
{
	if (address >= USER_TOP || n > USER_TOP - address)
		return false;
	struct vma *v = vma_find(current()->mm, address);
	return !n || (v && v->prot);
}

int copy_in(void *to, u64 from, size_t n)
{
	return user_range(from, n) && !user_copy(to, (void *)from, n) ? 0 : -EFAULT;
}

int copy_out(u64 to, const void *from, size_t n)
{
	return user_range(to, n) && !user_copy((void *)to, from, n) ? 0 : -EFAULT;
}

int zero_out(u64 to, size_t n)
{
	static const u8 zeroes[PAGE_SIZE];
	while (n) {
		size_t part = MIN(n, sizeof zeroes);
		if (copy_out(to, zeroes, part))
			return -EFAULT;
		to += part;
		n -= part;
	}
	return 0;
}

int copy_in_string(char *to, u64 from, size_t room)
{
	for (size_t n = 0; n < room;) {
		size_t part = MIN(room - n, PAGE_SIZE - (from & (PAGE_SIZE - 1)));
		if (copy_in(to + n, from, part))
			return -EFAULT;
		size_t length = strnlen(to + n, part);
		if (length < part)
			return n + length;
		n += part;
		from += part;
	}
	return -ENAMETOOLONG;
}

/* From any process's space, as far as its pages are there. */
int copy_from_mm(struct mm *mm, void *to, u64 from, size_t n)
{
	while (n) {
		u64 *pte = from < USER_TOP ? table_walk(mm->pml4, from, false) : NULL;
		if (!pte || !(*pte & PTE_P))
			return -EFAULT;
		size_t part = MIN(n, PAGE_SIZE - (from & (PAGE_SIZE - 1)));
		memcpy(to, phys_address((*pte & PTE_ADDRESS) + (from & (PAGE_SIZE - 1))), part);
		to = (char *)to + part;
		from += part;
		n -= part;
	}
	return 0;
}

void uio_user(struct uio *u, u64 base, size_t n)
{
	*u = (struct uio){ .count = 1, .left = n, .one = { base, n } };
	u->iov = &u->one;
}

void uio_kernel(struct uio *u, void *base, size_t n)
{
	uio_user(u, (u64)base, n);
	u->kernel = true;
}

static int uio_move(struct uio *u, void *kernel_side, size_t n, bool in)
{
	while (n) {
		while (u->count && !u->iov->len) {
			u->iov++;
			u->count--;
		}
		if (!u->count)
			return -EFAULT;
		size_t part = MIN(n, u->iov->len);
		if (u->kernel)
			in ? memcpy(kernel_side, (void *)u->iov->base, part) : memcpy((void *)u->iov->base, kernel_side, part);
		else if (in ? copy_in(kernel_side, u->iov->base, part) : copy_out(u->iov->base, kernel_side, part))
			return -EFAULT;
		u->iov->base += part;
		u->iov->len -= part;
		u->left -= part;
		kernel_side = (char *)kernel_side + part;
		n -= part;
	}
	return 0;
}

int uio_in(struct uio *u, void *to, size_t n) { return uio_move(u, to, n, true); }
int uio_out(struct uio *u, const void *from, size_t n) { return uio_move(u, (void *)from, n, false); }

int uio_zero(struct uio *u, size_t n)
{
	static const u8 zeroes[512];
	while (n) {
		size_t part = MIN(n, sizeof zeroes);
		if (uio_out(u, zeroes, part))
			return -EFAULT;
		n -= part;
	}
	return 0;
}
