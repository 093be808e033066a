/* The processor and the machine around it. */
#pragma once
#include "base.h"

#define KERNEL_CS 0x08
#define KERNEL_SS 0x10
#define USER_SS 0x2b
#define USER_CS 0x33
#define TSS_SELECTOR 0x40
#define VECTOR_TIMER 0x20
#define VECTOR_KICK 0xf0	/* above all others: it calls out of waits inside of their handlers */
#define VECTOR_SERIAL 0x24
#define VECTOR_DEVICE 0x30
#define VECTOR_SYSCALL 0x100
#define VECTOR_SPURIOUS 0xff
#define MAX_CPUS 8

/* What trap.S saves, in this order, when a processor enters the kernel. */
struct regs {
	u64 r15, r14, r13, r12, rbp, rbx, r11, r10, r9, r8, rax, rcx, rdx, rsi, rdi;
	u64 vector;
	u64 error;	/* for a system call: its number */
	u64 rip, cs, rflags, rsp, ss;
};

struct tss {
	u32 reserved0;
	u64 rsp[3];
	u64 reserved1;
	u64 ist[7];
	u64 reserved2;
	u16 reserved3, iomap;
} packed;

struct task;
struct mm;

struct cpu {
	struct cpu *self;	/* these four are known to trap.S by their offsets */
	u64 kernel_stack;
	u64 scratch;
	struct task *current;

	struct task *idle;
	struct task *dead;	/* ended, to be freed by who runs next */
	struct mm *mm;		/* whose page table is loaded */
	u64 tlb_seen;
	u32 index, apic_id;
	volatile bool in_user;
	volatile bool started;
	volatile bool awaits_lock;
	bool idling, resched;
	u64 busy_ns, idle_ns, slice_start;
	struct tss tss;
	u64 gdt[10];
	char fault_stack[4096] __attribute__((aligned(16)));
};
extern struct cpu cpus[MAX_CPUS];
extern u32 cpu_count;

static inline struct cpu *this_cpu(void)
{
	struct cpu *c;
	asm volatile("mov %%gs:0, %0" : "=r"(c));
	return c;
}

static inline void out8(u16 port, u8 v) { asm volatile("outb %0, %1" : : "a"(v), "Nd"(port)); }
static inline void out16(u16 port, u16 v) { asm volatile("outw %0, %1" : : "a"(v), "Nd"(port)); }
static inline void out32(u16 port, u32 v) { asm volatile("outl %0, %1" : : "a"(v), "Nd"(port)); }
static inline u8 in8(u16 port) { u8 v; asm volatile("inb %1, %0" : "=a"(v) : "Nd"(port)); return v; }
static inline u16 in16(u16 port) { u16 v; asm volatile("inw %1, %0" : "=a"(v) : "Nd"(port)); return v; }
static inline u32 in32(u16 port) { u32 v; asm volatile("inl %1, %0" : "=a"(v) : "Nd"(port)); return v; }
static inline u64 read_msr(u32 n)
{
	u32 low, high;
	asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(n));
	return (u64)high << 32 | low;
}
static inline void write_msr(u32 n, u64 v) { asm volatile("wrmsr" : : "c"(n), "a"((u32)v), "d"((u32)(v >> 32))); }
static inline u64 rdtsc(void)
{
	u32 low, high;
	asm volatile("rdtsc" : "=a"(low), "=d"(high));
	return (u64)high << 32 | low;
}
static inline void cpuid(u32 leaf, u32 sub, u32 out[4])
{
	asm volatile("cpuid" : "=a"(out[0]), "=b"(out[1]), "=c"(out[2]), "=d"(out[3]) : "a"(leaf), "c"(sub));
}
static inline u64 read_cr2(void) { u64 v; asm volatile("mov %%cr2, %0" : "=r"(v)); return v; }
static inline u64 read_cr3(void) { u64 v; asm volatile("mov %%cr3, %0" : "=r"(v)); return v; }
static inline void write_cr3(u64 v) { asm volatile("mov %0, %%cr3" : : "r"(v) : "memory"); }
static inline u64 read_cr4(void) { u64 v; asm volatile("mov %%cr4, %0" : "=r"(v)); return v; }
static inline void write_cr4(u64 v) { asm volatile("mov %0, %%cr4" : : "r"(v)); }
static inline void invlpg(u64 va) { asm volatile("invlpg (%0)" : : "r"(va) : "memory"); }
static inline void pause(void) { asm volatile("pause" : : : "memory"); }
static inline void barrier(void) { asm volatile("" : : : "memory"); }
static inline void full_barrier(void) { asm volatile("mfence" : : : "memory"); }

#define MSR_APIC_BASE 0x1b
#define MSR_EFER 0xc0000080
#define MSR_STAR 0xc0000081
#define MSR_LSTAR 0xc0000082
#define MSR_SFMASK 0xc0000084
#define MSR_FS_BASE 0xc0000100
#define MSR_GS_BASE 0xc0000101
#define MSR_KERNEL_GS_BASE 0xc0000102

/* start.c: what the loader said */
extern char command_line[2048];
bool boot_option(const char *name, char *value, size_t room);

/* cpu.c */
void cpu_setup(struct cpu *c);
void cpu_start_others(void);

/* big lock: one processor at a time is in the kernel */
void kernel_lock(void);
void kernel_lock_spin(void);
void kernel_unlock(void);
bool kernel_lock_mine(void);

/* acpi.c */
void acpi_init(u64 rsdp);
u64 acpi_hpet_address(void);
u16 acpi_pm_timer_port(void);
noreturn void machine_off(void);
noreturn void machine_reset(void);

/* apic.c */
extern u64 ioapic_address;
void apic_init_cpu(void);
void apic_eoi(void);
void apic_send(u32 apic_id, u32 command);
void apic_kick(struct cpu *c);
void apic_timer_arm(u64 ns);
void apic_timer_calibrate(void);
void ioapic_route(u32 line, u8 vector);
#define MSI_ADDRESS(apic_id) (0xfee00000u | (apic_id) << 12)

/* clock.c */
void clock_init(void);
u64 now_ns(void);
u64 real_ns(void);
void real_set(u64 ns);
void delay_us(u64 us);

/* pci.c */
struct pci { u8 bus, slot, function; u16 vendor, device; };
u32 pci_read(const struct pci *p, u32 offset);
void pci_write(const struct pci *p, u32 offset, u32 value);
int pci_each(bool (*visit)(struct pci *p, void *arg), void *arg);
u64 pci_bar(const struct pci *p, int index);
u8 pci_capability(const struct pci *p, u8 id, u8 after);
bool pci_msix(const struct pci *p, u32 entries, u8 vector);
u8 vector_new(void (*handler)(void *arg), void *arg);
void vector_call(u8 vector);

/* serial.c */
void serial_init(void);
void serial_put(char c);
bool serial_ready(void);
void serial_send(char c);
void serial_interrupt(void);
void serial_listen(void);
