/* The kernel's own lines on the console, and its end when something is wrong with it. */
#include "hw.h"
#include "task.h"

void printk(const char *fmt, ...)
{
	char line[512];
	__builtin_va_list args;
	__builtin_va_start(args, fmt);
	format_list(line, sizeof line, fmt, args);
	__builtin_va_end(args);
	for (char *c = line; *c; c++) {
		if (*c == '\n')
			serial_put('\r');
		serial_put(*c);
	}
}

noreturn void halt_all(void)
{
	for (u32 i = 0; i < cpu_count; i++)
		if (&cpus[i] != this_cpu() && cpus[i].started)
			apic_send(cpus[i].apic_id, 0x4400);	/* NMI: the other one halts as well */
	for (;;)
		asm volatile("cli; hlt");
}

noreturn void panic(const char *fmt, ...)
{
	char line[512];
	__builtin_va_list args;
	__builtin_va_start(args, fmt);
	format_list(line, sizeof line, fmt, args);
	__builtin_va_end(args);
	printk("panic: %s\n", line);
	u64 *frame = __builtin_frame_address(0);
	for (int i = 0; i < 12 && (u64)frame > DIRECT_MAP && frame[1] > KERNEL_BASE; i++, frame = (u64 *)frame[0])
		printk("  called from %p\n", (void *)frame[1]);
	halt_all();
}
