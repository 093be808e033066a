/* Time: the TSC, measured against a clock of known rate, and the date from the battery's clock. */
#include "mm.h"

static u64 tsc_start, ns_per_tsc_32;	/* ns per count, times 2^32 */
static u64 date_at_start;

u64 now_ns(void) { return (unsigned __int128)(rdtsc() - tsc_start) * ns_per_tsc_32 >> 32; }
u64 real_ns(void) { return date_at_start + now_ns(); }
void real_set(u64 ns) { date_at_start = ns - now_ns(); }

void delay_us(u64 us)
{
	for (u64 end = now_ns() + us * 1000; now_ns() < end;)
		pause();
}

static volatile u64 *hpet;
static u64 hpet_fs;	/* femtoseconds per count */
static u64 pm_last, pm_total;

static u64 reference_ns(void)
{
	if (hpet)
		return hpet[0xf0 / 8] * (hpet_fs / 1000) / 1000;
	u64 v = in32(acpi_pm_timer_port()) & 0xffffff;
	pm_total += (v - pm_last) & 0xffffff;
	pm_last = v;
	return pm_total * 1000000000UL / 3579545;
}

/* One reading of both clocks; taken again until they were read close together. */
static void sample(u64 *ns, u64 *tsc)
{
	u64 best = ~0UL;
	for (int i = 0; i < 20; i++) {
		u64 before = rdtsc(), r = reference_ns(), after = rdtsc();
		if (after - before < best) {
			best = after - before;
			*ns = r;
			*tsc = before + (after - before) / 2;
		}
	}
}

static u8 cmos(u8 reg)
{
	out8(0x70, reg);
	return in8(0x71);
}

static u64 read_date(void)
{
	u8 v[6], again[6], regs[6] = { 0, 2, 4, 7, 8, 9 };
	do {
		while (cmos(10) & 0x80)
			pause();
		for (int i = 0; i < 6; i++)
			v[i] = cmos(regs[i]);
		for (int i = 0; i < 6; i++)
			again[i] = cmos(regs[i]);
	} while (memcmp(v, again, 6));
	u8 mode = cmos(11);
	bool pm = v[2] & 0x80;
	v[2] &= 0x7f;
	if (!(mode & 4))
		for (int i = 0; i < 6; i++)
			v[i] = (v[i] >> 4) * 10 + (v[i] & 15);
	if (!(mode & 2))
		v[2] = v[2] % 12 + (pm ? 12 : 0);
	u64 year = 2000 + v[5], month = v[4], days = 0;
	static const u16 before[] = { 0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334 };
	for (u64 y = 1970; y < year; y++)
		days += y % 4 ? 365 : 366;
	days += before[(month - 1) % 12] + (month > 2 && year % 4 == 0) + v[3] - 1;
	return ((days * 24 + v[2]) * 60 + v[1]) * 60 + v[0];
}

void clock_init(void)
{
	u64 address = acpi_hpet_address();
	if (address) {
		hpet = (volatile u64 *)mmio_map(address, 1024);
		hpet_fs = hpet[0] >> 32;
		if (!hpet_fs || hpet_fs > 100000000)
			hpet = NULL;
		else
			hpet[2] |= 1;
	}
	if (!hpet && !acpi_pm_timer_port())
		panic("no clock of a known rate");
	u64 ns[2], tsc[2];
	sample(&ns[0], &tsc[0]);
	do
		sample(&ns[1], &tsc[1]);
	while (ns[1] - ns[0] < 50000000);
	ns_per_tsc_32 = ((ns[1] - ns[0]) << 32) / (tsc[1] - tsc[0]);
	tsc_start = tsc[0];
	date_at_start = read_date() * 1000000000UL;
	printk("clock: %s, tsc at %lu kHz\n", hpet ? "hpet" : "pm timer", (tsc[1] - tsc[0]) * 1000000 / (ns[1] - ns[0]));
}

u64 random_u64(void)
{
	static u64 state;
	state += rdtsc() + 0x9e3779b97f4a7c15UL;
	u64 z = state;
	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9UL;
	z = (z ^ z >> 27) * 0x94d049bb133111ebUL;
	return z ^ z >> 31;
}
