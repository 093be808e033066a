/* COM1. */
#include "hw.h"
#include "mm.h"

#define COM1 0x3f8

void terminal_input(u8 c);
bool terminal_input_room(void);

void serial_init(void)
{
	out8(COM1 + 1, 0);
	out8(COM1 + 3, 0x80);
	out8(COM1, 1);		/* 115200 */
	out8(COM1 + 1, 0);
	out8(COM1 + 3, 3);	/* 8n1 */
	out8(COM1 + 2, 0xc7);
	out8(COM1 + 4, 0xb);
}

bool serial_ready(void) { return in8(COM1 + 5) & 0x20; }
void serial_send(char c) { out8(COM1, c); }

/* For the kernel's own words: waits a while for the line, then gives the character up. */
void serial_put(char c)
{
	for (int i = 0; i < 1000000 && !serial_ready(); i++)
		pause();
	serial_send(c);
}

void serial_interrupt(void)
{
	while (terminal_input_room() && in8(COM1 + 5) & 1)
		terminal_input(in8(COM1));
	in8(COM1 + 2);
	/* A reader that is behind: what comes waits in the line till it is read. */
	out8(COM1 + 1, terminal_input_room() ? 1 : 0);
}

void serial_listen(void)
{
	ioapic_route(4, VECTOR_SERIAL);
	out8(COM1 + 1, 1);
	serial_interrupt();
}
