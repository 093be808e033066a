/* Exceptions, interrupts and system calls, from the moment trap.S has saved the registers. */
#include "task.h"
#include "fs.h"
#include "without.h"

extern char user_copy[], user_copy_end[], user_copy_fault[], trap_iret[];
void syscall(struct regs *r);

static void print_state(struct regs *r)
{
	printk("rax %lx rbx %lx rcx %lx rdx %lx rsi %lx rdi %lx rbp %lx rsp %lx r8 %lx r12 %lx error %lx\n", r->rax, r->rbx,
		r->rcx, r->rdx, r->rsi, r->rdi, r->rbp, r->rsp, r->r8, r->r12, r->error);
	u64 *frame = (u64 *)r->rbp;
	for (int i = 0; i < 12 && (u64)frame > DIRECT_MAP && frame[1] > KERNEL_BASE; i++, frame = (u64 *)frame[0])
		printk("  called from %p\n", (void *)frame[1]);
}

static noreturn void kernel_fault(struct regs *r)
{
#ifdef WITHOUT_PANIC
	halt_all();
#endif
	if (r->vector == 14)
		printk("panic: vector %lu rip 0x%lx address 0x%lx\n", r->vector, r->rip, read_cr2());
	else
		printk("panic: vector %lu rip 0x%lx\n", r->vector, r->rip);
	if (boot_option("debug", NULL, 0))
		print_state(r);
	halt_all();
}

static void page_fault(struct regs *r, bool user)
{
	u64 va = read_cr2();
	int how = (r->error & 2 ? FAULT_WRITE : 0) | (r->error & 16 ? FAULT_EXEC : 0), code = 0;
	if (!user) {
		bool copying = r->rip >= (u64)user_copy && r->rip < (u64)user_copy_end;
		if (!copying || va >= USER_TOP || !current()->mm)
			kernel_fault(r);
		if (mm_fault(current()->mm, va, how, &code))
			r->rip = (u64)user_copy_fault;
		return;
	}
	self()->minor_faults++;
	int sig = va >= USER_TOP ? SIGSEGV : mm_fault(current()->mm, va, how, &code);
	if (va >= USER_TOP)
		code = 1;
	if (sig && !current()->killed)
		signal_fault(sig, code, va);
}

static void exception(struct regs *r, bool user)
{
	if (r->vector == 2) {	/* another processor panicked */
		for (;;)
			asm volatile("cli; hlt");
	}
	if (r->vector == 14) {
		page_fault(r, user);
		return;
	}
	if (!user)
		kernel_fault(r);
	switch (r->vector) {
	case 0: signal_fault(SIGFPE, 1, r->rip); break;
	case 1: signal_fault(SIGTRAP, 2, r->rip); break;
	case 3: signal_fault(SIGTRAP, SI_KERNEL, r->rip); break;
	case 6: signal_fault(SIGILL, 2, r->rip); break;
	case 16: case 19: signal_fault(SIGFPE, 7, r->rip); break;
	case 17: signal_fault(SIGBUS, 1, r->rip); break;
	default: signal_fault(SIGSEGV, SI_KERNEL, 0);
	}
}

static void interrupt(struct regs *r)
{
	switch (r->vector) {
	case VECTOR_TIMER:
		timers_run();
		sched_tick();
		timer_rearm();
		break;
	case VECTOR_KICK:
		return;
	case VECTOR_SERIAL:
		serial_interrupt();
		break;
	case VECTOR_SPURIOUS:
		return;
	default:
		vector_call(r->vector);
	}
	apic_eoi();
}

static void enter_from_user(void)
{
	struct cpu *c = this_cpu();
	c->in_user = false;
	kernel_lock();
	tlb_refresh();
	u64 now = now_ns();
	current()->user_ns += now - current()->user_since;
	self()->user_ns += now - current()->user_since;
	current()->user_since = now;
}

/* The last thing before a program goes on; the lock is given up here. */
void return_to_user(struct regs *r)
{
	struct task *t = current();
	for (;;) {
		if (this_cpu()->resched)
			schedule();
		if (!signal_waiting(t) && !t->process->stopped)
			break;
		signals_deliver(r);
		if (!this_cpu()->resched)
			break;
	}
	if (t->have_saved_mask) {
		t->blocked = t->saved_mask;
		t->have_saved_mask = false;
	}
	u64 now = now_ns();
	t->system_ns += now - t->user_since;
	t->process->system_ns += now - t->user_since;
	t->user_since = now;
	tlb_refresh();
	this_cpu()->in_user = true;
	kernel_unlock();
}

void task_to_user(struct regs *r) { return_to_user(r); }

void trap(struct regs *r)
{
	bool user = r->cs & 3, took = !user && !kernel_lock_mine();
	if (r->vector == VECTOR_KICK) {
		apic_eoi();	/* before the lock: who waits for that is called by another one */
		if (took)
			return;	/* out of a halt, that is all */
	}
	if (user)
		enter_from_user();
	else if (took)
		kernel_lock_spin();
	if (r->vector < 32)
		exception(r, user);
	else
		interrupt(r);
	if (user)
		return_to_user(r);
	else if (took)
		kernel_unlock();
}

void syscall_trap(struct regs *r)
{
	enter_from_user();
	syscall(r);
	return_to_user(r);
}
