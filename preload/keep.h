/* SPDX-License-Identifier: MIT */
/* For the assembler: a register that is saved on the stack, and found there by who unwinds it. */
#ifndef ATOMMON_PRELOAD_KEEP_H
#define ATOMMON_PRELOAD_KEEP_H

	.macro	keep register
	pushq	\register
	.cfi_adjust_cfa_offset 8
	.endm

	.macro	back register
	popq	\register
	.cfi_adjust_cfa_offset -8
	.endm

#endif
