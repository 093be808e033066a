#include <errno.h>
#include <fcntl.h>
#include <seal.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "lock.h"

static volatile int lock[1];

int seal_quote(const void *challenge, size_t len, struct seal_quote *out)
{
	int fd, r, saved;

	if (!len || len > SEAL_MAX) {
		errno = EMSGSIZE;
		return -1;
	}
	LOCK(lock);
	do fd = open("/dev/seal", O_RDWR | O_CLOEXEC);
	while (fd < 0 && errno == EINTR);
	if (fd < 0) {
		UNLOCK(lock);
		return -1;
	}
	memset(out, 0, sizeof *out);
	memcpy(out->challenge, challenge, len);
	out->len = len;
	do r = ioctl(fd, SEAL_IOC_QUOTE, out);
	while (r < 0 && errno == EINTR);
	saved = errno;
	close(fd);
	UNLOCK(lock);
	errno = saved;
	return r;
}
