/* Virtio devices on PCI, version 1 (which transitional ones speak as well). */
#include "virtio.h"

#define COMMON 1
#define NOTIFY 2
#define DEVICE 4

static volatile u32 *r32(struct virtio *v, u32 o) { return (volatile u32 *)(v->common + o); }
static volatile u16 *r16(struct virtio *v, u32 o) { return (volatile u16 *)(v->common + o); }

static void set64(struct virtio *v, u32 o, u64 x)
{
	*r32(v, o) = x;
	*r32(v, o + 4) = x >> 32;
}

static bool find_windows(struct virtio *v)
{
	for (u8 cap = pci_capability(&v->pci, 9, 0); cap; cap = pci_capability(&v->pci, 9, cap)) {
		u32 head = pci_read(&v->pci, cap), bar = pci_read(&v->pci, cap + 4) & 0xff;
		u32 offset = pci_read(&v->pci, cap + 8), length = pci_read(&v->pci, cap + 12);
		u8 type = head >> 24;
		if (type != COMMON && type != NOTIFY && type != DEVICE)
			continue;
		u64 base = pci_bar(&v->pci, bar);
		if (!base)
			continue;
		volatile u8 *window = mmio_map(base + offset, length);
		if (type == COMMON && !v->common)
			v->common = window;
		else if (type == DEVICE && !v->device)
			v->device = window;
		else if (type == NOTIFY && !v->notify_base) {
			v->notify_base = window;
			v->notify_step = pci_read(&v->pci, cap + 16);
		}
	}
	return v->common && v->notify_base;
}

bool virtio_open(struct virtio *v, const struct pci *p, u64 features)
{
	v->pci = *p;
	pci_write(p, 4, pci_read(p, 4) | 6);
	if (!find_windows(v))
		return false;
	volatile u8 *status = v->common + 0x14;
	*status = 0;
	while (*status)
		pause();
	*status = 1;
	*status = 3;
	*r32(v, 0) = 0;
	u64 offered = *r32(v, 4);
	*r32(v, 0) = 1;
	offered |= (u64)*r32(v, 4) << 32;
	v->features = offered & (features | 1UL << 32);
	*r32(v, 8) = 0;
	*r32(v, 12) = v->features;
	*r32(v, 8) = 1;
	*r32(v, 12) = v->features >> 32;
	*status = 11;
	return *status & 8;
}

/* Sends what the queues say to one handler. */
void virtio_interrupt(struct virtio *v, u32 queues, void (*handler)(void *), void *arg)
{
	u8 vector = vector_new(handler, arg);
	v->interrupts = pci_msix(&v->pci, 1, vector);
	*r16(v, 0x10) = 0xffff;
	for (u32 i = 0; i < queues; i++) {
		*r16(v, 0x16) = i;
		*r16(v, 0x1a) = v->interrupts ? 0 : 0xffff;
	}
}

bool virtio_queue(struct virtio *v, struct virtq *q, u16 index, u16 most)
{
	*r16(v, 0x16) = index;
	u16 size = MIN(*r16(v, 0x18), most);
	if (!size)
		return false;
	*r16(v, 0x18) = size;
	struct page *p = page_alloc(2);
	if (!p)
		return false;
	u8 *memory = memset(page_address(p), 0, 4 * PAGE_SIZE);
	q->size = size;
	q->desc = (void *)memory;
	q->avail = (void *)(memory + PAGE_SIZE);
	q->used_header = (void *)(memory + 2 * PAGE_SIZE);
	q->used = (void *)(memory + 2 * PAGE_SIZE + 4);
	q->notify = (void *)(v->notify_base + *r16(v, 0x1e) * v->notify_step);
	set64(v, 0x20, virt_phys(memory));
	set64(v, 0x28, virt_phys(memory + PAGE_SIZE));
	set64(v, 0x30, virt_phys(memory + 2 * PAGE_SIZE));
	*r16(v, 0x1c) = 1;
	q->index = index;
	return true;
}

void virtio_ready(struct virtio *v) { *(v->common + 0x14) = 15; }

void virtq_offer(struct virtq *q, u16 head)
{
	q->avail[2 + q->avail[1] % q->size] = head;
	full_barrier();
	q->avail[1]++;
}

void virtq_notify(struct virtq *q)
{
	full_barrier();
	*q->notify = q->index;
}

int virtq_done(struct virtq *q, u32 *length)
{
	if (q->seen == q->used_header[1])
		return -1;
	full_barrier();
	volatile struct virtq_used *u = &q->used[q->seen++ % q->size];
	*length = u->length;
	return u->id;
}
