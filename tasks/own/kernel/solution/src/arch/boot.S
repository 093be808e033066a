# The PVH entry: 32-bit protected mode without paging, %ebx points to the start info.
# Builds page tables of the first GiB (identity, direct map, kernel image) and enters long mode.
#define KERNEL_BASE 0xffffffff80000000

	.section .note.pvh, "a", @note
	.align 4
	.long 4, 8, 18			# sizes of name and value; XEN_ELFNOTE_PHYS32_ENTRY
	.asciz "Xen"
	.quad pvh_entry

	.section .boot, "ax"
	.code32
	.globl pvh_entry
pvh_entry:
	cld
	cli
	mov $(boot_stack_top - KERNEL_BASE), %esp
	mov %ebx, %esi

	movl $(boot_pdpt - KERNEL_BASE + 7), kernel_pml4 - KERNEL_BASE
	movl $(boot_pdpt - KERNEL_BASE + 3), kernel_pml4 - KERNEL_BASE + 256 * 8
	movl $(image_pdpt - KERNEL_BASE + 3), kernel_pml4 - KERNEL_BASE + 511 * 8
	movl $(boot_pd - KERNEL_BASE + 7), boot_pdpt - KERNEL_BASE
	movl $(boot_pd - KERNEL_BASE + 3), image_pdpt - KERNEL_BASE + 510 * 8
	xor %ecx, %ecx
1:	mov %ecx, %eax
	shl $21, %eax
	or $0x83, %eax			# present, writable, 2 MiB
	mov %eax, boot_pd - KERNEL_BASE(, %ecx, 8)
	inc %ecx
	cmp $512, %ecx
	jne 1b

	call enter_long_mode
	lgdt boot_gdt_pointer
	ljmp $0x08, $2f
	.code64
2:	movabs $start_high, %rax
	jmp *%rax

	.code32
enter_long_mode:
	mov %cr4, %eax
	or $0x620, %eax			# PAE, FXSR, SIMD exceptions
	mov %eax, %cr4
	mov $(kernel_pml4 - KERNEL_BASE), %eax
	mov %eax, %cr3
	mov $0xc0000080, %ecx
	rdmsr
	or $0x901, %eax			# SYSCALL, long mode, NX
	wrmsr
	mov %cr0, %eax
	and $0xfffffff3, %eax		# no emulation, no lazy switch
	or $0x80010023, %eax		# paging, write protection, FPU, protected mode
	mov %eax, %cr0
	ret

	.align 8
boot_gdt:
	.quad 0
	.quad 0x00af9b000000ffff
	.quad 0x00cf93000000ffff
	.quad 0x00cf9b000000ffff	# 32-bit code for the other processors' start
boot_gdt_pointer:
	.word . - boot_gdt - 1
	.long boot_gdt

# Copied to 0x8000: where another processor starts, in real mode.
	.code16
	.globl ap_start, ap_start_end
ap_start:
	cli
	xor %ax, %ax
	mov %ax, %ds
	lgdtl 0x8000 + ap_pointer - ap_start
	mov %cr0, %eax
	or $1, %al
	mov %eax, %cr0
	ljmpl $0x18, $ap_protected
ap_pointer:
	.word 31
	.long boot_gdt
ap_start_end:

	.code32
ap_protected:
	mov $0x10, %ax
	mov %ax, %ds
	mov %ax, %ss
	mov $(ap_stack_top - KERNEL_BASE), %esp
	call enter_long_mode
	ljmp $0x08, $3f
	.code64
3:	movabs $ap_high, %rax
	jmp *%rax

	.text
start_high:
	movabs $boot_stack_top, %rsp
	xor %eax, %eax
	mov %eax, %ds
	mov %eax, %es
	mov %eax, %fs
	mov %eax, %gs
	mov $0x10, %eax
	mov %eax, %ss
	xor %ebp, %ebp
	mov %esi, %edi
	call kernel_start

ap_high:
	mov $0x10, %eax
	mov %eax, %ss
	xor %eax, %eax
	mov %eax, %ds
	mov %eax, %es
	xor %ebp, %ebp
	mov ap_cpu(%rip), %rdi
	mov ap_stack(%rip), %rsp
	call ap_main

	.bss
	.align 4096
	.globl kernel_pml4
kernel_pml4:	.skip 4096
boot_pdpt:	.skip 4096
image_pdpt:	.skip 4096
boot_pd:	.skip 4096
boot_stack:	.skip 16384
boot_stack_top:
	.skip 1024
ap_stack_top:
