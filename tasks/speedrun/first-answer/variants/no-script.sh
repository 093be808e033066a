#!/bin/bash
# No linker script and no assembler file: C, with debugging words and the linker's own layout, placed by an option.
set -eu
mkdir -p /tmp/otherwise /app/out
cd /tmp/otherwise
cat >firmware.c - /solution/firmware.c <<'C'
void round_of_queries(void);
__attribute__((naked, section(".text.unlikely"))) void _start(void)
{
	asm(".option push\n.option norelax\n la gp, __global_pointer$\n.option pop\n li sp, 0x80ff0000\n call round_of_queries\n1: wfi\n j 1b");
}
C
set --
for stage in SPEAKS UART_RULES ANSWERS REFUSES TABLES DAMAGED MEMORY RESTS WITHIN_100 WITHIN_10 WITHIN_3 WITHIN_PAR ROUND; do
	set -- "$@" "-D$stage"
done
riscv64-unknown-elf-gcc -march=rv64imac_zba_zbb_zbc_zbs -mabi=lp64 -mcmodel=medany -O3 -ffreestanding -fno-builtin \
	-fno-strict-aliasing -fno-tree-loop-distribute-patterns -nostdlib -static -w -g -Wl,-N,-Ttext=0x80000000 "$@" -o /app/out/firmware.elf firmware.c
riscv64-unknown-elf-readelf -lW /app/out/firmware.elf
