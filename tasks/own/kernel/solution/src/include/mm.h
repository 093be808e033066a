/* Memory: frames, the kernel's own, and address spaces. */
#pragma once
#include "base.h"
#include "hw.h"
#include "abi.h"

#define PAGE_SIZE 4096UL
#define PAGE_SHIFT 12
#define DIRECT_MAP 0xffff800000000000UL
#define KERNEL_BASE 0xffffffff80000000UL
#define USER_TOP 0x00007ffffffff000UL
#define MMAP_TOP 0x00007fff00000000UL
#define STACK_TOP 0x00007ffffffff000UL

#define PTE_P 1UL
#define PTE_W 2UL
#define PTE_U 4UL
#define PTE_NOCACHE 0x18UL
#define PTE_A 0x20UL
#define PTE_D 0x40UL
#define PTE_LARGE 0x80UL
#define PTE_NX (1UL << 63)
#define PTE_ADDRESS 0x000ffffffffff000UL

struct inode;
struct file;

/* One per frame of memory. */
struct page {
	u32 refs;
	u8 order;
	u8 slab;		/* size class + 1 if kmalloc cut it up */
	u16 flags;
	struct inode *inode;	/* whose page cache holds it */
	u64 index;
	struct page *hash_next;
	struct link link;	/* free list, or the page cache's list of recent use */
	struct link dirty;	/* the inode's dirty pages */
};
#define PG_FREE 1
#define PG_UPTODATE 2
#define PG_DIRTY 4
#define PG_BUSY 8
#define PG_USED 16
#define PG_KEEP 32		/* has no other home than the cache */

extern struct page *pages;
extern u64 page_count, free_pages, usable_kib, total_pages;

static inline u64 page_phys(struct page *p) { return (u64)(p - pages) << PAGE_SHIFT; }
static inline void *page_address(struct page *p) { return (void *)(DIRECT_MAP + page_phys(p)); }
static inline struct page *phys_page(u64 phys) { return &pages[phys >> PAGE_SHIFT]; }
static inline void *phys_address(u64 phys) { return (void *)(DIRECT_MAP + phys); }
static inline u64 virt_phys(const void *v)
{
	return (u64)v >= KERNEL_BASE ? (u64)v - KERNEL_BASE : (u64)v - DIRECT_MAP;
}

/* frames.c */
void frames_init(const void *start_info);
struct page *page_alloc(int order);		/* for the kernel; NULL when there is none at all */
struct page *page_alloc_user(void);		/* zeroed by nobody; NULL: the caller was chosen to die */
void page_free(struct page *p, int order);
static inline void page_get(struct page *p) { p->refs++; }
void page_put(struct page *p);
u64 memory_available(void);

/* kmalloc.c: always zeroed */
void *kmalloc(size_t n);
void kfree(void *p);
char *kstrdup(const char *s);

/* tables.c */
extern u64 kernel_pml4[512];
u64 *table_walk(u64 *pml4, u64 va, bool create);
volatile void *mmio_map(u64 phys, u64 size);
u64 *pml4_new(void);
void pml4_free(u64 *pml4);

/* address spaces */
struct vma {
	struct link link;
	u64 start, end;
	u32 prot, flags;
	struct inode *inode;
	u64 offset;		/* in the file, of start */
	bool stack;
};

struct mm {
	u32 refs;
	u64 *pml4;
	u64 tlb_generation, layout;	/* counts of what others must notice */
	struct link vmas;
	struct vma *last;
	u64 brk_start, brk;
	u64 rss, mapped;
	u64 stack_bottom, arg_start, arg_end, env_start, env_end;
};

struct mm *mm_new(void);
struct mm *mm_copy(struct mm *from);
void mm_put(struct mm *mm);
void mm_switch(struct mm *mm);
void tlb_refresh(void);
void tlb_flush(struct mm *mm);
void tlb_flush_page(struct mm *mm, u64 va);
struct vma *vma_find(struct mm *mm, u64 va);
int mm_map(struct mm *mm, u64 start, u64 end, u32 prot, u32 flags, struct inode *inode, u64 offset);
int mm_unmap(struct mm *mm, u64 start, u64 end);
u64 mm_hole(struct mm *mm, u64 size);
bool mm_range_free(struct mm *mm, u64 start, u64 end);
void mm_drop_file_pages(struct inode *inode, u64 from_index);
void unmap_pages(struct mm *mm, u64 start, u64 end);
int mm_protect(struct mm *mm, u64 start, u64 end, u32 prot);

#define FAULT_WRITE 1
#define FAULT_EXEC 2
/* 0, or the signal that the program earns (negative: its code as well, 1 MAPERR, 2 ACCERR). */
int mm_fault(struct mm *mm, u64 va, int how, int *code);
/* The kernel's address of a user's byte, made present; NULL if there is none. */
void *mm_reach(struct mm *mm, u64 va, bool write);

/* user.c: to and from the current task's memory; 0 or -EFAULT */
int copy_in(void *to, u64 from, size_t n);
int copy_out(u64 to, const void *from, size_t n);
int zero_out(u64 to, size_t n);
int copy_in_string(char *to, u64 from, size_t room);	/* length, -EFAULT or -ENAMETOOLONG */
int copy_from_mm(struct mm *mm, void *to, u64 from, size_t n);

/* Where data of a read or write lie: in the kernel's memory or in a program's pieces. */
struct uio {
	struct iovec *iov;
	int count;
	size_t left;
	bool kernel;
	struct iovec one;
};
void uio_user(struct uio *u, u64 base, size_t n);
void uio_kernel(struct uio *u, void *base, size_t n);
int uio_in(struct uio *u, void *to, size_t n);
int uio_out(struct uio *u, const void *from, size_t n);
int uio_zero(struct uio *u, size_t n);

/* reclaim */
u64 cache_shrink(u64 want);
extern u64 cached_pages, homeless_pages;	/* the second: those of the first that cannot be given up */
void cache_write_some(void);
