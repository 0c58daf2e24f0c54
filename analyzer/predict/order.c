/* Must-happen-before clocks. Linear in events and edges; a row is stored only where it changes. */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* Take over all that happens before u, and u itself. True if the row grew. */
static bool absorb(const struct am_order *order, uint32_t *row, uint32_t self, uint32_t u)
{
	const struct am_run_event *ru = &order->run->event.at[u];
	bool grew = false;

	for (uint32_t t = 0; t < order->width; t++) {
		const uint32_t before = t == ru->thread ? ru->eid : am_order_get(order, u, t);
		if (t != self && before > row[t]) {
			row[t] = before;
			grew = true;
		}
	}
	return grew;
}

void am_order_build(struct am_order *order, const struct am_run *run, enum am_order_kind kind)
{
	const uint32_t n = run->event.n, width = run->n_threads;
	uint32_t *now = am_xalloc((size_t)width * width, sizeof *now); /* current row of each thread */
	uint32_t *current = am_xalloc(width, sizeof *current);	       /* its number; 0: all zero */

	memset(order, 0, sizeof *order);
	order->run = run;
	order->width = width;
	order->row = am_xalloc(n, sizeof *order->row);
	for (uint32_t t = 0; t < width; t++)
		*vec_push(&order->rows) = 0;
	for (uint32_t e = 0; e < n; e++) {
		const struct am_run_event *r = &run->event.at[e];
		uint32_t *row = &now[(size_t)r->thread * width];
		bool grew = false;
		if (r->peer != AM_NONE) {
			assert(r->peer < e);
			grew |= absorb(order, row, r->thread, r->peer);
		}
		if (kind == AM_ORDER_COUPLED && r->reads)
			for (uint32_t i = 0; i < r->cells; i++) {
				const uint32_t w = run->writer.at[r->couple + i];
				if (w != AM_NONE && run->event.at[w].thread != r->thread)
					grew |= absorb(order, row, r->thread, w);
			}
		if (grew) {
			current[r->thread] = order->rows.n / width;
			for (uint32_t t = 0; t < width; t++)
				*vec_push(&order->rows) = row[t];
		}
		order->row[e] = current[r->thread];
	}
	free(now);
	free(current);
}

void am_order_free(struct am_order *order)
{
	free(order->row);
	free(order->rows.at);
	memset(order, 0, sizeof *order);
}

bool am_order_before_loosely(const struct am_order *order, uint32_t a, uint32_t b)
{
	const struct am_run *run = order->run;
	const struct am_run_event *ra = &run->event.at[a], *rb = &run->event.at[b];

	if (rb->peer != AM_NONE && (rb->peer == a || am_order_before(order, a, rb->peer)))
		return true;
	if (rb->eid == 1)
		return false;
	const uint32_t previous = am_run_at(run, rb->thread, rb->eid - 1);
	return am_order_get(order, previous, ra->thread) >= ra->eid;
}

uint32_t am_order_first_after(const struct am_order *order, uint32_t t, uint32_t of, uint32_t eid)
{
	const struct am_run *run = order->run;
	uint32_t low = 1, high = run->thread[t].n + 1;

	while (low < high) {
		const uint32_t mid = low + (high - low) / 2;
		if (am_order_get(order, am_run_at(run, t, mid), of) < eid)
			low = mid + 1;
		else
			high = mid;
	}
	return low;
}
