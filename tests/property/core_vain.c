/*
 * The stage that drops steps in vain (atommon/vain.h) against a reference that looks at the whole trace, read by
 * read: with all the room it wants what goes on is exactly what counts, in order; with little room, or in a
 * hurry, more goes on, but of the cycles through it those that rest on a read in vain are never told,
 * and all others are. Plain reads of regions that an attempt undoes go on in any case, and cycles through them are not told either.
 *
 *   core_vain [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/mem.h"
#include "atommon/vain.h"
#include "tests/property/cases.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* READS: as the stage keeps of a look; of more the oldest count. */
enum { EVENTS = 240, SHORT = 160, THREADS = 3, READS = 32, NEVER = 1 << 20 };

static uint64_t state;

static uint32_t draw(uint32_t n)
{
	state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (uint32_t)(state >> 33) % n;
}

/* ---- traces -------------------------------------------------------------------------------- */

static struct am_event trace[EVENTS];
static uint32_t n_events;
static uint32_t depth_before[EVENTS]; /* of regions of its thread */

/* Many reads of many variables, so that looks are full. */
static struct am_event random_read(uint32_t thread)
{
	return (struct am_event){.kind = AM_READ, .thread = thread, .object = 0x1000 + 8 * draw(draw(8) ? 400 : 4), .size = 4,
				 .site = 1 + draw(3), .order = (uint8_t)(draw(8) ? 1 + draw(5) : 0)};
}

static struct am_event random_event(uint32_t thread, uint32_t *depth)
{
	static const uint8_t silent[] = {AM_MARK, AM_BRANCH, AM_EXPR, AM_ENTER, AM_ALLOC, AM_FENCE};
	static const uint8_t loud[] = {AM_ACQUIRE, AM_RELEASE, AM_FORK, AM_POST, AM_THREAD_END, AM_LOST};
	struct am_event e = {.thread = thread, .object = 0x1000 + 8 * draw(3), .size = draw(8) ? 4 : 8,
			     .site = 1 + draw(3)};

	switch (draw(16)) {
	case 0: case 1: case 2: case 3: case 4: case 5:
		e.kind = AM_READ;
		e.order = (uint8_t)(1 + draw(5)) | (draw(8) ? 0 : AM_ORDER_AGAIN);
		break;
	case 6: case 7:
		e.kind = AM_READ;
		e.flags = draw(2) ? AM_VOLATILE : 0;
		break;
	case 8: case 9:
		e.kind = draw(2) ? AM_READ : AM_UPDATE;
		e.order = 1 | AM_ORDER_FAILED;
		break;
	case 10:
		e.kind = AM_WRITE;
		e.order = draw(3) ? 0 : 5;
		break;
	case 11:
		e.kind = draw(2) ? AM_UPDATE : AM_FREE;
		e.order = e.kind == AM_UPDATE ? (uint8_t)(1 | draw(4) << 4 | (draw(2) ? AM_ORDER_AGAIN : 0)) : 0;
		break;
	case 12:
		e.kind = *depth && draw(2) ? AM_END : AM_BEGIN;
		*depth += e.kind == AM_BEGIN ? 1 : -1u;
		break;
	case 13:
		e.kind = AM_LATE;
		e.mode = !draw(3);
		e.aux = (uint64_t)draw(THREADS) << 32;
		break;
	case 14:
		e.kind = loud[draw(sizeof loud)];
		if (e.kind == AM_THREAD_END || e.kind == AM_LOST)
			*depth = 0;
		break;
	default:
		e.kind = silent[draw(sizeof silent)];
		break;
	}
	if ((e.kind == AM_READ || e.kind == AM_UPDATE) && draw(3) == 0) {
		e.flags |= AM_HAS_VALUE;
		e.value = draw(3);
	}
	return e;
}

static void make_trace(void)
{
	uint32_t depth[THREADS] = {0};
	const bool is_reading = draw(6) == 0;

	n_events = 1 + draw(is_reading ? EVENTS : SHORT);
	for (uint32_t i = 0; i < n_events; i++) {
		const uint32_t t = draw(is_reading ? 2 : THREADS);
		depth_before[i] = depth[t];
		trace[i] = is_reading && draw(12) ? random_read(t) : random_event(t, &depth[t]);
		trace[i].index = i;
	}
}

/* ---- the reference ------------------------------------------------------------------------- */

static bool is_vain[EVENTS];
static bool is_known_read[EVENTS]; /* belongs to a look */
static uint32_t decided[EVENTS];   /* position of the event that tells */
static uint64_t n_full;		   /* times that a look was full */

static uint32_t reader_of(const struct am_event *e)
{
	return e->kind == AM_LATE ? (uint32_t)(e->aux >> 32) : e->thread;
}

static bool is_read(const struct am_event *e)
{
	return (e->kind == AM_READ && !(e->order & AM_ORDER_FAILED)) || (e->kind == AM_LATE && !e->mode);
}

static bool is_failed(const struct am_event *e)
{
	return (e->kind == AM_READ || e->kind == AM_UPDATE) && e->order & AM_ORDER_FAILED;
}

static bool is_same(uint32_t a, uint32_t b)
{
	return trace[a].object == trace[b].object && trace[a].size == trace[b].size;
}

enum effect { NOTHING, WRITES, ENDS };

static enum effect effect_of(uint32_t i)
{
	const struct am_event *e = &trace[i];

	switch (e->kind) {
	case AM_MARK: case AM_BRANCH: case AM_EXPR: case AM_ENTER: case AM_ALLOC: case AM_FENCE: case AM_LATE:
	case AM_READ: case AM_ACQUIRE: case AM_RELEASE:
		return NOTHING;
	case AM_BEGIN:
		return depth_before[i] == 0 ? ENDS : NOTHING;
	case AM_END:
		return depth_before[i] == 1 ? ENDS : NOTHING;
	case AM_FREE:
		return WRITES;
	case AM_WRITE:
		return WRITES;
	case AM_UPDATE:
		return e->order & AM_ORDER_FAILED ? NOTHING : ENDS;
	default:
		return ENDS;
	}
}

/* Has the reader of r written something between r and i? */
static bool is_settled(uint32_t r, uint32_t i)
{
	for (uint32_t k = r + 1; k < i; k++)
		if (trace[k].thread == reader_of(&trace[r]) && effect_of(k) == WRITES)
			return true;
	return false;
}

static bool starts_look(const struct am_event *e)
{
	return e->kind == AM_READ && (e->order & AM_ORDER_MASK || e->flags & AM_VOLATILE);
}

/* Is r still in question when event i comes? */
static bool is_open(uint32_t r, uint32_t i)
{
	return r < i && is_known_read[r] && decided[r] >= i;
}

static bool is_in_look(uint32_t i)
{
	if (starts_look(&trace[i]))
		return true;
	for (uint32_t q = 0; q < i; q++)
		if (reader_of(&trace[q]) == reader_of(&trace[i]) && is_open(q, i) && !is_settled(q, i))
			return true;
	return false;
}

/* Was the failed attempt at i prepared by a read of its variable before r? */
static bool is_for_attempt(uint32_t r, uint32_t i)
{
	for (uint32_t q = 0; q < r; q++)
		if (reader_of(&trace[q]) == reader_of(&trace[r]) && is_open(q, i) && is_same(q, i))
			return true;
	return false;
}

/* Was what r read tested again, behind a lock that was taken since? */
static bool is_tested_again(uint32_t r, uint32_t i)
{
	bool is_taken = false;

	for (uint32_t k = r + 1; k < i; k++) {
		if (is_taken && is_open(k, i) && reader_of(&trace[k]) == reader_of(&trace[r]) && is_same(k, r))
			return true;
		is_taken |= trace[k].kind == AM_ACQUIRE && trace[k].thread == reader_of(&trace[r]);
	}
	return false;
}

enum answer { COUNTS, VAIN, OPEN };

/* What the event at i, of its thread, tells of a read r. */
static enum answer answer(uint32_t r, uint32_t i)
{
	const struct am_event *e = &trace[i];
	/* An attempt that failed is in the look, for what follows it, and has no place. */
	const bool is_attempt = is_failed(&trace[r]);
	const bool is_atomic = is_attempt || (trace[r].kind == AM_READ && trace[r].order & AM_ORDER_MASK);
	const bool is_site = trace[r].kind == AM_LATE || (e->site == trace[r].site && !is_attempt) || e->order & AM_ORDER_AGAIN;

	if (is_failed(e))
		return is_same(i, r) || (!is_settled(r, i) && is_for_attempt(r, i)) ? VAIN : OPEN;
	if (e->kind == AM_READ)
		return is_same(i, r) && is_site && !is_settled(r, i) && is_in_look(i) ? VAIN : OPEN;
	if (e->kind == AM_RELEASE)
		return !is_settled(r, i) && is_tested_again(r, i) ? VAIN : OPEN;
	const bool is_found = trace[r].flags & e->flags & AM_HAS_VALUE && trace[r].value == e->value && !is_attempt;
	if (e->kind == AM_UPDATE && (e->order & AM_ORDER_AGAIN || is_found) && is_same(i, r))
		return VAIN;
	if (effect_of(i) == ENDS || (effect_of(i) == WRITES && (!is_atomic || is_same(i, r))))
		return COUNTS;
	return OPEN;
}

/* The look of this thread is full before event i joins it: the oldest of it counts. */
static void make_room(uint32_t thread, uint32_t i)
{
	uint32_t n = 0, oldest = 0;

	for (uint32_t r = i; r-- > 0;)
		if (is_open(r, i + 1) && reader_of(&trace[r]) == thread) {
			oldest = r;
			n++;
		}
	if (n < READS)
		return;
	n_full++;
	decided[oldest] = i;
	is_vain[oldest] = is_failed(&trace[oldest]);
}

static void judge_all(void)
{
	memset(is_vain, 0, sizeof is_vain);
	memset(is_known_read, 0, sizeof is_known_read);
	for (uint32_t i = 0; i < n_events; i++) {
		enum answer a[EVENTS];
		/* All at once: what is decided here must not change what is asked. */
		for (uint32_t r = 0; r < i; r++)
			a[r] = is_open(r, i) && reader_of(&trace[r]) == trace[i].thread ? answer(r, i) : OPEN;
		const bool is_member = is_read(&trace[i]) && is_in_look(i);
		for (uint32_t r = 0; r < i; r++)
			if (a[r] != OPEN) {
				decided[r] = i;
				is_vain[r] = a[r] == VAIN || is_failed(&trace[r]);
			}
		is_known_read[i] = is_member || is_failed(&trace[i]);
		if (is_known_read[i])
			make_room(reader_of(&trace[i]), i);
		decided[i] = NEVER;
		is_vain[i] = is_failed(&trace[i]) || is_member; /* unless something tells otherwise */
	}
}

/* A plain read that goes on: does its thread attempt to update the same bytes, before it did anything by which others can tell, or wrote to them? */
static bool may_be_undone(uint32_t r)
{
	if (!is_read(&trace[r]) || starts_look(&trace[r]))
		return false;
	for (uint32_t i = r + 1; i < n_events; i++) {
		if (trace[i].thread != reader_of(&trace[r]))
			continue;
		if (is_failed(&trace[i]) && is_same(i, r))
			return true;
		if (effect_of(i) == ENDS || (trace[i].kind == AM_WRITE && is_same(i, r)))
			return false;
	}
	return false;
}

/* ---- the stage ----------------------------------------------------------------------------- */

static struct am_vain *stage;
static uint32_t out[EVENTS], n_out;
static uint32_t dropped[EVENTS], n_dropped;
static bool is_asked[EVENTS], is_told[EVENTS], is_undone[EVENTS];
static uint64_t n_undone;
static struct am_cycle cycle;

static void on_out(void *ctx, const struct am_event *e)
{
	(void)ctx;
	assert(!(e->order & (AM_ORDER_FAILED | AM_ORDER_AGAIN)));
	out[n_out++] = (uint32_t)e->index;
	if (!is_read(e) || draw(6))
		return;
	is_asked[e->index] = true;
	cycle = (struct am_cycle){.n_edges = 1, .close_index = e->index};
	/* One that was told late has the index of a mark: of whatever came before. */
	const bool is_late = e->kind == AM_LATE;
	cycle.edge[0].from = (struct am_access){.index = is_late ? draw((uint32_t)e->index + 1) : e->index,
						.told = is_late ? e->index : 0,
						.object = e->object, .size = e->size,
						.thread = reader_of(e), .kind = AM_READ};
	if (draw(2))
		cycle.edge[0].to = (struct am_access){.kind = AM_UPDATE, .flags = AM_ATOMIC, .index = e->index};
	am_vain_cycle(stage, &cycle);
}

static void on_drop(void *ctx, const struct am_event *e)
{
	(void)ctx;
	dropped[n_dropped++] = (uint32_t)e->index;
}

static void on_undo(void *ctx, uint64_t index)
{
	(void)ctx;
	is_undone[index] = true;
}

static void on_cycle(void *ctx, const struct am_cycle *c)
{
	(void)ctx;
	is_told[c->close_index] = true;
}

static void fail(uint64_t seed, const char *what, uint32_t i)
{
	printf("not ok 1 - seed %" PRIu64 ": %s at event %u\n", seed, what, i);
	for (uint32_t k = 0; k < n_events; k++)
		printf("# %3u T%u %s 0x%" PRIx64 " size=%u site=%u order=%#x flags=%u aux=%" PRIx64 " mode=%u%s\n", k, trace[k].thread,
		       am_kind_name((enum am_kind)trace[k].kind), trace[k].object, trace[k].size, trace[k].site,
		       trace[k].order, trace[k].flags, trace[k].aux, trace[k].mode, is_vain[k] ? " vain" : "");
	exit(1);
}

static void run(uint64_t seed, uint32_t room, uint32_t hurry)
{
	struct am_mem mem;
	const struct am_vain_config config = {.out = on_out, .drop = on_drop, .undo = on_undo, .on_cycle = on_cycle, .room = room};
	struct am_vain_stats st;

	am_mem_init(&mem, 0);
	n_out = n_dropped = 0;
	memset(is_asked, 0, sizeof is_asked);
	memset(is_told, 0, sizeof is_told);
	memset(is_undone, 0, sizeof is_undone);
	stage = am_vain_new(&config, &mem);
	for (uint32_t i = 0; i < n_events; i++) {
		am_vain_event(stage, &trace[i]);
		if (hurry && draw(hurry) == 0)
			am_vain_hurry(stage);
		if (hurry && draw(16 * hurry) == 0)
			am_vain_settle(stage);
	}
	am_vain_finish(stage);
	am_vain_stats(stage, &st);
	if (n_out + n_dropped != n_events || am_vain_held(stage))
		fail(seed, "events are missing", n_events);
	for (uint32_t i = 0; i < n_dropped; i++)
		if (!is_vain[dropped[i]])
			fail(seed, "dropped, but counts", dropped[i]);
	for (uint32_t i = 0; i < n_out; i++) {
		if (i && out[i] <= out[i - 1])
			fail(seed, "out of order", out[i]);
		/* A write of its thread lets an atomic read go on, in doubt. */
		if (is_vain[out[i]] && !room && !hurry && !is_settled(out[i], decided[out[i]] < n_events ? decided[out[i]] : n_events))
			fail(seed, "went on, but is in vain", out[i]);
	}
	for (uint32_t i = 0; i < n_events; i++) {
		if (is_told[i] && (is_vain[i] || !is_asked[i]))
			fail(seed, "a cycle was told that rests on it", i);
		if (is_asked[i] && !is_told[i] && !is_vain[i] && !is_undone[i] && st.unjudged == 0)
			fail(seed, "a cycle was not told", i);
		if (is_undone[i] && !is_vain[i] && !may_be_undone(i))
			fail(seed, "undone, but counts", i);
		n_undone += is_undone[i] && !is_vain[i];
	}
	am_vain_free(stage);
	am_mem_destroy(&mem);
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1;
	const uint64_t count = cases_wanted(argc, argv, 8000);
	uint64_t reads = 0, vain = 0;

	for (uint64_t s = seed; s < seed + count; s++) {
		state = s * UINT64_C(0x9e3779b97f4a7c15) + 1;
		draw(2);
		make_trace();
		judge_all();
		for (uint32_t i = 0; i < n_events; i++) {
			reads += is_read(&trace[i]);
			vain += is_vain[i];
		}
		run(s, 0, 0);
		run(s, 64, 0);
		run(s, 0, 1 + draw(8));
	}
	printf("# seed %" PRIu64 ", %" PRIu64 " traces: %" PRIu64 " reads, %" PRIu64 " steps in vain; a look was full %" PRIu64
	       " times; %" PRIu64 " plain reads undone\n", seed, count, reads, vain, n_full, n_undone);
	printf("%s 1 - what goes on is what counts\n1..1\n", vain && n_full && n_undone ? "ok" : "not ok");
	return !vain || !n_full || !n_undone;
}
