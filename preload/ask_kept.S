/*
 * What watched code calls in its midst, for those whose caller finds its registers as they were (ask.c): all that a function may
 * change but those that hold floating-point numbers and vectors. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/keep.h"

	/* name(...): other(...); where has_here is 1, other(first argument, return address, stack pointer before the call). */
	.macro	kept name, other, has_here
	.globl	\name
	.type	\name, @function
	.p2align 4
\name:
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
	.if \has_here
	movq	72(%rsp), %rsi
	leaq	80(%rsp), %rdx
	.endif
	call	\other
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
	.size	\name, . - \name
	.endm

	.text
	.hidden	am_tsan_ask_kept
	kept	am_tsan_ask_kept, am_tsan_ask, 0
	kept	__atommon_entry, am_tsan_entry, 1
	kept	__atommon_exit, am_tsan_exit, 1

	.section .note.GNU-stack, "", @progbits
