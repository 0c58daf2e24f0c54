/* Properties of one run by definition; see history.h. Pure. */
/* SPDX-License-Identifier: MIT */
#include "history.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

typedef void each_fn(void *arg, const struct am_finding *finding);

static bool is_access(const struct am_vm_step *s)
{
	return s->kind == AM_READ || s->kind == AM_WRITE || s->kind == AM_UPDATE;
}

static bool writes(const struct am_vm_step *s)
{
	return s->kind == AM_WRITE || s->kind == AM_UPDATE;
}

static bool reads(const struct am_vm_step *s)
{
	return s->kind == AM_READ || s->kind == AM_UPDATE;
}

static bool conflict(const struct am_vm_step *a, const struct am_vm_step *b)
{
	return is_access(a) && is_access(b) && a->cell == b->cell && a->thread != b->thread &&
	       (writes(a) || writes(b));
}

/*
 * Wang et al. section 3, rule 4: conflicting accesses that commute all the same; `a` came first. A
 * read commutes with a later write of the value it got, and with an earlier write that changed
 * nothing; two writes of one value commute with each other.
 */
static bool dependent(const struct am_vm_step *a, const struct am_vm_step *b)
{
	if (!conflict(a, b))
		return false;
	if (reads(a) && writes(b) && a->got != b->put)
		return true;
	if (writes(a) && reads(b) && a->old != a->put)
		return true;
	return writes(a) && writes(b) && a->put != b->put;
}

static bool is_visible(const struct am_vm_step *s)
{
	return s->kind != AM_NONE;
}

static void three(const struct am_history *h, each_fn *each, void *arg)
{
	for (uint32_t b = 0; b < h->n; b++)
		for (uint32_t a = 0; a < b; a++) {
			const struct am_vm_step *first = &h->steps[a];
			if (!first->region || !dependent(first, &h->steps[b]))
				continue;
			for (uint32_t c = b + 1; c < h->n; c++) {
				const struct am_vm_step *last = &h->steps[c];
				if (last->thread != first->thread || last->region != first->region ||
				    last->po < first->po || !dependent(&h->steps[b], last))
					continue;
				const struct am_finding finding = { first->block, 3, { a, b, c } };
				each(arg, &finding);
			}
		}
}

/* Yang et al. section 6: something of another thread between two steps of a block. */
static void between(const struct am_history *h, bool is_window, each_fn *each, void *arg)
{
	for (uint32_t a = 0; a < h->n; a++) {
		const struct am_vm_step *first = &h->steps[a];
		if (!first->region)
			continue;
		for (uint32_t b = a + 1; b < h->n; b++) {
			const struct am_vm_step *intruder = &h->steps[b];
			if (intruder->thread == first->thread || !is_visible(intruder))
				continue;
			bool touches = !is_window, comes_back = false;
			uint32_t last = 0;
			for (uint32_t c = 0; c < h->n; c++) {
				const struct am_vm_step *s = &h->steps[c];
				if (s->thread != first->thread || s->region != first->region)
					continue;
				touches |= is_access(s) && is_access(intruder) &&
					   s->cell == intruder->cell;
				if (c > b) {
					comes_back = true;
					last = c;
				}
			}
			if (touches && comes_back) {
				const struct am_finding finding = { first->block, 3, { a, b, last } };
				each(arg, &finding);
			}
		}
	}
}

/* ---- conflict-serializability ---------------------------------------------------------------- */

struct graph {
	uint32_t n; /* transactions */
	uint32_t of[AM_HIST_STEPS_MAX]; /* step to transaction, UINT32_MAX: no access */
	bool edge[AM_HIST_STEPS_MAX][AM_HIST_STEPS_MAX];
	uint32_t step[AM_HIST_STEPS_MAX]; /* one step of each transaction */
};

/* Transactions: blocks, and each access outside of one. */
static void transactions(const struct am_history *h, struct graph *g)
{
	for (uint32_t i = 0; i < h->n; i++) {
		const struct am_vm_step *s = &h->steps[i];
		g->of[i] = UINT32_MAX;
		if (!is_access(s))
			continue;
		for (uint32_t j = 0; j < i && s->region; j++)
			if (g->of[j] != UINT32_MAX && h->steps[j].thread == s->thread &&
			    h->steps[j].region == s->region)
				g->of[i] = g->of[j];
		if (g->of[i] == UINT32_MAX) {
			g->step[g->n] = i;
			g->of[i] = g->n++;
		}
	}
}

/* Edges: conflicts in the order of the run, program order between transactions of a thread. */
static struct graph *conflict_graph(const struct am_history *h)
{
	struct graph *g = calloc(1, sizeof(*g));

	if (!g)
		abort();
	assert(h->n <= AM_HIST_STEPS_MAX);
	transactions(h, g);
	for (uint32_t i = 0; i < h->n; i++)
		for (uint32_t j = 0; j < h->n; j++) {
			if (g->of[i] == UINT32_MAX || g->of[j] == UINT32_MAX || g->of[i] == g->of[j])
				continue;
			const struct am_vm_step *a = &h->steps[i], *b = &h->steps[j];
			if ((i < j && conflict(a, b)) || (a->thread == b->thread && a->po < b->po))
				g->edge[g->of[i]][g->of[j]] = true;
		}
	return g;
}

bool am_hist_is_serializable(const struct am_history *h)
{
	struct graph *g = conflict_graph(h);
	bool has_cycle = false;

	for (uint32_t k = 0; k < g->n; k++)
		for (uint32_t i = 0; i < g->n; i++)
			for (uint32_t j = 0; j < g->n; j++)
				g->edge[i][j] |= g->edge[i][k] && g->edge[k][j];
	for (uint32_t i = 0; i < g->n; i++)
		has_cycle |= g->edge[i][i];
	free(g);
	return !has_cycle;
}

/* A way from one transaction to another through transactions of other threads than `thread`. */
static bool find_path(const struct am_history *h, const struct graph *g, uint32_t thread,
		      uint32_t from, uint32_t to, uint32_t *path, uint32_t *length)
{
	uint32_t queue[AM_HIST_STEPS_MAX], before[AM_HIST_STEPS_MAX], n = 0;

	memset(before, 0xff, sizeof(before));
	queue[n++] = from;
	before[from] = from;
	for (uint32_t i = 0; i < n && before[to] == UINT32_MAX; i++)
		for (uint32_t j = 0; j < g->n; j++)
			if (before[j] == UINT32_MAX && g->edge[queue[i]][j] &&
			    h->steps[g->step[j]].thread != thread) {
				before[j] = queue[i];
				queue[n++] = j;
			}
	if (before[to] == UINT32_MAX)
		return false;
	*length = 0;
	for (uint32_t at = to;; at = before[at]) {
		path[(*length)++] = at;
		if (at == from)
			return true;
	}
}

/*
 * A block is broken if a way of conflicts leaves it by one access and comes back to a later one
 * (Farzan and Madhusudan, section 2: a cycle through it that is not only another block's fault).
 */
static void serial(const struct am_history *h, each_fn *each, void *arg)
{
	struct graph *g = conflict_graph(h);

	for (uint32_t a = 0; a < h->n; a++)
		for (uint32_t c = 0; c < h->n; c++) {
			const struct am_vm_step *out = &h->steps[a], *in = &h->steps[c];
			if (g->of[a] == UINT32_MAX || g->of[a] != g->of[c] || !out->region ||
			    out->po >= in->po)
				continue;
			for (uint32_t p = a + 1; p < h->n; p++)
				for (uint32_t q = 0; q < c; q++) {
					uint32_t path[AM_HIST_STEPS_MAX], length;
					if (!conflict(out, &h->steps[p]) ||
					    !conflict(&h->steps[q], in) ||
					    !find_path(h, g, out->thread, g->of[p], g->of[q], path,
						       &length))
						continue;
					const struct am_finding finding = { out->block, 4,
									    { a, p, q, c } };
					each(arg, &finding);
				}
		}
	free(g);
}

/* ---- data races ------------------------------------------------------------------------------ */

static bool releases(const struct am_vm_step *s)
{
	return writes(s) && (s->order == AM_LIT_RELEASE || s->order == AM_LIT_FULL);
}

static bool acquires(const struct am_vm_step *s)
{
	return reads(s) && (s->order == AM_LIT_ACQUIRE || s->order == AM_LIT_FULL);
}

/* Did the read at position i get its value from the write at w: the last one before it, unless its own
 * thread had a newer one that was still on its way to memory? */
static bool reads_from(const struct am_history *h, uint32_t w, uint32_t i)
{
	const struct am_vm_step *read = &h->steps[i];

	if (!writes(&h->steps[w]) || h->steps[w].cell != read->cell)
		return false;
	for (uint32_t k = w + 1; k < h->n; k++) {
		const struct am_vm_step *s = &h->steps[k];
		if (!writes(s) || s->cell != read->cell)
			continue;
		if (k < i || (s->thread == read->thread && s->po < read->po))
			return false;
	}
	return true;
}

/* Was thread b->thread, which wakes at position j, already waiting at position i? */
static bool was_waiting(const struct am_history *h, uint32_t i, uint32_t j)
{
	for (uint32_t k = j; k-- > 0;)
		if (h->steps[k].kind == AM_WAIT && h->steps[k].thread == h->steps[j].thread)
			return k < i;
	return false;
}

/* Does position j synchronise with the earlier position i (Yang et al. section 5, for operations on the
 * same object: what gives something away before what takes it)? */
static bool synchronises(const struct am_history *h, uint32_t i, uint32_t j)
{
	const struct am_vm_step *a = &h->steps[i], *b = &h->steps[j];
	const uint32_t none = h->lit->n_cells;
	const uint32_t gives = a->kind == AM_RELEASE ? a->cell : a->kind == AM_WAIT ? a->mutex : none;
	const uint32_t takes = b->kind == AM_ACQUIRE ? b->cell : b->kind == AM_WAKE ? b->mutex : none;

	if (gives != none && gives == takes)
		return true;
	switch (a->kind) {
	case AM_POST: return b->kind == AM_TAKE && a->cell == b->cell;
	case AM_ARRIVE: return b->kind == AM_LEAVE && a->cell == b->cell;
	case AM_SIGNAL:
	case AM_BROADCAST:
		return b->kind == AM_WAKE && a->cell == b->cell && was_waiting(h, i, j);
	case AM_FORK: return a->other == b->thread;
	default: break;
	}
	if (b->kind == AM_JOIN && b->other == a->thread)
		return true;
	return releases(a) && acquires(b) && reads_from(h, i, j);
}

/* Happens-before by one edge. */
static bool direct(const struct am_history *h, uint32_t i, uint32_t j)
{
	const struct am_vm_step *a = &h->steps[i], *b = &h->steps[j];

	return a->thread == b->thread ? a->po < b->po : i < j && synchronises(h, i, j);
}

static void race(const struct am_history *h, each_fn *each, void *arg)
{
	bool(*hb)[AM_HIST_STEPS_MAX] = calloc(AM_HIST_STEPS_MAX, sizeof(*hb));

	if (!hb)
		abort();
	for (uint32_t i = 0; i < h->n; i++)
		for (uint32_t j = 0; j < h->n; j++)
			hb[i][j] = direct(h, i, j);
	for (uint32_t k = 0; k < h->n; k++)
		for (uint32_t i = 0; i < h->n; i++)
			for (uint32_t j = 0; hb[i][k] && j < h->n; j++)
				hb[i][j] |= hb[k][j];
	for (uint32_t i = 0; i < h->n; i++)
		for (uint32_t j = i + 1; j < h->n; j++) {
			const struct am_vm_step *a = &h->steps[i], *b = &h->steps[j];
			const bool both_marked = a->order != AM_LIT_PLAIN && b->order != AM_LIT_PLAIN;
			if (!conflict(a, b) || both_marked || hb[i][j] || hb[j][i])
				continue;
			const struct am_finding finding = { 0, 2, { i, j } };
			each(arg, &finding);
		}
	free(hb);
}

void am_hist_judge(const struct am_history *h, enum am_hist_prop prop, each_fn *each, void *arg)
{
	assert(h->n <= AM_HIST_STEPS_MAX);
	switch (prop) {
	case AM_HIST_RACE: race(h, each, arg); break;
	case AM_HIST_THREE: three(h, each, arg); break;
	case AM_HIST_SERIAL: serial(h, each, arg); break;
	case AM_HIST_STRONG: between(h, false, each, arg); break;
	case AM_HIST_WINDOW: between(h, true, each, arg); break;
	case AM_HIST_PROPS: break;
	}
}
