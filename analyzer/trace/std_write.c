/*
 * Writing the STD form. Runs in tools. A wait becomes the release of its mutex and a wake its
 * acquire; an update becomes a read and a write; what has no counterpart (shared locks, semaphores,
 * barriers, allocations ...) is counted and left out.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/std.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void am_std_begin(struct am_std *w, FILE *out, const struct am_source *source)
{
	*w = (struct am_std){.out = out, .source = source};
}

void am_std_end(struct am_std *w)
{
	free(w->name);
	w->name = NULL;
	w->cap = w->n_names = 0;
}

static size_t slot(const struct am_std *w, uint64_t object)
{
	size_t i = (size_t)(object * UINT64_C(0x9e3779b97f4a7c15) >> 20) & (w->cap - 1);
	while (w->name[i].string && w->name[i].object != object)
		i = (i + 1) & (w->cap - 1);
	return i;
}

static bool learn(struct am_std *w, uint64_t object, uint64_t string)
{
	if (string == 0 || string >= am_source_tables(w->source)->n_strings)
		return true;
	if (2 * (w->n_names + 1) > w->cap) {
		const struct am_std old = *w;
		const size_t cap = w->cap ? 2 * w->cap : 64;
		struct am_std_name *bigger = calloc(cap, sizeof *bigger);
		if (!bigger)
			return false;
		w->name = bigger;
		w->cap = cap;
		for (size_t i = 0; i < old.cap; i++)
			if (old.name[i].string)
				w->name[slot(w, old.name[i].object)] = old.name[i];
		free(old.name);
	}
	struct am_std_name *n = &w->name[slot(w, object)];
	w->n_names += n->string == 0;
	*n = (struct am_std_name){object, (uint32_t)string};
	return true;
}

/* Names hold no character that has a meaning in a line. */
static void put_name(FILE *out, const char *text)
{
	for (; *text; text++)
		putc(strchr("|()", *text) || (unsigned char)*text <= ' ' ? '_' : *text, out);
}

static void put_object(struct am_std *w, char prefix, uint64_t object)
{
	if (w->cap) {
		const struct am_std_name *n = &w->name[slot(w, object)];
		if (n->string) {
			put_name(w->out, am_source_tables(w->source)->string[n->string]);
			return;
		}
	}
	fprintf(w->out, "%c%" PRIx64, prefix, object);
}

static void put_thread(struct am_std *w, uint64_t id)
{
	const struct am_tables *t = am_source_tables(w->source);
	const bool is_std = am_source_info(w->source)->format == AM_SOURCE_STD;

	if (is_std && id < t->n_threads && t->thread[id].name[0])
		put_name(w->out, t->thread[id].name);
	else
		fprintf(w->out, "T%" PRIu64, id);
}

static void put_line(struct am_std *w, const struct am_event *e, const char *op, char prefix,
		     uint64_t object)
{
	const struct am_tables *t = am_source_tables(w->source);
	FILE *const out = w->out;

	put_thread(w, e->thread);
	fprintf(out, "|%s(", op);
	if (prefix == 'T')
		put_thread(w, object);
	else if (prefix == 'S' && object && object < t->n_strings)
		put_name(out, t->string[object]);
	else
		put_object(w, prefix, object);
	const struct am_site *site = e->site < t->n_sites ? &t->site[e->site] : NULL;
	const bool is_place = t->n_modules == 0 && site && site->n_frames == 1;
	fprintf(out, ")|%" PRIu64 "\n", is_place ? site->frame[0] : e->site);
}

bool am_std_event(struct am_std *w, const struct am_event *e)
{
	switch (e->kind) {
	case AM_READ:
		put_line(w, e, "r", 'V', e->object);
		break;
	case AM_WRITE:
		put_line(w, e, "w", 'V', e->object);
		break;
	case AM_UPDATE:
		put_line(w, e, "r", 'V', e->object);
		put_line(w, e, "w", 'V', e->object);
		break;
	case AM_ACQUIRE:
	case AM_RELEASE:
		if (e->mode == AM_SHARED)
			w->skipped++;
		else
			put_line(w, e, e->kind == AM_ACQUIRE ? "acq" : "rel", 'L', e->object);
		break;
	case AM_WAIT:
		put_line(w, e, "rel", 'L', e->aux);
		break;
	case AM_WAKE:
		put_line(w, e, "acq", 'L', e->aux);
		break;
	case AM_FORK:
		put_line(w, e, "fork", 'T', e->object);
		break;
	case AM_JOIN:
		put_line(w, e, "join", 'T', e->object);
		break;
	case AM_BEGIN:
		put_line(w, e, "begin", 'S', e->object);
		break;
	case AM_END:
		put_line(w, e, "end", 'S', e->object);
		break;
	case AM_NAME:
		return learn(w, e->object, e->aux);
	default:
		w->skipped++;
		break;
	}
	return true;
}
