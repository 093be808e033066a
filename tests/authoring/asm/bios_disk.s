.code16
.globl _start
_start:
  cli
  xorw %ax,%ax
  movw %ax,%ds
  movw %ax,%ss
  movw $0x7c00,%sp
  sti
  ljmp $0,$here-_start+0x7c00
here:
  movb $0x42,%ah
  movw $dap-_start+0x7c00,%si
  int $0x13
  cli
  movw $0x07e0,%ax
  movw %ax,%ds
  movw $0x1111,%bp
  xor %di,%di
  cld
  .include "say16.inc"
dap:
  .byte 0x10,0,120,0
  .word 0,0x07e0
  .quad 1
