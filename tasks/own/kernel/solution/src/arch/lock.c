/* The big lock. A processor holds it from its entry into the kernel until it leaves for a program or
 * idles; interrupts are off all the while. Who waits for long halts and is called by who gives it up: where
 * processors are threads of a busy host, one that spins keeps the holder from running. */
#include "hw.h"

#define PATIENCE 50000UL	/* ns */

static volatile u32 held;
static struct cpu *volatile owner;

static bool try(void)
{
	if (held || __atomic_exchange_n(&held, 1, __ATOMIC_ACQUIRE))
		return false;
	owner = this_cpu();
	return true;
}

/* In an interrupt that came to a processor which itself waits: without halting again. */
void kernel_lock_spin(void)
{
	while (!try())
		pause();
}

void kernel_lock(void)
{
	struct cpu *c = this_cpu();
	if (try())
		return;
	u64 until = now_ns() + PATIENCE;
	while (!try()) {
		if (now_ns() < until) {
			pause();
			continue;
		}
		c->awaits_lock = true;
		full_barrier();
		if (held)
			asm volatile("sti; hlt; cli" : : : "memory");
		c->awaits_lock = false;
	}
}

void kernel_unlock(void)
{
	owner = NULL;
	__atomic_store_n(&held, 0, __ATOMIC_SEQ_CST);
	for (u32 i = 0; i < cpu_count; i++)
		if (cpus[i].awaits_lock) {
			cpus[i].awaits_lock = false;
			apic_kick(&cpus[i]);
			break;
		}
}

bool kernel_lock_mine(void) { return owner == this_cpu(); }
