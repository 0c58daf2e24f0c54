/*
 * Builds the recorded run: dense threads, cells, synchronisation objects, read-couples, regions.
 * Runs in tools. Everything here is linear or n log n in the length of the trace.
 */
/* SPDX-License-Identifier: MIT */
#include "run_priv.h"

#include "atommon/expr.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

void am_run_init(struct am_run *run)
{
	memset(run, 0, sizeof *run);
}

void am_run_add(struct am_run *run, const struct am_event *event)
{
	if (event->kind == AM_LOST)
		run->lost += event->aux ? event->aux : 1;
	if (run->lost) { /* nothing is predicted across a hole: what follows may depend on it */
		run->regions_lost += event->kind == AM_BEGIN;
		return;
	}
	*vec_push(&run->raw) = *event;
}

void am_run_take(struct am_run *run, struct am_event *events, uint32_t n)
{
	assert(!run->raw.n && !run->lost);
	free(run->raw.at);
	run->raw.at = events;
	run->raw.n = run->raw.room = n;
}

void am_run_free(struct am_run *run)
{
	for (uint32_t t = 0; t < run->n_threads; t++) {
		free(run->thread[t].event);
		free(run->thread[t].node.at);
	}
	free(run->raw.at);
	free(run->event.at);
	free(run->region.at);
	free(run->object.at);
	free(run->thread);
	free(run->cell_address);
	free(run->cell_shared);
	free(run->writer.at);
	memset(run, 0, sizeof *run);
}

/* ---- threads ------------------------------------------------------------------------------- */

static void number_threads(struct am_run *run)
{
	const uint32_t n = run->raw.n;
	uint64_t *ids = am_xalloc(n, sizeof *ids);

	for (uint32_t e = 0; e < n; e++)
		ids[e] = run->raw.at[e].thread;
	run->n_threads = am_run_sort(ids, n);
	run->thread = am_xalloc(run->n_threads, sizeof *run->thread);
	for (uint32_t e = 0; e < n; e++) {
		struct am_run_event *r = vec_push(&run->event);
		const uint32_t t = am_run_find(ids, run->n_threads, run->raw.at[e].thread);
		*r = (struct am_run_event){.trace = (uint32_t)run->raw.at[e].index,
					   .thread = t,
					   .eid = ++run->thread[t].n,
					   .object = AM_NONE,
					   .mutex = AM_NONE,
					   .peer = AM_NONE,
					   .region = AM_NONE};
	}
	for (uint32_t t = 0; t < run->n_threads; t++) {
		run->thread[t].id = (uint32_t)ids[t];
		run->thread[t].event = am_xalloc(run->thread[t].n, sizeof(uint32_t));
	}
	for (uint32_t e = 0; e < n; e++)
		run->thread[run->event.at[e].thread].event[run->event.at[e].eid - 1] = e;
	free(ids);
}

/* ---- memory -------------------------------------------------------------------------------- */

static bool is_access(uint8_t kind)
{
	return kind == AM_READ || kind == AM_WRITE || kind == AM_UPDATE;
}

/* A point of one lifetime of memory; a cell lies between two neighbouring points. */
struct point {
	uint32_t life;
	uint64_t address;
};

static int by_point(const void *a, const void *b)
{
	const struct point *x = a, *y = b;
	if (x->life != y->life)
		return x->life < y->life ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static uint32_t find_point(const struct point *at, uint32_t n, uint32_t life, uint64_t address)
{
	const struct point key = {life, address};
	uint32_t low = 0, high = n;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (by_point(&at[mid], &key) < 0)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

/*
 * The lifetime of each access: the last alloc of a block that covers its first byte (0: none seen).
 * Only addresses that are accessed matter, so an alloc costs as many steps as it covers of those.
 */
static uint32_t *find_lives(const struct am_run *run)
{
	const uint32_t n = run->raw.n;
	uint64_t *starts = am_xalloc(n, sizeof *starts);
	uint32_t *life = am_xalloc(n, sizeof *life), m = 0, allocs = 0;

	for (uint32_t e = 0; e < n; e++)
		if (is_access(run->raw.at[e].kind))
			starts[m++] = run->raw.at[e].object;
	m = am_run_sort(starts, m);
	uint32_t *now = am_xalloc(m, sizeof *now);
	for (uint32_t e = 0; e < n; e++) {
		const struct am_event *raw = &run->raw.at[e];
		const uint32_t at = am_run_find(starts, m, raw->object);
		if (raw->kind == AM_ALLOC) {
			allocs++;
			for (uint32_t i = at; i < m && starts[i] - raw->object < raw->aux; i++)
				now[i] = allocs;
		} else if (raw->kind == AM_FREE) {
			life[e] = at < m && starts[at] - raw->object < raw->aux ? now[at] : AM_NONE;
		} else if (is_access(raw->kind)) {
			life[e] = now[at];
		}
	}
	free(now);
	free(starts);
	return life;
}

static uint64_t access_end(const struct am_event *raw)
{
	const uint64_t bytes = raw->kind == AM_FREE ? raw->aux : raw->size ? raw->size : 1;
	return raw->object > UINT64_MAX - bytes ? UINT64_MAX : raw->object + bytes;
}

static void cut_cells(struct am_run *run)
{
	const uint32_t n = run->raw.n;
	uint32_t *life = find_lives(run), m = 0;
	struct point *point = am_xalloc(2 * (size_t)n + 1, sizeof *point);

	for (uint32_t e = 0; e < n; e++) {
		const struct am_event *raw = &run->raw.at[e];
		if (!is_access(raw->kind))
			continue;
		point[m++] = (struct point){life[e], raw->object};
		point[m++] = (struct point){life[e], access_end(raw)};
	}
	qsort(point, m, sizeof *point, by_point);
	uint32_t cells = 0;
	for (uint32_t i = 0; i < m; i++)
		if (!cells || by_point(&point[cells - 1], &point[i]) != 0)
			point[cells++] = point[i];
	run->n_cells = cells;
	run->cell_address = am_xalloc(cells, sizeof *run->cell_address);
	for (uint32_t i = 0; i < cells; i++)
		run->cell_address[i] = point[i].address;
	for (uint32_t e = 0; e < n; e++) {
		const struct am_event *raw = &run->raw.at[e];
		struct am_run_event *r = &run->event.at[e];
		if (raw->kind == AM_FREE ? life[e] == AM_NONE : !is_access(raw->kind))
			continue;
		r->cell = find_point(point, cells, life[e], raw->object);
		r->cells = find_point(point, cells, life[e], access_end(raw)) - r->cell;
		r->reads = raw->kind == AM_READ || raw->kind == AM_UPDATE;
		r->writes = raw->kind != AM_READ;
	}
	free(point);
	free(life);
}

/* Without accesses each lock is an entity, and a section is a write of it (a read, if shared). */
static void cells_from_locks(struct am_run *run)
{
	run->at_lock_level = true;
	run->n_cells = run->object.n;
	run->cell_address = am_xalloc(run->n_cells, sizeof *run->cell_address);
	for (uint32_t o = 0; o < run->object.n; o++)
		run->cell_address[o] = run->object.at[o].address;
	for (uint32_t e = 0; e < run->event.n; e++) {
		const uint8_t kind = run->raw.at[e].kind;
		struct am_run_event *r = &run->event.at[e];
		if (kind != AM_ACQUIRE && (kind != AM_WAKE || r->mutex == AM_NONE))
			continue;
		const bool is_shared = kind == AM_ACQUIRE && run->raw.at[e].mode == AM_SHARED;
		r->cell = kind == AM_WAKE ? r->mutex : r->object;
		r->cells = 1;
		r->reads = true;
		r->writes = !is_shared;
	}
}

/* A cell that one thread touches, or that nobody writes, takes part in no conflict. */
static void find_shared(struct am_run *run)
{
	uint32_t *owner = am_xalloc(run->n_cells, sizeof *owner);
	uint8_t *written = am_xalloc(run->n_cells, 1);

	run->cell_shared = am_xalloc(run->n_cells, 1);
	for (uint32_t e = 0; e < run->event.n; e++) {
		const struct am_run_event *r = &run->event.at[e];
		for (uint32_t c = r->cell; c < r->cell + r->cells; c++) {
			if (owner[c] && owner[c] != r->thread + 1)
				run->cell_shared[c] = 1;
			owner[c] = r->thread + 1;
			written[c] |= r->writes;
		}
	}
	for (uint32_t c = 0; c < run->n_cells; c++)
		run->cell_shared[c] &= written[c];
	for (uint32_t e = 0; e < run->event.n; e++) {
		struct am_run_event *r = &run->event.at[e];
		bool is_shared = false;
		for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
			is_shared |= run->cell_shared[c];
		r->reads &= is_shared;
		r->writes &= is_shared;
	}
	free(owner);
	free(written);
}

static void find_couples(struct am_run *run)
{
	uint32_t *last = am_xalloc(run->n_cells, sizeof *last);

	for (uint32_t c = 0; c < run->n_cells; c++)
		last[c] = AM_NONE;
	for (uint32_t e = 0; e < run->event.n; e++) {
		struct am_run_event *r = &run->event.at[e];
		r->couple = run->writer.n;
		if (r->reads)
			for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
				*vec_push(&run->writer) = last[c];
		if (r->writes)
			for (uint32_t c = r->cell; c < r->cell + r->cells; c++)
				last[c] = e;
	}
	free(last);
}

/* ---- expressions ---------------------------------------------------------------------------- */

static void set_node(struct am_run_thread *thread, uint32_t id, unsigned width, uint64_t value)
{
	if (!id || id > thread->node.n + 1000000)
		return; /* a node that skips a million others is no node */
	while (thread->node.n <= id)
		vec_push(&thread->node);
	thread->node.at[id] = (struct am_run_node){value, (uint8_t)width};
}

static struct am_run_node node_of(const struct am_run_thread *thread, uint64_t id)
{
	return id < thread->node.n ? thread->node.at[id] : (struct am_run_node){0, 1};
}

/* Every node of every thread with the value it had (see expr.h). */
static void evaluate_nodes(struct am_run *run)
{
	for (uint32_t e = 0; e < run->event.n; e++) {
		const struct am_event *raw = &run->raw.at[e];
		struct am_run_thread *thread = &run->thread[run->event.at[e].thread];
		if ((raw->kind == AM_READ || raw->kind == AM_UPDATE) && raw->expr)
			set_node(thread, raw->expr, raw->size >= 8 ? 64 : 8 * raw->size, raw->value);
		if (raw->kind != AM_EXPR)
			continue;
		const enum am_op op = (enum am_op)(raw->object & 0xff);
		const unsigned width = (raw->object >> 8 & 0xff) ? raw->object >> 8 & 0xff : 64;
		if (op == AM_OP_CONST) {
			set_node(thread, raw->expr, width, raw->value);
			continue;
		}
		if (op == AM_OP_NONE || op == AM_OP_READ || op >= AM_OP_COUNT || width > 64)
			continue;
		const struct am_run_node a = node_of(thread, (uint32_t)raw->value);
		const struct am_run_node b = node_of(thread, raw->value >> 32);
		const struct am_run_node c = node_of(thread, raw->object >> 16 & UINT32_MAX);
		const uint64_t second = op == AM_OP_EXTRACT ? raw->value >> 32 : b.value;
		const unsigned operand = op == AM_OP_CONCAT ? b.width : a.width;
		set_node(thread, raw->expr, width,
			 am_op_eval(op, width, operand, a.value, second, c.value));
	}
}

/* ---- regions -------------------------------------------------------------------------------- */

static void find_regions(struct am_run *run)
{
	for (uint32_t t = 0; t < run->n_threads; t++) {
		const struct am_run_thread *thread = &run->thread[t];
		uint32_t depth = 0, open = AM_NONE;
		for (uint32_t i = 0; i < thread->n; i++) {
			const struct am_event *raw = &run->raw.at[thread->event[i]];
			if (raw->kind == AM_BEGIN && depth++ == 0) {
				open = run->region.n;
				*vec_push(&run->region) =
					(struct am_run_region){.thread = t,
							       .first = i + 2,
							       .last = thread->n,
							       .name = (uint32_t)raw->object,
							       .site = raw->site,
							       .begin_index = raw->index,
							       .is_open = true};
			} else if (raw->kind == AM_END && depth && --depth == 0) {
				run->region.at[open].last = i;
				run->region.at[open].is_open = false;
				open = AM_NONE;
			} else if (open != AM_NONE) {
				run->event.at[thread->event[i]].region = open;
			}
		}
	}
}

void am_run_finish(struct am_run *run)
{
	bool has_accesses = run->shows_accesses;

	assert(!run->event.n && "finish once");
	number_threads(run);
	am_run_number_objects(run);
	am_run_derive_counts(run);
	for (uint32_t e = 0; e < run->raw.n; e++)
		has_accesses |= is_access(run->raw.at[e].kind);
	if (has_accesses)
		cut_cells(run);
	else
		cells_from_locks(run);
	find_shared(run);
	find_couples(run);
	am_run_find_peers(run);
	evaluate_nodes(run);
	find_regions(run);
}
