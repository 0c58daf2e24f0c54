/*
 * Builds the recorded run: dense threads, cells, synchronisation objects, read-couples, regions.
 * Runs in tools. Everything here is linear or n log n in the length of the trace.
 */
/* SPDX-License-Identifier: MIT */
#include "run.h"

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

static int by_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

static uint32_t find_u64(const uint64_t *at, uint32_t n, uint64_t key) /* first >= key */
{
	uint32_t low = 0, high = n;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (at[mid] < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

static uint32_t sort_unique(uint64_t *at, uint32_t n)
{
	uint32_t out = 0;

	qsort(at, n, sizeof *at, by_u64);
	for (uint32_t i = 0; i < n; i++)
		if (!out || at[out - 1] != at[i])
			at[out++] = at[i];
	return out;
}

static void number_threads(struct am_run *run)
{
	const uint32_t n = run->raw.n;
	uint64_t *ids = am_xalloc(n, sizeof *ids);

	for (uint32_t e = 0; e < n; e++)
		ids[e] = run->raw.at[e].thread;
	run->n_threads = sort_unique(ids, n);
	run->thread = am_xalloc(run->n_threads, sizeof *run->thread);
	for (uint32_t e = 0; e < n; e++) {
		struct am_run_event *r = vec_push(&run->event);
		const uint32_t t = find_u64(ids, run->n_threads, run->raw.at[e].thread);
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
	m = sort_unique(starts, m);
	uint32_t *now = am_xalloc(m, sizeof *now);
	for (uint32_t e = 0; e < n; e++) {
		const struct am_event *raw = &run->raw.at[e];
		const uint32_t at = find_u64(starts, m, raw->object);
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

/* ---- synchronisation ------------------------------------------------------------------------ */

static bool has_object(uint8_t kind)
{
	return (kind >= AM_ACQUIRE && kind <= AM_ONCE_END) || kind == AM_INIT || kind == AM_DESTROY;
}

/* A wait on a recursive mutex held more than once keeps it (aux 0). */
static bool releases_mutex(const struct am_event *raw)
{
	return (raw->kind == AM_WAIT || raw->kind == AM_WAKE) && raw->aux;
}

/* One id per address and lifetime: init makes a new object. */
static void number_objects(struct am_run *run)
{
	const uint32_t n = run->raw.n;
	uint64_t *addresses = am_xalloc(2 * (size_t)n + 1, sizeof *addresses);
	uint32_t m = 0;

	for (uint32_t e = 0; e < n; e++) {
		const struct am_event *raw = &run->raw.at[e];
		if (has_object(raw->kind))
			addresses[m++] = raw->object;
		if (releases_mutex(raw))
			addresses[m++] = raw->aux;
	}
	m = sort_unique(addresses, m);
	uint32_t *now = am_xalloc(m, sizeof *now);
	memset(now, 0xff, m * sizeof *now);
	for (uint32_t e = 0; e < n; e++) {
		const struct am_event *raw = &run->raw.at[e];
		struct am_run_event *r = &run->event.at[e];
		if (!has_object(raw->kind))
			continue;
		uint32_t *id = &now[find_u64(addresses, m, raw->object)];
		if (*id == AM_NONE || raw->kind == AM_INIT) {
			*id = run->object.n;
			*vec_push(&run->object) = (struct am_run_object){
				.address = raw->object,
				.kind = raw->kind == AM_INIT ? raw->mode : 0,
				.initial = raw->kind == AM_INIT ? (uint32_t)raw->aux : AM_NONE};
		}
		r->object = *id;
		if (releases_mutex(raw)) {
			id = &now[find_u64(addresses, m, raw->aux)];
			if (*id == AM_NONE) {
				*id = run->object.n;
				*vec_push(&run->object) = (struct am_run_object){
					.address = raw->aux, .initial = AM_NONE};
			}
			r->mutex = *id;
		}
	}
	free(now);
	free(addresses);
}

/* Semaphores and barriers whose init the trace did not see: the smallest count that the recorded
 * order needs. Fewer tokens allow fewer schedules, so this errs on the safe side. */
static void derive_counts(struct am_run *run)
{
	const uint32_t n = run->object.n;
	int64_t *balance = am_xalloc(n, sizeof *balance), *low = am_xalloc(n, sizeof *low);
	uint32_t *inside = am_xalloc(n, sizeof *inside), *most = am_xalloc(n, sizeof *most);

	for (uint32_t e = 0; e < run->event.n; e++) {
		const uint32_t o = run->event.at[e].object;
		switch (run->raw.at[e].kind) {
		case AM_POST:
			balance[o]++;
			break;
		case AM_TAKE:
			if (--balance[o] < low[o])
				low[o] = balance[o];
			break;
		case AM_ARRIVE:
			if (++inside[o] > most[o])
				most[o] = inside[o];
			break;
		case AM_LEAVE:
			inside[o] -= inside[o] > 0;
			break;
		default:
			break;
		}
		if (o == AM_NONE)
			continue;
		const uint8_t kind = run->raw.at[e].kind;
		if (!run->object.at[o].kind && (kind == AM_POST || kind == AM_TAKE))
			run->object.at[o].kind = AM_OBJ_SEM;
		if (!run->object.at[o].kind && (kind == AM_ARRIVE || kind == AM_LEAVE))
			run->object.at[o].kind = AM_OBJ_BARRIER;
	}
	for (uint32_t o = 0; o < n; o++) {
		struct am_run_object *object = &run->object.at[o];
		if (object->kind == AM_OBJ_SEM &&
		    (object->initial == AM_NONE || (int64_t)object->initial < -low[o]))
			object->initial = (uint32_t)-low[o];
		if (object->kind == AM_OBJ_BARRIER && (object->initial == AM_NONE || !object->initial))
			object->initial = most[o];
	}
	free(balance);
	free(low);
	free(inside);
	free(most);
}

static uint32_t thread_of_id(const struct am_run *run, uint64_t id)
{
	for (uint32_t low = 0, high = run->n_threads; low < high;) {
		const uint32_t mid = low + (high - low) / 2;
		if (run->thread[mid].id == id)
			return mid;
		if (run->thread[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return AM_NONE;
}

/* Orders that every schedule keeps: fork before the child's first event, the child's last event
 * before its join, the end of a once routine before everybody who found it done. */
static void find_peers(struct am_run *run)
{
	uint32_t *done = am_xalloc(run->object.n, sizeof *done);

	for (uint32_t o = 0; o < run->object.n; o++)
		done[o] = AM_NONE;
	for (uint32_t e = 0; e < run->event.n; e++) {
		const struct am_event *raw = &run->raw.at[e];
		struct am_run_event *r = &run->event.at[e];
		const uint32_t t = raw->kind == AM_FORK || raw->kind == AM_JOIN
					   ? thread_of_id(run, raw->object)
					   : AM_NONE;
		if (raw->kind == AM_FORK && t != AM_NONE) {
			struct am_run_event *first = &run->event.at[run->thread[t].event[0]];
			if (run->thread[t].event[0] > e && t != r->thread)
				first->peer = e;
		} else if (raw->kind == AM_JOIN && t != AM_NONE && t != r->thread) {
			const uint32_t last = run->thread[t].event[run->thread[t].n - 1];
			if (last < e)
				r->peer = last;
		} else if (raw->kind == AM_ONCE_END) {
			if (raw->mode == AM_ONCE_ABANDONED)
				continue;
			if (done[r->object] == AM_NONE)
				done[r->object] = e;
			else
				r->peer = done[r->object];
		}
	}
	free(done);
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
	number_objects(run);
	derive_counts(run);
	for (uint32_t e = 0; e < run->raw.n; e++)
		has_accesses |= is_access(run->raw.at[e].kind);
	if (has_accesses)
		cut_cells(run);
	else
		cells_from_locks(run);
	find_shared(run);
	find_couples(run);
	find_peers(run);
	evaluate_nodes(run);
	find_regions(run);
}
