/* As much of ACPI as names the processors, the clocks and the way to turn the machine off. */
#include "mm.h"
#include "without.h"

struct table { char signature[4]; u32 length; u8 revision, checksum; char oem[6], oem_table[8]; u32 oem_revision, creator, creator_revision; } packed;

static u16 pm1a_control, pm1b_control, pm_timer;
static u8 off_type_a, off_type_b;
static bool off_known;
static u64 hpet;

static const struct table *map_table(u64 phys)
{
	const volatile struct table *t = mmio_map(phys, sizeof *t);
	return (const struct table *)mmio_map(phys, t->length);
}

/* Finds \_S5 in the AML: NameOp "_S5_" PackageOp length count, then the two sleep types. */
static void find_off_type(const struct table *dsdt)
{
	const u8 *p = (const u8 *)dsdt, *end = p + dsdt->length;
	for (p += sizeof *dsdt; p + 16 < end; p++) {
		if (memcmp(p, "_S5_", 4) || p[4] != 0x12)
			continue;
		const u8 *q = p + 5;
		q += (*q >> 6) + 2;	/* package length and element count */
		u8 types[2] = { 0, 0 };
		for (int i = 0; i < 2; i++) {
			if (*q == 0x0a) {
				types[i] = q[1];
				q += 2;
			} else
				types[i] = *q++ == 1;
		}
		off_type_a = types[0];
		off_type_b = types[1];
		off_known = true;
		return;
	}
}

static void read_fadt(const struct table *t)
{
	const u8 *b = (const u8 *)t;
	u32 dsdt, port;
	memcpy(&dsdt, b + 40, 4);
	memcpy(&port, b + 64, 4);
	pm1a_control = port;
	memcpy(&port, b + 68, 4);
	pm1b_control = port;
	memcpy(&port, b + 76, 4);
	pm_timer = port;
	if (dsdt)
		find_off_type(map_table(dsdt));
}

static void read_madt(const struct table *t)
{
	const u8 *p = (const u8 *)t + 44, *end = (const u8 *)t + t->length;
	u32 n = 1, boot_id = *(volatile u32 *)((u64)mmio_map(0xfee00000, 4096) + 0x20) >> 24;
	cpus[0].apic_id = boot_id;
	for (; p + 2 <= end && p[1]; p += p[1]) {
		u32 flags, address;
		if (p[0] == 0 && p[1] >= 8) {
			memcpy(&flags, p + 4, 4);
			if ((flags & 1) && p[3] != boot_id && n < MAX_CPUS)
				cpus[n++].apic_id = p[3];
		} else if (p[0] == 1) {
			memcpy(&address, p + 4, 4);
			ioapic_address = address;
		}
	}
#ifdef WITHOUT_TWO_PROCESSORS
	n = 1;
#endif
	cpu_count = n;
}

static void read_table(u64 phys)
{
	const struct table *t = map_table(phys);
	if (!memcmp(t->signature, "FACP", 4))
		read_fadt(t);
	else if (!memcmp(t->signature, "APIC", 4))
		read_madt(t);
	else if (!memcmp(t->signature, "HPET", 4))
		memcpy(&hpet, (const u8 *)t + 44, 8);
}

void acpi_init(u64 rsdp)
{
	const u8 *r = rsdp ? (u8 *)mmio_map(rsdp, 36) : NULL;
	for (u64 a = 0xe0000; !r && a < 0x100000; a += 16)
		if (!memcmp(phys_address(a), "RSD PTR ", 8))
			r = phys_address(a);
	if (!r) {
		printk("acpi: no tables\n");
		return;
	}
	u32 rsdt_phys;
	memcpy(&rsdt_phys, r + 16, 4);
	const struct table *rsdt = map_table(rsdt_phys);
	for (u32 i = 0; i < (rsdt->length - sizeof *rsdt) / 4; i++) {
		u32 entry;
		memcpy(&entry, (const u8 *)(rsdt + 1) + 4 * i, 4);
		read_table(entry);
	}
}

u64 acpi_hpet_address(void) { return hpet; }
u16 acpi_pm_timer_port(void) { return pm_timer; }

noreturn void machine_off(void)
{
#ifdef WITHOUT_POWER_OFF
	halt_all();
#endif
	if (off_known && pm1a_control) {
		out16(pm1a_control, off_type_a << 10 | 1 << 13);
		if (pm1b_control)
			out16(pm1b_control, off_type_b << 10 | 1 << 13);
		delay_us(5000000);
	}
	printk("the machine does not turn off\n");
	halt_all();
}

noreturn void machine_reset(void)
{
#ifdef WITHOUT_POWER_OFF
	halt_all();
#endif
	out8(0xcf9, 2);
	out8(0xcf9, 6);
	delay_us(50000);
	out8(0x64, 0xfe);
	delay_us(50000);
	halt_all();
}
