/*
 * pthread_mutex_lock and pthread_mutex_unlock of a plain mutex by a thread that has logged from here
 * before: the two that count, by hand, because a compiler takes a quarter more time for them. What
 * they do is am_log_own in log.h, where the reasons are; everything unusual is a jump to
 * hook_mutex.c. Run in application threads. No lock, no system call, errno untouched.
 *
 * In the lock, the call site and the own counter are looked up before libc is called: the mutex is then held
 * the shorter. What is needed behind it is kept in registers: between the two locked instructions of a
 * pair the processor waits for chains of loads more than for instructions (two words kept in the stack
 * instead cost 2.5 ns).
 *
 * The place in the ring: head is read, then added to, then read again. If it is one more than before, the
 * place is what was read first, and base and phase, read in between, are of its lap; otherwise a
 * signal handler logged meanwhile, and the place has to be looked for. An exchange and add would take
 * longer, and all addresses would wait for it.
 *
 * Each is there twice. One look at a word tells the first copy that everything is logged and that this is
 * for a recording only: nobody has to be woken behind a record, and no sections are followed (am_after).
 * The second copy, for the checker, looks at that too.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/hot.h"

/* The own counter of the mutex in %rdi, if it has one, into %r8. */
	.macro	find_own
	imull	$HOT_HASH, %edi, %r8d
	leaq	am_owns(%rip), %r10
	shrl	$HOT_OWN_SHIFT, %r8d
	andl	$HOT_OWN_MASK, %r8d
	addq	%r10, %r8
	.endm

/* The lock hook keeps the mutex in %rbx, its own counter in %rbp, the site as in w1 in %r12. */
	.macro	leave_frame
	popq	%r12
	.cfi_def_cfa_offset 24
	.cfi_restore %r12
	popq	%rbp
	.cfi_def_cfa_offset 16
	.cfi_restore %rbp
	popq	%rbx
	.cfi_def_cfa_offset 8
	.cfi_restore %rbx
	.endm

	.macro	in_frame
	.cfi_def_cfa_offset 32
	.cfi_offset %rbx, -16
	.cfi_offset %rbp, -24
	.cfi_offset %r12, -32
	.endm

	.macro	lock_body
	testb	$HOT_UNUSUAL, HOT_KIND(%rdi)
	jne	.Llock_unknown
	/* The entry of this call site, into %rsi. */
	movq	am_tls@gottpoff(%rip), %rax
	imulq	$HOT_SITE_HASH, (%rsp), %rdx
	movq	%fs:HOT_T_LANE(%rax), %rcx
	leaq	8(%rsp, %rdx), %rdx
	testq	%rcx, %rcx
	je	.Llock_unknown
	movl	%edx, %esi
	andl	$HOT_SITE_MASK, %esi
	leaq	(%rcx, %rsi, HOT_SITE_SCALE), %rsi
	cmpq	%rdx, (%rsi)
	jne	.Llock_unknown
	/* am_site_callers */
	movq	HOT_S_SLOT(%rsi), %rcx
	movq	HOT_S_SLOT + 8(%rsi), %rdx
	movq	HOT_S_SLOT + 16(%rsi), %r9
	imulq	$HOT_SITE_HASH, (%rcx), %rcx
	addq	(%rdx), %rcx
	imulq	$HOT_SITE_HASH, %rcx
	addq	(%r9), %rcx
	cmpq	%rcx, HOT_S_CALLERS(%rsi)
	jne	.Llock_unknown
	find_own
	pushq	%rbx
	.cfi_def_cfa_offset 16
	.cfi_offset %rbx, -16
	movq	%rdi, %rbx
	pushq	%rbp
	.cfi_def_cfa_offset 24
	.cfi_offset %rbp, -24
	movq	%r8, %rbp
	pushq	%r12
	.cfi_def_cfa_offset 32
	.cfi_offset %r12, -32
	movq	HOT_S_SITE(%rsi), %r12

	call	*am_real + HOT_REAL_LOCK(%rip)

	movq	am_tls@gottpoff(%rip), %rdi
	testl	%eax, %eax
	jne	.Llock_unusual
	movq	%fs:HOT_T_HEAD(%rdi), %rcx
	cmpq	$0, %fs:HOT_T_EVENT(%rdi)
	jne	.Llock_unusual
	cmpq	%fs:HOT_T_LIMIT(%rdi), %rcx
	jae	.Llock_unusual
	cmpq	%rbx, (%rbp)
	jne	.Llock_unusual
	movq	%fs:HOT_T_BASE(%rdi), %r11
	leaq	1(%rcx), %r9
	movq	%fs:HOT_T_PHASE(%rdi), %rdx
	incq	%fs:HOT_T_HEAD(%rdi)
	movl	HOT_O_NEXT(%rbp), %esi
	cmpq	%fs:HOT_T_HEAD(%rdi), %r9
	jne	.Llock_late
	shlq	$HOT_UNIT_SHIFT, %rcx
	leal	1(%rsi), %r10d
	orq	%r12, %rsi
	shlq	$HOT_OBJECT_SHIFT, %rbx
	movl	%r10d, HOT_O_NEXT(%rbp)
	movq	%rsi, 8(%r11, %rcx)
	leaq	HOT_W0_ACQUIRE(%rbx, %rdx), %rbx
	movq	%rbx, (%r11, %rcx) /* partner: am_ring_has */
	leave_frame
	.endm

	.macro	unlock_body
	movq	(%rsp), %rsi
	movq	am_tls@gottpoff(%rip), %rdx
	testb	$HOT_UNUSUAL, HOT_KIND(%rdi)
	jne	.Lunlock_unusual
	imull	$HOT_SITE_HASH, %esi, %eax
	movq	%fs:HOT_T_HEAD(%rdx), %rcx
	cmpq	$0, %fs:HOT_T_EVENT(%rdx)
	jne	.Lunlock_unusual
	cmpq	%fs:HOT_T_LIMIT(%rdx), %rcx
	jae	.Lunlock_unusual
	andl	$HOT_PC_MASK, %eax
	addq	%fs:HOT_T_LANE(%rdx), %rax
	cmpq	%rsi, HOT_PC(%rax)
	jne	.Lunlock_unusual
	find_own
	cmpq	%rdi, (%r8)
	jne	.Lunlock_unusual
	movq	%fs:HOT_T_BASE(%rdx), %r11
	leaq	1(%rcx), %r9
	movq	%fs:HOT_T_PHASE(%rdx), %r10
	incq	%fs:HOT_T_HEAD(%rdx)
	movl	HOT_O_NEXT(%r8), %esi
	cmpq	%fs:HOT_T_HEAD(%rdx), %r9
	jne	.Lunlock_late
	shlq	$HOT_UNIT_SHIFT, %rcx
	leal	1(%rsi), %r9d
	movq	%rdi, %rdx
	orq	HOT_PC + HOT_P_SITE(%rax), %rsi
	shlq	$HOT_OBJECT_SHIFT, %rdx
	movl	%r9d, HOT_O_NEXT(%r8)
	movq	%rsi, 8(%r11, %rcx)
	leaq	HOT_W0_RELEASE(%rdx, %r10), %rdx
	movq	%rdx, (%r11, %rcx) /* partner: am_ring_has */
	prefetchw HOT_AHEAD(%r11, %rcx)
	.endm

	.text
	.globl	pthread_mutex_lock
	.type	pthread_mutex_lock, @function
	.p2align 6
pthread_mutex_lock:
	.cfi_startproc
	cmpq	$HOT_ON, am_wiped(%rip) /* and not checking */
	jne	.Llock_else
	lock_body
	ret

.Llock_late:
	in_frame
	movq	%rbx, %rdi
	movq	%rcx, %rsi
	movl	$HOT_W0_ACQUIRE, %edx
	movq	%r12, %rcx
	call	am_log_own_late
	leave_frame
	xorl	%eax, %eax
	ret

.Llock_unusual: /* libc answered %eax */
	in_frame
	movq	%rbx, %rdi
	movl	%eax, %esi
	leave_frame
	movq	(%rsp), %rdx
	leaq	8(%rsp), %rcx
	jmp	am_lock_slowly

	.p2align 4
.Llock_else:
	movl	am_wiped(%rip), %eax
	decl	%eax
	cmpl	$HOT_ON - 1, %eax
	jae	.Llock_other
	jmp	*am_real + HOT_REAL_LOCK(%rip) /* dormant, or before the first region */
.Llock_first:
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	jmp	am_lock_first
.Llock_unknown:
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	jmp	am_lock_fully
.Llock_defer_or_first:
	cmpl	$HOT_DEFER - 1, %eax
	jne	.Llock_first
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	jmp	am_lock_deferring

	.p2align 4
.Llock_other:
	jne	.Llock_defer_or_first
	lock_body
	cmpl	$0, am_after(%rip)
	jne	am_lock_and_wake
	ret
	.cfi_endproc
	.size	pthread_mutex_lock, .-pthread_mutex_lock

	.globl	pthread_mutex_unlock
	.type	pthread_mutex_unlock, @function
	.p2align 6
pthread_mutex_unlock:
	.cfi_startproc
	cmpq	$HOT_ON, am_wiped(%rip) /* and not checking */
	jne	.Lunlock_else
	unlock_body
	jmp	*am_real + HOT_REAL_UNLOCK(%rip)

.Lunlock_late:
	pushq	%rdi
	.cfi_def_cfa_offset 16
	movq	%rcx, %rsi
	movl	$HOT_W0_RELEASE, %edx
	movq	HOT_PC + HOT_P_SITE(%rax), %rcx
	call	am_log_own_late
	popq	%rdi
	.cfi_def_cfa_offset 8
	jmp	am_unlock_after

	.p2align 4
.Lunlock_else:
	movl	am_wiped(%rip), %eax
	decl	%eax
	cmpl	$HOT_ON - 1, %eax
	jae	.Lunlock_other
	jmp	*am_real + HOT_REAL_UNLOCK(%rip) /* dormant, or before the first region */
.Lunlock_unusual:
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	jmp	am_unlock_slowly
.Lunlock_defer_or_first:
	cmpl	$HOT_DEFER - 1, %eax
	jne	.Lunlock_unusual
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	jmp	am_unlock_deferring

	.p2align 4
.Lunlock_other:
	jne	.Lunlock_defer_or_first
	unlock_body
	cmpq	$0, am_after(%rip)
	jne	am_unlock_after
	jmp	*am_real + HOT_REAL_UNLOCK(%rip)
	.cfi_endproc
	.size	pthread_mutex_unlock, .-pthread_mutex_unlock

	.irp	name, am_wiped, am_tls, am_after, am_owns, am_real, am_log_own_late, am_lock_and_wake, \
		am_lock_fully, am_lock_slowly, am_lock_first, am_lock_deferring, am_unlock_after, \
		am_unlock_slowly, am_unlock_deferring
	.hidden	\name
	.endr
	.section .note.GNU-stack, "", @progbits
