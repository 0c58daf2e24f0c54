/* SPDX-License-Identifier: MIT */
/*
 * Must-happen-before clocks over a recorded run (Sinha et al. §II.B, Eq. 1): vec(e)[t] is the eid of
 * the latest event of thread t that comes before e in every schedule.
 *
 * Two graphs. AM_ORDER_SYNC: program order, fork, join, once; every schedule of the events keeps it.
 * AM_ORDER_COUPLED: also read-after-write couples; every schedule keeps it for events whose thread
 * has broken no couple. There are no lock edges: locks are respected by the search.
 */
#ifndef ATOMMON_PREDICT_ORDER_H
#define ATOMMON_PREDICT_ORDER_H

#include "run.h"

enum am_order_kind { AM_ORDER_SYNC, AM_ORDER_COUPLED };

struct am_order {
	const struct am_run *run;
	uint32_t width;	   /* threads */
	uint32_t *row;	   /* of each event; events of a thread share a row until it changes */
	VEC(uint32_t) rows; /* width entries each; the own entry is not used */
};

void am_order_build(struct am_order *order, const struct am_run *run, enum am_order_kind kind);
void am_order_free(struct am_order *order);

/* vec(e)[t]. */
static inline uint32_t am_order_get(const struct am_order *order, uint32_t e, uint32_t t)
{
	const struct am_run_event *r = &order->run->event.at[e];
	return t == r->thread ? r->eid - 1 : order->rows.at[order->row[e] * order->width + t];
}

/* Must a happen before b? */
static inline bool am_order_before(const struct am_order *order, uint32_t a, uint32_t b)
{
	const struct am_run_event *ra = &order->run->event.at[a];
	return am_order_get(order, b, ra->thread) >= ra->eid;
}

/* Must a happen before b, even if b breaks its own couple? */
bool am_order_before_loosely(const struct am_order *order, uint32_t a, uint32_t b);

/* The first eid of thread t whose vector reaches `eid` of thread `of`; vectors grow along a thread. */
uint32_t am_order_first_after(const struct am_order *order, uint32_t t, uint32_t of, uint32_t eid);

#endif
