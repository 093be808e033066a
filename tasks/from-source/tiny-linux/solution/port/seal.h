/* seal: what the driver and its callers share. */
#ifndef SEAL_H
#define SEAL_H

#ifdef __KERNEL__
#include <linux/ioctl.h>
#include <linux/types.h>
#else
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
typedef uint8_t __u8;
typedef uint32_t __u32;
typedef uint64_t __u64;
#endif

#define SEAL_MAX 64

struct seal_quote {
	__u8 challenge[SEAL_MAX];
	__u32 len;		/* in: 1 to SEAL_MAX */
	__u32 reserved;
	__u64 count;		/* out */
	__u64 tag;		/* out */
};

#define SEAL_IOC_QUOTE _IOWR('q', 1, struct seal_quote)

#ifndef __KERNEL__
int seal_quote(const void *challenge, size_t len, struct seal_quote *out);
#endif

#endif
