/* SPDX-License-Identifier: MIT */
/*
 * Cheap proofs that no schedule of the run breaks a region, from what every schedule keeps: the order it
 * is given, and locks. With AM_ORDER_SYNC they hold in every model, with AM_ORDER_COUPLED in avp.
 *
 * To break a region a path must leave it at an access s, towards a conflicting access e1 of another
 * thread that runs after s, and come back at a later access t, from a conflicting e2 that runs
 * before t. Everything on the path runs between s and t; so e1 and e2 are accesses that neither must
 * come before s nor after t, and a lock that the region holds from s through t keeps out every one that
 * is made under it. (The static check of Sinha et al. §III.C, with locks, on the whole run.)
 *
 * Couples: s has kept its own, since its thread goes on to t, and so has all that s follows from. e1
 * and e2 may have broken theirs, but nothing before them in their threads (am_order_before_loosely).
 */
#ifndef ATOMMON_PREDICT_PROVE_H
#define ATOMMON_PREDICT_PROVE_H

#include "lockset.h"
#include "order.h"
#include "outline.h"

enum am_proof {
	AM_PROOF_NONE,	/* it may break */
	AM_PROOF_EMPTY, /* no access that another thread could conflict with */
	AM_PROOF_ORDER, /* nothing conflicting can run in between */
	AM_PROOF_LOCKS, /* locks keep out what could */
};

struct am_prover;

struct am_prover *am_prover_new(const struct am_locksets *locks);
void am_prover_free(struct am_prover *prover);
enum am_proof am_prover_ask(struct am_prover *prover, const struct am_order *order, uint32_t region);

/* Of a window of a longer run: would the proof hold for all of it? True if of any two accesses of the region
 * one is to memory that a lock guards throughout the run, held from the one through the other. */
bool am_prover_is_guarded(struct am_prover *prover, const struct am_outline *outline, uint32_t region);

/* Static signature of a region: equal for instances of the same code with the same accesses. */
uint64_t am_region_signature(const struct am_run *run, uint32_t region);

#endif
