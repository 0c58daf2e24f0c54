/*
 * vfork: parent and child return from this function on one stack, so it cannot be a C wrapper: the
 * return address waits in a register while the child runs. The thread is muted meanwhile, for the
 * child's events would land in the parent's ring.
 */
/* SPDX-License-Identifier: MIT */
#include <sys/syscall.h>

	.text
	.globl	vfork
	.type	vfork, @function
	.p2align 4
vfork:
	.cfi_startproc
	subq	$8, %rsp
	.cfi_adjust_cfa_offset 8
	call	am_vfork_before
	addq	$8, %rsp
	.cfi_adjust_cfa_offset -8
	popq	%rdi
	.cfi_adjust_cfa_offset -8
	.cfi_register %rip, %rdi
	movl	$SYS_vfork, %eax
	syscall
	pushq	%rdi
	.cfi_adjust_cfa_offset 8
	.cfi_rel_offset %rip, 0
	testq	%rax, %rax
	jz	.Lchild
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	call	am_vfork_after
	popq	%rax
	.cfi_adjust_cfa_offset -8
	cmpl	$-4095, %eax
	jae	.Lerror
.Lchild:
	ret
.Lerror:
	negl	%eax
	pushq	%rax
	.cfi_adjust_cfa_offset 8
	call	*__errno_location@GOTPCREL(%rip)
	popq	%rdx
	.cfi_adjust_cfa_offset -8
	movl	%edx, (%rax)
	movl	$-1, %eax
	ret
	.cfi_endproc
	.size	vfork, .-vfork
	.hidden	am_vfork_before
	.hidden	am_vfork_after
	.section .note.GNU-stack, "", @progbits
