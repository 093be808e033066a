#!/bin/bash
# Works in user mode behind page tables, and comes back by a trap to sleep in machine mode.
set -eu
cp -r /solution /tmp/otherwise
cd /tmp/otherwise
cat >start.S <<'AS'
	.section .text.start, "ax"
	.globl _start
_start:
	la t0, done
	csrw mtvec, t0
	li t0, -1
	csrw pmpaddr0, t0
	li t0, 0x1f
	csrw pmpcfg0, t0
	la t0, pages
	srli t0, t0, 12
	li t1, 8 << 60
	or t0, t0, t1
	csrw satp, t0
	sfence.vma
	la sp, stack_end
	la t0, work
	csrw mepc, t0
	li t0, 0x1800
	csrc mstatus, t0
	mret
work:
	call round_of_queries
	ecall
	.balign 4
done:	csrw mie, zero
1:	wfi
	j 1b
	.data
	.balign 4096
pages:	.quad 0x000000df, 0, 0x200000df, 0	# a gigabyte each: what is there is there
	.zero 4096 - 32
AS
sed -i 's/-march=rv64gc_/-march=rv64gc_zicsr_/' solve.sh
bash solve.sh
