.code64
.globl _start
_start:
  cli
  cld
  movl $0x11111111,%ebp
  xor %edi,%edi
again:
  leaq text(%rip),%rsi
  movl %ebp,%ecx
1: lodsb
  call putc
  loop 1b
idle:
  movl $0x3fd,%edx
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
  inc %edi
  cmp $8,%edi
  jne again
  movw $0x604,%dx
  movw $0x2000,%ax
  outw %ax,%dx
  jmp again
putc:
  movb %al,%bl
  movl $0x3fd,%edx
2: inb %dx,%al
  testb $0x20,%al
  jz 2b
  movb %bl,%al
  movb $0xf8,%dl
  outb %al,%dx
  ret
text:
