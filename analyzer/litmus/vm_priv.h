/* SPDX-License-Identifier: MIT */
/* Inside the abstract machine: where things lie in a state. */
#ifndef ATOMMON_LITMUS_VM_PRIV_H
#define ATOMMON_LITMUS_VM_PRIV_H

#include "vm.h"

/* Core words of a thread. */
enum { PC, STATUS, WAITS, NOTIFIED, DEPTH, BLOCK, BUFFERED, BUFFER };
enum { E_CELL, E_VALUE, E_INSN, E_WORDS };
enum { REGS = BUFFER + AM_BUFFER_MAX * E_WORDS };
/* Meta words of a thread: then po and region of each buffer entry. */
enum { M_PO, M_REGION, M_REGIONS, M_ENTRY };
enum { M_WORDS = M_ENTRY + 2 * AM_BUFFER_MAX };
/* A barrier in the buffer (smp_wmb) and a release store, in E_CELL. */
#define MARKER UINT32_MAX
#define IS_RELEASE (UINT64_C(1) << 32)

static inline uint64_t *core(const struct am_vm *m, uint64_t *state, uint32_t t)
{
	return state + m->thread_base[t];
}

static inline const uint64_t *core_c(const struct am_vm *m, const uint64_t *state, uint32_t t)
{
	return state + m->thread_base[t];
}

#endif
