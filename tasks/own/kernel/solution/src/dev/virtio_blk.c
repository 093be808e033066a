/* Disks: virtio-blk. Several requests may be under way; each one's task sleeps till it is done. */
#include "fs.h"
#include "virtio.h"

#define SLOTS 32
#define FEATURE_READ_ONLY (1UL << 5)
#define FEATURE_FLUSH (1UL << 9)

struct request { struct { u32 type, reserved; u64 sector; } header; u8 status; volatile bool done, used; };
struct blk {
	struct virtio v;
	struct virtq q;
	struct disk disk;
	struct request *slot;
	struct waitqueue wait, free;
};

static void finish(void *arg)
{
	struct blk *b = arg;
	u32 length;
	int head;
	while ((head = virtq_done(&b->q, &length)) >= 0)
		b->slot[head / 3].done = true;
	wake_all(&b->wait);
}

static int free_slot(struct blk *b)
{
	for (int i = 0; i < SLOTS; i++)
		if (!b->slot[i].used)
			return i;
	return -1;
}

static int submit(struct blk *b, u32 type, u64 sector, void *data, u32 bytes, bool device_writes)
{
	int n;
	WAIT_DEEP(&b->free, (n = free_slot(b)) >= 0);
	struct request *r = &b->slot[n];
	r->used = true;
	r->done = false;
	r->header.type = type;
	r->header.sector = sector;
	r->status = 0xff;
	struct virtq_desc *d = b->q.desc + 3 * n;
	d[0] = (struct virtq_desc){ virt_phys(&r->header), 16, DESC_NEXT, 3 * n + (bytes ? 1 : 2) };
	if (bytes)
		d[1] = (struct virtq_desc){ virt_phys(data), bytes, DESC_NEXT | (device_writes ? DESC_WRITE : 0), 3 * n + 2 };
	d[2] = (struct virtq_desc){ virt_phys(&r->status), 1, DESC_WRITE, 0 };
	virtq_offer(&b->q, 3 * n);
	virtq_notify(&b->q);
	if (b->v.interrupts)
		WAIT_DEEP(&b->wait, r->done);
	while (!r->done)
		finish(b);
	int error = r->status ? -EIO : 0;
	r->used = false;
	wake_all(&b->free);
	return error;
}

static int transfer(struct disk *d, u64 sector, void *data, u32 n, bool write)
{
	if (sector + n > d->sectors || (write && d->read_only))
		return -EIO;
	return submit(d->data, write, sector, data, n * 512, !write);
}

static int flush(struct disk *d)
{
	struct blk *b = d->data;
	return b->v.features & FEATURE_FLUSH ? submit(b, 4, 0, NULL, 0, false) : 0;
}

static bool probe(struct pci *p, void *unused)
{
	if (p->vendor != 0x1af4 || (p->device != 0x1001 && p->device != 0x1042) || disk_count == LENGTH(disks))
		return false;
	struct blk *b = kmalloc(sizeof *b);
	if (!b || !virtio_open(&b->v, p, FEATURE_READ_ONLY | FEATURE_FLUSH))
		return false;
	waitqueue_init(&b->wait);
	waitqueue_init(&b->free);
	b->slot = kmalloc(SLOTS * sizeof *b->slot);
	virtio_interrupt(&b->v, 1, finish, b);
	if (!b->slot || !virtio_queue(&b->v, &b->q, 0, 128))
		return false;
	virtio_ready(&b->v);
	struct disk *d = &b->disk;
	memcpy(&d->sectors, (void *)b->v.device, 8);
	format(d->name, sizeof d->name, "vd%c", 'a' + disk_count);
	d->read_only = b->v.features & FEATURE_READ_ONLY;
	d->transfer = transfer;
	d->flush = flush;
	d->data = b;
	disks[disk_count++] = d;
	printk("%s: %lu sectors\n", d->name, d->sectors);
	return true;
}

void disks_init(void) { pci_each(probe, NULL); }
