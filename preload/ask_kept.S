/*
 * am_tsan_ask for those whose caller finds its registers as they were (ask.c): all that a function may change but those that
 * hold floating-point numbers and vectors. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */

	.macro	keep register
	pushq	\register
	.cfi_adjust_cfa_offset 8
	.endm

	.macro	back register
	popq	\register
	.cfi_adjust_cfa_offset -8
	.endm

	.text
	.globl	am_tsan_ask_kept
	.hidden	am_tsan_ask_kept
	.type	am_tsan_ask_kept, @function
	.p2align 4
am_tsan_ask_kept:
	.cfi_startproc
	keep	%rax
	keep	%rcx
	keep	%rdx
	keep	%rsi
	keep	%rdi
	keep	%r8
	keep	%r9
	keep	%r10
	keep	%r11
	call	am_tsan_ask
	back	%r11
	back	%r10
	back	%r9
	back	%r8
	back	%rdi
	back	%rsi
	back	%rdx
	back	%rcx
	back	%rax
	ret
	.cfi_endproc
	.size	am_tsan_ask_kept, . - am_tsan_ask_kept

	.section .note.GNU-stack, "", @progbits
