/*
 * Model checking for atomicity (Farzan and Madhusudan, section 4): every reachable state of the
 * program together with the serializability automaton, loops without bound. Sequentially consistent.
 * If no state of the product closes a cycle, no run of any length does.
 *
 * The automaton notices a cycle at the access that closes it and names that access's block. Where one
 * block is broken, others that never close a cycle themselves may still lie on one: they are undecided.
 */
/* SPDX-License-Identifier: MIT */
#include "ask_explicit.h"
#include "automaton.h"
#include "stateset.h"

#include <stdlib.h>
#include <string.h>

struct origin {
	uint64_t parent;
	struct am_vm_move move;
};

struct product {
	struct am_vm *vm;
	const struct am_lit *lit;
	struct am_stateset set;
	struct origin *origins;
	uint64_t room;
	bool *broken;
	struct am_explore_run *witness;
	uint64_t max_states;
	bool out_of_budget;
};

static bool is_access(const struct am_vm_step *s)
{
	return s->kind == AM_READ || s->kind == AM_WRITE || s->kind == AM_UPDATE;
}

/* Follows one step with the automaton. `depth` and instance are those of the machine around it: a block
 * that ended, or began anew, during local instructions is seen by its instance. False: cycle. */
static bool follow(struct am_ser *ser, const struct am_vm_step *s, bool in_block_before,
		   bool in_block_after, bool new_block)
{
	const uint32_t t = s->thread;
	bool is_fine = true;

	if (is_access(s)) {
		const bool reads = s->kind != AM_WRITE, writes = s->kind != AM_READ;
		if (!in_block_before)
			am_ser_begin(ser, t);
		is_fine = am_ser_access(ser, t, s->cell, reads, writes);
		if (!in_block_before)
			am_ser_end(ser, t);
	}
	if (in_block_before && (!in_block_after || new_block))
		am_ser_end(ser, t);
	if (in_block_after && (!in_block_before || new_block))
		am_ser_begin(ser, t);
	return is_fine;
}

/* The block's own accesses, and what others did meanwhile to the same variables. */
static void mark(struct am_explore_run *run)
{
	const struct am_vm_step *end = &run->steps[run->n - 1];
	bool has_begun = false;

	for (uint32_t i = 0; i < run->n && run->finding.n < AM_HIST_MARKS_MAX; i++) {
		const struct am_vm_step *s = &run->steps[i];
		const bool is_own = s->thread == end->thread && s->region == end->region;
		bool is_shared = false;
		for (uint32_t k = 0; k < run->n; k++)
			is_shared |= run->steps[k].thread == end->thread &&
				     run->steps[k].region == end->region &&
				     is_access(&run->steps[k]) && run->steps[k].cell == s->cell;
		has_begun |= is_own;
		if (is_access(s) && has_begun && (is_own || is_shared))
			run->finding.marks[run->finding.n++] = i;
	}
}

static void keep_run(struct product *p, uint64_t index, const struct am_vm_move *last,
		     struct am_explore_run *run)
{
	uint64_t length = 1;

	for (uint64_t i = index; i; i = p->origins[i].parent)
		length++;
	struct am_vm_move *moves = malloc(length * sizeof(*moves));
	uint64_t *state = malloc(p->vm->words * sizeof(*state));
	run->steps = malloc(length * sizeof(*run->steps));
	if (!moves || !state || !run->steps)
		abort();
	uint64_t at = length;
	moves[--at] = *last;
	for (uint64_t i = index; i; i = p->origins[i].parent)
		moves[--at] = p->origins[i].move;
	am_vm_start(p->vm, state);
	for (uint64_t i = 0; i < length; i++)
		am_vm_apply(p->vm, state, &moves[i], &run->steps[i]);
	run->n = (uint32_t)length;
	mark(run);
	free(moves);
	free(state);
}

static void add_state(struct product *p, const uint64_t *row, struct origin origin)
{
	uint64_t index;

	if (!am_stateset_add(&p->set, row, &index))
		return;
	if (p->set.n > p->room) {
		p->room = p->room ? p->room * 2 : 256;
		p->origins = realloc(p->origins, p->room * sizeof(*p->origins));
		if (!p->origins)
			abort();
	}
	p->origins[index] = origin;
}

/* Begins what the start of the program is already in. */
static void start(struct product *p, uint64_t *row, struct am_ser *ser)
{
	uint64_t *state = malloc(p->vm->words * sizeof(*state));
	uint32_t block;

	if (!state)
		abort();
	am_vm_start(p->vm, state);
	memcpy(row, state, p->vm->core_words * sizeof(*row));
	for (uint32_t t = 0; t < p->lit->n_threads; t++)
		if (am_vm_depth(p->vm, state, t, &block))
			am_ser_begin(ser, t);
	free(state);
}

/* One move from a state of the product; other threads may begin blocks too (fork). */
static void explore_move(struct product *p, uint64_t index, const uint64_t *row,
			 const struct am_vm_move *move, uint64_t *state, uint64_t *next)
{
	const uint32_t core = p->vm->core_words, n = p->lit->n_threads;
	struct am_ser ser = { n, next + core };
	struct am_vm_step step;
	uint32_t before[AM_LIT_THREADS_MAX], block, was_in = 0;

	memset(state, 0, p->vm->words * sizeof(*state));
	memcpy(state, row, core * sizeof(*state));
	memcpy(next + core, row + core, (size_t)n * AM_SER_WORDS * sizeof(*next));
	for (uint32_t t = 0; t < n; t++) {
		before[t] = am_vm_depth(p->vm, state, t, &block) > 0;
		if (t == move->thread)
			was_in = block;
	}
	am_vm_apply(p->vm, state, move, &step);
	const uint32_t t = move->thread;
	const bool is_in = am_vm_depth(p->vm, state, t, &block) > 0;
	/* During the local instructions behind the step blocks may have ended and begun: their
	 * instance counter, zero at the start of this move, counts the beginnings. */
	const bool new_block = am_vm_begun(p->vm, state, t) > 0;
	if (!follow(&ser, &step, before[t], is_in, new_block)) {
		if (!p->broken[was_in]) {
			p->broken[was_in] = true;
			keep_run(p, index, move, &p->witness[was_in]);
		}
		return;
	}
	for (uint32_t k = 0; k < n; k++) {
		if (k != t && !before[k] && am_vm_depth(p->vm, state, k, &block) > 0)
			am_ser_begin(&ser, k);
		if (am_vm_status(p->vm, state, k) == AM_THREAD_DONE)
			am_ser_thread_end(&ser, k);
	}
	memcpy(next, state, core * sizeof(*next));
	add_state(p, next, (struct origin){ index, *move });
}

static void search(struct product *p)
{
	const uint32_t words = p->vm->core_words + p->lit->n_threads * AM_SER_WORDS;
	struct am_vm_move *moves = malloc(am_vm_moves_max(p->vm) * sizeof(*moves));
	uint64_t *row = calloc(words, sizeof(*row)), *next = calloc(words, sizeof(*next));
	uint64_t *state = calloc(p->vm->words, sizeof(*state));
	struct am_ser ser = { p->lit->n_threads, row + p->vm->core_words };

	if (!moves || !row || !next || !state)
		abort();
	am_stateset_init(&p->set, words, words);
	start(p, row, &ser);
	add_state(p, row, (struct origin){ 0 });
	for (uint64_t i = 0; i < p->set.n; i++) {
		if (p->set.n > p->max_states) {
			p->out_of_budget = true;
			break;
		}
		memcpy(row, am_stateset_row(&p->set, i), words * sizeof(*row));
		const uint32_t n = am_vm_moves(p->vm, row, moves);
		for (uint32_t k = 0; k < n; k++)
			explore_move(p, i, row, &moves[k], state, next);
	}
	free(moves);
	free(row);
	free(next);
	free(state);
}

static void atomicity(const struct am_lit *lit, const struct am_code *code,
		      const struct am_lit_options *options, enum am_lit_property property,
		      struct am_lit_report *report)
{
	struct product p = { .lit = lit, .vm = am_vm_new(code, AM_VM_SC, 0),
			     .max_states = options->budget ? options->budget : 4000000 };
	bool has_broken = false;

	p.broken = calloc(lit->n_blocks + 1, sizeof(*p.broken));
	p.witness = calloc(lit->n_blocks + 1, sizeof(*p.witness));
	if (!p.broken || !p.witness)
		abort();
	search(&p);
	for (uint32_t b = 0; b < lit->n_blocks; b++)
		has_broken |= p.broken[b];
	struct am_explored partial = { .out_of_budget = p.out_of_budget || p.vm->has_overflowed,
				       .left_range = p.vm->has_left_range,
				       .range_cell = p.vm->range_cell,
				       .range_pos = p.vm->range_pos };
	for (uint32_t b = 0; b < lit->n_blocks; b++) {
		struct am_lit_verdict *v = am_lit_report_add(report, property, AM_LIT_CAN);
		v->block = b;
		v->work = p.set.n;
		if (p.broken[b]) {
			am_lit_fill_run(lit, code, &p.witness[b], v);
			free(p.witness[b].steps);
			continue;
		}
		v->answer = am_lit_absence(lit, &partial, v->reason, sizeof(v->reason));
		if (v->answer == AM_LIT_CANNOT && has_broken) {
			v->answer = AM_LIT_UNDECIDED;
			snprintf(v->reason, sizeof(v->reason),
				 "no run closes a cycle in this block, but another block is broken");
		}
	}
	am_stateset_free(&p.set);
	free(p.origins);
	free(p.broken);
	free(p.witness);
	am_vm_free(p.vm);
}

static void refuse(struct am_lit_report *report, enum am_lit_property property, const char *why)
{
	struct am_lit_verdict *v = am_lit_report_add(report, property, AM_LIT_UNDECIDED);

	snprintf(v->reason, sizeof(v->reason), "%s", why);
}

void am_lit_model_check(const struct am_lit *lit, const struct am_lit_options *options,
			struct am_lit_report *report)
{
	const uint32_t of_states = 1u << AM_LIT_PROP_OUTCOME | 1u << AM_LIT_PROP_ASSERT;
	struct am_code *code = am_code_new(lit);

	if (!code)
		abort();
	if (options->properties & of_states) {
		struct am_lit_options states = *options;
		states.properties &= of_states;
		states.engine = AM_LIT_ENUMERATE;
		am_lit_ask_explicit(lit, &states, report);
	}
	for (unsigned p = 0; p < AM_LIT_PROP_COUNT; p++) {
		const enum am_lit_property property = (enum am_lit_property)p;
		if (!(options->properties & ~of_states & 1u << p))
			continue;
		if (p != AM_LIT_PROP_SERIAL)
			refuse(report, property, "model checking decides serializability, outcomes and "
						 "assertions");
		else if (options->model != AM_MODEL_SC)
			refuse(report, property, "model checking of blocks knows the model sc only");
		else if (lit->n_cells > 64)
			refuse(report, property, "model checking takes 64 shared variables at most");
		else if (!lit->n_blocks)
			am_lit_report_add(report, property, AM_LIT_CANNOT);
		else
			atomicity(lit, code, options, property, report);
	}
	am_code_free(code);
}
