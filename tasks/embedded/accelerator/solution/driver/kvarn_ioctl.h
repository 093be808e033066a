/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVARN_IOCTL_H
#define KVARN_IOCTL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define KVARN_SLICE 3071 /* from the shelf's end to the store's last byte, which is not ours */

struct kvarn_word {
	__u32 in;
	__u32 out;
};

struct kvarn_block {
	__u64 from;
	__u64 to;
	__u32 offset;
	__u32 length;
};

struct kvarn_load {
	__u32 waiting; /* requests under way or queued */
	__s32 turn;    /* of its last request, counted over all cards; it may wrap */
};

#define KVARN_IOC_ALIVE _IOWR('k', 1, struct kvarn_word)
#define KVARN_IOC_MILL _IOWR('k', 2, struct kvarn_word)
#define KVARN_IOC_COPY _IOW('k', 3, struct kvarn_block)
#define KVARN_IOC_PUT _IOW('k', 4, struct kvarn_block)
#define KVARN_IOC_GET _IOW('k', 5, struct kvarn_block)
#define KVARN_IOC_PING _IOWR('k', 6, struct kvarn_word)
#define KVARN_IOC_LOAD _IOR('k', 7, struct kvarn_load)

#endif
