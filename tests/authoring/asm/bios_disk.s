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
again:
  xorw %si,%si
  movw %bp,%cx
1: lodsb
  call putc
  loop 1b
idle:
  movw $0x3fd,%dx
  inb %dx,%al
  testb $1,%al
  jz idle
  movb $0xf8,%dl
  inb %dx,%al
  call putc
  cmpb $13,%al
  je line
  cmpb $10,%al
  jne idle
line:
  inc %di
  cmp $8,%di
  jne again
  movw $0x604,%dx
  movw $0x2000,%ax
  outw %ax,%dx
  jmp again
putc:
  pushw %ax
  movw $0x3fd,%dx
2: inb %dx,%al
  testb $0x20,%al
  jz 2b
  popw %ax
  movb $0xf8,%dl
  outb %al,%dx
  ret
dap:
  .byte 0x10,0,120,0
  .word 0,0x07e0
  .quad 1
