/*
 * What watched code calls in its midst, for those whose caller finds its registers as they were (ask.c): all that a function may
 * change but those that hold floating-point numbers and vectors. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/keep.h"

	/* name(...): other(...) */
	.macro	kept name, other
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
	.irp	name, ask, entry, exit
	.hidden	am_tsan_\name\()_kept
	kept	am_tsan_\name\()_kept, am_tsan_\name
	.endr

	.section .note.GNU-stack, "", @progbits
