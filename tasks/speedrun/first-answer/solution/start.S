	.section .text.start, "ax"
	.globl _start
_start:
	la sp, stack_end
	call round_of_queries
1:	wfi
	j 1b
