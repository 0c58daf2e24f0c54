/*
 * What most plain accesses come to, in two or three registers: a function that the compiler makes of that saves ten. __atommon_NAME ends here if
 * the access concerns nobody, outside regions, or in one is known, ours with nothing to ask (am_filter_short in filter.h), or to what is nobody's or over; else am_ask_NAME (ask.c), or am_cross_NAME for what lies in two words, does all of it,
 * which is jumped to, so that it has the same caller. tests/property/instrument_ask.c compares the two. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/hot.h"
#include "preload/keep.h"

	.macro	leave_hot size
	.if \size < 8
	back	%rdx
	.endif
	back	%rcx
	back	%rax
	.endm

	/* Is the upper part of %rcx, where it tells of whom a cell is, other than 0? */
	.macro	if_other target
	cmpq	below(%rip), %rcx
	jae	\target
	.endm

	/* A word of the cell into %rcx, xor what one of this stretch has that was accessed as a whole. If the accessed bytes are there, the access is
	 * known. */
	.macro	if_known word, size, stretch, both
	movq	\word(%rax), %rcx
	xorq	%fs:HOT_V_WHOLE(%r11), %rcx
	.if \size == 8
	testq	$\both, %rcx
	je	8f
	.else
	testq	$\stretch, %rcx
	jne	1f
	testb	%dl, %cl
	je	8f
1:
	.endif
	.endm

	/* am_shadow_chunk of %rdi into %rax, by way of %rcx. */
	.macro	chunk_or none
	movq	%rdi, %rax
	shrq	$HOT_GIANT, %rax
	cmpq	$(HOT_GIANTS - 1), %rax
	ja	\none
	leaq	am_shadow_giants(%rip), %rcx
	movq	(%rcx,%rax,8), %rax
	testq	%rax, %rax
	je	\none
	movq	%rdi, %rcx
	shrq	$HOT_CHUNK, %rcx
	movq	(%rax,%rcx,8), %rax
	testq	%rax, %rax
	je	\none
	.endm

	/* This stretch as it is to be in a cell, | \to, by way of \view. A signal handler may have come since the first look, and have said that every
	 * access is to ask (AM_STRETCH_NONE): then so does this one. Never may a cell have that. */
	.macro	or_stretch size, view, to, doubt
	.if \size == 8
	orq	%fs:HOT_V_WHOLE(\view), \to
	.else
	orq	%fs:HOT_V_FAST(\view), \to
	.endif
	js	\doubt
	.endm

	/* What the first word of a cell becomes, into %rcx, from %rax, with nothing of it but that something was logged here. */
	.macro	next_w size, writes, doubt
	movl	%eax, %ecx
	andl	$HOT_EVER, %ecx
	.if \writes
	or_stretch \size, %rsi, %rcx, \doubt
	.if \size < 8
	orb	%dl, %cl
	.endif
	.else
	or_stretch 0, %rsi, %rcx, \doubt
	andq	$~HOT_LAZY, %rcx
	.endif
	.endm

	/* Registers: %rdi the address, %rax the cell, %dl the bytes unless all 8, %r11 this thread's am_view. */
	.macro	inside name, size, writes
	keep	%rax
	keep	%rcx
	.if \size < 8
	keep	%rdx
	.endif
	.cfi_remember_state
	.if \size < 8
	movl	%edi, %ecx
	andl	$7, %ecx
	.if \size > 1
	cmpl	$(8 - \size), %ecx
	ja	10f
	.endif
	movl	$((1 << \size) - 1), %edx
	shll	%cl, %edx
	.endif
	chunk_or 14f
	.if \size == 8
	leaq	(%rax,%rdi,2), %rax
	.else
	movq	%rdi, %rcx
	andq	$-8, %rcx
	leaq	(%rax,%rcx,2), %rax
	.endif
	/* The writes: known, or ours and nothing hidden; all of it is in what is lent. */
	if_known 0, \size, HOT_NEWEST, HOT_NEWEST8
	.if \size == 8
	testq	block_or_more(%rip), %rcx
	jne	9f
	.else
	testb	%dl, %ch
	jne	9f
	if_other 9f
	.endif
	.if !\writes
	/* The reads: known, or ours or none, and not beside an exact one. */
	if_known 8, \size, HOT_STRETCH, HOT_KNOWN8
	testq	block_or_exact(%rip), %rcx
	jne	2f
1:
	.endif
	/* Of another stretch nothing but what is kept of it, and no bytes may be lost; of the same one all. */
	.if \size < 8
	testq	$HOT_STRETCH, %rcx
	je	5f
	orb	%dl, %cl
	cmpb	$HOT_BYTES, %cl
	jne	4f
3:
	.endif
	.if \writes && \size == 8
	andl	$HOT_STAYS, %ecx
	.elseif \writes
	andl	$(HOT_MORE | HOT_STAYS), %ecx
	.else
	andl	$HOT_MORE, %ecx
	.endif
6:
	or_stretch \size, %r11, %rcx, 14f
	.if \size < 8
	orb	%dl, %cl
	.endif
	movq	%rcx, (8 - 8 * \writes)(%rax)
15:	/* am_view_put_place */
	andl	$HOT_PLACES_MASK, %eax
	addq	%fs:HOT_V_PLACES(%r11), %rax
	.if \size == 8
	movq	16(%rsp), %rcx
	.else
	movq	24(%rsp), %rcx
	.endif
	movq	%rcx, (8 * \writes)(%rax)
	movq	%rdi, %rcx
	shrq	$HOT_CHUNK, %rcx
	movw	%cx, (8 * \writes + 6)(%rax)
8:
	leave_hot \size
	ret
	.cfi_restore_state
	.cfi_remember_state
	.if !\writes
2:	/* of somebody else, or exact; or none at all? */
	cmpq	%fs:HOT_V_WHOLE(%r11), %rcx
	je	1b
	.endif
9:	/* nobody's, or another's that is known to be over (am_late_take_free, am_late_take_over)? %r11 is the cell from here on, %rsi what that was. */
	keep	%rsi
	movq	%r11, %rsi
	movq	%rax, %r11
	movq	(%r11), %rax
	cmpq	below(%rip), %rax
	jb	11f
	testl	$HOT_LENT, %eax
	jne	13f
	movq	am_tls@gottpoff(%rip), %rcx
	movq	%fs:HOT_T_LANE(%rcx), %rcx
	movq	HOT_L_OVER(%rcx), %rcx
	cmpq	%rcx, %rax
	ja	13f
	cmpq	%rcx, 8(%r11)
	ja	13f
	xorq	%rax, %rcx
	if_other 13f
	next_w	\size, \writes, 13f
	lock cmpxchgq %rcx, (%r11)
	jne	13f
	jmp	12f
11:
	next_w	\size, \writes, 13f
	movq	%rcx, (%r11)
12:
	.if \writes
	movq	$0, 8(%r11)
	.else
	xorl	%ecx, %ecx
	or_stretch \size, %rsi, %rcx, 13f
	.if \size < 8
	orb	%dl, %cl
	.endif
	movq	%rcx, 8(%r11)
	.endif
	movq	%r11, %rax
	movq	%rsi, %r11
	.cfi_remember_state
	back	%rsi
	jmp	15b
	.cfi_restore_state
13:
	back	%rsi
14:
	leave_hot \size
	jmp	am_ask_\name\size
	.cfi_restore_state
	.cfi_remember_state
	.if \size < 8 && \size > 1
10:
	leave_hot \size
	jmp	am_cross_\name\size
	.endif
	.cfi_restore_state
	.if \size < 8
4:	/* some are, which may be over */
	cmpb	$0, %fs:HOT_V_PAST(%r11)
	jne	3b
	jmp	9b
5:	/* as it was */
	xorq	%fs:HOT_V_WHOLE(%r11), %rcx
	jmp	6b
	.endif
	.endm

	/* Outside regions: does nobody else have any? Or is there no cell, or one that is nobody's, or ours and not lent (am_fast_is_idle)? */
	.macro	outside name, size
	movq	%fs:HOT_V_IDLE(%r11), %r11
	cmpq	%r11, am_view_open(%rip)
	jne	am_ask_\name\size
	movq	am_view@gottpoff(%rip), %r11
	movq	%fs:HOT_V_STRETCH(%r11), %r11
	xorq	am_view_open+HOT_ONLY(%rip), %r11
	cmpq	below(%rip), %r11
	jae	6f
	ret
6:
	keep	%rax
	keep	%rcx
	.if \size < 8 && \size > 1
	movl	%edi, %ecx
	andl	$7, %ecx
	cmpl	$(8 - \size), %ecx
	ja	7f
	.endif
	chunk_or 8f
	.if \size == 8
	movq	(%rax,%rdi,2), %rcx
	.else
	movq	%rdi, %rcx
	andq	$-8, %rcx
	movq	(%rax,%rcx,2), %rcx
	.endif
	cmpq	below(%rip), %rcx
	jb	8f
	movq	am_view@gottpoff(%rip), %r11
	xorq	%fs:HOT_V_STRETCH(%r11), %rcx
	testl	$HOT_LENT, %ecx
	jne	9f
	if_other 9f
8:
	.cfi_remember_state
	back	%rcx
	back	%rax
	ret
	.cfi_restore_state
	.cfi_remember_state
9:
	back	%rcx
	back	%rax
	jmp	am_ask_\name\size
	.cfi_restore_state
	.if \size < 8 && \size > 1
7:
	back	%rcx
	back	%rax
	jmp	am_cross_\name\size
	.endif
	.endm

	.macro	access name, size, writes
	.globl	__atommon_\name\size
	.type	__atommon_\name\size, @function
	.hidden	am_ask_\name\size
	.if \size > 1
	.hidden	am_cross_\name\size
	.endif
	.p2align 4
__atommon_\name\size:
	.cfi_startproc
	.if \size == 8
	testb	$7, %dil
	jne	am_cross_\name\size
	.endif
	movq	am_view@gottpoff(%rip), %r11
	cmpq	$0, %fs:HOT_V_FAST(%r11)
	js	7f	/* AM_STRETCH_NONE */
	.cfi_remember_state
	inside	\name, \size, \writes
	.cfi_restore_state
7:
	outside	\name, \size
	.cfi_endproc
	.size	__atommon_\name\size, . - __atommon_\name\size
	.endm

	.text
	.hidden	am_shadow_giants
	.hidden	am_view
	.hidden	am_tls
	.hidden	am_view_open
	.irp	size, 1, 2, 4, 8
	access	read, \size, 0
	access	write, \size, 1
	access	read_write, \size, 1
	.endr

	.section .rodata
	.p2align 3
below:
	.quad	1 << HOT_BLOCK
block_or_more:
	.quad	-1 << HOT_BLOCK | HOT_MORE
block_or_exact:
	.quad	-1 << HOT_BLOCK | HOT_EXACT

	.section .note.GNU-stack, "", @progbits
