/*
 * A source of events: finds out the format, holds what the merge passed on until the caller takes
 * it, and follows the expressions. Runs in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/source_state.h"

#include "atommon/ringfile.h"

#include <assert.h>
#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	NODE_GAP = 4096,	    /* how far a node's number may lie beyond those known */
	NODE_GAP_LOST = 256 * 1024, /* the same after a hole */
	NAME_MAX_SHOWN = 200,
};

int source_fail(struct am_source *s, const char *format, ...)
{
	va_list args;

	if (s->has_failed)
		return -1;
	s->has_failed = true;
	int n = snprintf(s->error, sizeof s->error, "%.*s: ", NAME_MAX_SHOWN, s->name);
	va_start(args, format);
	vsnprintf(s->error + n, sizeof s->error - (size_t)n, format, args);
	va_end(args);
	return -1;
}

struct source_thread *source_thread(struct am_source *s, uint32_t id)
{
	if (id < s->n_threads)
		return &s->thread[id];
	const char *why = tablebuild_see_thread(&s->tables, id);
	if (why) {
		source_fail(s, "thread %u: %s", id, why);
		return NULL;
	}
	const size_t n =
		s->tables.t.n_threads > 2 * s->n_threads ? s->tables.t.n_threads : 2 * s->n_threads;
	struct source_thread *bigger = realloc(s->thread, n * sizeof *bigger);
	if (!bigger) {
		source_fail(s, "out of memory");
		return NULL;
	}
	memset(bigger + s->n_threads, 0, (n - s->n_threads) * sizeof *bigger);
	s->thread = bigger;
	s->n_threads = n;
	return &s->thread[id];
}

bool source_push(struct am_source *s, struct am_event event)
{
	if (s->tail == s->cap) {
		if (s->head > s->cap / 2) {
			memmove(s->queue, s->queue + s->head,
				(s->tail - s->head) * sizeof *s->queue);
			s->tail -= s->head;
			s->head = 0;
		} else {
			const size_t cap = s->cap ? 2 * s->cap : 4096;
			struct am_event *bigger = realloc(s->queue, cap * sizeof *bigger);
			if (!bigger) {
				source_fail(s, "out of memory");
				return false;
			}
			s->queue = bigger;
			s->cap = cap;
		}
	}
	event.index = s->info.events++;
	if (event.kind == AM_LOST && event.mode < LOST_CAUSES)
		s->told[event.mode] += event.aux;
	s->queue[s->tail++] = event;
	return true;
}

static void from_merge(void *ctx, const struct am_event *event)
{
	source_push(ctx, *event);
}

/* At the limit: a record may have been torn out of its thread long ago, and its number is missing.
 * What the rest waits for then never comes. */
static bool feed_past_hole(struct am_source *s, uint32_t thread, const struct am_unit *units,
			   size_t n)
{
	s->mem.limit *= 2; /* room to find out */
	const uint64_t holes = am_merge_close_holes(s->merge);
	s->mem.limit /= 2;
	s->info.holes += holes;
	return holes && am_merge_feed(s->merge, thread, units, n);
}

int source_feed(struct am_source *s, uint32_t thread, const struct am_unit *units, size_t n)
{
	if (!am_merge_feed(s->merge, thread, units, n) && !feed_past_hole(s, thread, units, n))
		return source_fail(s, "records that wait for others need more than %llu MiB",
				   (unsigned long long)(s->mem.limit >> 20));
	am_merge_run(s->merge);
	s->info.units += n;
	return s->has_failed ? -1 : 1;
}

/* Losses that no thread could put into its stream, for it had no ring or never got room again: the end is
 * the first place where they can be told. */
static void tell_untold(struct am_source *s)
{
	/* An ordered file has its lost events where they belong. */
	if (s->info.features & AM_ATM_F_ORDERED)
		return;
	for (unsigned cause = 1; cause < LOST_CAUSES; cause++)
		if (s->info.lost[cause] > s->told[cause] && cause != AM_LOST_LIMIT)
			source_push(s, (struct am_event){.kind = AM_LOST,
							 .mode = (uint8_t)cause,
							 .aux = s->info.lost[cause] - s->told[cause]});
}

void source_finish(struct am_source *s, bool is_whole)
{
	/* An ordered file has its lost events where they belong. */
	const bool is_limit =
		s->info.lost[AM_LOST_LIMIT] > 0 && !(s->info.features & AM_ATM_F_ORDERED);

	if (is_whole && !s->has_gap)
		s->info.holes += am_merge_finish(s->merge);
	else
		s->info.dropped +=
			am_merge_abandon(s->merge, is_limit ? AM_LOST_LIMIT : AM_LOST_TORN);
	tell_untold(s);
	if (is_limit)
		source_push(s, (struct am_event){.kind = AM_LOST,
						 .mode = AM_LOST_LIMIT,
						 .aux = s->info.lost[AM_LOST_LIMIT]});
	if (!s->info.note[0] && (s->info.dropped || is_limit))
		snprintf(s->info.note, sizeof s->info.note,
			 is_limit ? "the recording reached its limit; the end of the run is missing"
				  : "the trace is cut; %llu records behind the cut are left out",
			 (unsigned long long)s->info.dropped);
}

/* ---- expressions --------------------------------------------------------------------------- */

static bool define_node(struct am_source *s, struct source_thread *t, uint32_t node,
			struct am_expr expr)
{
	const uint32_t gap = t->has_lost ? NODE_GAP_LOST : NODE_GAP;

	if (node == UINT32_MAX || node > t->n_exprs + gap)
		return false;
	if (node >= t->cap) {
		const uint32_t cap = node < 64 ? 128 : 2 * node;
		struct am_expr *bigger = realloc(t->expr, cap * sizeof *bigger);
		if (!bigger) {
			source_fail(s, "out of memory");
			return false;
		}
		memset(bigger + t->cap, 0, (cap - t->cap) * sizeof *bigger);
		t->expr = bigger;
		t->cap = cap;
	}
	if (node >= t->n_exprs)
		t->n_exprs = node + 1;
	t->expr[node] = expr;
	return true;
}

/* Keep the thread's expression table; an event whose node cannot be known loses it. */
static void follow_expression(struct am_source *s, struct am_event *e)
{
	if (e->kind != AM_EXPR && e->kind != AM_LOST && !e->expr)
		return;
	struct source_thread *t = source_thread(s, e->thread);
	if (!t)
		return;
	if (e->kind == AM_LOST) {
		t->has_lost = true;
	} else if (e->kind == AM_EXPR) {
		struct am_expr x = {
			.op = (uint8_t)(e->object & 0xff),
			.width = (uint8_t)(e->object >> 8 & 0xff),
			.c = (uint32_t)(e->object >> 16),
		};
		if (x.op == AM_OP_CONST) {
			x.value = e->value;
		} else {
			x.a = (uint32_t)e->value;
			x.b = (uint32_t)(e->value >> 32);
		}
		if (e->expr && !define_node(s, t, e->expr, x))
			e->expr = 0;
	} else if (e->kind == AM_READ || e->kind == AM_UPDATE) {
		const struct am_expr x = {
			.op = AM_OP_READ,
			.width = e->size <= 8 ? (uint8_t)(e->size * 8) : 64,
			.value = e->index,
		};
		if (!define_node(s, t, e->expr, x))
			e->expr = 0;
	}
}

const struct am_expr *am_source_exprs(const struct am_source *s, uint32_t thread, uint32_t *n)
{
	*n = thread < s->n_threads ? s->thread[thread].n_exprs : 0;
	return *n ? s->thread[thread].expr : NULL;
}

/* ---- taking events ------------------------------------------------------------------------- */

int am_source_next(struct am_source *s, struct am_event *event)
{
	while (s->head == s->tail) {
		if (s->has_failed)
			return -1;
		if (s->has_ended)
			return 0;
		s->head = s->tail = 0;
		if (s->fill(s) == 0)
			s->has_ended = true;
	}
	*event = s->queue[s->head++];
	if (!s->config.no_exprs)
		follow_expression(s, event);
	return 1;
}

const char *am_source_error(const struct am_source *s)
{
	return s->error;
}

const struct am_tables *am_source_tables(const struct am_source *s)
{
	return &s->tables.t;
}

const struct am_change *am_source_changes(const struct am_source *s, size_t *n)
{
	*n = s->tables.n_log;
	return s->tables.log;
}

const struct am_source_info *am_source_info(const struct am_source *s)
{
	return &s->info;
}

/* ---- opening ------------------------------------------------------------------------------- */

/* Text begins with "!" or an index; a line with a bar is STD. */
static enum am_source_format guess_lines(const char *line)
{
	return *line != '!' && strchr(line, '|') ? AM_SOURCE_STD : AM_SOURCE_TEXT;
}

static bool is_blank(const char *line)
{
	line += strspn(line, " \t\r");
	return *line == 0 || *line == '#';
}

static int open_lines(struct am_source *s)
{
	int r;

	do
		r = line_next(s);
	while (r > 0 && is_blank(s->lines.line));
	if (r < 0)
		return r;
	if (r == 0)
		return source_fail(s, "offset 0: empty, neither a trace nor a text");
	s->lines.has_line = true;
	s->info.format = guess_lines(s->lines.line);
	s->fill = s->info.format == AM_SOURCE_STD ? std_fill : text_fill;
	return 1;
}

static int open_format(struct am_source *s)
{
	uint8_t magic[8];
	const size_t n = fread(magic, 1, sizeof magic, s->in);

	if (n == 0 && ferror(s->in))
		return source_fail(s, "cannot be read: %s", strerror(errno));
	if (n == sizeof magic && memcmp(magic, AM_ATM_MAGIC, sizeof magic) == 0)
		return atm_open(s, magic);
	if (n == sizeof magic && memcmp(magic, AM_RINGFILE_MAGIC, sizeof magic) == 0) {
		if (s->ring)
			fclose(s->ring);
		s->ring = s->in;
		s->in = NULL;
		s->info.format = AM_SOURCE_RING;
		s->fill = ring_fill;
		return 1;
	}
	if (n && magic[0] == (uint8_t)AM_ATM_MAGIC[0])
		return source_fail(s, "offset 0: the header of the trace is cut or damaged");
	/* Lines: hand the bytes back to the line reader. */
	s->lines.cap = 256;
	s->lines.line = malloc(s->lines.cap);
	if (!s->lines.line)
		return source_fail(s, "out of memory");
	for (size_t i = n; i-- > 0;)
		if (ungetc(magic[i], s->in) == EOF && fseek(s->in, 0, SEEK_SET) == 0)
			break;
	return open_lines(s);
}

struct am_source *am_source_open_stream(FILE *trace, FILE *ring, const char *name,
					const struct am_source_config *config,
					char why[AM_SOURCE_ERROR_MAX])
{
	struct am_source *s = calloc(1, sizeof *s);

	if (s)
		s->name = strdup(name);
	if (!s || !s->name) {
		snprintf(why, AM_SOURCE_ERROR_MAX, "out of memory");
		free(s);
		fclose(trace);
		if (ring)
			fclose(ring);
		return NULL;
	}
	s->in = trace;
	s->ring = ring;
	if (config)
		s->config = *config;
	if (!s->config.reorder_limit)
		s->config.reorder_limit = UINT64_C(1) << 30;
	tablebuild_init(&s->tables);
	am_mem_init(&s->mem, s->config.reorder_limit);
	s->merge = am_merge_new(&s->mem, from_merge, s);
	if (!s->merge)
		source_fail(s, "out of memory");
	if (!s->merge || open_format(s) < 0) {
		memcpy(why, s->error, sizeof s->error);
		am_source_close(s);
		return NULL;
	}
	return s;
}

static FILE *open_ring(const char *path)
{
	const size_t len = strlen(path);
	char *name = malloc(len + sizeof ".ring");

	if (!name)
		return NULL;
	memcpy(name, path, len);
	memcpy(name + len, ".ring", sizeof ".ring");
	FILE *f = fopen(name, "rbe");
	free(name);
	return f;
}

struct am_source *am_source_open(const char *path, const struct am_source_config *config,
				 char why[AM_SOURCE_ERROR_MAX])
{
	if (strcmp(path, "-") == 0)
		return am_source_open_stream(stdin, NULL, "standard input", config, why);
	FILE *in = fopen(path, "rbe");
	FILE *ring = config && config->ignore_ring ? NULL : open_ring(path);
	if (!in && ring) {
		in = ring; /* killed before the trace was begun */
		ring = NULL;
	}
	if (!in) {
		snprintf(why, AM_SOURCE_ERROR_MAX, "cannot open '%.300s': %s", path,
			 strerror(errno));
		return NULL;
	}
	return am_source_open_stream(in, ring, path, config, why);
}

void am_source_close(struct am_source *s)
{
	if (!s)
		return;
	std_close(s);
	atm_close(s);
	am_merge_free(s->merge);
	am_mem_destroy(&s->mem);
	for (size_t i = 0; i < s->n_threads; i++)
		free(s->thread[i].expr);
	free(s->thread);
	free(s->queue);
	free(s->lines.line);
	tablebuild_free(&s->tables);
	if (s->in && s->in != stdin)
		fclose(s->in);
	if (s->ring)
		fclose(s->ring);
	free(s->name);
	free(s);
}
