/* SPDX-License-Identifier: MIT */
/*
 * The abstract machine of the explicit engines: executes litmus instructions one step at a time,
 * sequentially consistent, or with a store buffer per thread (tso) or per thread and location (pso).
 *
 * A state is an array of words. The first `core_words` decide all behaviour and can be hashed and
 * compared; behind them lie names for people and for histories: position in program order, instance
 * of the atomic block. Local instructions run as soon as they can: nobody sees them, so every state
 * between moves has each thread before a step. A store under tso and pso enters the buffer at once
 * (also local); its step is the flush.
 *
 * A thread that fails an assertion, or uses an address where no variable is, stops there. So does one
 * whose assumption does not hold or whose loop reached the bound, without being a failure.
 */
#ifndef ATOMMON_LITMUS_VM_H
#define ATOMMON_LITMUS_VM_H

#include "atommon/event.h"
#include "code.h"

enum am_vm_model { AM_VM_SC, AM_VM_TSO, AM_VM_PSO };

enum { AM_BUFFER_MAX = 12 };

enum am_thread_status {
	AM_THREAD_READY,
	AM_THREAD_UNBORN, /* waits for its fork */
	AM_THREAD_DONE,
	AM_THREAD_CUT,	  /* loop bound */
	AM_THREAD_ASSUME, /* assumption does not hold */
	AM_THREAD_FAILED, /* assertion */
	AM_THREAD_FAULT,  /* bad address */
};

struct am_vm {
	const struct am_code *code;
	const struct am_lit *lit;
	enum am_vm_model model;
	uint32_t unroll; /* rounds of a loop at most, 0: no bound */
	uint32_t core_words, words;
	uint32_t *thread_base; /* of each thread's core words */
	uint32_t *meta_base;
	bool has_overflowed;   /* a buffer was full: runs may be missing */
	bool has_left_range;   /* a variable left its declared values */
	uint32_t range_cell;   /* which, if a cell; else n_cells */
	struct am_lit_pos range_pos;
};

/* What a step did. */
struct am_vm_step {
	uint8_t kind;  /* enum am_kind; AM_NONE: nothing others can see */
	uint8_t order; /* enum am_lit_order of an access */
	uint32_t thread, insn;
	uint32_t cell, mutex; /* mutex of wait and wake, n_cells if none */
	uint32_t other;	      /* thread of fork, join; thread woken by signal, UINT32_MAX none */
	uint64_t got, put, old; /* value read; written; in memory before the write */
	uint32_t po;	  /* position in program order, from 1 */
	uint32_t region;  /* instance of the outermost atomic block of its thread, 0 none */
	uint32_t block;	  /* which block of the text, if region */
};

struct am_vm_move {
	uint32_t thread;
	int32_t flush;	/* buffer entry, -1: the thread's next step */
	uint32_t choice; /* signal: thread to wake, UINT32_MAX none */
};

struct am_vm *am_vm_new(const struct am_code *code, enum am_vm_model model,
				  uint32_t unroll);
void am_vm_free(struct am_vm *m);

void am_vm_start(struct am_vm *m, uint64_t *state);
/* At most AM_LIT_THREADS_MAX * (AM_BUFFER_MAX + threads) moves; returns how many. */
uint32_t am_vm_moves(const struct am_vm *m, const uint64_t *state, struct am_vm_move *moves);
void am_vm_apply(struct am_vm *m, uint64_t *state, const struct am_vm_move *move,
		      struct am_vm_step *step);

enum am_thread_status am_vm_status(const struct am_vm *m, const uint64_t *state,
					uint32_t thread);
uint32_t am_vm_pc(const struct am_vm *m, const uint64_t *state, uint32_t thread);
/* Nesting of atomic blocks, and the outermost one. */
uint32_t am_vm_depth(const struct am_vm *m, const uint64_t *state, uint32_t thread,
			  uint32_t *block);
/* Atomic blocks begun since the meta words were cleared. */
uint64_t am_vm_begun(const struct am_vm *m, const uint64_t *state, uint32_t thread);
bool am_vm_is_done(const struct am_vm *m, const uint64_t *state); /* all threads */
const uint64_t *am_vm_regs(const struct am_vm *m, const uint64_t *state, uint32_t thread);
uint32_t am_vm_moves_max(const struct am_vm *m);

#endif
