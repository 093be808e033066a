/* System calls that are not there yet in a kernel that stops at an earlier part of the way. */
#include "task.h"
#include "without.h"

bool syscall_refused(u64 n);

static const u16 refused[] = {
#ifdef WITHOUT_WRITE_READ
	0, 19,
#endif
#ifdef WITHOUT_MEMORY
	9, 10, 11, 12, 25, 28,
#endif
#ifdef WITHOUT_FILES
	2, 4, 6, 17, 89, 217, 257, 262, 267, 332,
#endif
#ifdef WITHOUT_PROCESSES
	56, 57, 58, 59, 61, 247, 435,
#endif
#ifdef WITHOUT_SIGNALS
	127, 128, 129, 130, 131, 297,
#endif
#ifdef WITHOUT_SHELL
	165,
#endif
#ifdef WITHOUT_TIME
	222, 223, 224, 225, 226, 229,
#endif
#ifdef WITHOUT_FILE_WRITES
	74, 75, 76, 77, 86, 265, 280,
#endif
#ifdef WITHOUT_POLLING
	213, 283, 284, 289, 290, 291,
#endif
	0xffff,
};

bool syscall_refused(u64 n)
{
	for (u32 i = 0; i < LENGTH(refused); i++)
		if (refused[i] == n)
			return true;
	return false;
}
