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

enum { RAW_MAX = 1 << 12, MAX_KNOWN = 1 << 16, REREAD_MAX = 16 };

struct known {
	char id[AM_ID_SIZE];
	uint32_t coarse, core, coarse_core, statement, statement_core;
	uint64_t begin_index; /* of the region, when it was told */
	bool is_suppressed, is_printed;
	uint64_t count;
	const char *region; /* for the list of repeats */
};

/* A region read again what others had changed, and closed a cycle by it. */
struct reread {
	uint64_t begin_index, object, index;
	uint32_t thread;
};

/* Raw key of a cycle -> known violation: repeats cost no symbolising. Open addressing. */
struct raw {
	uint64_t key; /* 0: empty */
	uint32_t known;
};

struct am_reporter {
	struct am_mem *mem;
	struct am_reporter_config config;
	struct am_objects *objects;
	struct am_history *history;
	struct am_places *places;
	struct am_arena arena; /* of the violation being told */
	struct am_arena names; /* for good */
	struct known *known;
	uint32_t n_known, cap_known;
	struct raw *raw;
	uint32_t n_raw;
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
	am_arena_init(&r->names, mem);
	r->objects = am_objects_new(mem);
	r->history = am_history_new(mem);
	r->places = am_places_new(mem, config->tables, &r->config.symbolizer);
	r->raw = am_mem_alloc(mem, RAW_MAX * sizeof *r->raw);
	/* Room for the first report is taken now, when there is memory. */
	if (!r->objects || !r->history || !r->places || !r->raw || !am_arena_get(&r->arena, 1)) {
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
	am_arena_destroy(&r->names);
	am_mem_free(r->mem, r->known, r->cap_known * sizeof *r->known);
	am_mem_free(r->mem, r->raw, RAW_MAX * sizeof *r->raw);
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
		break;
	}
}

static struct raw *raw_slot(struct am_reporter *r, uint64_t key)
{
	for (uint64_t i = key;; i++) {
		struct raw *s = &r->raw[i & (RAW_MAX - 1)];
		if (!s->key || s->key == key)
			return s;
	}
}

static void remember_raw(struct am_reporter *r, uint64_t key, uint32_t known)
{
	struct raw *s = raw_slot(r, key);

	if (s->key || r->n_raw >= RAW_MAX / 2)
		return;
	*s = (struct raw){key, known};
	r->n_raw++;
}

/* A cycle through several others is taken for a direct one of the same region and accesses; one
 * whose functions are not all known for one that is equal in all else; and one whose last access is
 * another of the same line. */
static struct known *find_known(struct am_reporter *r, const struct am_violation *v)
{
	for (uint32_t i = 0; i < r->n_known; i++)
		if (strcmp(r->known[i].id, v->id) == 0)
			return &r->known[i];
	const bool is_chain = v->n_edges != 2;
	for (uint32_t i = 0; i < r->n_known; i++) {
		const struct known *k = &r->known[i];
		if ((v->statement && k->statement == v->statement) ||
		    (v->statement && is_chain && k->statement_core == v->statement_core) ||
		    (is_chain && k->core == v->core) || (v->is_vague && k->coarse == v->coarse) ||
		    (is_chain && v->is_vague && k->coarse_core == v->coarse_core))
			return &r->known[i];
	}
	return NULL;
}

static struct known *add_known(struct am_reporter *r, const struct am_violation *v)
{
	if (r->n_known == r->cap_known) {
		const uint32_t cap = r->cap_known ? r->cap_known * 2 : 64;
		struct known *grown = cap > MAX_KNOWN ? NULL
						      : am_mem_resize(r->mem, r->known,
								      r->cap_known * sizeof *grown,
								      cap * sizeof *grown);
		if (!grown)
			return NULL;
		r->known = grown;
		r->cap_known = cap;
	}
	struct known *k = &r->known[r->n_known++];
	memset(k, 0, sizeof *k);
	memcpy(k->id, v->id, sizeof k->id);
	k->coarse = v->coarse;
	k->core = v->core;
	k->coarse_core = v->coarse_core;
	k->statement = v->statement;
	k->statement_core = v->statement_core;
	k->region = am_arena_copy(&r->names, v->region);
	return k;
}

static void count_repeat(struct am_reporter *r, struct known *k)
{
	k->count++;
	if (k->is_suppressed)
		r->stats.suppressed++;
	else
		r->stats.repeats++;
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

bool am_reporter_cycle(struct am_reporter *r, const struct am_cycle *given,
		       const struct am_witness *witness, const struct am_violation **told)
{
	const struct am_cycle *cycle = given;
	struct am_blame blame = {r->config.tables, &r->config.symbolizer, r->places, r->objects,
				 r->history,	   &r->arena};
	struct am_violation *v = &r->violation;

	if (!witness) {
		memcpy(&r->cycle, given, offsetof(struct am_cycle, edge));
		memcpy(r->cycle.edge, given->edge, given->n_edges * sizeof given->edge[0]);
		am_cycle_simplify(&r->cycle);
		cycle = &r->cycle;
	}
	if (!witness && is_told_by_read(r, given))
		return false;
	const uint64_t key = am_blame_raw_key(&blame, cycle) | 1;

	if (told)
		*told = NULL;
	r->stats.cycles++;
	const struct raw *seen = raw_slot(r, key);
	if (seen->key && !told) {
		count_repeat(r, &r->known[seen->known]);
		return false;
	}
	if (r->config.refresh)
		r->config.refresh(r->config.out.ctx);
	am_arena_reset(&r->arena);
	if (!am_blame_cycle(&blame, cycle, witness, v)) {
		r->stats.failed++;
		return false;
	}
	complete(r, witness, v);
	if (told)
		*told = v;
	struct known *k = find_known(r, v);
	if (k) {
		const bool is_same = k->begin_index == cycle->begin_index && strcmp(k->id, v->id) != 0;
		if (is_same && v->statement && v->statement == k->statement)
			return false; /* the rest of that statement */
		remember_raw(r, key, (uint32_t)(k - r->known));
		count_repeat(r, k);
		v->count = k->count;
		return false;
	}
	k = add_known(r, v);
	if (!k) {
		r->stats.failed++;
		return false;
	}
	k->count = 1;
	k->begin_index = cycle->begin_index;
	remember_raw(r, key, (uint32_t)(k - r->known));
	if (r->config.suppressions && am_suppressions_match(r->config.suppressions, v)) {
		k->is_suppressed = true;
		r->stats.suppressed++;
		return false;
	}
	r->stats.distinct++;
	if (r->stats.printed < r->config.max_reports) {
		k->is_printed = true;
		r->stats.printed++;
		print(r, v);
	}
	return true;
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

	for (uint32_t i = 0; i < r->n_known; i++) {
		const struct known *k = &r->known[i];
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
