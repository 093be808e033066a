/*
 * The interface of libkvarn, as our own programs use it. Deliver this file unchanged, as
 * /usr/include/kvarn.h.
 *
 * Every function but kvarn_open, kvarn_close and kvarn_list returns 0, or a negative error number
 * of <errno.h>: -ENODEV (no card, no such card, or it went away), -EACCES (not allowed), -EINVAL
 * (the request breaks a limit; nothing was sent to a card), -EFAULT (a pointer to memory that the
 * process does not have).
 */
#ifndef KVARN_H
#define KVARN_H

#include <stddef.h>
#include <stdint.h>

#define KVARN_SHELF 1024 /* bytes of a card's shelf: offsets 0 to 1023 of its store */

typedef struct kvarn kvarn;

/*
 * The PCI addresses of the cards that are there, like "0000:00:05.0", in ascending order. Writes at
 * most `room` of them and returns how many cards there are. Needs no permission.
 */
int kvarn_list(char (*addresses)[16], int room);

/*
 * A handle for the card at `address`, or for all cards when `address` is NULL: then each call is
 * done by whichever card suits. NULL on failure, with the (positive) error number in errno.
 * A handle may be used by several threads at once.
 */
kvarn *kvarn_open(const char *address);
void kvarn_close(kvarn *handle);

/* ECHO: writes `value`, gives back what the card made of it. */
int kvarn_alive(kvarn *handle, uint32_t value, uint32_t *answer);

/* n! modulo 2^32, computed by a card. */
int kvarn_factorial(kvarn *handle, uint32_t n, uint32_t *result);

/* Sends `length` bytes through a card's store and back. `length` has no limit. */
int kvarn_copy(kvarn *handle, void *to, const void *from, size_t length);

/* Writes to, and reads from, a card's shelf. The handle must be for one card. */
int kvarn_put(kvarn *handle, unsigned offset, const void *from, size_t length);
int kvarn_get(kvarn *handle, unsigned offset, void *to, size_t length);

/* RAISE: has the card raise the interrupt causes in `bits` (not 0); waits for the interrupt, and
 * gives those of `bits` that its handler saw. The handle must be for one card. */
int kvarn_ping(kvarn *handle, uint32_t bits, uint32_t *seen);

#endif
