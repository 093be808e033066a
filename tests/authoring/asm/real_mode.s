.code16
.globl _start
_start:
  cli
  cld
  movw $0x2222,%ax
  movw %ax,%ds
  movw $0x1111,%bp
  xor %di,%di
  .include "say16.inc"
