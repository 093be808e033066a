#!/bin/bash
# Sleeps until its card or the clock interrupts it.
set -eu
made=$(mktemp -d)
cp -r /solution/. "$made"
cd "$made"
cat >>start.S <<'AS'
	.text
	.globl woken, sleep
woken:	push %eax
	push %edx
	mov card, %edx
	add $19, %edx
	in (%dx), %al		/* what the card has said is taken note of */
	mov $0x20, %al
	out %al, $0xa0
	out %al, $0x20
	pop %edx
	pop %eax
	iret
sleep:	lidt table
	sti
	hlt
	cli
	ret
table:	.word 0x3ff
	.long gates
AS
python3 - <<'PY'
text = open("server.c").read()
old = "void serve(void)\n{\n	find_card();\n"
assert text.count(old) == 1
text = text.replace(old, """u64 gates[128];
void woken(void), sleep(void);

void serve(void)
{
	find_card();
	for (u32 n = 0; n < 128; n++)
		gates[n] = (u64)((u32)woken >> 16) << 48 | 0x8e0000080000 | ((u32)woken & 0xffff);
	outb(0x21, 0xfa);
	outb(0xa1, 0x01);
""")
start, end = text.index("	for (u16 idle = 0;;) {"), text.index("		look_at_the_clock();\n		keep_the_address")
text = text[:start] + "	for (;;) {\n		sleep();\n		while (listen())\n			;\n" + text[end:]
text = text.replace("static u16 card;", "u32 card;")
open("server.c", "w").write(text)
PY
bash solve.sh
