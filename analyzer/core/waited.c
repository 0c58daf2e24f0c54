/*
 * Words that threads wait on, and what last owners do (last.h): event stream in, event stream out (see include/atommon/waited.h). Keeps the bytes of
 * these words, how deep each thread is in regions, and the cycles that wait. Runs in the drain thread and in tools; no I/O, no
 * globals. At the memory ceiling a word may not be known, and cycles that would have to wait are not told.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/waited.h"

#include "last.h"
#include "map.h"
#include "atommon/mem.h"

#include <string.h>

enum { HELD = 16, FUTEX_BYTES = 4, MANY_WORDS = 4096 };

/* A cycle, and the regions whose end it waits for. */
struct held {
	struct am_cycle cycle;
	uint32_t thread[AM_CYCLE_MAX + 1];
	uint32_t region[AM_CYCLE_MAX + 1]; /* by number among those of its thread */
	uint32_t n;
};

struct am_waited {
	struct am_waited_config config;
	struct am_mem *mem;
	struct am_map words;   /* address / 8 + 1 -> which of its bytes */
	struct am_map threads; /* id + 1 -> depth of regions | number of the outermost << 32 */
	struct am_last last;
	struct held *held;
	uint32_t n_held;
	uint64_t settled;
};

struct am_waited *am_waited_new(const struct am_waited_config *config, struct am_mem *mem)
{
	struct am_waited *w = am_mem_alloc(mem, sizeof *w);

	if (!w)
		return NULL;
	w->config = *config;
	w->mem = mem;
	return w;
}

void am_waited_free(struct am_waited *w)
{
	am_map_free(&w->words, w->mem);
	am_map_free(&w->threads, w->mem);
	am_mem_free(w->mem, w->held, sizeof *w->held * HELD);
	am_mem_free(w->mem, w, sizeof *w);
}

/* ---- words --------------------------------------------------------------------------------- */

/* The bytes from `low` on, `size` of them, in a word of 8. */
static uint8_t mask_of(unsigned low, uint64_t size)
{
	return (uint8_t)((size >= 8 ? 0xff : (1u << size) - 1) << low);
}

void am_waited_learn(struct am_waited *w, const struct am_event *ev)
{
	const uint64_t address = ev->object, size = ev->mode == AM_OBJ_FUTEX ? FUTEX_BYTES : ev->aux;
	uint64_t *mask = (address & 7) + size <= 8 ? am_map_put(&w->words, w->mem, (address >> 3) + 1) : NULL;

	if (mask)
		*mask |= mask_of(address & 7, size);
}

/* The memory is something else from here on. */
static void forget(struct am_waited *w, uint64_t address, uint64_t size)
{
	const uint64_t first = address >> 3, last = (address + size - 1) >> 3;

	if (!w->words.n || !size || w->config.keeps)
		return;
	if (last - first < MANY_WORDS) {
		for (uint64_t word = first; word <= last; word++)
			am_map_remove(&w->words, word + 1);
		return;
	}
	for (uint32_t i = 0; i < 1u << w->words.log;) {
		const uint64_t key = w->words.at[i].key;
		if (key && key - 1 >= first && key - 1 <= last)
			am_map_remove(&w->words, key); /* another may take its place */
		else
			i++;
	}
}

/* Which of the bytes are of such words; an access of more than a word has none. */
static uint8_t common(const struct am_waited *w, uint64_t address, uint64_t size)
{
	const uint64_t *mask = size && (address & 7) + size <= 8 ? am_map_find(&w->words, (address >> 3) + 1) : NULL;

	return mask ? (uint8_t)*mask & mask_of(address & 7, size) : 0;
}

static bool is_of_word(const struct am_waited *w, const struct am_event *ev)
{
	const uint8_t bytes = common(w, ev->object, ev->size);

	return bytes && (ev->order & AM_ORDER_MASK || ev->kind == AM_UPDATE || bytes == mask_of(ev->object & 7, ev->size));
}

/* ---- cycles -------------------------------------------------------------------------------- */

enum fate { COUNTS, NONE, OPEN };

static enum fate fate_of(const struct am_waited *w, const struct am_edge *e)
{
	const bool is_access = e->from.kind >= AM_READ && e->from.kind <= AM_UPDATE;

	if (e->why != AM_EDGE_CONFLICT || !is_access)
		return COUNTS;
	if (common(w, e->from.object, e->from.size) && common(w, e->to.object, e->to.size))
		return NONE;
	const bool is_atomic = (e->from.flags | e->to.flags) & AM_ATOMIC || e->from.kind == AM_UPDATE || e->to.kind == AM_UPDATE;
	return is_atomic && e->from.size >= FUTEX_BYTES && e->to.size >= FUTEX_BYTES
		       ? OPEN : COUNTS;
}

/* Of two accesses of one thread, by which the cycle comes and goes on. */
static enum fate fate_of_link(const struct am_waited *w, const struct am_access *in, const struct am_access *out)
{
	switch (am_last_joins(&w->last, in, out)) {
	case AM_LAST_APART:
		return NONE;
	case AM_LAST_OPEN:
		return OPEN;
	default:
		return COUNTS;
	}
}

static enum fate worse(enum fate a, enum fate b)
{
	return a == NONE || b == COUNTS ? a : b;
}

static enum fate judge(const struct am_waited *w, const struct am_cycle *cycle)
{
	enum fate fate = COUNTS;

	for (uint32_t i = 0; i < cycle->n_edges && fate != NONE; i++) {
		const struct am_edge *e = &cycle->edge[i];
		fate = worse(fate, fate_of(w, e));
		if (e->why == AM_EDGE_PROGRAM)
			fate = worse(fate, fate_of_link(w, &e->from, &e->to));
		fate = worse(fate, fate_of_link(w, &e->to, &cycle->edge[(i + 1) % cycle->n_edges].from));
	}
	return fate;
}

static void await(const struct am_waited *w, struct held *h, uint32_t thread)
{
	const uint64_t *place = am_map_find(&w->threads, (uint64_t)thread + 1);

	if (!place || !(uint32_t)*place)
		return;
	for (uint32_t i = 0; i < h->n; i++)
		if (h->thread[i] == thread)
			return;
	h->thread[h->n] = thread;
	h->region[h->n++] = (uint32_t)(*place >> 32);
}

static void make(const struct am_waited *w, struct held *h, const struct am_cycle *cycle)
{
	am_cycle_copy(&h->cycle, cycle);
	h->n = 0;
	await(w, h, cycle->thread);
	for (uint32_t i = 0; i < cycle->n_edges; i++)
		await(w, h, cycle->edge[i].from.thread);
}

/* Is one of its regions still open? */
static bool is_awaited(const struct am_waited *w, const struct held *h)
{
	for (uint32_t i = 0; i < h->n; i++) {
		const uint64_t *place = am_map_find(&w->threads, (uint64_t)h->thread[i] + 1);
		if (place && (uint32_t)*place && *place >> 32 == h->region[i])
			return true;
	}
	return false;
}

void am_waited_cycle(struct am_waited *w, const struct am_cycle *cycle)
{
	const enum fate fate = judge(w, cycle);

	if (fate == COUNTS) {
		w->config.on_cycle(w->config.cycle_ctx, cycle);
		return;
	}
	if (fate == NONE)
		return;
	if (!w->held)
		w->held = am_mem_alloc(w->mem, sizeof *w->held * HELD);
	if (!w->held || w->n_held == HELD) /* it will come again */
		return;
	struct held *h = &w->held[w->n_held];
	make(w, h, cycle);
	if (is_awaited(w, h))
		w->n_held++;
	else
		w->config.on_cycle(w->config.cycle_ctx, cycle);
}

static void move(struct held *to, const struct held *from)
{
	if (to == from)
		return;
	am_cycle_copy(&to->cycle, &from->cycle);
	memcpy(to->thread, from->thread, sizeof to->thread);
	memcpy(to->region, from->region, sizeof to->region);
	to->n = from->n;
}

static void judge_again(struct am_waited *w, bool in_a_hurry)
{
	const uint32_t n = w->n_held;

	w->n_held = 0;
	for (uint32_t i = 0; i < n; i++) {
		struct held *h = &w->held[i];
		const bool is_none = judge(w, &h->cycle) == NONE;
		if (!is_none && !in_a_hurry && is_awaited(w, h)) {
			move(&w->held[w->n_held++], h);
			continue;
		}
		w->settled++;
		if (!is_none)
			w->config.on_cycle(w->config.cycle_ctx, &h->cycle);
	}
}

uint64_t am_waited_settled(const struct am_waited *w)
{
	return w->settled;
}

uint32_t am_waited_holds(const struct am_waited *w)
{
	return w->n_held;
}

void am_waited_hurry(struct am_waited *w)
{
	judge_again(w, true);
}

/* ---- events -------------------------------------------------------------------------------- */

static void boundary(struct am_waited *w, const struct am_event *ev)
{
	uint64_t *place = am_map_put(&w->threads, w->mem, (uint64_t)ev->thread + 1);

	if (!place)
		return;
	const uint32_t depth = (uint32_t)*place;
	if (ev->kind == AM_BEGIN)
		*place += depth ? 1 : 1 + (UINT64_C(1) << 32);
	else if (depth)
		*place -= 1;
	if (!(uint32_t)*place)
		am_last_over(&w->last, ev->thread);
}

static __attribute__((noinline)) void count_reached(struct am_waited *w, const struct am_event *ev)
{
	const uint64_t *place = am_map_find(&w->threads, (uint64_t)ev->thread + 1);

	if (ev->kind == AM_UPDATE && place && (uint32_t)*place)
		am_last_reached(&w->last, ev);
}

static void pass(struct am_waited *w, const struct am_event *ev)
{
	w->config.out(w->config.ctx, ev);
}

/* One of which it is known that there are such words. */
static __attribute__((noinline)) void access(struct am_waited *w, const struct am_event *ev)
{
	if (!is_of_word(w, ev)) {
		pass(w, ev);
		return;
	}
	struct am_event marked = *ev;
	marked.mode = AM_WAITED_ON;
	if (ev->kind != AM_LATE) /* which says nothing of order */
		pass(w, &marked);
}

static __attribute__((noinline)) void other(struct am_waited *w, const struct am_event *ev)
{
	bool is_news = false;

	switch (ev->kind) {
	case AM_BEGIN:
	case AM_END:
		boundary(w, ev);
		is_news = ev->kind == AM_END;
		break;
	case AM_THREAD_END:
	case AM_LOST:
		am_map_remove(&w->threads, (uint64_t)ev->thread + 1);
		am_last_over(&w->last, ev->thread);
		is_news = true;
		break;
	case AM_FREE:
		am_last_freed(&w->last, ev);
		forget(w, ev->object, ev->aux);
		break;
	case AM_ALLOC:
		forget(w, ev->object, ev->aux);
		break;
	case AM_INIT:
		is_news = am_tells_waited(ev);
		if (is_news)
			am_waited_learn(w, ev);
		break;
	default:
		break;
	}
	pass(w, ev);
	if (is_news && w->n_held)
		judge_again(w, false);
}

void am_waited_event(struct am_waited *w, const struct am_event *ev)
{
	const bool is_access = (ev->kind >= AM_READ && ev->kind <= AM_UPDATE) || ev->kind == AM_LATE;

	if (is_access && ev->order & AM_ORDER_LAST)
		count_reached(w, ev);
	if (!is_access)
		other(w, ev);
	else if (w->words.n)
		access(w, ev);
	else
		pass(w, ev);
}
