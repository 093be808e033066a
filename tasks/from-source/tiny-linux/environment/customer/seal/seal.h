/* seal: what the driver and its callers share. */
#ifndef SEAL_H
#define SEAL_H

#include <linux/ioctl.h>
#include <linux/types.h>

#define SEAL_MAX 64

struct seal_quote {
	__u8 challenge[SEAL_MAX];
	__u32 len;		/* in: 1 to SEAL_MAX */
	__u32 reserved;
	__u64 count;		/* out */
	__u64 tag;		/* out */
};

#define SEAL_IOC_QUOTE _IOWR('q', 1, struct seal_quote)

#endif
