/* Counts of a trace. Runs in tools. Tables grow with threads, locks and regions, not with events.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/stats.h"

#include "analyzer/trace/text.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN = 20 };

/* One row: of a thread, a lock or a region, by key. */
struct row {
	uint64_t key;
	uint64_t count;	  /* events of a thread; acquires of a lock; entries of a region */
	uint64_t changes; /* lock: acquires by another thread than the last; region: threads */
	uint64_t inside;  /* region: events inside; thread: accesses */
	uint64_t shared;  /* lock: shared acquires; thread: regions entered */
	uint64_t waits;	  /* lock: condition waits with it; thread: acquires */
	uint32_t thread;  /* last one, + 1 */
};

struct table {
	struct row *row; /* open addressing; key is stored + 1 */
	size_t n, cap;
};

struct am_stats {
	uint64_t kinds[AM_KINDS], lost[8], total;
	struct table threads, locks, regions;
	struct table open; /* key: thread; count: depth; inside: region entered first */
};

struct am_stats *am_stats_new(void)
{
	return calloc(1, sizeof(struct am_stats));
}

void am_stats_free(struct am_stats *s)
{
	if (!s)
		return;
	free(s->threads.row);
	free(s->locks.row);
	free(s->regions.row);
	free(s->open.row);
	free(s);
}

static struct row *slot(const struct table *t, uint64_t key)
{
	size_t i = (size_t)((key + 1) * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (t->cap - 1);
	while (t->row[i].key && t->row[i].key != key + 1)
		i = (i + 1) & (t->cap - 1);
	return &t->row[i];
}

static struct row *find(struct table *t, uint64_t key)
{
	if (2 * (t->n + 1) > t->cap) {
		struct table bigger = {.cap = t->cap ? 2 * t->cap : 64, .n = t->n};
		bigger.row = calloc(bigger.cap, sizeof *bigger.row);
		if (!bigger.row)
			return NULL;
		for (size_t i = 0; i < t->cap; i++)
			if (t->row[i].key)
				*slot(&bigger, t->row[i].key - 1) = t->row[i];
		free(t->row);
		*t = bigger;
	}
	struct row *r = slot(t, key);
	t->n += r->key == 0;
	r->key = key + 1;
	return r;
}

static bool count_lock(struct am_stats *s, const struct am_event *e, uint64_t lock)
{
	struct row *r = find(&s->locks, lock);

	if (!r)
		return false;
	r->count++;
	r->shared += e->kind == AM_ACQUIRE && e->mode == AM_SHARED;
	r->waits += e->kind == AM_WAKE;
	r->changes += r->thread && r->thread != e->thread + 1;
	r->thread = e->thread + 1;
	return true;
}

static bool count_region(struct am_stats *s, const struct am_event *e)
{
	struct row *open = find(&s->open, e->thread);
	struct row *r;

	if (!open)
		return false;
	if (e->kind == AM_BEGIN) {
		if (open->count++ == 0)
			open->inside = e->object;
		r = find(&s->regions, e->object);
		if (!r)
			return false;
		r->count++;
		r->changes += r->thread != e->thread + 1;
		r->thread = e->thread + 1;
	} else if (e->kind == AM_END) {
		open->count -= open->count > 0;
	} else if (open->count) {
		r = find(&s->regions, open->inside);
		if (!r)
			return false;
		r->inside++;
	}
	return true;
}

bool am_stats_event(struct am_stats *s, const struct am_event *e)
{
	struct row *t = find(&s->threads, e->thread);

	if (!t)
		return false;
	s->total++;
	s->kinds[e->kind]++;
	if (e->kind == AM_LOST)
		s->lost[e->mode < 8 ? e->mode : 0] += e->aux;
	t->count++;
	t->inside += e->kind == AM_READ || e->kind == AM_WRITE || e->kind == AM_UPDATE;
	t->shared += e->kind == AM_BEGIN;
	t->waits += e->kind == AM_ACQUIRE || e->kind == AM_WAKE;
	if (e->kind == AM_ACQUIRE && !count_lock(s, e, e->object))
		return false;
	if (e->kind == AM_WAKE && !count_lock(s, e, e->aux))
		return false;
	return count_region(s, e);
}

/* ---- printing ------------------------------------------------------------------------------ */

static int by_count(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	if (a->count != b->count)
		return a->count > b->count ? -1 : 1;
	return a->key < b->key ? -1 : a->key > b->key;
}

static int by_key(const void *x, const void *y)
{
	const struct row *a = x, *b = y;
	return a->key < b->key ? -1 : a->key > b->key;
}

/* The rows in an array of their own; NULL when there is none. */
static struct row *sorted(const struct table *t, int (*order)(const void *, const void *))
{
	struct row *r = t->n ? malloc(t->n * sizeof *r) : NULL;
	size_t n = 0;

	for (size_t i = 0; r && i < t->cap; i++)
		if (t->row[i].key)
			r[n++] = t->row[i];
	if (r)
		qsort(r, n, sizeof *r, order);
	return r;
}

static void print_more(FILE *out, size_t n)
{
	if (n > SHOWN)
		fprintf(out, "  and %zu more\n", n - SHOWN);
}

static void print_file(const struct am_stats *s, FILE *out, const struct am_source *source)
{
	static const char *const formats[] = {"trace", "rings", "text", "STD"};
	const struct am_source_info *info = am_source_info(source);
	const struct am_tables *t = am_source_tables(source);

	fprintf(out, "%s of process %u", formats[info->format], t->pid);
	if (t->command[0])
		fprintf(out, ": %s", t->command);
	fprintf(out, "\n  events %" PRIu64 "  bytes %" PRIu64 "  bytes/event %.2f\n", s->total,
		info->file_bytes, s->total ? (double)info->file_bytes / (double)s->total : 0.0);
	fprintf(out, "  strings %zu  sites %zu  modules %zu  threads %zu\n", t->n_strings,
		t->n_sites, t->n_modules, t->n_threads);
	if (info->format == AM_SOURCE_ATM)
		fprintf(out, "  ended %s\n",
			info->has_footer ? "regularly"
			: info->is_cut	 ? "inside a chunk"
					 : "without a footer");
	if (info->recovered || info->holes)
		fprintf(out,
			"  recovered from rings: %" PRIu64 " units; records in progress: %" PRIu64
			"\n",
			info->recovered, info->holes);
	if (info->dropped)
		fprintf(out, "  left out behind the cut: %" PRIu64 " records\n", info->dropped);
	fputs("  lost", out);
	uint64_t all = 0;
	for (unsigned i = 0; i < 8; i++) {
		all += s->lost[i];
		if (s->lost[i])
			fprintf(out, " %s %" PRIu64,
				i && i < AM_TEXT_LOST ? am_text_lost[i] : "other", s->lost[i]);
	}
	fputs(all ? "\n" : " none\n", out);
}

static void print_threads(const struct am_stats *s, FILE *out, const struct am_tables *t)
{
	struct row *r = sorted(&s->threads, by_key);

	fprintf(out, "\nthreads %zu\n  %-8s %12s %12s %12s %12s  %s\n", s->threads.n, "thread",
		"events", "acquires", "accesses", "regions", "name");
	for (size_t i = 0; r && i < s->threads.n && i < SHOWN; i++) {
		const uint64_t id = r[i].key - 1;
		fprintf(out,
			"  T%-7" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
			"  %s\n",
			id, r[i].count, r[i].waits, r[i].inside, r[i].shared,
			id < t->n_threads ? t->thread[id].name : "");
	}
	print_more(out, s->threads.n);
	free(r);
}

static void print_locks(const struct am_stats *s, FILE *out, am_stats_name_fn *name, void *ctx)
{
	struct row *r = sorted(&s->locks, by_count);

	if (!r)
		return;
	fprintf(out, "\nlocks %zu (hand-offs: taken by another thread than the last time)\n",
		s->locks.n);
	fprintf(out, "  %-18s %12s %12s %12s %12s  %s\n", "lock", "acquires", "shared", "waits",
		"hand-offs", "name");
	for (size_t i = 0; i < s->locks.n && i < SHOWN; i++) {
		const char *text = name ? name(ctx, r[i].key - 1) : NULL;
		fprintf(out,
			"  0x%-16" PRIx64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64 " %12" PRIu64
			"  %s\n",
			r[i].key - 1, r[i].count, r[i].shared, r[i].waits, r[i].changes,
			text ? text : "");
	}
	print_more(out, s->locks.n);
	free(r);
}

static void print_regions(const struct am_stats *s, FILE *out, const struct am_tables *t)
{
	struct row *r = sorted(&s->regions, by_count);

	if (!r)
		return;
	fprintf(out, "\nregions %zu\n  %12s %12s %12s  %s\n", s->regions.n, "entered",
		"events inside", "taken over", "name");
	for (size_t i = 0; i < s->regions.n && i < SHOWN; i++) {
		const uint64_t id = r[i].key - 1;
		fprintf(out, "  %12" PRIu64 " %13" PRIu64 " %12" PRIu64 "  %s\n", r[i].count,
			r[i].inside, r[i].changes, id && id < t->n_strings ? t->string[id] : "?");
	}
	print_more(out, s->regions.n);
	free(r);
}

void am_stats_print(const struct am_stats *s, FILE *out, const struct am_source *source,
		    am_stats_name_fn *name, void *ctx)
{
	const struct am_tables *t = am_source_tables(source);

	print_file(s, out, source);
	fputs("\nevents by kind\n", out);
	for (unsigned k = 0; k < AM_KINDS; k++)
		if (s->kinds[k])
			fprintf(out, "  %-14s %12" PRIu64 "\n", am_kind_name((enum am_kind)k),
				s->kinds[k]);
	print_threads(s, out, t);
	print_locks(s, out, name, ctx);
	print_regions(s, out, t);
}
