/* Walks over all states, and over all interleavings; see explore.h. No I/O. */
/* SPDX-License-Identifier: MIT */
#include "explore.h"
#include "stateset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void am_explored_init(struct am_explored *out, const struct am_lit *lit)
{
	memset(out, 0, sizeof(*out));
	out->n_blocks = lit->n_blocks + 1;
	for (unsigned i = 0; i < AM_HIST_PROPS; i++) {
		out->broken[i] = calloc(out->n_blocks, sizeof(*out->broken[i]));
		out->witness[i] = calloc(out->n_blocks, sizeof(*out->witness[i]));
		if (!out->broken[i] || !out->witness[i])
			abort();
	}
}

static void run_clear(struct am_explore_run *run)
{
	free(run->steps);
	free(run->state);
	*run = (struct am_explore_run){ 0 };
}

void am_explored_clear(struct am_explored *out)
{
	for (unsigned i = 0; i < AM_HIST_PROPS; i++) {
		for (uint32_t b = 0; b < out->n_blocks; b++)
			run_clear(&out->witness[i][b]);
		free(out->broken[i]);
		free(out->witness[i]);
	}
	run_clear(&out->holds);
	run_clear(&out->fails);
	run_clear(&out->failure);
	run_clear(&out->deadlock);
}

static void *copy(const void *from, size_t bytes)
{
	void *block = malloc(bytes ? bytes : 1);

	if (!block)
		abort();
	return memcpy(block, from, bytes);
}

/* ---- all states, breadth first: witnesses are short ------------------------------------------ */

struct origin {
	uint64_t parent;
	struct am_vm_move move;
};

struct states {
	struct am_vm *vm;
	struct am_stateset set;
	struct origin *origins;
	uint64_t room;
	struct am_explored *out;
};

/* The run to a state, replayed from the start. */
static void keep_run(struct states *s, uint64_t index, struct am_explore_run *run)
{
	uint64_t length = 0;

	for (uint64_t i = index; i; i = s->origins[i].parent)
		length++;
	struct am_vm_move *moves = malloc((length + 1) * sizeof(*moves));
	uint64_t *state = malloc(s->vm->words * sizeof(*state));
	run->steps = malloc((length + 1) * sizeof(*run->steps));
	if (!moves || !state || !run->steps)
		abort();
	uint64_t at = length;
	for (uint64_t i = index; i; i = s->origins[i].parent)
		moves[--at] = s->origins[i].move;
	am_vm_start(s->vm, state);
	for (uint64_t i = 0; i < length; i++)
		am_vm_apply(s->vm, state, &moves[i], &run->steps[i]);
	run->n = (uint32_t)length;
	run->state = state;
	free(moves);
}

static void judge_final(struct states *s, uint64_t index, const uint64_t *state)
{
	const struct am_lit *lit = s->vm->lit;
	const uint64_t *locals[AM_LIT_THREADS_MAX];

	for (uint32_t t = 0; t < lit->n_threads; t++)
		locals[t] = am_vm_regs(s->vm, state, t);
	s->out->finals++;
	if (!lit->condition || (lit->filter && !am_lit_prop_holds(lit->filter, state, locals)))
		return;
	const bool holds = am_lit_prop_holds(lit->condition, state, locals);
	if (holds && !s->out->can_hold) {
		s->out->can_hold = true;
		keep_run(s, index, &s->out->holds);
	} else if (!holds && !s->out->can_fail) {
		s->out->can_fail = true;
		keep_run(s, index, &s->out->fails);
	}
}

static void judge_state(struct states *s, uint64_t index, const uint64_t *state, uint32_t n_moves)
{
	const struct am_lit *lit = s->vm->lit;

	for (uint32_t t = 0; t < lit->n_threads; t++) {
		const enum am_thread_status status = am_vm_status(s->vm, state, t);
		const struct am_insn *insn =
			&s->vm->code->threads[t].insns[am_vm_pc(s->vm, state, t)];
		if (status == AM_THREAD_CUT) {
			s->out->hit_bound = true;
			s->out->bound_pos = insn->pos;
		}
		if ((status == AM_THREAD_FAILED || status == AM_THREAD_FAULT) && !s->out->has_failed) {
			s->out->has_failed = true;
			s->out->failed_pos = insn->pos;
			s->out->failed_thread = t;
			s->out->is_fault = status == AM_THREAD_FAULT;
			keep_run(s, index, &s->out->failure);
		}
	}
	if (am_vm_is_done(s->vm, state)) {
		judge_final(s, index, state);
	} else if (!n_moves && !s->out->has_deadlock) {
		bool is_deadlock = false;
		for (uint32_t t = 0; t < lit->n_threads; t++)
			is_deadlock |= am_vm_status(s->vm, state, t) == AM_THREAD_READY;
		if (is_deadlock) {
			s->out->has_deadlock = true;
			keep_run(s, index, &s->out->deadlock);
		}
	}
}

static void note_range(const struct am_vm *vm, struct am_explored *out)
{
	if (!vm->has_left_range || out->left_range)
		return;
	out->left_range = true;
	out->range_cell = vm->range_cell;
	out->range_pos = vm->range_pos;
}

static bool add_state(struct states *s, const uint64_t *state, struct origin origin)
{
	uint64_t index;

	if (!am_stateset_add(&s->set, state, &index))
		return false;
	if (s->set.n > s->room) {
		s->room = s->room ? s->room * 2 : 256;
		s->origins = realloc(s->origins, s->room * sizeof(*s->origins));
		if (!s->origins)
			abort();
	}
	s->origins[index] = origin;
	return true;
}

void am_explore_states(const struct am_code *code, const struct am_explore_options *options,
		       struct am_explored *out)
{
	struct am_vm *vm = am_vm_new(code, options->model, 0);
	struct states s = { .vm = vm, .out = out };
	struct am_vm_move *moves = malloc(am_vm_moves_max(vm) * sizeof(*moves));
	uint64_t *state = malloc(vm->words * sizeof(*state));
	uint64_t *next = malloc(vm->words * sizeof(*next));

	if (!moves || !state || !next)
		abort();
	/* Meta words are kept for nobody: runs are replayed. */
	am_stateset_init(&s.set, vm->core_words, vm->core_words);
	am_vm_start(vm, state);
	add_state(&s, state, (struct origin){ 0 });
	for (uint64_t i = 0; i < s.set.n; i++) {
		if (s.set.n > options->max_states) {
			out->out_of_budget = true;
			break;
		}
		memset(state, 0, vm->words * sizeof(*state));
		memcpy(state, am_stateset_row(&s.set, i), vm->core_words * sizeof(*state));
		const uint32_t n = am_vm_moves(vm, state, moves);
		judge_state(&s, i, state, n);
		for (uint32_t k = 0; k < n; k++) {
			struct am_vm_step step;
			memcpy(next, state, vm->words * sizeof(*next));
			am_vm_apply(vm, next, &moves[k], &step);
			add_state(&s, next, (struct origin){ i, moves[k] });
		}
	}
	out->states = s.set.n;
	note_range(vm, out);
	out->out_of_budget |= vm->has_overflowed;
	am_stateset_free(&s.set);
	free(s.origins);
	free(moves);
	free(state);
	free(next);
	am_vm_free(vm);
}

/* ---- all interleavings ----------------------------------------------------------------------- */

struct judge {
	struct am_explored *out;
	const struct am_history *h;
	enum am_hist_prop prop;
};

static void keep_finding(void *arg, const struct am_finding *finding)
{
	struct judge *j = arg;
	struct am_explore_run *run = &j->out->witness[j->prop][finding->block];

	if (j->out->broken[j->prop][finding->block])
		return;
	j->out->found[j->prop] = true;
	j->out->broken[j->prop][finding->block] = true;
	*run = (struct am_explore_run){ .n = j->h->n, .finding = *finding };
	run->steps = copy(j->h->steps, j->h->n * sizeof(*j->h->steps));
}

void am_explored_judge(struct am_explored *out, const struct am_explore_options *options,
		       const struct am_history *h)
{
	out->runs++;
	for (unsigned p = 0; p < AM_HIST_PROPS; p++) {
		struct judge j = { out, h, (enum am_hist_prop)p };
		if (options->want[p])
			am_hist_judge(h, j.prop, keep_finding, &j);
	}
}

struct walk {
	struct am_vm *vm;
	const struct am_explore_options *options;
	struct am_explored *out;
	uint64_t steps_done;
	struct am_vm_step steps[AM_HIST_STEPS_MAX];
	uint32_t n;
};

static void judge_run(struct walk *w, const uint64_t *state)
{
	const struct am_history h = { w->vm->lit, w->steps, w->n };

	am_explored_judge(w->out, w->options, &h);
	for (uint32_t t = 0; t < w->vm->lit->n_threads; t++)
		if (am_vm_status(w->vm, state, t) == AM_THREAD_CUT) {
			w->out->hit_bound = true;
			w->out->bound_pos =
				w->vm->code->threads[t].insns[am_vm_pc(w->vm, state, t)].pos;
		}
}

static void walk(struct walk *w, const uint64_t *state)
{
	struct am_vm *vm = w->vm;
	struct am_vm_move *moves = malloc(am_vm_moves_max(vm) * sizeof(*moves));
	uint64_t *next = malloc(vm->words * sizeof(*next));

	if (!moves || !next)
		abort();
	const uint32_t n = am_vm_moves(vm, state, moves);
	if (!n)
		judge_run(w, state);
	for (uint32_t k = 0; k < n && !w->out->out_of_budget; k++) {
		if (++w->steps_done > w->options->budget || w->n == AM_HIST_STEPS_MAX) {
			w->out->out_of_budget = true;
			judge_run(w, state);
			break;
		}
		memcpy(next, state, vm->words * sizeof(*next));
		am_vm_apply(vm, next, &moves[k], &w->steps[w->n]);
		w->n++;
		walk(w, next);
		w->n--;
	}
	free(moves);
	free(next);
}

void am_explore_runs(const struct am_code *code, const struct am_explore_options *options,
		     struct am_explored *out)
{
	struct am_vm *vm = am_vm_new(code, options->model, options->unroll);
	struct walk *w = calloc(1, sizeof(*w));
	uint64_t *state = malloc(vm->words * sizeof(*state));

	if (!w || !state)
		abort();
	*w = (struct walk){ .vm = vm, .options = options, .out = out };
	am_vm_start(vm, state);
	walk(w, state);
	note_range(vm, out);
	out->out_of_budget |= vm->has_overflowed;
	free(state);
	free(w);
	am_vm_free(vm);
}
