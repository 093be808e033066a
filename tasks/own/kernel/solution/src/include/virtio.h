/* Virtio devices on PCI, version 1. */
#pragma once
#include "hw.h"
#include "mm.h"

struct virtq_desc { u64 address; u32 length; u16 flags, next; };
struct virtq_used { u32 id, length; };
#define DESC_NEXT 1
#define DESC_WRITE 2

struct virtq {
	u16 size, index, seen;
	struct virtq_desc *desc;
	volatile u16 *avail;		/* flags, index, ring */
	volatile u16 *used_header;	/* flags, index */
	volatile struct virtq_used *used;
	volatile u16 *notify;
};

struct virtio {
	struct pci pci;
	volatile u8 *common, *device, *notify_base;
	u32 notify_step;
	u64 features;
	bool interrupts;
};

bool virtio_open(struct virtio *v, const struct pci *p, u64 features);
bool virtio_queue(struct virtio *v, struct virtq *q, u16 index, u16 most);
void virtio_interrupt(struct virtio *v, u32 queues, void (*handler)(void *), void *arg);
void virtio_ready(struct virtio *v);
void virtq_offer(struct virtq *q, u16 head);
void virtq_notify(struct virtq *q);
/* The next finished chain: its head, or -1. */
int virtq_done(struct virtq *q, u32 *length);
