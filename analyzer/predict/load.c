/* Reads a trace for the predictor: source, region stage, checker of the recorded run. */
/* SPDX-License-Identifier: MIT */
#include "load.h"

#include "atommon/options.h"
#include "atommon/regions.h"

#include <stdlib.h>
#include <string.h>

struct stage {
	struct am_loaded *l;
	const char *atomic;
	bool is_recorded; /* only functions that were named when recording */
	struct am_checker *checker;
	uint64_t index;
};

/* ---- names --------------------------------------------------------------------------------------------- */

static uint32_t add_name(struct am_loaded *l, const char *text)
{
	for (uint32_t i = 0; i < l->names.n; i++)
		if (!strcmp(l->names.at[i], text))
			return l->strings.n - l->names.n + i;
	char *copy = strdup(text);
	*vec_push(&l->names) = copy;
	*vec_push(&l->strings) = copy;
	l->tables.string = l->strings.at;
	l->tables.n_strings = l->strings.n;
	return l->strings.n - 1;
}

static bool is_wanted(const char *atomic, const char *function)
{
	char glob[512];

	while (*atomic) {
		const size_t n = strcspn(atomic, ",");
		if (n > 3 && n < sizeof glob && !memcmp(atomic, "fn:", 3)) {
			memcpy(glob, atomic + 3, n - 3);
			glob[n - 3] = 0;
			if (am_glob(glob, function))
				return true;
		}
		atomic += n + (atomic[n] == ',');
	}
	return false;
}

/* A function that a fn: glob names; recorded entries carry an address, or a name already. */
static uint32_t function_region(void *ctx, const struct am_event *enter)
{
	struct stage *s = ctx;
	struct am_frame frame;

	if (s->is_recorded || (enter->aux && enter->aux < s->l->tables.n_strings))
		return s->is_recorded || is_wanted(s->atomic, am_loaded_string(s->l, (uint32_t)enter->aux))
			       ? (uint32_t)enter->aux
			       : 0;
	if (!am_symbols_frames(s->l->symbols, &s->l->tables, enter->object, false, &frame, 1) ||
	    !frame.function || !is_wanted(s->atomic, frame.function))
		return 0;
	return add_name(s->l, frame.function);
}

/* ---- stages --------------------------------------------------------------------------------------------- */

static void on_cycle(void *ctx, const struct am_cycle *cycle)
{
	struct stage *s = ctx;

	s->l->n_observed++;
	for (uint32_t i = 0; i < s->l->observed.n; i++)
		if (s->l->observed.at[i].thread == cycle->thread &&
		    s->l->observed.at[i].begin_index == cycle->begin_index)
			return;
	*vec_push(&s->l->observed) = *cycle;
}

static void on_event(void *ctx, const struct am_event *event)
{
	struct stage *s = ctx;

	if (s->checker)
		am_checker_event(s->checker, event);
	am_run_add(&s->l->run, event);
}

static bool has_accesses(const struct am_loaded *l)
{
	for (uint32_t i = 0; i < l->events.n; i++) {
		const uint8_t kind = l->events.at[i].kind;
		if (kind == AM_READ || kind == AM_WRITE || kind == AM_UPDATE)
			return true;
	}
	return false;
}

static bool run_stages(struct am_loaded *l, const char *atomic)
{
	struct stage s = {.l = l, .atomic = atomic ? atomic : "marked,fn:*", .is_recorded = !atomic};
	const struct am_checker_config check = {
		.conflicts = has_accesses(l) ? AM_CONFLICTS_DATA : AM_CONFLICTS_LOCKS,
		.on_cycle = on_cycle,
		.ctx = &s};
	const struct am_regions_config config = {.atomic = s.atomic, .out = on_event, .out_ctx = &s,
						 .function = function_region, .ctx = &s};

	s.checker = am_checker_new(&check, &l->mem);
	struct am_regions *regions = am_regions_new(&config, &l->mem);
	if (!s.checker || !regions)
		return false;
	for (uint32_t i = 0; i < l->events.n; i++)
		am_regions_event(regions, &l->events.at[i]);
	am_regions_free(regions);
	am_checker_free(s.checker);
	return true;
}

bool am_loaded_open(struct am_loaded *l, const char *path, const char *atomic)
{
	struct am_event event;
	int r;

	memset(l, 0, sizeof *l);
	am_mem_init(&l->mem, 0);
	am_run_init(&l->run);
	l->symbols = am_symbols_new();
	l->source = am_source_open(path, NULL, l->error);
	if (!l->source)
		return false;
	while ((r = am_source_next(l->source, &event)) > 0)
		*vec_push(&l->events) = event;
	if (r < 0) {
		snprintf(l->error, sizeof l->error, "%s", am_source_error(l->source));
		return false;
	}
	l->tables = *am_source_tables(l->source);
	for (size_t i = 0; i < l->tables.n_strings; i++)
		*vec_push(&l->strings) = l->tables.string[i];
	if (!run_stages(l, atomic)) {
		snprintf(l->error, sizeof l->error, "out of memory");
		return false;
	}
	am_run_finish(&l->run);
	return true;
}

void am_loaded_close(struct am_loaded *l)
{
	am_run_free(&l->run);
	for (uint32_t i = 0; i < l->names.n; i++)
		free(l->names.at[i]);
	free(l->names.at);
	free(l->strings.at);
	free(l->events.at);
	free(l->observed.at);
	if (l->source)
		am_source_close(l->source);
	am_symbols_free(l->symbols);
	am_mem_destroy(&l->mem);
}

bool am_loaded_is_observed(const struct am_loaded *l, uint32_t region)
{
	const struct am_run_region *a = &l->run.region.at[region];

	for (uint32_t i = 0; i < l->observed.n; i++)
		if (l->observed.at[i].thread == l->run.thread[a->thread].id &&
		    l->observed.at[i].begin_index == a->begin_index)
			return true;
	return false;
}

const char *am_loaded_string(const struct am_loaded *l, uint32_t id)
{
	return id < l->tables.n_strings && l->tables.string[id] ? l->tables.string[id] : "";
}

const char *am_loaded_site(void *loaded, uint32_t site)
{
	static char buf[512];
	struct am_loaded *l = loaded;

	buf[0] = 0;
	if (!site)
		return buf;
	const char *words = am_symbols_site(l->symbols, &l->tables, site, buf, sizeof buf);
	return words ? words : "";
}
