/* Interrupt controllers: each processor's local one with its timer, and the one of old ISA lines. */
#include "mm.h"

#define APIC_ID 0x20
#define APIC_EOI 0xb0
#define APIC_SPURIOUS 0xf0
#define APIC_COMMAND 0x300
#define APIC_COMMAND_HIGH 0x310
#define APIC_TIMER 0x320
#define APIC_LINT0 0x350
#define APIC_LINT1 0x360
#define APIC_ERROR 0x370
#define APIC_TIMER_INITIAL 0x380
#define APIC_TIMER_NOW 0x390
#define APIC_TIMER_DIVIDE 0x3e0

u64 ioapic_address = 0xfec00000;
static volatile u8 *apic;
static u64 ticks_per_ms;

static u32 get(u32 reg) { return *(volatile u32 *)(apic + reg); }
static void set(u32 reg, u32 v) { *(volatile u32 *)(apic + reg) = v; }

void apic_init_cpu(void)
{
	if (!apic) {
		apic = mmio_map(0xfee00000, 4096);
		out8(0x21, 0xff);	/* the older controllers stay silent */
		out8(0xa1, 0xff);
	}
	write_msr(MSR_APIC_BASE, read_msr(MSR_APIC_BASE) | 1 << 11);
	set(APIC_SPURIOUS, 0x100 | VECTOR_SPURIOUS);
	set(APIC_LINT0, 0x10000);
	set(APIC_LINT1, 0x10000);
	set(APIC_ERROR, 0x10000);
	set(APIC_TIMER_DIVIDE, 3);	/* by 16 */
	set(APIC_TIMER, VECTOR_TIMER);
	set(APIC_EOI, 0);
}

void apic_eoi(void) { set(APIC_EOI, 0); }

void apic_send(u32 apic_id, u32 command)
{
	while (get(APIC_COMMAND) & 0x1000)
		pause();
	set(APIC_COMMAND_HIGH, apic_id << 24);
	set(APIC_COMMAND, command);
	while (get(APIC_COMMAND) & 0x1000)
		pause();
}

void apic_kick(struct cpu *c) { apic_send(c->apic_id, 0x4000 | VECTOR_KICK); }

void apic_timer_calibrate(void)
{
	set(APIC_TIMER, 0x10000);
	set(APIC_TIMER_INITIAL, 0xffffffff);
	u64 start = now_ns();
	u32 first = get(APIC_TIMER_NOW);
	delay_us(20000);
	u64 took = now_ns() - start;
	u32 ticks = first - get(APIC_TIMER_NOW);
	ticks_per_ms = MAX((u64)ticks * 1000000 / took, 1UL);
	set(APIC_TIMER, VECTOR_TIMER);
}

void apic_timer_arm(u64 ns)
{
	u64 ticks = MIN(ns, 1000000000UL) * ticks_per_ms / 1000000;
	set(APIC_TIMER_INITIAL, MAX(ticks, 1UL));
}

void ioapic_route(u32 line, u8 vector)
{
	volatile u32 *io = mmio_map(ioapic_address, 4096);
	io[0] = 0x11 + 2 * line;
	io[4] = cpus[0].apic_id << 24;
	io[0] = 0x10 + 2 * line;
	io[4] = vector;
}
