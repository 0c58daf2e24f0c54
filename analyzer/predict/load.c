/* Reads a trace for the predictor: source, region stage, checker of the recorded run, windows. */
/* SPDX-License-Identifier: MIT */
#include "load.h"

#include "unused.h"
#include "window.h"

#include "atommon/options.h"
#include "atommon/regions.h"
#include "atommon/vain.h"
#include "atommon/waited.h"

#include <stdlib.h>
#include <string.h>

enum { LOOK_ROOM = 1 << 18 };

struct am_reading {
	struct am_loaded *l;
	const char *atomic;
	bool is_recorded; /* only functions that were named when recording */
	struct am_regions *regions;
	struct am_waited *waited;
	struct am_vain *vain;
	struct am_checker *checker;
	struct am_source *again;     /* second reading, of a long trace */
	VEC(struct am_event) events; /* of a short one, as read */
	VEC(struct am_event) words;  /* that threads wait on */
	uint32_t next;
	VEC(struct am_event) kept; /* with regions, from the begin of the next window on */
	struct am_window window;
	uint32_t limit, windows;
	bool is_at_end, is_lost;
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

/* A function that a fn: glob names; recorded entries carry an address, or a name already. */
static uint32_t function_region(void *ctx, const struct am_event *enter)
{
	struct am_reading *s = ctx;
	struct am_frame frame;

	if (s->is_recorded || (enter->aux && enter->aux < s->l->tables.n_strings))
		return s->is_recorded || am_glob_function(s->atomic, am_loaded_string(s->l, (uint32_t)enter->aux))
			       ? (uint32_t)enter->aux
			       : 0;
	if (!am_symbols_frames(s->l->symbols, &s->l->tables, enter->object, false, &frame, 1) ||
	    !frame.function || !am_glob_function(s->atomic, frame.function))
		return 0;
	return add_name(s->l, frame.function);
}

/* ---- stages --------------------------------------------------------------------------------------------- */

static void on_cycle(void *ctx, const struct am_cycle *cycle)
{
	am_vain_cycle(((struct am_reading *)ctx)->vain, cycle);
}

static void on_sound_cycle(void *ctx, const struct am_cycle *cycle)
{
	am_waited_cycle(((struct am_reading *)ctx)->waited, cycle);
}

static void on_judged_cycle(void *ctx, const struct am_cycle *cycle)
{
	struct am_loaded *l = ((struct am_reading *)ctx)->l;

	l->n_observed++;
	for (uint32_t i = 0; i < l->observed.n; i++)
		if (l->observed.at[i].thread == cycle->thread &&
		    l->observed.at[i].begin_index == cycle->begin_index)
			return;
	*vec_push(&l->observed) = *cycle;
}

/* The inside of a lock orders what it orders, and breaks nothing. */
static void keep_waited_on(struct am_reading *s, const struct am_event *event)
{
	struct am_event *e = vec_push(&s->kept);

	*e = *event;
	e->mode = 0;
	e->order |= AM_ORDER_AGAIN;
}

static void on_event(void *ctx, const struct am_event *event)
{
	struct am_reading *s = ctx;

	if (am_is_waited_on(event)) {
		keep_waited_on(s, event);
		return;
	}
	am_checker_event(s->checker, event);
	*vec_push(&s->kept) = *event;
	s->is_lost |= event->kind == AM_LOST;
}

static void behind_regions(void *ctx, const struct am_event *event)
{
	am_waited_event(((struct am_reading *)ctx)->waited, event);
}

static void behind_waited(void *ctx, const struct am_event *event)
{
	am_vain_event(((struct am_reading *)ctx)->vain, event);
}

/* A read in vain is no access of its region. One whose expression is used later stays what it is. */
static void on_vain(void *ctx, const struct am_event *event)
{
	struct am_reading *s = ctx;

	if (event->expr && !s->again && am_is_waited_on(event)) {
		keep_waited_on(s, event);
	} else if (event->expr && !s->again) {
		*vec_push(&s->kept) = *event;
		s->kept.at[s->kept.n - 1].mode = AM_UNUSED_MARK;
	}
}

/* The same, found out when it was kept already. */
static void on_undo(void *ctx, uint64_t index)
{
	struct am_reading *s = ctx;

	for (uint32_t i = s->kept.n; i-- > 0 && s->kept.at[i].index >= index;) {
		struct am_event *e = &s->kept.at[i];
		if (e->index != index || e->kind != AM_READ)
			continue;
		if (e->expr && !s->again)
			e->mode = AM_UNUSED_MARK;
		else /* nothing that anybody looks at */
			*e = (struct am_event){.index = index, .thread = e->thread, .kind = AM_CLOCK};
		return;
	}
}

static bool is_access(uint8_t kind)
{
	return kind == AM_READ || kind == AM_WRITE || kind == AM_UPDATE;
}

static void look(struct am_loaded *l, const struct am_event *event)
{
	if (am_tells_waited(event))
		*vec_push(&l->reading->words) = *event;
	l->has_accesses |= is_access(event->kind);
	l->has_functions |= event->kind == AM_ENTER;
	if (l->outline)
		am_outline_add(l->outline, event);
}

static bool make_stages(struct am_reading *s)
{
	struct am_loaded *l = s->l;
	const struct am_checker_config check = {
		.conflicts = l->has_accesses ? AM_CONFLICTS_DATA : AM_CONFLICTS_LOCKS,
		.on_cycle = on_cycle,
		.ctx = s};
	const struct am_regions_config config = {.atomic = s->atomic, .out = behind_regions, .out_ctx = s,
						 .function = function_region, .ctx = s};
	const struct am_vain_config vain = {.out = on_event, .drop = on_vain, .undo = on_undo, .ctx = s,
					    .on_cycle = on_sound_cycle, .cycle_ctx = s, .room = LOOK_ROOM,
					    .keeps_settled = true};

	const struct am_waited_config waited = {.out = behind_waited, .ctx = s, .on_cycle = on_judged_cycle, .cycle_ctx = s, .keeps = true};

	s->waited = am_waited_new(&waited, &l->mem);
	for (uint32_t i = 0; s->waited && i < s->words.n; i++)
		am_waited_learn(s->waited, &s->words.at[i]);
	s->vain = am_vain_new(&vain, &l->mem);
	s->checker = am_checker_new(&check, &l->mem);
	s->regions = am_regions_new(&config, &l->mem);
	return s->vain && s->waited && s->checker && s->regions;
}

/* ---- reading --------------------------------------------------------------------------------------------- */

static bool fail(struct am_loaded *l, const char *why)
{
	snprintf(l->error, sizeof l->error, "%s", why);
	return false;
}

/* Up to the limit into memory; if there is more, all of it into the outline. */
static bool read_first(struct am_reading *s)
{
	struct am_loaded *l = s->l;
	struct am_event event;
	int r;

	while ((r = am_source_next(l->source, &event)) > 0) {
		if (!l->outline && s->events.n == s->limit) {
			l->outline = am_outline_new();
			for (uint32_t i = 0; i < s->events.n; i++)
				am_outline_add(l->outline, &s->events.at[i]);
			free(s->events.at);
			memset(&s->events, 0, sizeof s->events);
		}
		look(l, &event);
		if (!l->outline)
			*vec_push(&s->events) = event;
	}
	return r == 0 || fail(l, am_source_error(l->source));
}

/* Of a long run neither what one thread has to itself is kept, nor what only exact models need. */
static bool is_left_out(const struct am_reading *s, const struct am_event *event)
{
	switch (event->kind) {
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
		return !am_outline_is_shared(s->l->outline, event);
	case AM_EXPR:
	case AM_PIN:
	case AM_BRANCH:
	case AM_CALL:
	case AM_UNTAKEN:
		return true;
	default:
		return false;
	}
}

/* The next event that counts. */
static int read_next(struct am_reading *s, struct am_event *event)
{
	int r;

	if (!s->again) {
		if (s->next >= s->events.n)
			return 0;
		*event = s->events.at[s->next++];
		return 1;
	}
	do
		r = am_source_next(s->again, event);
	while (r > 0 && is_left_out(s, event));
	if (r < 0)
		fail(s->l, am_source_error(s->again));
	return r;
}

bool am_loaded_open(struct am_loaded *l, const char *path, const char *atomic, uint32_t limit)
{
	memset(l, 0, sizeof *l);
	am_mem_init(&l->mem, 0);
	l->symbols = am_symbols_new();
	struct am_reading *s = l->reading = am_xalloc(1, sizeof *s);
	*s = (struct am_reading){.l = l, .atomic = atomic ? atomic : "marked,fn:*", .is_recorded = !atomic,
				 .limit = limit};
	l->source = am_source_open(path, NULL, l->error);
	if (!l->source || !read_first(s))
		return false;
	l->tables = *am_source_tables(l->source);
	for (size_t i = 0; i < l->tables.n_strings; i++)
		*vec_push(&l->strings) = l->tables.string[i];
	if (l->outline && !(s->again = am_source_open(path, NULL, l->error)))
		return false;
	return make_stages(s) || fail(l, "out of memory");
}

/* ---- windows --------------------------------------------------------------------------------------------- */

/* Behind a hole regions are only counted. */
static void count_lost(struct am_reading *s)
{
	struct am_event event;

	while (read_next(s, &event) > 0) {
		s->kept.n = 0;
		am_regions_event(s->regions, &event);
		for (uint32_t i = 0; i < s->kept.n; i++)
			s->l->run.regions_lost += s->kept.at[i].kind == AM_BEGIN;
	}
}

static bool fill(struct am_reading *s, am_event_fn *seen, void *ctx)
{
	struct am_event event;
	int r = 1;

	while (!s->is_lost && (!s->again || s->kept.n < s->limit) && (r = read_next(s, &event)) > 0) {
		if (seen)
			seen(ctx, &event);
		am_regions_event(s->regions, &event);
		if (event.kind == AM_LOST) /* nothing behind it may come with it */
			am_vain_hurry(s->vain);
	}
	if (r <= 0) {
		am_vain_finish(s->vain);
		am_waited_hurry(s->waited);
	}
	s->is_at_end = r <= 0 || s->is_lost;
	if (s->next == s->events.n) {
		free(s->events.at);
		memset(&s->events, 0, sizeof s->events);
		s->next = 0;
	}
	return r >= 0;
}

/* The first half goes; what lasts of it comes before the rest. */
static void move_on(struct am_reading *s)
{
	const uint32_t half = s->limit / 2;

	for (uint32_t i = 0; i < half; i++)
		am_window_pass(&s->window, &s->kept.at[i]);
	memmove(s->kept.at, s->kept.at + half, (s->kept.n - half) * sizeof *s->kept.at);
	s->kept.n -= half;
}

static void build(struct am_reading *s)
{
	struct am_run *run = &s->l->run;
	const uint32_t before = s->window.live.n;

	am_unused_replace(s->kept.at, s->kept.n);
	am_run_init(run);
	run->shows_accesses = s->l->has_accesses;
	run->is_cut = s->windows > 1 || (s->again && !s->is_at_end);
	for (uint32_t i = 0; i < before; i++)
		am_run_add(run, &s->window.live.at[i]);
	if (s->is_at_end && !s->is_lost && !before) { /* nobody needs them any more: no copy */
		am_run_take(run, s->kept.at, s->kept.n);
		memset(&s->kept, 0, sizeof s->kept);
	}
	for (uint32_t i = 0; i < s->kept.n; i++)
		am_run_add(run, &s->kept.at[i]);
	am_run_finish(run);
	for (uint32_t e = 0; e < before && e < run->event.n; e++)
		run->thread[run->event.at[e].thread].settled = run->event.at[e].eid;
}

bool am_loaded_is_over(const struct am_loaded *l)
{
	return l->reading->windows && l->reading->is_at_end;
}

bool am_loaded_next(struct am_loaded *l, am_event_fn *seen, void *ctx)
{
	struct am_reading *s = l->reading;

	if (am_loaded_is_over(l))
		return false;
	if (s->windows++)
		move_on(s);
	if (!fill(s, seen, ctx))
		return false;
	l->core_from = l->core_to;
	l->core_to = s->is_at_end ? UINT64_MAX : s->kept.at[s->limit / 4 * 3].index;
	am_run_free(&l->run);
	build(s);
	if (s->is_lost)
		count_lost(s);
	return true;
}

void am_loaded_close(struct am_loaded *l)
{
	am_run_free(&l->run);
	for (uint32_t i = 0; i < l->names.n; i++)
		free(l->names.at[i]);
	free(l->names.at);
	free(l->strings.at);
	free(l->observed.at);
	am_outline_free(l->outline);
	if (l->reading) {
		if (l->reading->regions)
			am_regions_free(l->reading->regions);
		if (l->reading->waited)
			am_waited_free(l->reading->waited);
		if (l->reading->vain)
			am_vain_free(l->reading->vain);
		if (l->reading->checker)
			am_checker_free(l->reading->checker);
		if (l->reading->again)
			am_source_close(l->reading->again);
		am_window_free(&l->reading->window);
		free(l->reading->events.at);
		free(l->reading->words.at);
		free(l->reading->kept.at);
		free(l->reading);
	}
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
