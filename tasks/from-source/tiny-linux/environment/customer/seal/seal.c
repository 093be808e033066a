/*
 * seal - proof-of-place device.
 *
 * A unit proves that it is one of ours by answering challenges with a tag that
 * is computed here, in the kernel, under the number of the order it was made for.
 * The protocol is described in PROTOCOL beside this file.
 *
 * In service since Linux 2.6.24; last touched for 2.6.32.
 *
 * Licensed under the GPL, version 2.
 */
#include <linux/module.h>
#include <linux/kernel.h>
#include <linux/init.h>
#include <linux/fs.h>
#include <linux/miscdevice.h>
#include <linux/proc_fs.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/smp_lock.h>
#include <linux/timer.h>
#include <asm/semaphore.h>
#include <asm/uaccess.h>

#include "seal.h"

struct seal_file {
	unsigned char challenge[SEAL_MAX];
	u32 len;
	char answer[64];
	size_t answer_len;
	size_t answer_pos;
};

static DECLARE_MUTEX(seal_sem);
static u64 seal_quotes;
static unsigned long seal_refused;
static unsigned long seal_ticks;
static struct timer_list seal_timer;

static u64 seal_mix(u64 v, u8 b)
{
	v = (v ^ b) * 0x100000001b3ULL;
	return (v << 23 | v >> 41) ^ (v >> 17);
}

static u64 seal_tag(const unsigned char *challenge, u32 len, u64 count)
{
	static const char order[] = CONFIG_SEAL_ORDER;
	u64 v = 0xcbf29ce484222325ULL;
	u32 i;

	for (i = 0; i < sizeof(order) - 1; i++)
		v = seal_mix(v, order[i]);
	for (i = 0; i < 8; i++)
		v = seal_mix(v, count >> (8 * i));
	for (i = 0; i < len; i++)
		v = seal_mix(v, challenge[i]);
	v ^= v >> 33;
	v *= 0xff51afd7ed558ccdULL;
	v ^= v >> 33;
	return v;
}

static int seal_answer(const unsigned char *challenge, u32 len, u64 *count, u64 *tag)
{
	if (len == 0 || len > SEAL_MAX) {
		seal_refused++;
		return -EMSGSIZE;
	}
	if (down_interruptible(&seal_sem))
		return -ERESTARTSYS;
	*count = ++seal_quotes;
	*tag = seal_tag(challenge, len, *count);
	up(&seal_sem);
	return 0;
}

static int seal_open(struct inode *inode, struct file *file)
{
	lock_kernel();
	file->private_data = kzalloc(sizeof(struct seal_file), GFP_KERNEL);
	unlock_kernel();
	return file->private_data ? 0 : -ENOMEM;
}

static int seal_release(struct inode *inode, struct file *file)
{
	kfree(file->private_data);
	return 0;
}

static ssize_t seal_write(struct file *file, const char __user *buf, size_t len, loff_t *pos)
{
	struct seal_file *sf = file->private_data;
	u64 count, tag;
	int err;

	if (len == 0 || len > SEAL_MAX) {
		seal_refused++;
		return -EMSGSIZE;
	}
	if (!access_ok(VERIFY_READ, buf, len) || copy_from_user(sf->challenge, buf, len))
		return -EFAULT;
	sf->len = len;
	err = seal_answer(sf->challenge, sf->len, &count, &tag);
	if (err)
		return err;
	sf->answer_len = sprintf(sf->answer, "seal1 %llu %016llx\n", count, tag);
	sf->answer_pos = 0;
	return len;
}

static ssize_t seal_read(struct file *file, char __user *buf, size_t len, loff_t *pos)
{
	struct seal_file *sf = file->private_data;

	if (sf->answer_len == 0)
		return -EAGAIN;
	if (len > sf->answer_len - sf->answer_pos)
		len = sf->answer_len - sf->answer_pos;
	if (copy_to_user(buf, sf->answer + sf->answer_pos, len))
		return -EFAULT;
	sf->answer_pos += len;
	return len;
}

static int seal_ioctl(struct inode *inode, struct file *file, unsigned int cmd, unsigned long arg)
{
	struct seal_quote q;
	int err;

	if (cmd != SEAL_IOC_QUOTE)
		return -ENOTTY;
	if (copy_from_user(&q, (void __user *)arg, sizeof(q)))
		return -EFAULT;
	err = seal_answer(q.challenge, q.len, &q.count, &q.tag);
	if (err)
		return err;
	return copy_to_user((void __user *)arg, &q, sizeof(q)) ? -EFAULT : 0;
}

static struct file_operations seal_fops = {
	.owner = THIS_MODULE,
	.open = seal_open,
	.release = seal_release,
	.read = seal_read,
	.write = seal_write,
	.ioctl = seal_ioctl,
};

static struct miscdevice seal_misc = {
	.minor = MISC_DYNAMIC_MINOR,
	.name = "seal",
	.fops = &seal_fops,
};

static void seal_tick(unsigned long interval)
{
	seal_ticks++;
	mod_timer(&seal_timer, jiffies + interval);
}

static int seal_read_proc(char *page, char **start, off_t off, int count, int *eof, void *data)
{
	int n;

	n = sprintf(page, "order: %s\nquotes: %llu\nrefused: %lu\nticks: %lu\n",
		    CONFIG_SEAL_ORDER, seal_quotes, seal_refused, seal_ticks);
	*eof = 1;
	return n;
}

static int __init seal_init(void)
{
	int err = misc_register(&seal_misc);

	if (err)
		return err;
	if (!create_proc_read_entry("driver/seal", S_IRUGO, NULL, seal_read_proc, NULL)) {
		misc_deregister(&seal_misc);
		return -ENOMEM;
	}
	init_timer(&seal_timer);
	seal_timer.function = seal_tick;
	seal_timer.data = HZ;
	seal_timer.expires = jiffies + HZ;
	add_timer(&seal_timer);
	printk(KERN_INFO "seal: order %s\n", CONFIG_SEAL_ORDER);
	return 0;
}

module_init(seal_init);
MODULE_LICENSE("GPL");
