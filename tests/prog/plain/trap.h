/* SPDX-License-Identifier: MIT */
/* A thread under the trap flag: SIGTRAP behind each instruction. */
#ifndef ATOMMON_TESTS_TRAP_H
#define ATOMMON_TESTS_TRAP_H

#define UNTRACED __attribute__((noinline, no_sanitize("thread")))

UNTRACED static void set_trap(void)
{
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp" ::: "memory", "cc");
}

UNTRACED static void clear_trap(void)
{
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp" ::: "memory", "cc");
}

#endif
