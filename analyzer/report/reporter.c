/*
 * The reporter: cycles in, each distinct violation out once. Keeps what reports need beside the
 * cycle (objects, critical sections), knows what was told already, and hands the violation to a
 * writer. Runs in the drain thread and in tools; no stdio, no malloc; never calls a checker.
 */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <stddef.h>
#include <string.h>

#include "arena.h"
#include "atommon/mem.h"
#include "blame.h"
#include "jsonw.h"
#include "known.h"
#include "waiting.h"

/* TRIES_MAX: so often a story is begun anew for names; then it is told with those that are there. */
enum { REREAD_MAX = 16, TRIES_MAX = 4 };

/* A region read again what others had changed, and closed a cycle by it. */
struct reread {
	uint64_t begin_index, object, index;
	uint32_t thread;
};

struct am_reporter {
	struct am_mem *mem;
	struct am_reporter_config config;
	struct am_objects *objects;
	struct am_history *history;
	struct am_places *places;
	struct am_arena arena; /* of the violation being told */
	struct am_globals *globals;
	struct am_knowns knowns;
	struct am_waitings waiting;
	struct am_sarif sarif;
	bool is_sarif_open;
	struct am_reporter_stats stats;
	struct am_violation violation;
	struct am_cycle cycle; /* simplified */
	struct reread reread[REREAD_MAX];
	uint32_t n_reread;
};

struct am_reporter *am_reporter_new(const struct am_reporter_config *config, struct am_mem *mem)
{
	struct am_reporter *r = am_mem_alloc(mem, sizeof *r);

	if (!r)
		return NULL;
	r->mem = mem;
	r->config = *config;
	am_arena_init(&r->arena, mem);
	r->waiting.mem = mem;
	r->objects = am_objects_new(mem, config->block);
	r->history = am_history_new(mem);
	r->places = am_places_new(mem, config->tables, &r->config.symbolizer);
	r->globals = am_globals_new(mem);
	const bool has_room = am_knowns_init(&r->knowns, mem);
	/* Room for the first report is taken now, when there is memory. */
	if (!r->objects || !r->history || !r->places || !r->globals || !has_room || !am_arena_get(&r->arena, 1)) {
		am_reporter_free(r);
		return NULL;
	}
	am_arena_reset(&r->arena);
	return r;
}

void am_reporter_free(struct am_reporter *r)
{
	if (!r)
		return;
	am_objects_free(r->objects);
	am_history_free(r->history);
	am_places_free(r->places);
	am_arena_destroy(&r->arena);
	am_globals_free(r->globals);
	am_knowns_free(&r->knowns);
	while (r->waiting.first)
		am_waiting_free(&r->waiting, am_waiting_take(&r->waiting));
	am_mem_free(r->mem, r, sizeof *r);
}

void am_reporter_event(struct am_reporter *r, const struct am_event *event)
{
	switch (event->kind) {
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_WAIT:
	case AM_WAKE:
		am_history_event(r->history, event);
		break;
	case AM_ALLOC:
	case AM_FREE:
	case AM_NAME:
	case AM_INIT:
		am_objects_event(r->objects, event);
		break;
	default:
		assert(!am_reporter_is_asked(event));
		break;
	}
}

static void count_repeat(struct am_reporter *r, struct am_known *k, uint64_t times)
{
	k->count += times;
	if (k->is_suppressed)
		r->stats.suppressed += times;
	else
		r->stats.repeats += times;
}

static void print(struct am_reporter *r, const struct am_violation *v)
{
	switch (r->config.format) {
	case AM_REPORT_TEXT:
		am_report_text(v, &r->config.style, &r->config.out);
		break;
	case AM_REPORT_JSON:
		am_report_json(v, &r->config.out);
		break;
	case AM_REPORT_SARIF:
		if (!r->is_sarif_open)
			am_sarif_begin(&r->sarif, &r->config.out, ATOMMON_VERSION);
		r->is_sarif_open = true;
		am_sarif_violation(&r->sarif, v);
		break;
	}
	if (r->config.flush)
		r->config.flush(r->config.out.ctx);
}

static void complete(struct am_reporter *r, const struct am_witness *witness, struct am_violation *v)
{
	if (!witness) {
		v->status = r->config.status;
		v->model = r->config.model ? r->config.model : "";
	}
	if (v->is_guess)
		v->status = AM_POTENTIAL;
	v->next = r->config.next ? r->config.next : "";
}

/*
 * Does the region write what it had read, others changed, and it then read again? That read closed a cycle of its own;
 * the write goes by it, and no update is lost.
 */
static bool is_told_by_read(struct am_reporter *r, const struct am_cycle *c)
{
	const struct am_access *first = &c->edge[0].from, *back = &c->edge[c->n_edges - 1].from,
			       *last = &c->edge[c->n_edges - 1].to;

	if (last->kind == AM_READ)
		r->reread[r->n_reread++ % REREAD_MAX] =
			(struct reread){c->begin_index, last->object, last->index, c->thread};
	if (last->kind != AM_WRITE || first->kind != AM_READ || first->object != last->object || c->omitted)
		return false;
	for (uint32_t i = 0; i < REREAD_MAX; i++) {
		const struct reread *x = &r->reread[i];
		if (x->thread == c->thread && x->begin_index == c->begin_index && x->object == last->object &&
		    x->index > back->index && x->index < last->index)
			return true;
	}
	return false;
}

/* ---- telling --------------------------------------------------------------------------------- */

/* Repeats that came while a cycle waited for its names: so many, and now they are dealt with. */
static uint64_t end_wait(struct am_reporter *r, const struct am_raw_key *key)
{
	struct am_raw *raw = am_knowns_raw(&r->knowns, key->all);

	if (!raw || raw->known != AM_RAW_WAITS)
		return 0;
	raw->known = AM_RAW_NONE;
	return raw->waiting;
}

/* Cycles with this key are repeats of `k` from now on, and those that came meanwhile were. */
static void remember(struct am_reporter *r, const struct am_raw_key *key, const struct am_violation *v, struct am_known *k)
{
	const uint64_t waited = end_wait(r, key);

	am_knowns_put(&r->knowns, v->is_vague ? key->all : key->id, (uint32_t)(k - r->knowns.at));
	if (waited)
		count_repeat(r, k, waited);
}

/* The violation is complete: tell it if it is new. True: it was, and nothing suppresses it. */
static bool tell(struct am_reporter *r, const struct am_cycle *cycle, struct am_violation *v,
		 const struct am_raw_key *key)
{
	struct am_known *k = am_knowns_find(&r->knowns, v);

	if (k) {
		const bool is_same = k->begin_index == cycle->begin_index && strcmp(k->id, v->id) != 0;
		if (is_same && v->statement && v->statement == k->statement) {
			count_repeat(r, k, end_wait(r, key)); /* of other regions; this one is the rest of that statement */
			return false;
		}
		count_repeat(r, k, 1);
		remember(r, key, v, k);
		v->count = k->count;
		return false;
	}
	k = am_knowns_add(&r->knowns, v);
	if (!k) {
		r->stats.failed += 1 + end_wait(r, key);
		return false;
	}
	k->count = 1;
	k->begin_index = cycle->begin_index;
	k->is_suppressed = r->config.suppressions && am_suppressions_match(r->config.suppressions, v);
	r->stats.suppressed += k->is_suppressed;
	remember(r, key, v, k);
	if (k->is_suppressed)
		return false;
	r->stats.distinct++;
	if (r->stats.printed < r->config.max_reports) {
		k->is_printed = true;
		r->stats.printed++;
		print(r, v);
	}
	if (r->config.on_new)
		r->config.on_new(r->config.out.ctx, v);
	return true;
}

/* The story, with the names that are there. False: no memory. */
static bool blame(struct am_reporter *r, struct am_evidence *evidence, const struct am_cycle *cycle,
		  const struct am_witness *witness)
{
	struct am_blame b = {r->config.tables, &r->config.symbolizer, r->places, r->globals, evidence, &r->arena};

	evidence->objects = r->objects;
	evidence->history = r->history;
	am_arena_reset(&r->arena);
	if (!am_blame_cycle(&b, cycle, witness, &r->violation)) {
		r->stats.failed++;
		return false;
	}
	complete(r, witness, &r->violation);
	return true;
}

/* ---- waiting for names ----------------------------------------------------------------------- */

static uint64_t missed(const struct am_reporter *r)
{
	const struct am_symbolizer *s = &r->config.symbolizer;

	return s->missed ? s->missed(s->ctx) : 0;
}

/* Waits for so many, unless they are given up. */
static uint64_t answered(const struct am_reporter *r, uint64_t wanted)
{
	const struct am_symbolizer *s = &r->config.symbolizer;

	return s->answered ? s->answered(s->ctx, wanted) : 0;
}

static uint64_t asked(const struct am_reporter *r)
{
	const struct am_symbolizer *s = &r->config.symbolizer;

	return s->asked ? s->asked(s->ctx) : 0;
}

/* Tell those whose names have come; wait for names until only so many are left. */
static void settle(struct am_reporter *r, uint32_t left)
{
	struct am_waiting *w;

	while ((w = r->waiting.first) && answered(r, r->waiting.n > left ? w->ticket : 0) >= w->ticket) {
		const uint64_t before = missed(r);
		if (r->config.refresh)
			r->config.refresh(r->config.out.ctx);
		const bool is_told = blame(r, &w->evidence, w->cycle, NULL);
		if (is_told && missed(r) != before && w->tries++ < TRIES_MAX) {
			w->ticket = asked(r);
			continue;
		}
		am_waiting_take(&r->waiting);
		if (is_told)
			tell(r, w->cycle, &r->violation, &w->key);
		else
			r->stats.failed += end_wait(r, &w->key);
		am_waiting_free(&r->waiting, w);
	}
}

uint32_t am_reporter_settle(struct am_reporter *r, bool waits)
{
	settle(r, waits ? 0 : UINT32_MAX);
	return r->waiting.n;
}

/* Told now if its names are there; else put into the queue, with what is known of it at this moment. */
static bool tell_or_wait(struct am_reporter *r, struct am_waiting *w)
{
	const uint64_t before = missed(r);

	if (!blame(r, &w->evidence, w->cycle, NULL)) {
		am_waiting_free(&r->waiting, w);
		return false;
	}
	if (missed(r) == before && !r->waiting.n) {
		const bool is_new = tell(r, w->cycle, &r->violation, &w->key);
		am_waiting_free(&r->waiting, w);
		return is_new;
	}
	const struct am_raw *before_it = am_knowns_raw(&r->knowns, w->key.all);
	struct am_raw *raw = before_it && before_it->known == AM_RAW_WAITS
				     ? NULL
				     : am_knowns_put(&r->knowns, w->key.all, AM_RAW_WAITS);
	if (raw)
		raw->waiting = 0;
	w->ticket = asked(r);
	am_waiting_add(&r->waiting, w);
	const uint64_t distinct = r->stats.distinct;
	am_reporter_settle(r, r->config.waits);
	return r->stats.distinct != distinct;
}

/* With all its names, however long that takes. */
static bool tell_at_once(struct am_reporter *r, const struct am_cycle *cycle, const struct am_witness *witness,
			 const struct am_raw_key *key, const struct am_violation **told)
{
	struct am_evidence evidence = {0};
	uint64_t before;
	unsigned tries = 0;

	am_reporter_settle(r, true);
	do {
		before = missed(r);
		if (!blame(r, &evidence, cycle, witness))
			return false;
		if (missed(r) != before)
			answered(r, asked(r));
	} while (missed(r) != before && tries++ < TRIES_MAX);
	if (told)
		*told = &r->violation;
	return tell(r, cycle, &r->violation, key);
}

/* Does one of this very region wait, with this key? */
static bool waits_too(const struct am_reporter *r, const struct am_cycle *cycle, const struct am_raw_key *key)
{
	for (const struct am_waiting *w = r->waiting.first; w; w = w->next)
		if (w->key.all == key->all && w->cycle->begin_index == cycle->begin_index)
			return true;
	return false;
}

/* Seen before: count it. */
static bool is_repeat(struct am_reporter *r, const struct am_cycle *cycle, const struct am_raw_key *key)
{
	struct am_raw *raw = am_knowns_raw(&r->knowns, key->id);

	if (!raw)
		raw = am_knowns_raw(&r->knowns, key->all);
	if (!raw || raw->known == AM_RAW_NONE)
		return false;
	if (raw->known != AM_RAW_WAITS) {
		count_repeat(r, &r->knowns.at[raw->known], 1);
		return true;
	}
	/* Within one region it may be the rest of a statement: that is decided when it is told. */
	if (waits_too(r, cycle, key))
		return false;
	raw->waiting++;
	return true;
}

bool am_reporter_cycle(struct am_reporter *r, const struct am_cycle *given,
		       const struct am_witness *witness, const struct am_violation **told)
{
	const struct am_cycle *cycle = given;
	struct am_evidence now = {.objects = r->objects, .history = r->history};
	const struct am_blame b = {r->config.tables, &r->config.symbolizer, r->places, r->globals, &now, &r->arena};

	if (!witness) {
		am_cycle_copy(&r->cycle, given);
		am_cycle_simplify(&r->cycle);
		cycle = &r->cycle;
	}
	if (!witness && is_told_by_read(r, given))
		return false;
	const struct am_raw_key key = am_blame_raw_key(&b, cycle);

	if (told)
		*told = NULL;
	r->stats.cycles++;
	if (!told && is_repeat(r, cycle, &key))
		return false;
	if (r->config.refresh)
		r->config.refresh(r->config.out.ctx);
	struct am_waiting *w = NULL;
	if (r->config.symbolizer.missed && !witness && !told) {
		settle(r, AM_WAITING_MAX - 1);
		w = am_waiting_new(&r->waiting, cycle, key);
	}
	return w ? tell_or_wait(r, w) : tell_at_once(r, cycle, witness, &key, told);
}

const struct am_violation *am_reporter_last(const struct am_reporter *r)
{
	return &r->violation;
}

/* What came again, in one block: text lines, or JSON objects of type "repeats". */
static void tell_repeats(struct am_reporter *r)
{
	struct am_out *out = &r->config.out;
	char line[300];
	bool any = false;

	for (uint32_t i = 0; i < r->knowns.n; i++) {
		const struct am_known *k = &r->knowns.at[i];
		if (k->is_suppressed || (k->count < 2 && k->is_printed))
			continue;
		any = true;
		if (r->config.format == AM_REPORT_JSON) {
			struct am_jsonw w;
			am_jsonw_init(&w, out);
			am_jsonw_open(&w, NULL, '{');
			am_jsonw_text(&w, "schema", "atommon-report/1");
			am_jsonw_text(&w, "type", "repeats");
			am_jsonw_text(&w, "id", k->id);
			am_jsonw_text(&w, "region", k->region);
			am_jsonw_number(&w, "count", k->count);
			am_jsonw_bool(&w, "reported", k->is_printed);
			am_jsonw_close(&w, '}');
			out->write(out->ctx, "\n", 1);
			continue;
		}
		size_t n = am_text_into(line, sizeof line, "atommon: %s in region \"%.*s\": %l time%s%s\n",
				     k->id, 160, k->region, k->count, k->count == 1 ? "" : "s in all",
				     k->is_printed ? "" : ", not reported in full (ATOMMON_MAX_REPORTS)");
		n = n < sizeof line ? n : sizeof line - 1;
		out->write(out->ctx, line, n);
	}
	if (any && r->config.flush)
		r->config.flush(out->ctx);
}

void am_reporter_finish(struct am_reporter *r)
{
	am_reporter_settle(r, true);
	if (r->config.format == AM_REPORT_SARIF) {
		if (!r->is_sarif_open)
			am_sarif_begin(&r->sarif, &r->config.out, ATOMMON_VERSION);
		am_sarif_end(&r->sarif, r->config.tables->command);
		r->is_sarif_open = false;
		if (r->config.flush)
			r->config.flush(r->config.out.ctx);
		return;
	}
	tell_repeats(r);
}

void am_reporter_stats(const struct am_reporter *r, struct am_reporter_stats *stats)
{
	*stats = r->stats;
}
