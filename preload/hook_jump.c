/*
 * longjmp and its kin: functions that are regions, and are left by a jump, end there. Owns these hooks; runs in application
 * threads and in signal handlers. Before a region ended so when a function nearer to the start of the stack was entered or left, and
 * what its thread did until then was taken for part of it.
 */
/* SPDX-License-Identifier: MIT */
#include <setjmp.h>

#include "preload/enter.h"
#include "preload/export.h"
#include "preload/real.h"
#include "preload/runtime.h"

/* Where the stack pointer will be. libc keeps it as the seventh register, in disguise (its PTR_MANGLE). */
static uintptr_t target_of(const struct __jmp_buf_tag *env)
{
	uintptr_t sp = (uintptr_t)env->__jmpbuf[6];

	__asm__("rorq $17, %0\n\txorq %%fs:0x30, %0" : "+r"(sp) : : "cc");
	return sp;
}

static void jumps(const struct __jmp_buf_tag *env, struct am_here here)
{
	if (am_unlikely(!am_real.longjmp))
		am_process_ready();
	if (am_has_functions && am_state() >= AM_ON && !am_tls.is_apart)
		am_function_jump(target_of(env), here);
}

#define JUMP(name)                                                                                 \
	AM_EXPORT __attribute__((noreturn)) void name(struct __jmp_buf_tag env[1], int value);       \
	void name(struct __jmp_buf_tag env[1], int value)                                            \
	{                                                                                          \
		jumps(env, AM_HERE);                                                               \
		am_real.name(env, value);                                                          \
		__builtin_unreachable();                                                           \
	}
JUMP(longjmp)
JUMP(_longjmp)
JUMP(siglongjmp)
JUMP(__longjmp_chk)
