/* The big lock. A processor holds it from its entry into the kernel until it leaves for a program or
 * idles; interrupts are off all the while. Tickets, so that each processor gets its turn. */
#include "hw.h"

static volatile u32 next_ticket, serving;
static struct cpu *volatile owner;

void kernel_lock(void)
{
	u32 mine = __atomic_fetch_add(&next_ticket, 1, __ATOMIC_SEQ_CST);
	while (__atomic_load_n(&serving, __ATOMIC_ACQUIRE) != mine)
		pause();
	owner = this_cpu();
}

void kernel_unlock(void)
{
	owner = NULL;
	__atomic_store_n(&serving, serving + 1, __ATOMIC_RELEASE);
}

bool kernel_lock_mine(void) { return owner == this_cpu(); }
