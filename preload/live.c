/*
 * The live checker: merged events in, reports out. Runs in the consumer (the drain thread, mostly);
 * hooks never come here. Nothing is printed when nothing is found.
 *
 *   merged event -> told -> regions -> waited -> vain -> summarised graph -> cycle -> vain -> waited -> reporter -> log
 *                                                   `-> full graph, with ATOMMON_VERIFY: both must say the same
 *
 * At the memory ceiling each stage degrades by itself; when the checker cannot even start, the
 * program goes on unwatched and one line says so.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "atommon/mem.h"
#include "atommon/regions.h"
#include "atommon/told.h"
#include "atommon/vain.h"
#include "atommon/waited.h"
#include "preload/area.h"
#include "preload/blocks.h"
#include "preload/live.h"
#include "preload/msg.h"
#include "preload/output.h"
#include "preload/path.h"
#include "preload/runtime.h"
#include "preload/sink.h"
#include "preload/statuspage.h"
#include "preload/symbolizer.h"

/* LOOK_ROOM: events behind an atomic read of which it is not known yet whether it will be made again. */
enum { BATCH = 128, LOOK_ROOM = 1 << 15, LOOK_MS = 50, WAITED_MS = 10000 };

static struct {
	struct am_mem *mem;
	struct am_mem twin_mem;
	struct am_told *translator;
	struct am_regions *regions;
	struct am_waited *waited;
	uint64_t looks_ms; /* since when a cycle waits for an attempt */
	uint64_t cycles, cycles_ms; /* those that were held back there and went on, and when that was seen to change */
	struct am_vain *vain;
	uint64_t held, held_ms; /* the first that is held back there, and since when it was seen to be */
	struct am_checker *checker;
	struct am_fullgraph *twin;
	struct am_reporter *reporter;
	struct am_suppressions *suppressions;
	struct am_tables tables; /* what the reporter sees; refreshed when it needs it */
	char next[1200];
	uint64_t events, threads;
	bool fast_found, twin_found; /* on this event */
	struct am_live_totals told;  /* already added to the status page */
	/* Events on their way to checker and reporter: many at a time cost less. */
	struct am_event batch[BATCH];
	uint32_t n_batch, n_reported;
	bool makes_events; /* the regions stage, and not only at a wait */
	bool is_in_place;  /* the event at hand is where it will stay in the batch */
} live;

/* ---- stages ---------------------------------------------------------------------------------- */

static void refresh(void *ctx)
{
	(void)ctx;
	live.tables = *am_live_tables();
}

/* The reporter sees an event when the checker is done with it: a free is told with its block still
 * known. */
static void report_until(uint64_t index)
{
	uint32_t i = live.n_reported;

	for (; i < live.n_batch && live.batch[i].index < index; i++)
		if (am_reporter_is_asked(&live.batch[i]))
			am_reporter_event(live.reporter, &live.batch[i]);
	live.n_reported = i;
}

static void on_cycle(void *ctx, const struct am_cycle *cycle)
{
	(void)ctx;
	live.fast_found = true;
	am_vain_cycle(live.vain, cycle);
}

/* One that rests on nothing that was in vain. */
static void on_sound_cycle(void *ctx, const struct am_cycle *cycle)
{
	(void)ctx;
	am_waited_cycle(live.waited, cycle);
}

/* Nor on words that threads wait on; perhaps some time later. */
static void on_judged_cycle(void *ctx, const struct am_cycle *cycle)
{
	(void)ctx;
	report_until(cycle->close_index);
	am_reporter_cycle(live.reporter, cycle, NULL, NULL);
}

static void on_new(void *ctx, const struct am_violation *v)
{
	(void)ctx;
	am_statuspage_add(&am_statuspage()->violations, 1);
	am_live_react(v);
}

static void on_twin_cycle(void *ctx, const struct am_cycle *cycle)
{
	(void)ctx;
	(void)cycle;
	live.twin_found = true;
}

/* Both must find the first violation at the same event. From then on they may differ: one has told
 * the cycle and goes on, the other keeps it for ever. */
static void verify(const struct am_event *event)
{
	struct am_checker_stats st;
	char line[200];

	am_fullgraph_event(live.twin, event);
	am_fullgraph_stats(live.twin, &st);
	const bool is_over = live.fast_found || live.twin_found || st.forgotten;
	if (live.fast_found != live.twin_found && !st.forgotten) {
		am_statuspage_add(&am_statuspage()->disagreements, 1);
		am_format(line, sizeof line,
			  "ATOMMON_VERIFY: the checkers disagree at event %u of thread %u: the fast one says %s, "
			  "the full graph %s; please report this",
			  event->index, (uint64_t)event->thread, live.fast_found ? "violation" : "none",
			  live.twin_found ? "violation" : "none");
		am_output_line(line);
	}
	if (is_over) {
		am_fullgraph_free(live.twin);
		live.twin = NULL;
		am_mem_destroy(&live.twin_mem);
	}
}

static void check_batch(void)
{
	am_drain_sign();
	am_checker_events(live.checker, live.batch, live.n_batch);
	report_until(UINT64_MAX);
	live.n_batch = live.n_reported = 0;
}

/* Where the next event may be made: a copy of what was just written in parts would cost more than all the
 * rest. Not where the regions stage makes many of its own. */
struct am_event *am_live_place(void)
{
	return live.twin || live.makes_events ? NULL : &live.batch[live.n_batch];
}

/* Behind the stages regions, waited and vain. */
static void check(void *ctx, const struct am_event *event)
{
	(void)ctx;
	if (am_is_waited_on(event))
		return;
	const bool is_next = event == &live.batch[live.n_batch];
	if (is_next || !(live.twin || live.is_in_place)) {
		if (!is_next)
			live.batch[live.n_batch] = *event;
		if (++live.n_batch == BATCH)
			check_batch();
		return;
	}
	/* With the twin; or made for the event that comes next and is already in its place. */
	check_batch();
	live.fast_found = live.twin_found = false;
	am_checker_event(live.checker, event);
	if (live.twin)
		verify(event);
	am_reporter_event(live.reporter, event);
}

void am_live_event(void *ctx, const struct am_event *event)
{
	struct am_event room;

	(void)ctx;
	if (am_told_is_asked(event) && !(event = am_told_event(live.translator, event, &room)))
		return;
	live.events++;
	if (event->kind == AM_THREAD_BEGIN)
		live.threads++;
	if (!live.makes_events)
		live.is_in_place = event == &live.batch[live.n_batch] && !am_vain_held(live.vain);
	am_regions_event(live.regions, event);
}

/* ---- life ------------------------------------------------------------------------------------ */

static bool open_log(void)
{
	char path[1024];
	const char *log = am_opt.log;

	if (strcmp(log, "stderr") != 0 && strcmp(log, "none") != 0) {
		if (!am_path_expand(path, sizeof path, log, 0)) {
			am_say("ATOMMON_LOG='%s': the name is too long; reports go to stderr", log);
			log = "stderr";
		} else
			log = path;
	}
	am_output_init(log, live.mem);
	return true;
}

static bool open_reporter(void)
{
	struct am_reporter_config config = {
		.tables = &live.tables,
		.refresh = refresh,
		.symbolizer = am_symbolizer_get(),
		.block = am_blocks_find,
		.suppressions = live.suppressions,
		.format = am_opt.format == AM_FORMAT_JSON ? AM_REPORT_JSON : AM_REPORT_TEXT,
		.style = am_output_style(),
		.out = {am_output_write, NULL},
		.flush = am_output_flush,
		.max_reports = am_opt.max_reports,
		.status = AM_OBSERVED,
		.model = "",
		.next = live.next,
		.on_new = on_new,
		.waits = am_opt.on_violation != AM_ON_CONTINUE, /* stop where it happened, not later */
	};

	if (am_opt.mode == AM_MODE_BOTH && am_area.file->trace[0]) {
		const bool is_plain = strcmp(am_opt.atomic, "marked") == 0;
		am_format(live.next, sizeof live.next, "atommon-predict %s%s%s%s",
			  is_plain ? "" : "--atomic '", is_plain ? "" : am_opt.atomic, is_plain ? "" : "' ",
			  am_area.file->trace);
		am_statuspage_trace(am_area.file->trace);
	}
	live.reporter = am_reporter_new(&config, live.mem);
	return live.reporter != NULL;
}

/* Nobody behind the regions asks when a function was entered or left. */
static void behind_regions(void *ctx, const struct am_event *event)
{
	(void)ctx;
	if (event->kind != AM_ENTER && event->kind != AM_LEAVE_FN)
		am_waited_event(live.waited, event);
}

static void behind_waited(void *ctx, const struct am_event *event)
{
	(void)ctx;
	am_vain_event(live.vain, event);
}

static bool open_regions(void)
{
	const struct am_vain_config vain = {.out = check, .on_cycle = on_sound_cycle, .room = LOOK_ROOM};
	const struct am_waited_config waited = {.out = behind_waited, .on_cycle = on_judged_cycle};

	live.makes_events = strcmp(am_opt.atomic, "marked") != 0;
	live.vain = am_vain_new(&vain, live.mem);
	const struct am_regions_config config = {.atomic = am_opt.atomic, .out = behind_regions};
	live.waited = am_waited_new(&waited, live.mem);
	live.regions = live.vain && live.waited ? am_regions_new(&config, live.mem) : NULL;
	return live.regions != NULL;
}

static bool open_checkers(void)
{
	struct am_checker_config config = {.conflicts = (enum am_conflicts)am_opt.conflicts,
					   .on_cycle = on_cycle};

	live.checker = am_checker_new(&config, live.mem);
	if (!live.checker)
		return false;
	if (am_opt.verify) {
		config.on_cycle = on_twin_cycle;
		am_mem_init(&live.twin_mem, am_opt.mem_max);
		live.twin = am_fullgraph_new(&config, &live.twin_mem);
		if (!live.twin)
			am_output_line("ATOMMON_VERIFY: no memory for the full graph; going on without");
	}
	return true;
}

bool am_live_open(struct am_mem *mem)
{
	memset(&live, 0, sizeof live);
	live.mem = mem;
	am_symbolizer_stop(); /* of the parent, after a fork */
	am_symbolizer_init(am_first_getenv("ATOMMON_SYMBOLIZER"), mem);
	am_symbolizer_meanwhile(am_drain_pump);
	open_log();
	am_live_settings();
	live.suppressions = am_live_suppressions(mem);
	live.translator = am_told_new(mem);
	if (!live.translator || !open_regions() || !open_checkers() || !open_reporter())
		return false;
	__atomic_add_fetch(&am_statuspage()->checked, 1, __ATOMIC_RELAXED);
	return true;
}

/* Counters since the last time, for the launcher. */
static void publish(void)
{
	struct am_statuspage *page = am_statuspage();
	struct am_live_totals t = {.events = live.events, .threads = live.threads};

	am_checker_stats(live.checker, &t.checker);
	am_reporter_stats(live.reporter, &t.reporter);
	t.memory = live.mem->peak;
	am_statuspage_add(&page->events, t.events - live.told.events);
	am_statuspage_add(&page->threads, t.threads - live.told.threads);
	am_statuspage_add(&page->regions, t.checker.regions - live.told.checker.regions);
	am_statuspage_add(&page->lost, t.checker.lost - live.told.checker.lost);
	am_statuspage_add(&page->repeats, t.reporter.repeats - live.told.reporter.repeats);
	am_statuspage_add(&page->suppressed, t.reporter.suppressed - live.told.reporter.suppressed);
	live.told = t;
}

void am_live_pass(void)
{
	if (!live.reporter)
		return;
	if (live.events != live.told.events) {
		check_batch();
		publish();
	}
	am_reporter_settle(live.reporter, false);
}

/* A region that does not end, of a cycle that waits for an attempt in it (atommon/vain.h). */
static bool watch_looks(uint64_t now_ms)
{
	if (!live.vain || !am_vain_waits(live.vain) || !live.looks_ms)
		live.looks_ms = now_ms;
	if (live.vain && now_ms - live.looks_ms >= WAITED_MS) {
		am_vain_settle(live.vain);
		live.looks_ms = now_ms;
	}
	return live.vain && am_vain_waits(live.vain);
}

/* The same of one that waits for the end. */
static bool watch_cycles(uint64_t now_ms)
{
	const uint64_t settled = live.waited ? am_waited_settled(live.waited) : 0;

	if (!live.waited || !am_waited_holds(live.waited) || settled != live.cycles || !live.cycles_ms)
		live.cycles_ms = now_ms;
	live.cycles = settled;
	if (live.waited && now_ms - live.cycles_ms >= WAITED_MS)
		am_waited_hurry(live.waited);
	return live.waited && am_waited_holds(live.waited);
}

/* What is held back for a thread that does nothing goes on after a while; reports wait for names. True: look again. */
bool am_live_watch(uint64_t now_ms)
{
	const uint64_t held = live.vain ? am_vain_held(live.vain) : 0;
	const bool is_waiting = live.reporter && am_reporter_settle(live.reporter, false);

	const bool has_looks = watch_looks(now_ms), has_cycles = watch_cycles(now_ms) || has_looks;

	if (held != live.held)
		live.held_ms = now_ms;
	live.held = held;
	if (!held || now_ms - live.held_ms < LOOK_MS)
		return held || is_waiting || has_cycles;
	am_vain_hurry(live.vain);
	check_batch();
	publish();
	return is_waiting || has_cycles;
}

static void name_unused(void *ctx, const char *message)
{
	(void)ctx;
	am_output_line(message);
}

void am_live_leaving(void)
{
	am_symbolizer_last();
}

int am_live_close(void)
{
	if (!live.reporter)
		return -1;
	am_vain_hurry(live.vain);
	check_batch();
	am_vain_finish(live.vain);
	am_waited_hurry(live.waited);
	am_reporter_settle(live.reporter, true);
	publish();
	am_reporter_finish(live.reporter);
	if (am_opt.verbose >= 1) {
		am_live_summary(&live.told);
		if (live.suppressions)
			am_suppressions_usage(live.suppressions, am_opt.verbose < 2, name_unused, NULL);
	}
	am_symbolizer_stop();
	return am_opt.exitcode && live.told.reporter.distinct ? (int)am_opt.exitcode : -1;
}
