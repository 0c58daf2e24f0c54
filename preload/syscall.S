/*
 * syscall: a program that puts itself behind a seccomp filter through this function is noticed, and so are the words that it
 * hands to futex; then, as every other call, they go on to the next `syscall` with registers and stack as they came (a child of vfork may return
 * through here).
 * am_syscall_next is libc's as soon as that is known, before that the one at the end of this file.
 */
/* SPDX-License-Identifier: MIT */
#include <sys/syscall.h>

	.text
	.globl	syscall
	.type	syscall, @function
	.p2align 4
syscall:
	.cfi_startproc
	cmpq	$SYS_futex, %rdi
	je	.Lfutex
	cmpq	$SYS_seccomp, %rdi
	je	.Lconfine
.Lnext:
	jmp	*am_syscall_next(%rip)
.Lconfine:
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	.cfi_adjust_cfa_offset 32
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rsi, %rdi
	movq	%rcx, %rsi
	call	am_confine_by_syscall
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	.cfi_adjust_cfa_offset -32
	jmp	.Lnext
.Lfutex:
	pushq	%rdi
	pushq	%rsi
	pushq	%rdx
	pushq	%rcx
	pushq	%r8
	pushq	%r9
	.cfi_adjust_cfa_offset 48
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	movq	%rsi, %rdi
	movl	%edx, %esi
	movq	%r9, %rdx
	movq	56(%rsp), %rcx
	leaq	64(%rsp), %r8
	call	am_futex_by_syscall
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%r9
	popq	%r8
	popq	%rcx
	popq	%rdx
	popq	%rsi
	popq	%rdi
	.cfi_adjust_cfa_offset -48
	jmp	.Lnext
	.cfi_endproc
	.size	syscall, .-syscall

	.type	am_syscall_plain, @function
	.p2align 4
am_syscall_plain:
	.cfi_startproc
	movq	%rdi, %rax
	movq	%rsi, %rdi
	movq	%rdx, %rsi
	movq	%rcx, %rdx
	movq	%r8, %r10
	movq	%r9, %r8
	movq	8(%rsp), %r9
	syscall
	cmpq	$-4095, %rax
	jae	.Lerror
	ret
.Lerror:
	negl	%eax
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	call	*__errno_location@GOTPCREL(%rip)
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	movl	%edx, (%rax)
	movq	$-1, %rax
	ret
	.cfi_endproc
	.size	am_syscall_plain, .-am_syscall_plain

	.data
	.globl	am_syscall_next
	.hidden	am_syscall_next
	.hidden	am_confine_by_syscall
	.hidden	am_futex_by_syscall
	.p2align 3
	.type	am_syscall_next, @object
	.size	am_syscall_next, 8
am_syscall_next:
	.quad	am_syscall_plain
	.section .note.GNU-stack, "", @progbits
