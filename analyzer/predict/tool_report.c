/* What atommon-predict predicts, told; and schedule files. */
/* SPDX-License-Identifier: MIT */
#include "tool.h"

#include "schedule.h"

#include "analyzer/report/offline.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static void write_out(void *ctx, const char *bytes, size_t n)
{
	fwrite(bytes, 1, n, ((struct am_predict_tool *)ctx)->out);
}

static void complain(void *ctx, const char *message)
{
	(void)ctx;
	fprintf(stderr, "atommon-predict: %s\n", message);
}

static bool read_suppressions(struct am_predict_tool *j, struct am_suppressions *s)
{
	const time_t now = time(NULL);
	struct tm tm;

	localtime_r(&now, &tm);
	const uint32_t today = (uint32_t)((tm.tm_year + 1900) * 10000 + (tm.tm_mon + 1) * 100 + tm.tm_mday);
	for (unsigned i = 0; i < j->n_suppressions; i++) {
		FILE *f = fopen(j->suppressions[i], "r");
		VEC(char) text = {0};
		int c;
		if (!f) {
			fprintf(stderr, "atommon-predict: cannot read '%s': %s\n", j->suppressions[i],
				strerror(errno));
			return false;
		}
		while ((c = getc(f)) != EOF)
			*vec_push(&text) = (char)c;
		fclose(f);
		am_suppressions_parse(s, j->suppressions[i], text.at ? text.at : "", text.n, today,
				      complain, NULL);
		free(text.at);
	}
	return true;
}

static void write_schedule(struct am_predict_tool *j, const struct am_region_result *r, const char *id)
{
	const struct am_run_region *a = &j->loaded.run.region.at[r->region];
	const struct am_schedule_head head = {j->path, id, am_loaded_string(&j->loaded, a->name),
					      am_predict_model_name(r->model)};
	char path[4096];

	if (!j->witness_dir)
		return;
	if (mkdir(j->witness_dir, 0777) != 0 && errno != EEXIST) {
		fprintf(stderr, "atommon-predict: cannot make '%s': %s\n", j->witness_dir, strerror(errno));
		return;
	}
	snprintf(path, sizeof path, "%s/%s.schedule", j->witness_dir, id);
	FILE *out = fopen(path, "w");
	bool ok = out && am_schedule_write(&j->loaded.run, r, &head, am_loaded_site, &j->loaded, out);
	ok = out && fclose(out) == 0 && ok;
	if (!ok)
		fprintf(stderr, "atommon-predict: cannot write '%s': %s\n", path, strerror(errno));
}

/* A step of the witness, with the value it has there and not the recorded one. */
static struct am_event witness_event(const struct am_run *run, const struct am_region_result *r, uint32_t i)
{
	struct am_event e = *am_run_raw(run, r->witness[i]);

	if (e.kind != AM_READ && e.kind != AM_WRITE && e.kind != AM_UPDATE)
		return e;
	e.flags &= (uint8_t)~AM_HAS_VALUE;
	e.value = r->value[i];
	if (r->is_known[i])
		e.flags |= AM_HAS_VALUE;
	return e;
}

/*
 * A witness that begins inside the region leaves out how the region began: the eid of the first event
 * of the region's thread, its begin included, that ran before the witness; `*end` is the witness's
 * own first one.
 */
static uint32_t region_start(const struct am_run *run, const struct am_region_result *r, uint32_t *end)
{
	const struct am_run_region *a = &run->region.at[r->region];
	uint32_t first = a->first;

	for (*end = a->last + 1; first > 1; first--)
		if (am_run_raw(run, am_run_at(run, a->thread, first))->index <= a->begin_index)
			break;
	for (uint32_t i = 0; i < r->witness_n; i++) {
		const struct am_run_event *e = &run->event.at[r->witness[i]];
		if (e->thread == a->thread) {
			*end = e->eid;
			break;
		}
	}
	return first;
}

static void correct(struct am_access *x, const struct am_event *steps, uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (steps[i].index == x->index && steps[i].kind == x->kind) {
			x->value = steps[i].value;
			x->flags = steps[i].flags;
			return;
		}
}

static void report(struct am_predict_tool *j, struct am_reporter *reporter, const struct am_region_result *r)
{
	const struct am_run *run = &j->loaded.run;
	const struct am_violation *told = NULL;
	static struct am_cycle cycle;
	char moved[1024];

	if (!am_vpath_find(run, r->region, r->witness, r->witness_n, &cycle))
		return;
	am_schedule_moved(run, r, &cycle, moved, sizeof moved);
	uint32_t end, start = region_start(run, r, &end);
	const uint32_t before = start < end ? end - start : 0, n = before + r->witness_n;
	const struct am_event **events = am_xalloc(n, sizeof *events);
	struct am_event *steps = am_xalloc(n, sizeof *steps);
	for (uint32_t i = 0; i < n; i++) {
		if (i < before)
			steps[i] = *am_run_raw(run, am_run_at(run, run->region.at[r->region].thread, start + i));
		else
			steps[i] = witness_event(run, r, i - before);
		events[i] = &steps[i];
	}
	for (uint32_t i = 0; i < cycle.n_edges; i++) {
		correct(&cycle.edge[i].from, steps, n);
		correct(&cycle.edge[i].to, steps, n);
	}
	const struct am_witness witness = {
		.event = events,
		.n_events = n,
		.moved = moved,
		.model = am_predict_model_name(r->model),
		.status = r->model == AM_PREDICT_SYNC ? AM_POTENTIAL : AM_PREDICTED};
	if (am_reporter_cycle(reporter, &cycle, &witness, &told))
		j->reported++;
	if (told)
		write_schedule(j, r, told->id);
	free(events);
	free(steps);
}

bool am_tool_report_begin(struct am_predict_tool *j)
{
	static char next[4200]; /* the reporter keeps it */

	j->suppressed = am_suppressions_new(&j->loaded.mem);
	snprintf(next, sizeof next, "atommon-predict --witness-dir schedules %s", j->path);
	if (!j->suppressed || !read_suppressions(j, j->suppressed))
		return false;
	const struct am_reporter_config config = {
		.tables = &j->loaded.tables,
		.symbolizer = am_offline_symbolizer(j->loaded.symbols),
		.suppressions = j->suppressed,
		.format = j->format,
		.style = {.colour = j->out == stdout && isatty(1) && !getenv("NO_COLOR")},
		.out = {write_out, j},
		.max_reports = UINT32_MAX,
		.status = AM_PREDICTED,
		.next = j->witness_dir ? "" : next};
	j->reporter = am_reporter_new(&config, &j->loaded.mem);
	return j->reporter != NULL;
}

void am_tool_see(void *tool, const struct am_event *event)
{
	am_reporter_event(((struct am_predict_tool *)tool)->reporter, event);
}

void am_tool_report_window(struct am_predict_tool *j)
{
	for (uint32_t i = 0; i < j->loaded.run.region.n; i++)
		if (j->results[i].outcome == AM_OUT_PREDICTED)
			report(j, j->reporter, &j->results[i]);
}

void am_tool_report_end(struct am_predict_tool *j)
{
	am_reporter_finish(j->reporter);
	am_reporter_free(j->reporter);
	am_suppressions_free(j->suppressed);
	j->reporter = NULL;
}
