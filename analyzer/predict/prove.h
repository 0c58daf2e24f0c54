/* SPDX-License-Identifier: MIT */
/*
 * Cheap proofs that no schedule of the run breaks a region, valid in every model because they use
 * only what every schedule keeps: must-happen-before by synchronisation, and locks.
 *
 * To break a region a path must leave it at an access s, towards a conflicting access e1 of another
 * thread that runs after s, and come back at a later access t, from a conflicting e2 that runs
 * before t. Everything on the path runs between s and t; so a lock that the region holds from s
 * through t keeps out every e1 and e2 that is made under it. (The static check of Sinha et al.
 * §III.C, with locks, on the whole run.)
 */
#ifndef ATOMMON_PREDICT_PROVE_H
#define ATOMMON_PREDICT_PROVE_H

#include "lockset.h"
#include "order.h"

enum am_proof {
	AM_PROOF_NONE,	/* it may break */
	AM_PROOF_EMPTY, /* no access that another thread could conflict with */
	AM_PROOF_ORDER, /* nothing conflicting can run in between: fork, join, once */
	AM_PROOF_LOCKS, /* locks keep out what could */
};

struct am_prover;

struct am_prover *am_prover_new(const struct am_locksets *locks, const struct am_order *sync);
void am_prover_free(struct am_prover *prover);
enum am_proof am_prover_ask(struct am_prover *prover, uint32_t region);

/* Static signature of a region: equal for instances of the same code with the same accesses. */
uint64_t am_region_signature(const struct am_run *run, uint32_t region);

#endif
