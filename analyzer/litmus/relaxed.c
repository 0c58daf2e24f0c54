/* Brute force over memory orders; see relaxed.h. No I/O. */
/* SPDX-License-Identifier: MIT */
#include "relaxed.h"
#include "stateset.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { EVENTS_MAX = 120 };

struct bits {
	uint64_t w[2];
};

/* DOOMED: something that comes after it went first, so it must turn out to be skipped. */
enum { PENDING, DONE, SKIPPED, DOOMED };
/* words of a thread */
enum { WAITS, NOTIFIED, STOPPED, THREAD_WORDS };

struct search {
	const struct am_lit *lit;
	const struct am_lit_ctp *lc;
	const struct am_ctp *ctp;
	enum am_model model;
	const struct am_explore_options *options;
	bool want_runs;
	struct am_relaxed *out;
	uint32_t n; /* events */
	struct bits needs[EVENTS_MAX];	    /* reads whose values its operands use */
	struct bits guard_needs[EVENTS_MAX]; /* its guard alone */
	struct bits kept[EVENTS_MAX];	    /* events of its thread that must be in memory before it */
	uint32_t *base;	     /* by object: its first word of memory */
	uint32_t words, reads, memory, threads; /* of a state: offsets */
	struct am_stateset seen;
	struct am_vm_step steps[AM_HIST_STEPS_MAX];
	uint32_t n_steps;
	uint64_t steps_done;
};

static bool has(const struct bits *b, uint32_t i)
{
	return b->w[i / 64] >> (i % 64) & 1;
}

static void put(struct bits *b, uint32_t i)
{
	b->w[i / 64] |= UINT64_C(1) << (i % 64);
}

/* ---- what comes before what, once and for all ---------------------------------------------------- */

static void leaves(const struct am_ctp *ctp, uint32_t node, struct bits *out)
{
	if (!node)
		return;
	const struct am_expr *e = &ctp->nodes[node];
	if (e->op == AM_OP_READ)
		put(out, (uint32_t)e->value);
	const unsigned arity = am_op_arity((enum am_op)e->op);
	if (arity > 0)
		leaves(ctp, e->a, out);
	if (arity > 1 && e->op != AM_OP_EXTRACT)
		leaves(ctp, e->b, out);
	if (arity > 2)
		leaves(ctp, e->c, out);
}

static bool is_mark(const struct am_ctp_event *e)
{
	return e->kind == AM_BEGIN || e->kind == AM_END || e->kind == AM_PIN;
}

static bool is_check(const struct am_ctp_event *e)
{
	return e->kind == AM_BRANCH || e->kind == AM_ASSERT;
}

/* Everything that synchronises, an atomic update or a full fence stops all traffic. */
static bool stops_all(const struct am_ctp_event *e)
{
	if (e->kind == AM_FENCE)
		return e->order == 0 || e->order >= 5;
	return e->kind != AM_READ && e->kind != AM_WRITE && !is_check(e);
}

static bool same_place(const struct am_ctp *ctp, const struct am_ctp_event *a,
		       const struct am_ctp_event *b)
{
	uint64_t x = 0, y = 0;

	if (!am_ctp_is_access(a) || !am_ctp_is_access(b) || a->object != b->object)
		return false;
	if ((a->offset && !am_ctp_is_const(ctp, a->offset, &x)) ||
	    (b->offset && !am_ctp_is_const(ctp, b->offset, &y)))
		return true; /* perhaps: the models of this tool keep that order */
	return x == y;
}

static bool keeps(const struct search *s, uint32_t i, uint32_t j)
{
	const struct am_ctp_event *a = &s->ctp->events[i], *b = &s->ctp->events[j];

	if (is_mark(a) || is_mark(b))
		return false;
	if (s->model == AM_MODEL_SC || stops_all(a) || stops_all(b))
		return true;
	if (a->kind == AM_FENCE) /* acquire: before all; release: before writes */
		return a->order == 3 || b->kind == AM_WRITE;
	if (b->kind == AM_FENCE) /* release: after all; acquire: after reads */
		return b->order == 4 || a->kind != AM_WRITE;
	if ((a->kind == AM_WRITE && a->order == 6) || (b->kind == AM_WRITE && b->order >= 4))
		return true;
	switch (s->model) {
	case AM_MODEL_TSO: return !(a->kind == AM_WRITE && b->kind != AM_WRITE);
	case AM_MODEL_PSO:
		return a->kind != AM_WRITE || (b->kind == AM_WRITE && same_place(s->ctp, a, b));
	default:
		return is_check(a) || (a->kind == AM_READ && a->order >= 3) ||
		       same_place(s->ctp, a, b) || has(&s->needs[j], i);
	}
}

static void prepare(struct search *s)
{
	const struct am_ctp *ctp = s->ctp;

	for (uint32_t i = 0; i < s->n; i++) {
		const struct am_ctp_event *e = &ctp->events[i];
		leaves(ctp, e->guard, &s->guard_needs[i]);
		s->needs[i] = s->guard_needs[i];
		leaves(ctp, e->cond, &s->needs[i]);
		leaves(ctp, e->offset, &s->needs[i]);
		leaves(ctp, e->value, &s->needs[i]);
		s->needs[i].w[i / 64] &= ~(UINT64_C(1) << (i % 64)); /* its own value */
	}
	for (uint32_t t = 0; t < ctp->thread_count; t++)
		for (uint32_t q = 0; q < ctp->threads[t].length; q++)
			for (uint32_t p = 0; p < q; p++)
				if (keeps(s, ctp->threads[t].events[p], ctp->threads[t].events[q]))
					put(&s->kept[ctp->threads[t].events[q]],
					    ctp->threads[t].events[p]);
	s->base = calloc(ctp->object_count + 1, sizeof(*s->base));
	if (!s->base)
		abort();
	s->reads = s->n;
	s->memory = 2 * s->n;
	uint32_t at = s->memory;
	for (uint32_t o = 0; o < ctp->object_count; o++) {
		s->base[o] = at;
		at += ctp->objects[o].class == AM_CTP_DATA ? (ctp->objects[o].size + 7) / 8 : 1;
	}
	s->threads = at;
	s->words = at + THREAD_WORDS * ctp->thread_count;
}

/* ---- one state ------------------------------------------------------------------------------------ */

static bool all_settled(const struct search *s, const uint64_t *row, const struct bits *set)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (has(set, i) && (row[i] == PENDING || row[i] == DOOMED))
			return false;
	return true;
}

/* May everything in the set still come out as done or skipped? Guards that nobody knows yet may be
 * false: only the model without speculation limits (coherence) lets an event go on that hope. */
static bool all_may_settle(const struct search *s, const uint64_t *row, const struct bits *set)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (has(set, i) && row[i] == PENDING &&
		    (!s->ctp->events[i].guard || all_settled(s, row, &s->guard_needs[i])))
			return false;
	return true;
}

static uint64_t value(const struct search *s, const uint64_t *row, uint32_t node)
{
	return node ? am_ctp_eval(s->ctp, node, row + s->reads) : 1;
}

static uint64_t *word_of(const struct search *s, uint64_t *row, const struct am_ctp_event *e)
{
	const uint64_t offset = e->offset ? value(s, row, e->offset) : 0;

	if (offset / 8 >= (s->ctp->objects[e->object].size + 7) / 8 || offset % 8)
		return NULL;
	return &row[s->base[e->object] + offset / 8];
}

static uint64_t size_mask(const struct am_ctp_event *e)
{
	return e->size >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * e->size) - 1;
}

/* The value a read gets: its own thread's latest write that is still underway, else memory. */
static uint64_t load(const struct search *s, uint64_t *row, uint32_t id)
{
	const struct am_ctp_event *e = &s->ctp->events[id];
	const uint64_t *place = word_of(s, row, e);

	if (e->kind == AM_READ && (s->model == AM_MODEL_TSO || s->model == AM_MODEL_PSO))
		for (uint32_t p = e->pos; p-- > 0;) {
			const uint32_t w = s->ctp->threads[e->thread].events[p];
			const struct am_ctp_event *o = &s->ctp->events[w];
			if (row[w] == SKIPPED || !am_ctp_is_store(o) || o->object != e->object ||
			    word_of(s, row, o) != place)
				continue;
			if (row[w] != DONE)
				return value(s, row, o->value) & size_mask(e);
			break;
		}
	return *place & size_mask(e);
}

static uint64_t *thread_word(const struct search *s, uint64_t *row, uint32_t thread, uint32_t which)
{
	return &row[s->threads + THREAD_WORDS * thread + which];
}

static bool thread_ended(const struct search *s, uint64_t *row, uint32_t thread)
{
	const struct am_ctp_thread *t = &s->ctp->threads[thread];

	for (uint32_t i = 0; i < t->length; i++)
		if (row[t->events[i]] == PENDING || row[t->events[i]] == DOOMED)
			return false;
	return !*thread_word(s, row, thread, STOPPED);
}

static bool is_started(const struct search *s, const uint64_t *row, uint32_t thread)
{
	bool is_forked = false;

	for (uint32_t i = 0; i < s->n; i++)
		if (s->ctp->events[i].kind == AM_FORK && s->ctp->events[i].object == thread) {
			if (row[i] == DONE)
				return true;
			is_forked = true;
		}
	return !is_forked;
}

/* Is the object in a state that lets it happen? Order and operands are settled. */
static bool is_possible(const struct search *s, uint64_t *row, uint32_t id)
{
	const struct am_ctp_event *e = &s->ctp->events[id];
	const uint64_t *word = e->object < s->ctp->object_count ? &row[s->base[e->object]] : NULL;

	switch (e->kind) {
	case AM_READ:
	case AM_UPDATE: {
		if (!word_of(s, row, e))
			return false;
		const uint64_t before = row[s->reads + id];
		row[s->reads + id] = load(s, row, id);
		const bool holds = value(s, row, e->cond);
		row[s->reads + id] = before;
		return holds;
	}
	case AM_WRITE: return word_of(s, row, e) != NULL;
	case AM_BRANCH: return value(s, row, e->cond);
	case AM_ACQUIRE: return !*word;
	case AM_RELEASE: return *word == e->thread + 1;
	case AM_TAKE: return *word > 0;
	case AM_WAIT: return row[s->base[e->aux]] == e->thread + 1;
	case AM_WAKE:
		return *thread_word(s, row, e->thread, NOTIFIED) && !row[s->base[e->aux]];
	case AM_LEAVE: return *thread_word(s, row, e->thread, NOTIFIED);
	case AM_JOIN: return thread_ended(s, row, e->object);
	default: return true;
	}
}

static bool waits(const struct search *s, uint64_t *row, uint32_t thread, uint32_t object)
{
	return *thread_word(s, row, thread, WAITS) == object + 1 &&
	       !*thread_word(s, row, thread, NOTIFIED);
}

static void wake_all(const struct search *s, uint64_t *row, uint32_t object)
{
	for (uint32_t t = 0; t < s->ctp->thread_count; t++)
		if (waits(s, row, t, object))
			*thread_word(s, row, t, NOTIFIED) = 1;
}

static void happen(struct search *s, uint64_t *row, uint32_t id, uint32_t woken,
		   struct am_vm_step *step)
{
	const struct am_ctp_event *e = &s->ctp->events[id];
	uint64_t *word = e->object < s->ctp->object_count ? &row[s->base[e->object]] : NULL;

	switch (e->kind) {
	case AM_READ:
	case AM_UPDATE: step->got = row[s->reads + id] = load(s, row, id); __attribute__((fallthrough));
	case AM_WRITE:
		word = word_of(s, row, e);
		step->old = *word & size_mask(e);
		if (e->kind == AM_READ)
			break;
		step->put = value(s, row, e->value) & size_mask(e);
		*word = (*word & ~size_mask(e)) | step->put;
		break;
	case AM_ASSERT:
		if (value(s, row, e->cond))
			break;
		*thread_word(s, row, e->thread, STOPPED) = e->pos + 1; /* nothing behind it */
		break;
	case AM_ACQUIRE: *word = e->thread + 1; break;
	case AM_RELEASE: *word = 0; break;
	case AM_POST: ++*word; break;
	case AM_TAKE: --*word; break;
	case AM_WAIT:
		row[s->base[e->aux]] = 0;
		*thread_word(s, row, e->thread, WAITS) = e->object + 1;
		break;
	case AM_WAKE:
		row[s->base[e->aux]] = e->thread + 1;
		__attribute__((fallthrough));
	case AM_LEAVE:
		*thread_word(s, row, e->thread, WAITS) = 0;
		*thread_word(s, row, e->thread, NOTIFIED) = 0;
		break;
	case AM_SIGNAL:
		if (woken != UINT32_MAX)
			*thread_word(s, row, woken, NOTIFIED) = 1;
		break;
	case AM_BROADCAST: wake_all(s, row, e->object); break;
	case AM_ARRIVE:
		*thread_word(s, row, e->thread, WAITS) = e->object + 1;
		if (++*word == s->ctp->objects[e->object].count) {
			*word = 0;
			wake_all(s, row, e->object);
		}
		break;
	default: break;
	}
	row[id] = DONE;
}

/* Nobody else sees it: it may as well happen at once. */
static bool is_silent(const struct am_ctp_event *e)
{
	return is_mark(e) || is_check(e) || e->kind == AM_FENCE;
}

static bool is_ready(const struct search *s, const uint64_t *row, uint32_t id, bool may_hope)
{
	const struct am_ctp_event *e = &s->ctp->events[id];

	const uint64_t stopped = row[s->threads + THREAD_WORDS * e->thread + STOPPED];

	return row[id] == PENDING && (!stopped || e->pos < stopped) &&
	       (may_hope ? all_may_settle(s, row, &s->kept[id]) :
			   all_settled(s, row, &s->kept[id])) &&
	       all_settled(s, row, &s->needs[id]) && is_started(s, row, e->thread);
}

/* Guards that are false, marks, conditions, fences: as soon as possible. False: a hope failed. */
static bool settle(struct search *s, uint64_t *row)
{
	bool moved = true;

	while (moved) {
		moved = false;
		for (uint32_t i = 0; i < s->n; i++) {
			const struct am_ctp_event *e = &s->ctp->events[i];
			if (row[i] != PENDING && row[i] != DOOMED)
				continue;
			if (e->guard && all_settled(s, row, &s->guard_needs[i])) {
				if (!value(s, row, e->guard)) {
					row[i] = SKIPPED;
					moved = true;
					continue;
				}
				if (row[i] == DOOMED)
					return false;
			}
			if (is_silent(e) && is_ready(s, row, i, false) && is_possible(s, row, i)) {
				struct am_vm_step ignored;
				happen(s, row, i, UINT32_MAX, &ignored);
				moved = true;
			}
		}
	}
	return true;
}

static bool has_doomed(const struct search *s, const uint64_t *row)
{
	for (uint32_t i = 0; i < s->n; i++)
		if (row[i] == DOOMED)
			return true;
	return false;
}

/* ---- histories --------------------------------------------------------------------------------------- */

static uint8_t order_of(uint8_t c11)
{
	static const uint8_t orders[] = { AM_LIT_PLAIN, AM_LIT_RELAXED, AM_LIT_ACQUIRE,
					  AM_LIT_ACQUIRE, AM_LIT_RELEASE, AM_LIT_FULL, AM_LIT_FULL };

	return orders[c11];
}

static void describe(const struct search *s, uint64_t *row, uint32_t id, struct am_vm_step *step)
{
	const struct am_ctp_event *e = &s->ctp->events[id];
	const uint32_t none = s->lit->n_cells;

	*step = (struct am_vm_step){ .kind = e->kind, .order = order_of(e->order),
				     .thread = e->thread, .insn = s->lc->events[id].pos.line,
				     .cell = none, .mutex = none, .other = UINT32_MAX,
				     .po = e->pos + 1 };
	if (e->kind == AM_FORK || e->kind == AM_JOIN)
		step->other = e->object;
	else if (am_ctp_is_access(e) && e->object == s->lc->memory)
		step->cell = (uint32_t)((word_of(s, row, e) ? value(s, row, e->offset) : 0) / 8);
	else
		step->cell = s->lc->object_cell[e->object];
	if (am_ctp_is_access(e) && e->object == s->lc->memory && !e->offset)
		step->cell = 0;
	if (e->kind == AM_WAIT || e->kind == AM_WAKE)
		step->mutex = s->lc->object_cell[e->aux];
	if (e->region != AM_CTP_NONE) {
		step->region = e->region + 1;
		step->block = s->lc->blocks[e->region];
	}
}

static void keep(const struct search *s, struct am_explore_run *run)
{
	run->n = s->n_steps;
	run->steps = malloc((s->n_steps + 1) * sizeof(*run->steps));
	if (!run->steps)
		abort();
	memcpy(run->steps, s->steps, s->n_steps * sizeof(*run->steps));
}

static void note_state(struct search *s, uint64_t *row)
{
	for (uint32_t i = 0; i < s->n; i++) {
		const struct am_ctp_event *e = &s->ctp->events[i];
		if (e->kind != AM_ASSERT || row[i] != DONE || s->out->failed[i] ||
		    !*thread_word(s, row, e->thread, STOPPED) || value(s, row, e->cond))
			continue;
		s->out->failed[i] = true;
		if (s->lc->events[i].origin != AM_LIT_O_BOUND && !s->out->failure.steps) {
			s->out->failed_event = i;
			keep(s, &s->out->failure);
		}
	}
	if (s->lc->observer != AM_CTP_NONE && row[s->lc->observer] == DONE && !s->out->reached) {
		s->out->reached = true;
		keep(s, &s->out->reach);
	}
}

static void search(struct search *s, const uint64_t *before);

static void one_move(struct search *s, const uint64_t *before, uint32_t id, uint32_t woken)
{
	uint64_t *row = malloc(s->words * sizeof(*row));
	const bool is_hidden = s->lc->events[id].origin == AM_LIT_O_OBSERVER ||
			       is_silent(&s->ctp->events[id]);

	if (!row)
		abort();
	memcpy(row, before, s->words * sizeof(*row));
	for (uint32_t i = 0; i < s->n; i++)
		if (has(&s->kept[id], i) && row[i] == PENDING)
			row[i] = DOOMED;
	if (++s->steps_done > s->options->budget || s->n_steps == AM_HIST_STEPS_MAX) {
		s->out->out_of_budget = true;
	} else {
		struct am_vm_step step;
		if (!is_hidden)
			describe(s, row, id, &step);
		happen(s, row, id, woken, &step);
		if (!is_hidden)
			s->steps[s->n_steps++] = step;
		if (settle(s, row))
			search(s, row);
		if (!is_hidden)
			s->n_steps--;
	}
	free(row);
}

static void search(struct search *s, const uint64_t *before)
{
	uint64_t index;
	bool moved = false;
	uint64_t *row = malloc(s->words * sizeof(*row));

	if (!row)
		abort();
	memcpy(row, before, s->words * sizeof(*row));
	const bool is_valid = !has_doomed(s, row);
	if (is_valid)
		note_state(s, row);
	if (!s->want_runs && !am_stateset_add(&s->seen, row, &index)) {
		free(row);
		return;
	}
	for (uint32_t i = 0; i < s->n && !s->out->out_of_budget; i++) {
		const struct am_ctp_event *e = &s->ctp->events[i];
		if (!is_ready(s, row, i, true) || !is_possible(s, row, i) || is_mark(e))
			continue;
		bool has_waiter = false;
		moved = true;
		for (uint32_t t = 0; e->kind == AM_SIGNAL && t < s->ctp->thread_count; t++)
			if (waits(s, row, t, e->object)) {
				has_waiter = true;
				one_move(s, row, i, t);
			}
		if (!has_waiter)
			one_move(s, row, i, UINT32_MAX);
	}
	if (!moved && s->want_runs && is_valid) {
		const struct am_history h = { s->lit, s->steps, s->n_steps };
		am_explored_judge(&s->out->found, s->options, &h);
	}
	free(row);
}

void am_relaxed_explore(const struct am_lit *lit, const struct am_lit_ctp *lc, enum am_model model,
			const struct am_explore_options *options, bool want_runs,
			struct am_relaxed *out)
{
	struct search *s = calloc(1, sizeof(*s));

	memset(out, 0, sizeof(*out));
	am_explored_init(&out->found, lit);
	out->failed = calloc(lc->ctp->event_count + 1, sizeof(*out->failed));
	if (!s || !out->failed)
		abort();
	if (lc->ctp->event_count > EVENTS_MAX) {
		out->out_of_budget = true;
		free(s);
		return;
	}
	s->lit = lit;
	s->lc = lc;
	s->ctp = lc->ctp;
	s->n = lc->ctp->event_count;
	s->model = model;
	s->options = options;
	s->want_runs = want_runs;
	s->out = out;
	prepare(s);
	am_stateset_init(&s->seen, s->words, s->words);
	uint64_t *row = calloc(s->words, sizeof(*row));
	if (!row)
		abort();
	for (uint32_t o = 0; o < s->ctp->object_count; o++) {
		const struct am_ctp_object *object = &s->ctp->objects[o];
		if (object->init)
			memcpy(&row[s->base[o]], object->init, object->size);
		else if (object->class == AM_CTP_SEM)
			row[s->base[o]] = object->count;
	}
	settle(s, row);
	search(s, row);
	out->states = s->seen.n;
	free(row);
	free(s->base);
	am_stateset_free(&s->seen);
	free(s);
}

void am_relaxed_clear(struct am_relaxed *out)
{
	am_explored_clear(&out->found);
	free(out->failed);
	free(out->reach.steps);
	free(out->failure.steps);
}
