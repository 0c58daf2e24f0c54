/* Schedules for people and for a forced re-run. Runs in tools; writes only to the stream it is given. */
/* SPDX-License-Identifier: MIT */
#include "schedule.h"

#include <string.h>

/* The event of the run that this access is. (Markers of made regions share positions.) */
static uint32_t find(const struct am_run *run, const struct am_access *x)
{
	const uint64_t index = x->index;
	uint32_t low = 0, high = run->event.n;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (am_run_raw(run, mid)->index < index)
			low = mid + 1;
		else
			high = mid;
	}
	while (low < run->event.n && am_run_raw(run, low)->kind != x->kind)
		low++;
	return low < run->event.n ? low : AM_NONE;
}

void am_schedule_moved(const struct am_run *run, const struct am_region_result *r,
		       const struct am_cycle *cycle, char *buf, size_t size)
{
	const struct am_run_region *a = &run->region.at[r->region];
	const uint32_t first = find(run, &cycle->edge[0].from);
	const uint32_t last = find(run, &cycle->edge[cycle->n_edges - 1].to);
	size_t at = 0;

	buf[0] = 0;
	for (uint32_t i = 0; i < cycle->n_edges && at < size; i++) {
		const struct am_access *x = &cycle->edge[i].to;
		const uint32_t e = find(run, x);
		if (e == AM_NONE || run->event.at[e].thread == a->thread || (e > first && e < last))
			continue;
		const int n = snprintf(buf + at, size - at,
				       "%s%s of T%u (event %lu of the trace) runs inside the region; it was "
				       "recorded %s it",
				       at ? "; the " : "the ", am_kind_name(x->kind), x->thread,
				       (unsigned long)x->index, e < first ? "before" : "after");
		at += n > 0 ? (size_t)n : 0;
	}
	if (!at)
		snprintf(buf, size, "events inside the region run in another order");
}

static const char *mode_of(const struct am_event *raw)
{
	const bool is_lock = raw->kind == AM_ACQUIRE || raw->kind == AM_RELEASE;
	return is_lock && raw->mode == AM_SHARED ? " shared" : "";
}

static void print_object(const struct am_run *run, const struct am_event *raw, FILE *out)
{
	(void)run;
	switch (raw->kind) {
	case AM_FORK:
	case AM_JOIN:
	case AM_THREAD_BEGIN:
	case AM_THREAD_END:
		fprintf(out, "T%lu", (unsigned long)raw->object);
		break;
	case AM_WAIT:
	case AM_WAKE:
		fprintf(out, "%#lx mutex %#lx", (unsigned long)raw->object, (unsigned long)raw->aux);
		break;
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
		fprintf(out, "%#lx size %u", (unsigned long)raw->object, raw->size);
		break;
	default:
		fprintf(out, "%#lx%s", (unsigned long)raw->object, mode_of(raw));
		break;
	}
}

bool am_schedule_write(const struct am_run *run, const struct am_region_result *r,
		       const struct am_schedule_head *head, am_site_fn *site, void *ctx, FILE *out)
{
	fprintf(out, "atommon-schedule 1\n");
	fprintf(out, "trace %s\nid %s\nregion %s\nmodel %s\n", head->trace, head->id, head->region,
		head->model);
	for (uint32_t t = 0; t < run->n_threads; t++)
		if (r->from[t] > 1)
			fprintf(out, "before T%u %u\n", run->thread[t].id, r->from[t] - 1);
	for (uint32_t i = 0; i < r->witness_n; i++) {
		const uint32_t e = r->witness[i];
		const struct am_event *raw = am_run_raw(run, e);
		const char *where = site(ctx, raw->site);
		fprintf(out, "step %u T%u %u %s ", i + 1, raw->thread, run->event.at[e].eid,
			am_kind_name(raw->kind));
		print_object(run, raw, out);
		fprintf(out, "%s%s\n", *where ? " @ " : "", where);
	}
	fprintf(out, "end %u\n", r->witness_n);
	return !ferror(out);
}
