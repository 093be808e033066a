# Every way into the kernel and out of it, and the switch from one task to another.
#define CPU_KERNEL_STACK 8
#define CPU_SCRATCH 16

	.macro SAVE_REGISTERS
	push %rdi
	push %rsi
	push %rdx
	push %rcx
	push %rax
	push %r8
	push %r9
	push %r10
	push %r11
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	.endm

	.text
	.globl syscall_entry
syscall_entry:
	swapgs
	mov %rsp, %gs:CPU_SCRATCH
	mov %gs:CPU_KERNEL_STACK, %rsp
	push $0x2b
	push %gs:CPU_SCRATCH
	push %r11
	push $0x33
	push %rcx
	push %rax
	push $0x100
	SAVE_REGISTERS
	cld
	mov %rsp, %rdi
	xor %ebp, %ebp
	call syscall_trap
	jmp trap_return

trap_common:
	testb $3, 24(%rsp)
	jz 1f
	swapgs
1:	SAVE_REGISTERS
	cld
	mov %rsp, %rdi
	call trap
	.globl trap_return
trap_return:
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	pop %r11
	pop %r10
	pop %r9
	pop %r8
	pop %rax
	pop %rcx
	pop %rdx
	pop %rsi
	pop %rdi
	add $16, %rsp
	testb $3, 8(%rsp)
	jz 2f
	swapgs
	.globl trap_iret
2:
trap_iret:
	iretq

# void switch_stacks(u64 *save_rsp, u64 load_rsp)
	.globl switch_stacks
switch_stacks:
	push %rbx
	push %rbp
	push %r12
	push %r13
	push %r14
	push %r15
	mov %rsp, (%rdi)
	mov %rsi, %rsp
	pop %r15
	pop %r14
	pop %r13
	pop %r12
	pop %rbp
	pop %rbx
	ret

# A new task's first steps: %rbx is the function, %r12 its argument; a user task has none.
	.globl task_begin
task_begin:
	call task_began
	test %rbx, %rbx
	jz 3f
	mov %r12, %rdi
	call *%rbx
3:	mov %rsp, %rdi
	call task_to_user
	jmp trap_return

# u64 user_copy(void *to, const void *from, u64 n): returns how many bytes could not be copied.
	.globl user_copy, user_copy_end, user_copy_fault
user_copy:
	mov %rdx, %rcx
	shr $3, %rcx
	and $7, %edx
	rep movsq
	mov %edx, %ecx
	xor %edx, %edx
	rep movsb
user_copy_end:
	xor %eax, %eax
	ret
user_copy_fault:
	# In the words' part %rdx still holds the tail; count what is left as at least one byte.
	lea 1(%rdx, %rcx, 8), %rax
	ret

	.macro STUB n
	.align 16
	.if (\n == 8) || ((\n >= 10) && (\n <= 14)) || (\n == 17) || (\n == 21) || (\n == 29) || (\n == 30)
	.else
	push $0
	.endif
	push $\n
	jmp trap_common
	.endm

	.align 16
	.globl trap_stubs
trap_stubs:
	.set i, 0
	.rept 256
	STUB i
	.set i, i + 1
	.endr
