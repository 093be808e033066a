/* PCI: finding devices, their registers' windows, and message-signalled interrupts. */
#include "mm.h"

static u32 address(const struct pci *p, u32 offset)
{
	return 0x80000000u | p->bus << 16 | p->slot << 11 | p->function << 8 | (offset & 0xfc);
}

u32 pci_read(const struct pci *p, u32 offset)
{
	out32(0xcf8, address(p, offset));
	return in32(0xcfc);
}

void pci_write(const struct pci *p, u32 offset, u32 value)
{
	out32(0xcf8, address(p, offset));
	out32(0xcfc, value);
}

int pci_each(bool (*visit)(struct pci *p, void *arg), void *arg)
{
	int found = 0;
	for (u32 bus = 0; bus < 256; bus++)
		for (u32 slot = 0; slot < 32; slot++)
			for (u32 function = 0; function < 8; function++) {
				struct pci p = { bus, slot, function };
				u32 id = pci_read(&p, 0);
				if ((id & 0xffff) == 0xffff) {
					if (!function)
						break;
					continue;
				}
				p.vendor = id;
				p.device = id >> 16;
				found += visit(&p, arg);
				if (!function && !(pci_read(&p, 0xc) & 0x800000))
					break;
			}
	return found;
}

u64 pci_bar(const struct pci *p, int index)
{
	u32 low = pci_read(p, 0x10 + 4 * index);
	if (low & 1)
		return 0;
	u64 bar = low & ~15u;
	if ((low & 6) == 4)
		bar |= (u64)pci_read(p, 0x14 + 4 * index) << 32;
	return bar;
}

u8 pci_capability(const struct pci *p, u8 id, u8 after)
{
	if (!(pci_read(p, 4) & 0x100000))
		return 0;
	u8 at = after ? pci_read(p, after) >> 8 : pci_read(p, 0x34);
	for (int i = 0; at && i < 48; i++, at = pci_read(p, at & 0xfc) >> 8)
		if ((pci_read(p, at & 0xfc) & 0xff) == id)
			return at & 0xfc;
	return 0;
}

/* Sends the first entries of the device's table to processor 0 as the vector. */
bool pci_msix(const struct pci *p, u32 entries, u8 vector)
{
	u8 cap = pci_capability(p, 0x11, 0);
	if (!cap)
		return false;
	u32 control = pci_read(p, cap), where = pci_read(p, cap + 4);
	u32 size = (control >> 16 & 0x7ff) + 1;
	volatile u32 *table = mmio_map(pci_bar(p, where & 7) + (where & ~7u), size * 16);
	for (u32 i = 0; i < size && i < entries; i++) {
		table[4 * i] = MSI_ADDRESS(cpus[0].apic_id);
		table[4 * i + 1] = 0;
		table[4 * i + 2] = vector;
		table[4 * i + 3] = 0;
	}
	pci_write(p, cap, (control & ~0x40000000u) | 0x80000000u);
	return true;
}

static struct { void (*handler)(void *); void *arg; } handlers[32];
static u8 next_vector;

u8 vector_new(void (*handler)(void *arg), void *arg)
{
	ASSERT(next_vector < LENGTH(handlers));
	handlers[next_vector].handler = handler;
	handlers[next_vector].arg = arg;
	return VECTOR_DEVICE + next_vector++;
}

void vector_call(u8 vector)
{
	u8 n = vector - VECTOR_DEVICE;
	if (n < next_vector)
		handlers[n].handler(handlers[n].arg);
}
