#!/bin/bash
# Two segments far apart, the code behind a gap, stack and index in other places, no section names.
set -eu
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
cat >board.ld <<'LD'
ENTRY(_start)
PHDRS { code PT_LOAD FLAGS(5); data PT_LOAD FLAGS(6); }
SECTIONS
{
  .text 0x80000000 : { *(.text.start) . = 0x4000; *(.text*) } :code
  .rodata 0x80c00000 : { *(.rodata*) *(.srodata*) } :data
  .data : { *(.data*) *(.sdata*) } :data
  .bss : { *(.bss*) *(.sbss*) *(COMMON) } :data
  stack_end = 0x80700000;
  /DISCARD/ : { *(.comment) *(.riscv.attributes) *(.note*) *(.eh_frame*) }
}
LD
sed -i 's/0x80800000/0x80200000/' firmware.c
bash solve.sh
riscv64-unknown-elf-strip /app/out/firmware.elf
