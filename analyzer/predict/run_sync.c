/*
 * Synchronisation of the recorded run: which object an event means, counts that the trace does not tell,
 * orders that every schedule keeps. Runs in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "run_priv.h"

#include <stdlib.h>
#include <string.h>

static int by_u64(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
	return x < y ? -1 : x > y;
}

uint32_t am_run_find(const uint64_t *at, uint32_t n, uint64_t key)
{
	uint32_t low = 0, high = n;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (at[mid] < key)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}

uint32_t am_run_sort(uint64_t *at, uint32_t n)
{
	uint32_t out = 0;

	qsort(at, n, sizeof *at, by_u64);
	for (uint32_t i = 0; i < n; i++)
		if (!out || at[out - 1] != at[i])
			at[out++] = at[i];
	return out;
}

static bool has_object(uint8_t kind)
{
	return (kind >= AM_ACQUIRE && kind <= AM_ONCE_END) || kind == AM_INIT || kind == AM_DESTROY;
}

/* A wait on a recursive mutex held more than once keeps it (aux 0). */
static bool releases_mutex(const struct am_event *raw)
{
	return (raw->kind == AM_WAIT || raw->kind == AM_WAKE) && raw->aux;
}

/* One id per address and lifetime: init makes a new object. */
void am_run_number_objects(struct am_run *run)
{
	const uint32_t n = run->raw.n;
	uint64_t *addresses = am_xalloc(2 * (size_t)n + 1, sizeof *addresses);
	uint32_t m = 0;

	for (uint32_t e = 0; e < n; e++) {
		const struct am_event *raw = &run->raw.at[e];
		if (has_object(raw->kind))
			addresses[m++] = raw->object;
		if (releases_mutex(raw))
			addresses[m++] = raw->aux;
	}
	m = am_run_sort(addresses, m);
	uint32_t *now = am_xalloc(m, sizeof *now);
	memset(now, 0xff, m * sizeof *now);
	for (uint32_t e = 0; e < n; e++) {
		const struct am_event *raw = &run->raw.at[e];
		struct am_run_event *r = &run->event.at[e];
		if (!has_object(raw->kind))
			continue;
		uint32_t *id = &now[am_run_find(addresses, m, raw->object)];
		if (*id == AM_NONE || raw->kind == AM_INIT) {
			*id = run->object.n;
			*vec_push(&run->object) = (struct am_run_object){
				.address = raw->object,
				.kind = raw->kind == AM_INIT ? raw->mode : 0,
				.initial = raw->kind == AM_INIT ? (uint32_t)raw->aux : AM_NONE};
		}
		r->object = *id;
		if (releases_mutex(raw)) {
			id = &now[am_run_find(addresses, m, raw->aux)];
			if (*id == AM_NONE) {
				*id = run->object.n;
				*vec_push(&run->object) = (struct am_run_object){
					.address = raw->aux, .initial = AM_NONE};
			}
			r->mutex = *id;
		}
	}
	free(now);
	free(addresses);
}

/* Semaphores and barriers whose init the trace did not see: the smallest count that the recorded
 * order needs. Fewer tokens allow fewer schedules, so this errs on the safe side. */
void am_run_derive_counts(struct am_run *run)
{
	const uint32_t n = run->object.n;
	int64_t *balance = am_xalloc(n, sizeof *balance), *low = am_xalloc(n, sizeof *low);
	uint32_t *inside = am_xalloc(n, sizeof *inside), *most = am_xalloc(n, sizeof *most);

	for (uint32_t e = 0; e < run->event.n; e++) {
		const uint32_t o = run->event.at[e].object;
		switch (run->raw.at[e].kind) {
		case AM_POST:
			balance[o]++;
			break;
		case AM_TAKE:
			if (--balance[o] < low[o])
				low[o] = balance[o];
			break;
		case AM_ARRIVE:
			if (++inside[o] > most[o])
				most[o] = inside[o];
			break;
		case AM_LEAVE:
			inside[o] -= inside[o] > 0;
			break;
		default:
			break;
		}
		if (o == AM_NONE)
			continue;
		const uint8_t kind = run->raw.at[e].kind;
		if (!run->object.at[o].kind && (kind == AM_POST || kind == AM_TAKE))
			run->object.at[o].kind = AM_OBJ_SEM;
		if (!run->object.at[o].kind && (kind == AM_ARRIVE || kind == AM_LEAVE))
			run->object.at[o].kind = AM_OBJ_BARRIER;
	}
	for (uint32_t o = 0; o < n; o++) {
		struct am_run_object *object = &run->object.at[o];
		if (object->kind == AM_OBJ_SEM &&
		    (object->initial == AM_NONE || (int64_t)object->initial < -low[o]))
			object->initial = (uint32_t)-low[o];
		if (object->kind == AM_OBJ_BARRIER && (object->initial == AM_NONE || !object->initial))
			object->initial = most[o];
	}
	free(balance);
	free(low);
	free(inside);
	free(most);
}

static uint32_t thread_of_id(const struct am_run *run, uint64_t id)
{
	for (uint32_t low = 0, high = run->n_threads; low < high;) {
		const uint32_t mid = low + (high - low) / 2;
		if (run->thread[mid].id == id)
			return mid;
		if (run->thread[mid].id < id)
			low = mid + 1;
		else
			high = mid;
	}
	return AM_NONE;
}

/* The first end of a once routine at each address where there is one, in the order of addresses. */
struct dones {
	uint64_t *address;
	uint32_t *event, n;
};

static void list_dones(struct dones *d, const struct am_run *run)
{
	uint32_t n = 0;

	for (uint32_t e = 0; e < run->event.n; e++)
		n += run->raw.at[e].kind == AM_ONCE_END;
	*d = (struct dones){.address = am_xalloc(n, sizeof *d->address)};
	for (uint32_t e = 0; e < run->event.n && n; e++)
		if (run->raw.at[e].kind == AM_ONCE_END)
			d->address[d->n++] = run->raw.at[e].object;
	d->n = am_run_sort(d->address, d->n);
	d->event = am_xalloc(d->n, sizeof *d->event);
	memset(d->event, 0xff, d->n * sizeof *d->event);
}

static uint32_t *done_at(const struct dones *d, uint64_t address)
{
	const uint32_t i = d->n ? am_run_find(d->address, d->n, address) : 0;

	return i < d->n && d->address[i] == address ? &d->event[i] : NULL;
}

/* Threads that start and end. */
static void find_fork_or_join(struct am_run *run, uint32_t e)
{
	const struct am_event *raw = &run->raw.at[e];
	struct am_run_event *r = &run->event.at[e];
	const uint32_t t = thread_of_id(run, raw->object);

	if (t == AM_NONE || t == r->thread)
		return;
	const uint32_t first = run->thread[t].event[0], last = run->thread[t].event[run->thread[t].n - 1];
	if (raw->kind == AM_FORK && first > e)
		run->event.at[first].peer = e;
	else if (raw->kind == AM_JOIN && last < e)
		r->peer = last;
}

/*
 * Orders that every schedule keeps: fork before the child's first event, the child's last event before its join, the end
 * of a once routine before everybody who found it done. That may be by an atomic read of the once object itself:
 * compilers look at the guard of a static variable before they call for it.
 */
void am_run_find_peers(struct am_run *run)
{
	uint32_t *done = am_xalloc(run->object.n, sizeof *done);
	struct dones dones;

	list_dones(&dones, run);
	for (uint32_t o = 0; o < run->object.n; o++)
		done[o] = AM_NONE;
	for (uint32_t e = 0; e < run->event.n; e++) {
		const struct am_event *raw = &run->raw.at[e];
		struct am_run_event *r = &run->event.at[e];
		if (raw->kind == AM_FORK || raw->kind == AM_JOIN) {
			find_fork_or_join(run, e);
		} else if (raw->kind == AM_ONCE_END && raw->mode != AM_ONCE_ABANDONED) {
			uint32_t *const at = done_at(&dones, raw->object);
			if (*at == AM_NONE)
				*at = e;
			if (done[r->object] == AM_NONE)
				done[r->object] = e;
			else
				r->peer = done[r->object];
		} else if (raw->kind == AM_READ && raw->order && dones.n && r->peer == AM_NONE) {
			const uint32_t *const at = done_at(&dones, raw->object);
			r->peer = at ? *at : AM_NONE;
		}
	}
	free(done);
	free(dones.address);
	free(dones.event);
}
