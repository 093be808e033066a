#!/bin/bash
# The sums are made in assembler, 128 bytes a turn.
set -eu
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
cat >>start.S <<'AS'

# crc_of(crc, place, length): 16 words a turn, then one by one, then the bytes.
	.globl crc_of
	.macro step at
	ld a5, \at(a1)
	xor a0, a0, a5
	clmul a0, a0, a3
	clmulh a0, a0, a4
	.endm
crc_of:
	li a3, 0xb4e5b025f7011641
	li a4, 0x1db710641
	andi a5, a2, -128
	andi a6, a2, 120
	andi a7, a2, 7
	add t0, a1, a5
	beq a1, t0, 2f
1:	.irp at, 0, 8, 16, 24, 32, 40, 48, 56, 64, 72, 80, 88, 96, 104, 112, 120
	step \at
	.endr
	addi a1, a1, 128
	bne a1, t0, 1b
2:	add t0, a1, a6
	beq a1, t0, 4f
3:	step 0
	addi a1, a1, 8
	bne a1, t0, 3b
4:	add t0, a1, a7
	beq a1, t0, 6f
5:	lbu a5, 0(a1)
	xor a0, a0, a5
	clmul a5, a0, a3
	andi a5, a5, 255
	clmul a5, a5, a4
	xor a0, a0, a5
	srli a0, a0, 8
	addi a1, a1, 1
	bne a1, t0, 5b
6:	ret
AS
python3 - <<'PY'
text = open("firmware.c").read()
start, end = text.index("#ifdef WITHIN_10\nstatic u64 crc_of"), text.index("/* ---- the line ---- */")
open("firmware.c", "w").write(text[:start] + "u64 crc_of(u64 crc, const u8 *p, u64 length);\n\n" + text[end:])
PY
bash solve.sh
