	/* The boot sector: fetches the rest of the image, and enters the server in 32-bit mode. */
	.section .note.GNU-stack, "", @progbits
	.section .text.start, "ax"
	.code16
	.globl _start
_start:
	cli
	xor %ax, %ax
	mov %ax, %ds
	mov %ax, %ss
	mov $0x7c00, %sp
	ljmp $0, $1f
1:	mov $packet, %si
	mov $0x42, %ah
	int $0x13		/* %dl is the disk that the firmware started from */
	cli
	lgdt gdt_pointer
	mov %cr0, %eax
	or $1, %al
	mov %eax, %cr0
	ljmp $8, $2f
	.code32
2:	mov $16, %al
	movzbl %al, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %ss
	mov $bss_start, %edi
	mov $bss_words, %ecx
	xor %eax, %eax
	cld
	rep stosl
	jmp serve

packet:	.byte 16, 0
	.word image_sectors, 0x7e00, 0
	.quad 1

gdt:	.quad 0, 0x00cf9a000000ffff, 0x00cf92000000ffff
gdt_pointer:
	.word 23
	.long gdt
