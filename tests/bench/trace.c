/*
 * The merge and the coding of chunks, alone: million records per CPU second, bytes per event.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/chunk.h"
#include "atommon/mem.h"
#include "atommon/merge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS = 64, UNITS = AM_ATM_UNITS_MAX };

static uint32_t number[AM_SLOTS];
static uint64_t rng = 1, events, sum;
static struct am_unit units[THREADS][UNITS];

static uint64_t rnd(uint64_t n)
{
	rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (rng >> 33) % n;
}

static double cpu(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static void lock_pair(struct am_unit *u, uint64_t lock, uint64_t site)
{
	uint32_t *next = &number[am_slot_of(lock)];
	u[0] = (struct am_unit){AM_ACQUIRE | AM_R_SEQ | lock << 16, site << 32 | (*next)++};
	u[1] = (struct am_unit){AM_RELEASE | AM_R_SEQ | lock << 16, (site + 1) << 32 | (*next)++};
}

static void count(void *ctx, const struct am_event *e)
{
	(void)ctx;
	sum += e->object ^ e->index;
	events++;
}

/* locks 0: each thread has its own; else all threads take random ones of so many. */
static void bench_merge(unsigned n_threads, unsigned locks, unsigned rounds)
{
	struct am_mem mem;
	double spent = 0;

	am_mem_init(&mem, 0);
	memset(number, 0, sizeof number);
	events = 0;
	struct am_merge *m = am_merge_new(&mem, count, NULL);
	for (unsigned round = 0; round < rounds; round++) {
		size_t n[THREADS] = {0};
		for (unsigned i = 0; i < UNITS / 2 * n_threads; i++) {
			const unsigned t = locks ? (unsigned)rnd(n_threads) : i % n_threads;
			if (n[t] + 2 > UNITS)
				continue;
			const uint64_t which = locks ? rnd(locks) : 1000 * (uint64_t)t + i % 8;
			lock_pair(&units[t][n[t]], UINT64_C(0x7f0000000000) + which * 64, 5);
			n[t] += 2;
		}
		const double start = cpu();
		for (unsigned t = 0; t < n_threads; t++)
			am_merge_feed(m, t, units[t], n[t]);
		am_merge_run(m);
		spent += cpu() - start;
	}
	printf("  %8u %8s %8.0f\n", n_threads,
	       locks == 0   ? "private"
	       : locks == 1 ? "one"
			    : "100",
	       (double)events / spent / 1e6);
	am_merge_free(m);
	am_mem_destroy(&mem);
}

enum stream { ONE_LOCK, MANY_LOCKS, CONTENDED, MANY_SITES, VALUES, STREAMS };

static size_t fill(enum stream s, struct am_unit *u, uint64_t *records)
{
	size_t n = 0;

	for (uint64_t i = 0; n + 3 <= UNITS; i++, *records += 2) {
		const uint64_t lock =
			UINT64_C(0x7f0000001000) + (s == ONE_LOCK ? 0 : rnd(1000) * 64);
		if (s == VALUES) {
			u[n++] = (struct am_unit){AM_READ | 2 << 11 | 1 << 9 |
							  (UINT64_C(0x7f0000000000) + i * 4) << 16,
						  UINT64_C(7) << 32};
			u[n++] = (struct am_unit){AM_EXT | AM_X_VALUE << 11, rnd(100000)};
			u[n++] = (struct am_unit){AM_WRITE | 2 << 11 |
							  (UINT64_C(0x7f8000000000) + rnd(4096) * 4)
								  << 16,
						  UINT64_C(8) << 32};
			continue;
		}
		if (s >= CONTENDED)
			number[am_slot_of(lock)] += 2 * (uint32_t)rnd(100);
		lock_pair(u + n, lock, s == MANY_SITES ? rnd(500) : 5);
		n += 2;
	}
	return n;
}

static void bench_chunk(enum stream s, unsigned rounds)
{
	static const char *const names[STREAMS] = {"one lock", "1000 locks", "1000 contended locks",
						   "contended, 500 sites", "accesses with values"};
	static uint8_t buf[AM_ATM_UNITS_BYTES_MAX], raw[AM_ATM_RAW_MAX];
	static struct am_chunk_coder coder;
	static struct am_unit back[UNITS];
	double pack = 0, unpack = 0;
	uint64_t bytes = 0, all = 0, records = 0;

	for (unsigned i = 0; i < rounds; i++) {
		const size_t n = fill(s, units[0], &records);
		struct am_atm_chunk h;
		double start = cpu();
		bytes += am_atm_put_units(&coder, buf, 1, all, units[0], n);
		pack += cpu() - start;
		memcpy(&h, buf, sizeof h);
		start = cpu();
		if (!am_chunk_expand(&h, buf + sizeof h, raw) ||
		    !am_chunk_unpack(&coder.model, raw, h.raw_bytes, back, n) ||
		    memcmp(back, units[0], n * sizeof *back) != 0)
			abort();
		unpack += cpu() - start;
		all += n;
	}
	printf("  %-22s %10.0f %10.0f %12.2f\n", names[s], (double)all / pack / 1e6,
	       (double)all / unpack / 1e6, (double)bytes / (double)records);
}

int main(int argc, char **argv)
{
	const unsigned rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 200;
	static const unsigned shapes[][2] = {{1, 0}, {2, 0}, {8, 0},   {64, 0},
					     {2, 1}, {8, 1}, {8, 100}, {64, 100}};

	printf("merge\n  %8s %8s %8s\n", "threads", "locks", "M/s");
	for (unsigned i = 0; i < sizeof shapes / sizeof *shapes; i++)
		bench_merge(shapes[i][0], shapes[i][1], rounds / (shapes[i][0] > 8 ? 8 : 1) + 1);
	printf("chunks\n  %-22s %10s %10s %12s\n", "units", "write M/s", "read M/s", "bytes/event");
	for (unsigned s = 0; s < STREAMS; s++)
		bench_chunk((enum stream)s, rounds);
	return sum == 42; /* keep the work */
}
