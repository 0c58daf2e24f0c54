/*
 * Chunks: packing and unpacking random units is the identity, damaged chunks are refused or decode
 * to something, never to a crash; sizes of lock streams.
 * usage: trace_chunk [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/chunk.h"
#include "analyzer/core/decode.h"
#include "tests/property/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t rng;

static uint64_t rnd(uint64_t n)
{
	rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (rng >> 20) % n;
}

static uint64_t any64(void)
{
	const uint64_t v = rnd(UINT64_C(1) << 40) << 24 ^ rnd(UINT64_C(1) << 40);
	return rnd(3) ? v & ((UINT64_C(1) << rnd(64)) - 1) : v;
}

static struct am_unit units[AM_ATM_UNITS_MAX], back[AM_ATM_UNITS_MAX];
static uint32_t threads[AM_ATM_UNITS_MAX];
static uint8_t buf[AM_ATM_UNITS_BYTES_MAX], raw[AM_ATM_RAW_MAX];
static struct am_chunk_coder coder;

static struct am_unit any_unit(uint64_t spread)
{
	struct am_unit u = {.w0 = rnd(AM_KINDS), .w1 = any64()};

	u.w0 |= rnd(2) * AM_R_SEQ | rnd(32) << AM_R_DETAIL_SHIFT | rnd(4) << AM_R_EXT_SHIFT;
	u.w0 |= (rnd(4) ? rnd(spread) * 64 : any64()) << AM_R_OBJECT_SHIFT;
	if (!chunk_is_wide(u.w0)) {
		u.w1 = (rnd(4) ? rnd(spread) : any64()) << 32;
		if (u.w0 & AM_R_SEQ)
			u.w1 |= (uint32_t)any64();
	}
	return u;
}

/* What is in `units` comes back; both ways of the encoder write the same. */
static bool survives(const struct am_unit *in_ring, size_t n)
{
	static uint8_t slow[sizeof raw];
	struct am_atm_chunk h;
	const size_t bytes = am_atm_put_units(&coder, buf, 7, 99, in_ring, n);

	memcpy(&h, buf, sizeof h);
	if (bytes != sizeof h + h.bytes || h.count != n || h.thread != 7 || h.position != 99)
		return false;
	if (am_chunk_checksum(&h, buf + sizeof h) != h.checksum)
		return false;
	if (!am_chunk_expand(&h, buf + sizeof h, raw) ||
	    !am_chunk_unpack(&coder.model, raw, h.raw_bytes, back, n))
		return false;
	if (am_chunk_pack_slowly(&coder.model, slow, in_ring, n) != h.raw_bytes ||
	    memcmp(slow, raw, h.raw_bytes) != 0)
		return false;
	return memcmp(units, back, n * sizeof *units) == 0;
}

static bool identity(void)
{
	const size_t n = 1 + rnd(rnd(5) ? 300 : AM_ATM_UNITS_MAX);
	const uint64_t spread = 1 + rnd(50);

	for (size_t i = 0; i < n; i++) {
		units[i] = i > 4 && rnd(3) ? units[i - 1 - rnd(4)] : any_unit(spread);
		threads[i] = i && rnd(3) ? threads[i - 1] : (uint32_t)rnd(8);
	}
	struct am_unit in_ring[AM_ATM_UNITS_MAX];
	for (size_t i = 0; i < n; i++) {
		in_ring[i] = units[i];
		in_ring[i].w0 |= rnd(2) * AM_R_PHASE;
	}
	return survives(in_ring, n);
}

/* Threads that do the same again and again, with a change now and then: the quick way of the encoder. */
static bool repeats(void)
{
	static uint32_t number[AM_COUNTERS];
	struct am_unit pattern[10], in_ring[AM_ATM_UNITS_MAX];
	size_t n = 0, length = 0;

	while (n < AM_ATM_UNITS_MAX - 10 && (n == 0 || rnd(200))) {
		if (length == 0 || rnd(20) == 0) {
			length = 1 + rnd(10);
			for (size_t k = 0; k < length; k++)
				pattern[k] = rnd(30) ? (struct am_unit){
							       AM_ACQUIRE | AM_R_SEQ |
								       rnd(2) * AM_R_OWN |
								       (0x1000 + rnd(6) * 64) << 16,
							       rnd(3) << 32}
						     : any_unit(3);
		}
		for (size_t k = 0; k < length; k++, n++) {
			units[n] = pattern[k];
			if (units[n].w0 & AM_R_SEQ && !chunk_is_wide(units[n].w0)) {
				uint32_t *next = &number[am_record_slot(&units[n])];
				*next += rnd(100) == 0 ? (uint32_t)any64() : 1;
				units[n].w1 = (units[n].w1 >> 32 << 32) | *next;
			}
			in_ring[n] = units[n];
			in_ring[n].w0 |= rnd(2) * AM_R_PHASE;
		}
	}
	return survives(in_ring, n);
}

/* Any damage to the raw form gives false or n units; the sanitisers watch. */
static void damage(void)
{
	const size_t n = 1 + rnd(200);

	for (size_t i = 0; i < n; i++)
		units[i] = any_unit(10);
	const size_t bytes = am_chunk_pack(&coder.model, raw, units, n);
	for (unsigned i = 0; i < 4; i++)
		raw[rnd(bytes)] ^= (uint8_t)(1 + rnd(255));
	am_chunk_unpack(&coder.model, raw, bytes - rnd(bytes), back, n);
}

static double lock_bytes(unsigned n_locks, unsigned contention)
{
	static uint32_t number[AM_SLOTS];
	size_t bytes = 0, events = 0;

	for (unsigned round = 0; round < 20; round++) {
		size_t n = 0;
		while (n + 2 <= AM_ATM_UNITS_MAX) {
			const uint64_t lock = UINT64_C(0x7f1234500000) + rnd(n_locks) * 64;
			uint32_t *next = &number[am_slot_of(lock)];
			*next += 2 * (uint32_t)rnd(contention);
			units[n++] = (struct am_unit){AM_ACQUIRE | AM_R_SEQ | lock << 16,
						      UINT64_C(3) << 32 | (*next)++};
			units[n++] = (struct am_unit){AM_RELEASE | AM_R_SEQ | lock << 16,
						      UINT64_C(4) << 32 | (*next)++};
		}
		bytes += am_atm_put_units(&coder, buf, 1, events, units, n);
		events += n;
	}
	return (double)bytes / (double)events;
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 7;
	const unsigned count = (unsigned)cases_wanted(argc, argv, 4000);
	unsigned bad = 0;

	printf("# seed %llu, %u chunks\n", (unsigned long long)seed, count);
	for (unsigned i = 0; i < count; i++) {
		rng = seed + i;
		if (!identity() || !repeats()) {
			printf("# seed %llu\n", (unsigned long long)(seed + i));
			bad++;
		}
		damage();
	}
	printf("%sok 1 - unpack after pack is the identity\n", bad ? "not " : "");
	const double one = lock_bytes(1, 1), many = lock_bytes(1000, 1),
		     hard = lock_bytes(1000, 100);
	printf("# bytes per event: one lock %.2f, 1000 locks %.2f, 1000 contended locks %.2f\n",
	       one, many, hard);
	const bool small = one <= 6 && many <= 6 && hard <= 6;
	printf("%sok 2 - lock streams take at most 6 bytes per event\n", small ? "" : "not ");
	printf("1..2\n");
	return bad || !small;
}
