/*
 * pthread_mutex_lock and pthread_mutex_unlock of a plain mutex by a thread that has logged from here
 * before: the two that count, by hand, because a compiler takes a quarter more time for them. What
 * they do is am_log_own in log.h, where the reasons are; everything unusual is a jump to
 * hook_mutex.c. Run in application threads. No lock, no system call, errno untouched.
 *
 * In the lock, the call site is looked up before libc is called: the mutex is then held the shorter.
 *
 * The place in the ring: head is read, then added to, then read again. If it is one more than before, the
 * place is what was read first, and base and phase, read in between, are of its lap; otherwise a
 * signal handler logged meanwhile, and the place has to be looked for. An exchange and add would take
 * longer, and all addresses would wait for it.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/hot.h"

/* The word in the stack where a caller's return address lay must still hold it. Slot n of the entry
 * in \entry. */
	.macro	same_caller n, entry, otherwise
	movq	HOT_S_SLOT + 8 * \n(\entry), %rcx
	movq	HOT_S_CALLER + 8 * \n(\entry), %rdx
	cmpq	%rdx, (%rcx)
	jne	\otherwise
	.endm

	.macro	leave_frame
	.cfi_remember_state
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rbp
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbp
	popq	%rbx
	.cfi_adjust_cfa_offset -8
	.cfi_restore %rbx
	.endm

	.text
	.globl	pthread_mutex_lock
	.type	pthread_mutex_lock, @function
	.p2align 6
pthread_mutex_lock:
	.cfi_startproc
	cmpl	$HOT_ON, am_wiped(%rip)
	jne	.Llock_off
	pushq	%rbx
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbx, 0
	pushq	%rbp
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rbp, 0
	subq	$8, %rsp /* aligned for the call */
	.cfi_adjust_cfa_offset 8
	movq	%rdi, %rbx
	/* The entry of this call site, into %rbp. */
	movq	24(%rsp), %rcx
	leaq	32(%rsp), %rdx
	movq	am_tls@gottpoff(%rip), %rax
	rolq	$HOT_KEY_ROTATE, %rdx
	movq	%fs:HOT_T_LANE(%rax), %rbp
	xorq	%rcx, %rdx
	testq	%rbp, %rbp
	je	.Llock_unknown
	imull	$HOT_HASH, %edx, %ecx
	shrl	$32 - HOT_CACHE_BITS, %ecx
	shll	$HOT_SITE_SHIFT, %ecx
	addq	%rcx, %rbp
	cmpq	%rdx, (%rbp)
	jne	.Llock_unknown
	same_caller 0, %rbp, .Llock_unknown
	same_caller 1, %rbp, .Llock_unknown
	same_caller 2, %rbp, .Llock_unknown

	call	*am_real + HOT_REAL_LOCK(%rip)

	movq	am_tls@gottpoff(%rip), %rdi
	imull	$HOT_HASH, %ebx, %r8d
	leaq	am_owns(%rip), %r10
	testl	%eax, %eax
	jne	.Llock_unusual
	movq	%fs:HOT_T_HEAD(%rdi), %rcx
	shrl	$HOT_OWN_SHIFT, %r8d
	testb	$HOT_UNUSUAL, HOT_KIND(%rbx)
	jne	.Llock_unusual
	andl	$HOT_OWN_MASK, %r8d
	cmpq	$0, %fs:HOT_T_EVENT(%rdi)
	jne	.Llock_unusual
	addq	%r10, %r8
	cmpq	%fs:HOT_T_LIMIT(%rdi), %rcx
	jae	.Llock_unusual
	cmpq	%rbx, (%r8)
	jne	.Llock_unusual
	movq	%fs:HOT_T_BASE(%rdi), %r11
	leaq	1(%rcx), %r9
	movq	%fs:HOT_T_PHASE(%rdi), %rdx
	incq	%fs:HOT_T_HEAD(%rdi)
	movl	HOT_O_NEXT(%r8), %esi
	cmpq	%fs:HOT_T_HEAD(%rdi), %r9
	jne	.Llock_late
	shlq	$HOT_UNIT_SHIFT, %rcx
	leal	1(%rsi), %r10d
	shlq	$HOT_OBJECT_SHIFT, %rbx
	orq	HOT_S_SITE(%rbp), %rsi
	movl	%r10d, HOT_O_NEXT(%r8)
	orq	%rdx, %rbx
	movq	%rsi, 8(%r11, %rcx)
	orq	$HOT_W0_ACQUIRE, %rbx
	movq	%rbx, (%r11, %rcx) /* partner: am_ring_has */
	prefetchw HOT_AHEAD(%r11, %rcx)
	leave_frame
	cmpl	$0, am_after(%rip)
	jne	am_lock_and_wake
	ret
	.cfi_restore_state

.Llock_late:
	movq	%rbx, %rdi
	movq	%rcx, %rsi
	movl	$HOT_W0_ACQUIRE, %edx
	movq	HOT_S_SITE(%rbp), %rcx
	call	am_log_own_late
	leave_frame
	xorl	%eax, %eax
	ret
	.cfi_restore_state

.Llock_unknown:
	movq	%rbx, %rdi
	leave_frame
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	jmp	am_lock_fully
	.cfi_restore_state

.Llock_unusual: /* libc answered %eax */
	movq	%rbx, %rdi
	movl	%eax, %esi
	leave_frame
	movq	(%rsp), %rdx
	leaq	8(%rsp), %rcx
	jmp	am_lock_slowly
	.cfi_restore_state

.Llock_off:
	.cfi_def_cfa_offset 8
	.cfi_restore %rbp
	.cfi_restore %rbx
	cmpl	$HOT_DEFER, am_wiped(%rip)
	je	.Llock_defer
	cmpl	$0, am_wiped(%rip)
	je	.Llock_first
	jmp	*am_real + HOT_REAL_LOCK(%rip)
.Llock_defer:
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	jmp	am_lock_deferring
.Llock_first:
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	jmp	am_lock_first
	.cfi_endproc
	.size	pthread_mutex_lock, .-pthread_mutex_lock

	.globl	pthread_mutex_unlock
	.type	pthread_mutex_unlock, @function
	.p2align 6
pthread_mutex_unlock:
	.cfi_startproc
	cmpl	$HOT_ON, am_wiped(%rip)
	jne	.Lunlock_off
	movq	(%rsp), %rsi
	movq	am_tls@gottpoff(%rip), %rdx
	testb	$HOT_UNUSUAL, HOT_KIND(%rdi)
	jne	.Lunlock_unusual
	movq	%fs:HOT_T_HEAD(%rdx), %rcx
	imull	$HOT_HASH, %edi, %r8d
	cmpq	$0, %fs:HOT_T_EVENT(%rdx)
	jne	.Lunlock_unusual
	imull	$HOT_HASH, %esi, %eax
	cmpq	%fs:HOT_T_LIMIT(%rdx), %rcx
	jae	.Lunlock_unusual
	leaq	am_owns(%rip), %r10
	shrl	$32 - HOT_CACHE_BITS, %eax
	shll	$HOT_PC_SHIFT, %eax
	shrl	$HOT_OWN_SHIFT, %r8d
	addq	%fs:HOT_T_LANE(%rdx), %rax
	andl	$HOT_OWN_MASK, %r8d
	addq	%r10, %r8
	cmpq	%rsi, HOT_PC(%rax)
	jne	.Lunlock_unusual
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
	orq	%r10, %rdx
	movq	%rsi, 8(%r11, %rcx)
	orq	$HOT_W0_RELEASE, %rdx
	movq	%rdx, (%r11, %rcx) /* partner: am_ring_has */
	prefetchw HOT_AHEAD(%r11, %rcx)
	cmpq	$0, am_after(%rip)
	jne	am_unlock_after
	jmp	*am_real + HOT_REAL_UNLOCK(%rip)

.Lunlock_late:
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	movq	%rcx, %rsi
	movl	$HOT_W0_RELEASE, %edx
	movq	HOT_PC + HOT_P_SITE(%rax), %rcx
	call	am_log_own_late
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	jmp	am_unlock_after

.Lunlock_off:
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	cmpl	$HOT_DEFER, am_wiped(%rip)
	je	am_unlock_deferring
	cmpl	$0, am_wiped(%rip)
	je	am_unlock_slowly
	jmp	*am_real + HOT_REAL_UNLOCK(%rip)
.Lunlock_unusual:
	movq	(%rsp), %rsi
	leaq	8(%rsp), %rdx
	jmp	am_unlock_slowly
	.cfi_endproc
	.size	pthread_mutex_unlock, .-pthread_mutex_unlock

	.irp	name, am_wiped, am_tls, am_after, am_owns, am_real, am_log_own_late, am_lock_and_wake, \
		am_lock_fully, am_lock_slowly, am_lock_first, am_lock_deferring, am_unlock_after, \
		am_unlock_slowly, am_unlock_deferring
	.hidden	\name
	.endr
	.section .note.GNU-stack, "", @progbits
