// SPDX-License-Identifier: GPL-2.0
/*
 * Kvarn K4 arithmetic card.
 *
 * The mill and the carrier have a lock each. A request holds its unit's lock only while the unit
 * works for it; a process that is stopped is stopped outside. A request that is killed leaves the
 * mill working: the next one waits for the mill before it starts it.
 *
 * The KVARN_ macros leave features out on purpose; without them the driver does everything.
 */
#include <linux/delay.h>
#include <linux/dma-mapping.h>
#include <linux/fs.h>
#include <linux/interrupt.h>
#include <linux/io.h>
#include <linux/kref.h>
#include <linux/miscdevice.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/pci.h>
#include <linux/slab.h>
#include <linux/uaccess.h>
#include <linux/wait.h>

#include "kvarn_ioctl.h"

#define IDENT 0x00
#define IDENT_K4 0x010000ed
#define ECHO 0x04
#define OPERAND 0x08
#define STATUS 0x20
#define STATUS_WORKING BIT(0)
#define STATUS_CAUSE BIT(7)
#define CAUSE 0x24
#define CAUSE_MILL BIT(0)
#define CAUSE_CARRIER BIT(8)
#define RAISE 0x60
#define CLEAR 0x64
#define SOURCE 0x80
#define TARGET 0x88
#define COUNT 0x90
#define GO 0x98
#define GO_START BIT(0)
#define GO_TO_MEMORY BIT(1)
#define GO_CAUSE BIT(2)

#define STORE 0x40000
#define SHELF 1024

struct kvarn {
	struct kref ref;
	struct pci_dev *pdev;
	void __iomem *regs;
	int irq;
	struct miscdevice misc;
	char name[32];
	void *buffer;
	dma_addr_t bus;
	struct mutex mill_lock;
	struct mutex carrier_lock;
	struct mutex ping_lock;
	spinlock_t lock; /* what the interrupt handler shares: the next three, and `gone` */
	bool mill_works;
	bool carrier_works;
	u32 seen;
	bool gone;
	wait_queue_head_t wait;
	atomic_t waiting;
	int turn; /* when it was last asked, counted over all cards */
};

static void kvarn_free(struct kref *ref)
{
	struct kvarn *k = container_of(ref, struct kvarn, ref);

	kfree(k);
}

static irqreturn_t kvarn_interrupt(int irq, void *data)
{
	struct kvarn *k = data;
	u32 cause;

	spin_lock(&k->lock);
	cause = readl(k->regs + CAUSE);
	if (!cause) {
		spin_unlock(&k->lock);
		return IRQ_NONE;
	}
	writel(cause, k->regs + CLEAR);
	k->seen |= cause;
	/* A cause may have been raised by anybody: the units say whether they are done. */
	if ((cause & CAUSE_MILL) && k->mill_works)
		k->mill_works = readl(k->regs + STATUS) & STATUS_WORKING;
	if ((cause & CAUSE_CARRIER) && k->carrier_works)
		k->carrier_works = readl(k->regs + GO) & GO_START;
	spin_unlock(&k->lock);
	wake_up_all(&k->wait);
	return IRQ_HANDLED;
}

static int kvarn_mill(struct kvarn *k, u32 n, u32 *result)
{
	int err = mutex_lock_killable(&k->mill_lock);

	if (err)
		return err;
#ifndef KVARN_HASTY
	err = wait_event_killable(k->wait, !READ_ONCE(k->mill_works) || READ_ONCE(k->gone));
	if (err)
		goto out;
#endif
	spin_lock_irq(&k->lock);
	if (k->gone) {
		err = -ENODEV;
	} else {
		k->mill_works = true;
		writel(n, k->regs + OPERAND);
	}
	spin_unlock_irq(&k->lock);
	if (err)
		goto out;
#ifdef KVARN_POLL
	while (!READ_ONCE(k->gone) && !fatal_signal_pending(current) &&
	       readl(k->regs + STATUS) & STATUS_WORKING)
		usleep_range(100, 200);
#endif
	err = wait_event_killable(k->wait, !READ_ONCE(k->mill_works) || READ_ONCE(k->gone));
	if (err)
		goto out;
	if (READ_ONCE(k->gone))
		err = -ENODEV;
	else
		*result = readl(k->regs + OPERAND);
out:
	mutex_unlock(&k->mill_lock);
	return err;
}

/* One transfer between the buffer and the store; the caller holds carrier_lock. */
static int kvarn_move(struct kvarn *k, unsigned int offset, unsigned int length, u32 direction)
{
	dma_addr_t store = STORE + offset;

	spin_lock_irq(&k->lock);
	if (k->gone) {
		spin_unlock_irq(&k->lock);
		return -ENODEV;
	}
	k->carrier_works = true;
	writel(direction ? store : k->bus, k->regs + SOURCE);
	writel(direction ? k->bus : store, k->regs + TARGET);
	writel(length, k->regs + COUNT);
	writel(GO_START | GO_CAUSE | direction, k->regs + GO);
	spin_unlock_irq(&k->lock);
	/* Neither a signal nor an unbind ends this wait: the card has the buffer. */
	if (!wait_event_timeout(k->wait, !READ_ONCE(k->carrier_works), 30 * HZ))
		return -EIO;
	return 0;
}

static long kvarn_blocks(struct kvarn *k, unsigned int cmd, const struct kvarn_block *block)
{
	bool copy = cmd == KVARN_IOC_COPY, read = cmd != KVARN_IOC_PUT, write = cmd != KVARN_IOC_GET;
	unsigned int offset = copy ? SHELF : block->offset;
	unsigned int room = copy ? KVARN_SLICE : SHELF;
	void *data;
	long err = 0;

	if (!block->length || block->length > room ||
	    (!copy && (block->offset >= room || block->length > room - block->offset)))
		return -EINVAL;
	data = kmalloc(block->length, GFP_KERNEL);
	if (!data)
		return -ENOMEM;
	if (write && copy_from_user(data, u64_to_user_ptr(block->from), block->length)) {
		err = -EFAULT;
		goto out;
	}
	err = mutex_lock_killable(&k->carrier_lock);
	if (err)
		goto out;
	if (write) {
		memcpy(k->buffer, data, block->length);
		err = kvarn_move(k, offset, block->length, 0);
	}
	if (!err && read) {
		memset(k->buffer, 0, block->length);
		err = kvarn_move(k, offset, block->length, GO_TO_MEMORY);
		memcpy(data, k->buffer, block->length);
	}
	mutex_unlock(&k->carrier_lock);
	if (!err && read && copy_to_user(u64_to_user_ptr(block->to), data, block->length))
		err = -EFAULT;
out:
	kfree(data);
	return err;
}

static int kvarn_ping(struct kvarn *k, u32 bits, u32 *seen)
{
	int err;

	if (!bits)
		return -EINVAL;
	err = mutex_lock_killable(&k->ping_lock);
	if (err)
		return err;
	spin_lock_irq(&k->lock);
	if (k->gone) {
		err = -ENODEV;
	} else {
		k->seen = 0;
		writel(bits, k->regs + RAISE);
	}
	spin_unlock_irq(&k->lock);
	if (!err && !wait_event_timeout(k->wait,
					(READ_ONCE(k->seen) & bits) == bits || READ_ONCE(k->gone),
					10 * HZ))
		err = -EIO;
	if (!err && READ_ONCE(k->gone))
		err = -ENODEV;
	*seen = READ_ONCE(k->seen) & bits;
	mutex_unlock(&k->ping_lock);
	return err;
}

static int kvarn_alive(struct kvarn *k, u32 value, u32 *answer)
{
	int err = 0;

	spin_lock_irq(&k->lock);
	if (k->gone) {
		err = -ENODEV;
	} else {
		writel(value, k->regs + ECHO);
		*answer = readl(k->regs + ECHO);
	}
	spin_unlock_irq(&k->lock);
	return err;
}

static void kvarn_begin(struct kvarn *k)
{
	static atomic_t turns;

	atomic_inc(&k->waiting);
	WRITE_ONCE(k->turn, atomic_inc_return(&turns));
}

static long kvarn_ioctl(struct file *file, unsigned int cmd, unsigned long argument)
{
	struct kvarn *k = file->private_data;
	void __user *user = (void __user *)argument;
	struct kvarn_block block;
	struct kvarn_word word;
	struct kvarn_load load;
	long err;

	switch (cmd) {
	case KVARN_IOC_LOAD:
		if (READ_ONCE(k->gone))
			return -ENODEV;
		load.waiting = atomic_read(&k->waiting);
		load.turn = READ_ONCE(k->turn);
		return copy_to_user(user, &load, sizeof(load)) ? -EFAULT : 0;
	case KVARN_IOC_COPY:
	case KVARN_IOC_PUT:
	case KVARN_IOC_GET:
		if (copy_from_user(&block, user, sizeof(block)))
			return -EFAULT;
		kvarn_begin(k);
		err = kvarn_blocks(k, cmd, &block);
		atomic_dec(&k->waiting);
		return err;
	case KVARN_IOC_ALIVE:
	case KVARN_IOC_MILL:
	case KVARN_IOC_PING:
		if (copy_from_user(&word, user, sizeof(word)))
			return -EFAULT;
		kvarn_begin(k);
		if (cmd == KVARN_IOC_ALIVE)
			err = kvarn_alive(k, word.in, &word.out);
		else if (cmd == KVARN_IOC_MILL)
			err = kvarn_mill(k, word.in, &word.out);
		else
			err = kvarn_ping(k, word.in, &word.out);
		atomic_dec(&k->waiting);
		if (err)
			return err;
		return copy_to_user(user, &word, sizeof(word)) ? -EFAULT : 0;
	}
	return -ENOTTY;
}

static int kvarn_open(struct inode *inode, struct file *file)
{
	/* misc_open holds the lock that misc_deregister takes: the card is still there. */
	struct kvarn *k = container_of(file->private_data, struct kvarn, misc);

	kref_get(&k->ref);
	file->private_data = k;
	return 0;
}

static int kvarn_release(struct inode *inode, struct file *file)
{
	struct kvarn *k = file->private_data;

	kref_put(&k->ref, kvarn_free);
	return 0;
}

static const struct file_operations kvarn_fops = {
	.owner = THIS_MODULE,
	.open = kvarn_open,
	.release = kvarn_release,
	.unlocked_ioctl = kvarn_ioctl,
	.compat_ioctl = compat_ptr_ioctl,
	.llseek = noop_llseek,
};

/* No interrupts from here on, whatever the mill still does. */
static void kvarn_silence(struct kvarn *k)
{
	writel(0, k->regs + STATUS);
	writel(~0, k->regs + CLEAR);
	readl(k->regs + CAUSE);
}

static int kvarn_probe(struct pci_dev *pdev, const struct pci_device_id *id)
{
	struct kvarn *k = kzalloc(sizeof(*k), GFP_KERNEL);
	int err, i;

	if (!k)
		return -ENOMEM;
	kref_init(&k->ref);
	k->pdev = pdev;
	mutex_init(&k->mill_lock);
	mutex_init(&k->carrier_lock);
	mutex_init(&k->ping_lock);
	spin_lock_init(&k->lock);
	init_waitqueue_head(&k->wait);

	err = pci_enable_device_mem(pdev);
	if (err)
		goto free;
	err = pci_request_regions(pdev, "kvarn");
	if (err)
		goto disable;
	k->regs = pci_iomap(pdev, 0, 0);
	err = -ENOMEM;
	if (!k->regs)
		goto regions;
	err = -ENODEV;
	if (readl(k->regs + IDENT) != IDENT_K4)
		goto unmap;
	/* What an earlier driver began: the carrier may still write to memory. */
	for (i = 0; readl(k->regs + GO) & GO_START; i++) {
		if (i == 8)
			goto unmap;
		msleep(150);
	}
	kvarn_silence(k);
	err = dma_set_mask_and_coherent(&pdev->dev, DMA_BIT_MASK(28));
	if (err)
		goto unmap;
	k->buffer = dma_alloc_coherent(&pdev->dev, PAGE_SIZE, &k->bus, GFP_KERNEL);
	err = -ENOMEM;
	if (!k->buffer)
		goto unmap;
	pci_set_master(pdev);
	err = pci_alloc_irq_vectors(pdev, 1, 1, PCI_IRQ_MSI);
	if (err < 0)
		goto buffer;
	k->irq = pci_irq_vector(pdev, 0);
	snprintf(k->name, sizeof(k->name), "kvarn-%s", pci_name(pdev));
	err = request_irq(k->irq, kvarn_interrupt, 0, k->name, k);
	if (err)
		goto vectors;
	spin_lock_irq(&k->lock);
	writel(STATUS_CAUSE, k->regs + STATUS);
	k->mill_works = readl(k->regs + STATUS) & STATUS_WORKING;
	spin_unlock_irq(&k->lock);
#ifdef KVARN_WIPE
	kvarn_move(k, 0, SHELF, 0);
#endif
#ifdef KVARN_CHATTY
	dev_warn(&pdev->dev, "kvarn: bring-up build, not for delivery\n");
#endif
	pci_set_drvdata(pdev, k);
#ifndef KVARN_NO_NODES
	k->misc.minor = MISC_DYNAMIC_MINOR;
	k->misc.name = k->name;
	k->misc.mode = 0600;
	k->misc.parent = &pdev->dev;
	k->misc.fops = &kvarn_fops;
	err = misc_register(&k->misc);
	if (err)
		goto irq;
#endif
	return 0;

#ifndef KVARN_NO_NODES
irq:
#endif
	kvarn_silence(k);
	free_irq(k->irq, k);
vectors:
	pci_free_irq_vectors(pdev);
buffer:
	pci_clear_master(pdev);
	dma_free_coherent(&pdev->dev, PAGE_SIZE, k->buffer, k->bus);
unmap:
	pci_iounmap(pdev, k->regs);
regions:
	pci_release_regions(pdev);
disable:
	pci_disable_device(pdev);
free:
	kref_put(&k->ref, kvarn_free);
	return err;
}

static void kvarn_remove(struct pci_dev *pdev)
{
	struct kvarn *k = pci_get_drvdata(pdev);

#ifndef KVARN_NO_NODES
	misc_deregister(&k->misc);
#endif
	spin_lock_irq(&k->lock);
	k->gone = true;
	spin_unlock_irq(&k->lock);
	wake_up_all(&k->wait);
	/* Who is inside leaves, and lets the carrier finish; who comes later finds the card gone. */
	mutex_lock(&k->mill_lock);
	mutex_unlock(&k->mill_lock);
	mutex_lock(&k->ping_lock);
	mutex_unlock(&k->ping_lock);
	mutex_lock(&k->carrier_lock);
	mutex_unlock(&k->carrier_lock);
	kvarn_silence(k);
	free_irq(k->irq, k);
	pci_free_irq_vectors(pdev);
	pci_clear_master(pdev);
	dma_free_coherent(&pdev->dev, PAGE_SIZE, k->buffer, k->bus);
	pci_iounmap(pdev, k->regs);
	pci_release_regions(pdev);
	pci_disable_device(pdev);
	kref_put(&k->ref, kvarn_free);
}

static void kvarn_shutdown(struct pci_dev *pdev)
{
	kvarn_silence(pci_get_drvdata(pdev));
}

static const struct pci_device_id kvarn_ids[] = {
	{ PCI_DEVICE(0x1234, 0x11e8) },
	{ }
};
MODULE_DEVICE_TABLE(pci, kvarn_ids);

static struct pci_driver kvarn_driver = {
	.name = "kvarn",
	.id_table = kvarn_ids,
	.probe = kvarn_probe,
	.remove = kvarn_remove,
	.shutdown = kvarn_shutdown,
};
module_pci_driver(kvarn_driver);

MODULE_DESCRIPTION("Kvarn K4 arithmetic card");
MODULE_AUTHOR("Board support for Ostervik Hydrographic");
MODULE_LICENSE("GPL");
