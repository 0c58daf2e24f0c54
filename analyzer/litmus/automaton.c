/* The summarised conflict graph, rules 1 to 5, on plain words. Pure. */
/* SPDX-License-Identifier: MIT */
#include "automaton.h"

#include <assert.h>
#include <string.h>

static uint64_t *node(struct am_ser *ser, uint32_t thread)
{
	assert(thread < ser->threads);
	return ser->words + (uint64_t)thread * AM_SER_WORDS;
}

void am_ser_begin(struct am_ser *ser, uint32_t thread)
{
	uint64_t *v = node(ser, thread);

	assert(!v[AM_SER_ACTIVE]);
	memset(v, 0, AM_SER_WORDS * sizeof(*v));
	v[AM_SER_ACTIVE] = 1;
}

/* Paths through the ended transaction become edges; what it did goes into the C of those before it. */
void am_ser_end(struct am_ser *ser, uint32_t thread)
{
	uint64_t *v = node(ser, thread);
	const uint64_t bit = UINT64_C(1) << thread;

	assert(v[AM_SER_ACTIVE]);
	for (uint32_t k = 0; k < ser->threads; k++) {
		uint64_t *u = node(ser, k);
		if (k == thread || !u[AM_SER_ACTIVE] || !(u[AM_SER_EDGES] & bit))
			continue;
		u[AM_SER_EDGES] = (u[AM_SER_EDGES] & ~bit) | v[AM_SER_EDGES];
		u[AM_SER_C_READ] |= v[AM_SER_S_READ] | v[AM_SER_C_READ];
		u[AM_SER_C_WRITE] |= v[AM_SER_S_WRITE] | v[AM_SER_C_WRITE];
		u[AM_SER_C_THREADS] |= v[AM_SER_C_THREADS] | bit;
		assert(!(u[AM_SER_EDGES] & UINT64_C(1) << k));
	}
	memset(v, 0, AM_SER_WORDS * sizeof(*v));
}

static uint64_t reachable(struct am_ser *ser, uint32_t from)
{
	uint64_t seen = 0, todo = node(ser, from)[AM_SER_EDGES];

	while (todo) {
		const uint32_t k = (uint32_t)__builtin_ctzll(todo);
		todo &= todo - 1;
		if (seen >> k & 1)
			continue;
		seen |= UINT64_C(1) << k;
		todo |= node(ser, k)[AM_SER_EDGES] & ~seen;
	}
	return seen;
}

bool am_ser_access(struct am_ser *ser, uint32_t thread, uint32_t cell, bool reads, bool writes)
{
	uint64_t *v = node(ser, thread);
	const uint64_t bit = UINT64_C(1) << cell, me = UINT64_C(1) << thread;
	uint64_t before = 0;

	assert(v[AM_SER_ACTIVE] && cell < 64);
	/* A completed transaction behind this one touched the cell: the way leads back here. */
	if ((v[AM_SER_C_WRITE] & bit) || (writes && (v[AM_SER_C_READ] & bit)))
		return false;
	for (uint32_t k = 0; k < ser->threads; k++) {
		const uint64_t *u = node(ser, k);
		if (k == thread || !u[AM_SER_ACTIVE])
			continue;
		const uint64_t written = u[AM_SER_S_WRITE] | u[AM_SER_C_WRITE];
		const uint64_t read = u[AM_SER_S_READ] | u[AM_SER_C_READ];
		if ((written & bit) || (writes && (read & bit)) || (u[AM_SER_C_THREADS] & me))
			before |= UINT64_C(1) << k;
	}
	if (reachable(ser, thread) & before)
		return false;
	for (uint32_t k = 0; k < ser->threads; k++)
		if (before >> k & 1)
			node(ser, k)[AM_SER_EDGES] |= me;
	if (reads)
		v[AM_SER_S_READ] |= bit;
	if (writes)
		v[AM_SER_S_WRITE] |= bit;
	return true;
}

void am_ser_thread_end(struct am_ser *ser, uint32_t thread)
{
	for (uint32_t k = 0; k < ser->threads; k++)
		node(ser, k)[AM_SER_C_THREADS] &= ~(UINT64_C(1) << thread);
}
