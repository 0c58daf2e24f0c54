/*
 * The check sink: merges the rings into one order that happened and hands each event to the live
 * checker. Runs in the consumer; memory from am_mem, never the application's.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "atommon/mem.h"
#include "atommon/merge.h"
#include "preload/area.h"
#include "preload/holes.h"
#include "preload/runtime.h"
#include "preload/sink.h"

static struct {
	struct am_mem merge_mem, live_mem, table_mem;
	struct am_merge *merge;
	struct am_event *place; /* where the next event is made; NULL: in the merge's own */
	uint64_t events;
	bool is_passing; /* in the middle of a pass: am_drain_pump only feeds */
	/* am_live_tables */
	struct am_tables tables;
	const char **string;
	struct am_module *module;
	struct am_site *site;
	struct am_thread *thread;
	size_t string_cap, module_cap, site_cap, thread_cap;
} check;

int am_sink_exit_status = -1;

__attribute__((weak)) bool am_live_open(struct am_mem *mem)
{
	(void)mem;
	return true;
}

__attribute__((weak)) void am_live_event(void *ctx, const struct am_event *event)
{
	(void)ctx;
	(void)event;
}

__attribute__((weak)) struct am_event *am_live_place(void)
{
	return NULL;
}

__attribute__((weak)) void am_live_pass(void)
{
}

__attribute__((weak)) bool am_live_watch(uint64_t now_ms)
{
	(void)now_ms;
	return false;
}

__attribute__((weak)) void am_live_leaving(void)
{
}

__attribute__((weak)) int am_live_close(void)
{
	return -1;
}

static void place_next(void)
{
	struct am_event *place = am_live_place();

	if (place != check.place)
		am_merge_place(check.merge, check.place = place);
}

static void on_event(void *ctx, const struct am_event *event)
{
	am_live_event(ctx, event);
	place_next();
}

static void live_pass(void)
{
	am_live_pass();
	place_next();
}

static bool check_open(void)
{
	const uint64_t share = am_opt.mem_max / 8;

	if (!am_area_take(share * 5))
		return false;
	am_mem_init(&check.merge_mem, share);
	am_mem_init(&check.live_mem, share * 3);
	am_mem_init(&check.table_mem, share);
	check.merge = am_merge_new(&check.merge_mem, on_event, NULL);
	return check.merge && am_live_open(&check.live_mem);
}

static bool check_units(uint32_t thread, uint64_t position, const struct am_unit *units, size_t n)
{
	(void)position;
	if (am_merge_feed(check.merge, thread, units, n))
		return true;
	if (check.is_passing)
		return false;
	check.events += am_merge_run(check.merge);
	return am_merge_feed(check.merge, thread, units, n);
}

static uint64_t check_pass(void)
{
	check.is_passing = true;
	const uint64_t n = am_merge_run(check.merge);
	check.events += n;
	live_pass();
	check.is_passing = false;
	return n;
}

static bool check_watch(uint64_t now_ms)
{
	const bool is_held = am_live_watch(now_ms);

	place_next();
	return am_holes_look(check.merge, now_ms) || is_held;
}

static void check_unblock(void)
{
	am_merge_finish(check.merge);
}

static void check_close(void)
{
	am_merge_run(check.merge);
	am_merge_finish(check.merge);
	live_pass();
	am_sink_exit_status = am_live_close();
}

static void check_forget(void)
{
	memset(&check, 0, sizeof check);
	am_holes_forget();
	am_sink_exit_status = -1;
}

/* ---- tables for reports ---------------------------------------------------------------------- */

/* Room for n entries; keeps the content. False: stay with what there is. */
static bool grow(void **array, size_t *cap, size_t n, size_t bytes)
{
	if (n <= *cap)
		return true;
	const size_t more = n + n / 2 + 16;
	void *p = am_mem_resize(&check.table_mem, *array, *cap * bytes, more * bytes);
	if (!p)
		return false;
	*array = p;
	*cap = more;
	return true;
}

static void update_strings(void)
{
	const size_t n = am_ringtable_used(&am_area.file->strings);

	if (!grow((void **)&check.string, &check.string_cap, n, sizeof *check.string))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct am_ringstring *s = &am_area.strings[i];
		const bool is_there = __atomic_load_n(&s->length_plus_1, __ATOMIC_ACQUIRE) != 0;
		check.string[i] = is_there ? am_area.bytes + s->offset : "";
	}
	check.tables.string = check.string;
	check.tables.n_strings = n;
}

static void update_modules(void)
{
	const size_t n = am_ringtable_used(&am_area.file->modules);

	if (!grow((void **)&check.module, &check.module_cap, n, sizeof *check.module))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct am_ringmodule *row = &am_area.modules[i];
		struct am_module *m = &check.module[i];
		memset(m, 0, sizeof *m);
		m->path = "";
		if (!__atomic_load_n(&row->state, __ATOMIC_ACQUIRE))
			continue;
		m->path = row->path;
		m->base = row->base;
		m->start = row->start;
		m->end = row->end;
		memcpy(m->build_id, row->build_id, sizeof m->build_id);
		m->build_id_len = row->build_id_len;
		m->unloaded = row->state == 2;
	}
	check.tables.module = check.module;
	check.tables.n_modules = n;
}

static void update_sites(void)
{
	const size_t n = am_ringtable_used(&am_area.file->sites);

	if (!grow((void **)&check.site, &check.site_cap, n, sizeof *check.site))
		return;
	for (size_t i = check.tables.n_sites ? check.tables.n_sites - 1 : 0; i < n; i++) {
		const uint64_t *e = am_area.sites + i * am_area.site_words;
		struct am_site *s = &check.site[i];
		s->n_frames = (uint32_t)__atomic_load_n(e, __ATOMIC_ACQUIRE);
		for (uint32_t k = 0; k < s->n_frames && k < AM_FRAMES_MAX; k++)
			s->frame[k] = e[1 + k];
	}
	check.tables.site = check.site;
	check.tables.n_sites = n;
}

static void update_threads(void)
{
	const size_t n = am_ringtable_used(&am_area.file->threads);

	if (!grow((void **)&check.thread, &check.thread_cap, n, sizeof *check.thread))
		return;
	for (size_t i = 0; i < n; i++) {
		const struct am_ringthread *row = &am_area.threads[i];
		check.thread[i] = (struct am_thread){(uint32_t)i, row->parent, row->os_tid,
						     row->create_site, row->name};
	}
	check.tables.thread = check.thread;
	check.tables.n_threads = n;
}

const struct am_tables *am_live_tables(void)
{
	update_strings();
	update_modules();
	update_sites();
	update_threads();
	check.tables.command = am_area.file->command;
	check.tables.pid = am_area.file->pid;
	return &check.tables;
}

const struct am_sink_ops am_sink_check = {check_open,	 check_units, check_pass,  check_watch,
					  check_unblock, check_close, check_forget};
