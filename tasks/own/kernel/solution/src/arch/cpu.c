/* Descriptor tables of each processor, and how the other processors are woken. */
#include "task.h"

struct cpu cpus[MAX_CPUS];
u32 cpu_count = 1;
struct cpu *ap_cpu;
u64 ap_stack;

struct gate { u16 low; u16 selector; u8 ist, type; u16 middle; u32 high, reserved; } packed;
static struct gate idt[256];
extern char trap_stubs[], syscall_entry[], ap_start[], ap_start_end[];

static void idt_fill(void)
{
	for (int i = 0; i < 256; i++) {
		u64 at = (u64)trap_stubs + 16 * i;
		idt[i] = (struct gate){ at, KERNEL_CS, i == 8 || i == 2 ? 1 : 0, 0x8e, at >> 16, at >> 32, 0 };
	}
	idt[3].type = idt[4].type = 0xee;	/* int3 and into are for programs as well */
}

void cpu_setup(struct cpu *c)
{
	c->index = c - cpus;
	c->self = c;
	if (!c->index)
		idt_fill();
	u64 tss = (u64)&c->tss;
	c->gdt[1] = 0x00af9b000000ffff;
	c->gdt[2] = 0x00cf93000000ffff;
	c->gdt[5] = 0x00cff3000000ffff;
	c->gdt[6] = 0x00affb000000ffff;
	c->gdt[8] = (sizeof(struct tss) - 1) | (tss & 0xffffff) << 16 | 0x89UL << 40 | (tss >> 24 & 0xff) << 56;
	c->gdt[9] = tss >> 32;
	c->tss.ist[0] = (u64)c->fault_stack + sizeof c->fault_stack;
	c->tss.iomap = sizeof(struct tss);
	struct { u16 limit; u64 base; } packed table = { sizeof c->gdt - 1, (u64)c->gdt };
	asm volatile("lgdt %0" : : "m"(table));
	table.limit = sizeof idt - 1;
	table.base = (u64)idt;
	asm volatile("lidt %0" : : "m"(table));
	asm volatile("ltr %w0" : : "r"(TSS_SELECTOR));
	write_msr(MSR_GS_BASE, (u64)c);
	write_msr(MSR_KERNEL_GS_BASE, 0);
	write_msr(MSR_STAR, (u64)KERNEL_CS << 32 | (u64)0x23 << 48);
	write_msr(MSR_LSTAR, (u64)syscall_entry);
	write_msr(MSR_SFMASK, 0x47700);
	u32 features[4];
	cpuid(0, 0, features);
	if (features[0] >= 7) {
		cpuid(7, 0, features);
		if (features[1] & 1 << 7)
			write_cr4(read_cr4() | 1 << 20);	/* no program's page is run by the kernel */
	}
}

noreturn void ap_main(struct cpu *c)
{
	cpu_setup(c);
	apic_init_cpu();	/* before the lock: who waits for that halts, to be called */
	c->started = true;
	kernel_lock();
	c->slice_start = now_ns();
	apic_timer_arm(10000000);
	idle_loop();
	panic("the idle loop ended");
}

void cpu_start_others(void)
{
	cpus[0].started = true;
	memcpy(phys_address(0x8000), ap_start, ap_start_end - ap_start);
	for (u32 i = 1; i < cpu_count; i++) {
		struct cpu *c = &cpus[i];
		ap_cpu = c;
		ap_stack = c->kernel_stack;
		apic_send(c->apic_id, 0x4500);
		delay_us(10000);
		apic_send(c->apic_id, 0x4608);
		u64 end = now_ns() + 2000000000UL;
		while (!c->started && now_ns() < end)
			pause();
		if (!c->started)
			printk("cpu %u does not start\n", i);
	}
	u32 n = 0;
	for (u32 i = 0; i < cpu_count; i++)
		n += cpus[i].started;
	printk("cpus: %u\n", n);
}
