#!/bin/bash
# Sleeps until the serial chip's interrupt says that there is room.
set -eu
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
cat >>start.S <<'AS'
	.globl wait_for_room
wait_for_room:			# asleep until the chip's interrupt is pending; it is never taken
	li t0, 0x10000000
	li t1, 2
	sb t1, 1(t0)
1:	wfi
	lbu t1, 2(t0)		# the cause, which also ends the interrupt
	andi t1, t1, 15
	li t2, 2
	bne t1, t2, 2f
	sb zero, 1(t0)
	j 3f
2:	lbu t1, 5(t0)
	andi t1, t1, 0x20
	beqz t1, 1b
3:	li t0, 0x0c201004	# claim and complete
	lw t1, 0(t0)
	sw t1, 0(t0)
	ret
AS
sed -i 's/^	call round_of_queries/	li t0, 0x0c000028\n	li t1, 1\n	sw t1, 0(t0)\n	li t0, 0x0c002000\n	li t1, 0x400\n	sw t1, 0(t0)\n	li t0, 0x0c200000\n	sw zero, 0(t0)\n	li t1, 0x800\n	csrw mie, t1\n	call round_of_queries\n	csrw mie, zero/' start.S
sed -i 's/0x0c201004/0x0c200004/; ' start.S
sed -i 's/^static void say(/void wait_for_room(void);\nstatic void say(/; s/^		while (!(UART\[5\] & 0x20))/		wait_for_room();/; ' firmware.c
python3 - <<'PY'
text = open("firmware.c").read()
assert "wait_for_room();\n			;\n" in text
open("firmware.c", "w").write(text.replace("wait_for_room();\n			;\n", "wait_for_room();\n"))
PY
sed -i 's/-march=rv64gc_/-march=rv64gc_zicsr_/' solve.sh
bash solve.sh
