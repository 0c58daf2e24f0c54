/*
 * Events to a file of ordered chunks. Runs in tools. A chunk ends where the tables change, so that
 * reading the file shows each table entry before the same event as the source did.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/writer.h"

#include "analyzer/core/decode.h"
#include "atommon/trace.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { TABLE_BYTES = 64 * 1024 };

struct am_writer {
	FILE *out;
	const struct am_source *source;
	struct am_chunk_coder *coder;
	uint8_t *buf;
	struct am_unit units[AM_ATM_UNITS_MAX];
	uint32_t thread[AM_ATM_UNITS_MAX];
	size_t n;
	size_t changes; /* of the source's tables, already written */
	bool has_header;
	struct am_atm_footer footer;
};

static const char no_write[] = "cannot write";

static void release(struct am_writer *w)
{
	if (!w)
		return;
	free(w->coder);
	free(w->buf);
	free(w);
}

struct am_writer *am_writer_new(FILE *out, const struct am_source *source)
{
	struct am_writer *w = calloc(1, sizeof *w);

	if (w) {
		w->out = out;
		w->source = source;
		w->coder = aligned_alloc(64, (am_chunk_coder_bytes() + 63) & ~(size_t)63);
		w->buf = malloc(AM_ATM_UNITS_BYTES_MAX);
	}
	if (!w || !w->coder || !w->buf) {
		release(w);
		return NULL;
	}
	return w;
}

static const char *put(struct am_writer *w, size_t n)
{
	return fwrite(w->buf, 1, n, w->out) == n ? NULL : no_write;
}

static const char *flush(struct am_writer *w)
{
	if (w->n == 0)
		return NULL;
	const size_t bytes =
		am_atm_put_ordered(w->coder, w->buf, w->footer.units, w->units, w->thread, w->n);
	w->footer.units += w->n;
	w->n = 0;
	return put(w, bytes);
}

static bool add_change(struct am_atm_table *t, const struct am_tables *tables, struct am_change c)
{
	switch (c.what) {
	case AM_ATM_T_COMMAND:
		return am_atm_table_command(t, tables->command, strlen(tables->command));
	case AM_ATM_T_STRING:
		return am_atm_table_string(t, c.id, tables->string[c.id],
					   strlen(tables->string[c.id]));
	case AM_ATM_T_MODULE:
		return am_atm_table_module(t, c.id, &tables->module[c.id]);
	case AM_ATM_T_SITE:
		return am_atm_table_site(t, c.id, tables->site[c.id].frame,
					 tables->site[c.id].n_frames);
	default:
		return am_atm_table_thread(t, &tables->thread[c.id]);
	}
}

/* Header and table entries that the file does not have yet. */
static const char *sync_tables(struct am_writer *w)
{
	const struct am_tables *tables = am_source_tables(w->source);
	const struct am_source_info *info = am_source_info(w->source);
	size_t n;
	const struct am_change *log = am_source_changes(w->source, &n);
	const char *why = NULL;

	if (!w->has_header) {
		const struct am_atm_info header = {.features = info->features | AM_ATM_F_ORDERED,
						   .start_ns = info->start_ns,
						   .clock = info->clock,
						   .pid = tables->pid};
		w->has_header = true;
		why = put(w, am_atm_put_header(w->buf, &header));
	}
	if (w->changes < n && !why)
		why = flush(w);
	while (w->changes < n && !why) {
		struct am_atm_table t;
		am_atm_table_begin(&t, w->buf, TABLE_BYTES);
		while (w->changes < n &&
		       (log[w->changes].is_old || add_change(&t, tables, log[w->changes])))
			w->changes++;
		const size_t bytes = am_atm_table_end(&t);
		why = bytes ? put(w, bytes) : NULL;
	}
	return why;
}

const char *am_writer_event(struct am_writer *w, const struct am_event *e)
{
	const char *why = sync_tables(w);

	if (!why && w->n + AM_RECORD_UNITS_MAX > AM_ATM_UNITS_MAX)
		why = flush(w);
	if (why)
		return why;
	const size_t n = am_record_encode(e, w->units + w->n);
	if (n == 0)
		return "an event has more details than a record holds";
	for (size_t i = 0; i < n; i++)
		w->thread[w->n + i] = e->thread;
	w->n += n;
	w->footer.records++;
	if (e->kind == AM_LOST)
		w->footer.lost[e->mode < 8 ? e->mode : 0] += e->aux;
	return NULL;
}

const char *am_writer_end(struct am_writer *w, bool has_footer)
{
	const char *why = sync_tables(w);

	if (!why)
		why = flush(w);
	if (!why && has_footer)
		why = put(w, am_atm_put_footer(w->buf, &w->footer));
	if (!why && fflush(w->out) != 0)
		why = no_write;
	release(w);
	return why;
}
