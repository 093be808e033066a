/* What signify's files expect of a BSD. */
#include <sys/types.h>
#include <string.h>
#undef __BEGIN_DECLS
#define __BEGIN_DECLS
#define __END_DECLS
#define __bounded__(...)
#define DEF_WEAK(name)
#define MAKE_CLONE(clone, of) __typeof(clone) clone __attribute__((alias(#of)))
static inline int timingsafe_bcmp(const void *a, const void *b, size_t n)
{
    const unsigned char *p = a, *q = b;
    int differ = 0;
    while (n--)
        differ |= *p++ ^ *q++;
    return differ != 0;
}
