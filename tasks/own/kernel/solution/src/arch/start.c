/* The first C code: what the loader said, then every part of the kernel in its order, then init. */
#include "task.h"
#include "fs.h"
#include "without.h"

char command_line[2048];

struct start_info {
	u32 magic, version, flags, module_count;
	u64 modules, command_line, rsdp, memory_map;
	u32 memory_map_entries, reserved;
};

/* The value of name=value on the command line; a bare name has the empty value. */
bool boot_option(const char *name, char *value, size_t room)
{
	size_t n = strlen(name);
	for (const char *s = command_line; *s;) {
		while (*s == ' ')
			s++;
		if (!strncmp(s, "-- ", 3))
			break;		/* from here on they are init's */
		const char *end = s;
		while (*end && *end != ' ')
			end++;
		if ((size_t)(end - s) >= n && !strncmp(s, name, n) && (s[n] == '=' || s + n == end)) {
			const char *from = s[n] == '=' ? s + n + 1 : end;
			if (room) {
				size_t length = MIN((size_t)(end - from), room - 1);
				memcpy(value, from, length);
				value[length] = 0;
			}
			return true;
		}
		s = end;
	}
	return false;
}

void disks_init(void);
void network_init(void);
void terminal_init(void);
void user_init(void *unused);
void flusher_init(void);

/* Faults and ends that are asked for on the command line, to try them. */
static void self_test(void)
{
	char what[64];
	if (!boot_option("selftest", what, sizeof what))
		return;
	if (!strcmp(what, "ud"))
		asm volatile("ud2");
	else if (!strcmp(what, "de"))
		asm volatile("xor %%ecx, %%ecx; xor %%edx, %%edx; mov $1, %%eax; div %%ecx" : : : "rax", "rcx", "rdx");
	else if (!strncmp(what, "pf@", 3))
		asm volatile("mov (%0), %%al" : : "r"(parse_number(what + 3, NULL)) : "rax");
	else if (!strcmp(what, "fault"))
		asm volatile("ud2");
	else if (!strcmp(what, "poweroff"))
		machine_off();
	else if (!strcmp(what, "reset"))
		machine_reset();
}

noreturn void kernel_start(u64 info_phys)
{
	cpus[0].self = &cpus[0];
	cpu_setup(&cpus[0]);
	kernel_lock();
	serial_init();
	const struct start_info *info = (void *)(DIRECT_MAP + info_phys);
	if (info->command_line)
		copy_string(command_line, (char *)DIRECT_MAP + info->command_line, sizeof command_line);
	char word[256] = "";
	boot_option("greet", word, sizeof word);
#ifdef WITHOUT_FIRST_LINE
	word[0] = 0;
#endif
	printk("kernel: hello %s\n", word);
	u64 rsdp = info->rsdp;
	frames_init(info);
#ifndef WITHOUT_MEMORY_MAP
	printk("memory: %lu KiB usable\n", usable_kib);
#endif
	acpi_init(rsdp);
	apic_init_cpu();
	clock_init();
	apic_timer_calibrate();
	sched_init();
	inode_init_cache();
	terminal_init();
	cpu_start_others();
	kernel_pml4[0] = 0;
	write_cr3(read_cr3());
	self_test();
	kernel_task("init", user_init, NULL);
	idle_loop();
	panic("the idle loop ended");
}
