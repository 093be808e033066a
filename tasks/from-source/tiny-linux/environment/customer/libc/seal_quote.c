/*
 * seal_quote: ask the kernel for a quote. Part of the C library of our units,
 * so that every program can prove where it runs without knowing the device.
 *
 * Written for glibc 2.11.
 */
#include <sys/cdefs.h>
#include <errno.h>
#include <fcntl.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <bits/libc-lock.h>

#include <seal.h>

__libc_lock_define_initialized (static, lock)

int
__seal_quote (const void *challenge, size_t len, struct seal_quote *out)
{
  int fd, r, saved;

  if (len == 0 || len > SEAL_MAX)
    {
      __set_errno (EMSGSIZE);
      return -1;
    }
  __libc_lock_lock (lock);
  fd = TEMP_FAILURE_RETRY (open_not_cancel_2 ("/dev/seal", O_RDWR | O_CLOEXEC));
  if (fd < 0)
    {
      __libc_lock_unlock (lock);
      return -1;
    }
  memset (out, 0, sizeof *out);
  memcpy (out->challenge, challenge, len);
  out->len = len;
  r = TEMP_FAILURE_RETRY (ioctl (fd, SEAL_IOC_QUOTE, out));
  saved = errno;
  close_not_cancel_no_status (fd);
  __libc_lock_unlock (lock);
  __set_errno (saved);
  return r;
}
weak_alias (__seal_quote, seal_quote)
