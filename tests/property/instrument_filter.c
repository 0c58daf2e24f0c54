/*
 * What the access filter drops or tells late must not change a verdict: random runs go, unfiltered
 * and filtered, through a full conflict graph; the first cycle must be closed by the same event, or
 * there is none in both. The filtered stream also goes through the live checker and its twin, which
 * must say the same. Runs hand memory over, free it and use it again, and nest regions. In some, threads stop between taking a cell
 * from a region and telling what waits there, as others do under the lock of the slot: there may then be no cycle that the full
 * graph has not, and without that lock there are.
 * Usage: instrument_filter [seed [runs]].
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/property/cases.h"
#include "tests/property/filter_access.h"

/* ---- runs ------------------------------------------------------------------------------------- */

static uint64_t state;
static unsigned pick(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(state >> 33) % n;
}

struct result {
	int full, filtered, live, twin; /* event that closed the first cycle */
	int logged, accesses, late;
};

/* How threads stop between two steps. */
enum pausing { PAUSES_NOT, PAUSES_LOCKED, PAUSES_UNLOCKED };

static struct result run(bool checks, enum pausing pausing)
{
	static struct graph full;
	struct result r = {NONE, NONE, NONE, NONE, 0, 0, 0};
	int tx[THREADS], depth[THREADS] = {0};
	const unsigned threads = 2 + pick(THREADS - 1), words = 1 + pick(WORDS);
	const unsigned eagerness = 2 + pick(8); /* how often a region begins or ends */
	const unsigned home = pick(5), shape = pick(5), frees = pick(2) ? 12 : 1000;
	const unsigned exact = pausing != PAUSES_NOT ? 2 : pick(2) ? 2 + pick(3) : 12; /* one access in so many is atomic */
	const unsigned adds = pick(2) ? pick(5) : 0; /* of four writes so many commute */
	const unsigned reads = pick(3) ? 2 + pick(6) : 8 + pick(24); /* one access in so many writes */
	/* Mostly, or always, as if regions locked what they use: runs without a cycle for long. */
	const unsigned rudeness = pick(3) ? 2 + pick(40) : 1;
	bool uses[THREADS][WORDS + 1] = {{false}};

	graph_init(&full);
	thin_init(checks);
	for (int e = 0; e < EVENTS && r.full == NONE && r.filtered == NONE && r.live == NONE &&
			r.twin == NONE;
	     e++) {
		const int t = (int)pick(threads);
		if (thin.pause[t].is_on) {
			const struct pause p = thin.pause[t];
			if (add_access(&full, depth[t] ? tx[t] : new_tx(&full, t), p.word, p.bytes, p.writes, false))
				r.full = e;
			r.filtered = thin_go_on(t) ? e : NONE;
			r.live = thin.found ? e : NONE;
			r.twin = thin.twin_found ? e : NONE;
			continue;
		}
		if (pick(eagerness) == 0) {
			if (depth[t] && pick(3)) {
				if (--depth[t] == 0)
					memset(uses[t], 0, sizeof uses[t]);
				region_end(t);
			} else if (depth[t] < 3) {
				if (depth[t]++ == 0)
					tx[t] = new_tx(&full, t);
				region_begin(t);
			}
			continue;
		}
		/* Mostly a word of one's own. */
		const int word = home && pick(5) < home ? t % (int)words : (int)pick(words);
		bool full_cycle = false, thin_cycle = false, is_used = false;
		for (unsigned other = 0; other < threads; other++)
			is_used |= other != (unsigned)t && (uses[other][word] || uses[other][word + 1]);
		if (is_used && pick(rudeness) != 0)
			continue;
		if (pausing == PAUSES_LOCKED && (is_locked(word) || is_locked(word + 1))) /* waits for the lock of the slot */
			continue;
		if (depth[t])
			uses[t][word] = uses[t][word + 1] = true;
		if (pick(frees) == 0) {
			renew(&full, word);
			thin_alloc_word(t, word);
		} else {
			const bool is_free = pick(frees) == 0, may_be_lazy = pick(exact) != 0;
			const bool writes = pick(reads) == 0 || is_free;
			const unsigned size = shape < 2 ? 8 : 1u << pick(shape); /* fields of a struct, or whole words */
			uint64_t bytes[2] = {am_filter_bytes(pick(8 / size) * size, size), 0};
			if (word + 1 < (int)words && pick(6) == 0) {
				bytes[0] = am_filter_bytes(4, 4);
				bytes[1] = am_filter_bytes(0, 1 + pick(8));
			}
			const bool commutes = writes && !is_free && !bytes[1] && pick(4) < adds;
			if (pausing != PAUSES_NOT && !may_be_lazy && !is_free && !bytes[1] && !commutes &&
			    thin_pause(t, word, bytes[0], writes))
				continue;
			const int me = depth[t] ? tx[t] : new_tx(&full, t);
			full_cycle = add_access(&full, me, word, bytes[0], writes, commutes);
			if (bytes[1])
				full_cycle |= add_access(&full, me, word + 1, bytes[1], writes, false);
			thin_cycle = thin_access(t, word, bytes, writes, is_free, may_be_lazy, commutes);
			r.accesses++;
			r.logged += thin.n_late >> 20 & 1;
			thin.n_late &= ~(1 << 20);
		}
		r.full = full_cycle ? e : NONE;
		r.filtered = thin_cycle ? e : NONE;
		r.live = thin.found ? e : NONE;
		r.twin = thin.twin_found ? e : NONE;
	}
	r.late = thin.n_late;
	thin_free();
	return r;
}

/* Runs with pauses: how many have a cycle that is none? */
static unsigned long count_false(uint64_t seed, unsigned long runs, enum pausing pausing)
{
	unsigned long n = 0;

	for (unsigned long i = 0; i < runs; i++) {
		state = seed + i * UINT64_C(0x9e3779b97f4a7c15);
		const struct result r = run(i % 8 == 0, pausing);
		const bool is_false = r.full == NONE && (r.filtered != NONE || r.live != NONE || r.twin != NONE);
		if (is_false && pausing == PAUSES_LOCKED && n < 5)
			printf("# run %lu with pauses: no cycle, filtered at %d, checker at %d, twin at %d\n", i, r.filtered, r.live,
			       r.twin);
		n += is_false;
	}
	return n;
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240607;
	const unsigned long runs = cases_wanted(argc, argv, 60000);
	unsigned long cycles = 0, bad = 0, bad_live = 0;
	uint64_t logged = 0, accesses = 0, late = 0;

	printf("# seed %llu, %lu runs\n", (unsigned long long)seed, runs);
	for (unsigned long i = 0; i < runs && bad + bad_live < 5; i++) {
		state = seed + i * UINT64_C(0x9e3779b97f4a7c15);
		const bool checks = i % 4 == 0;
		const struct result r = run(checks, PAUSES_NOT);
		const bool differs = checks && (r.filtered != r.live || r.filtered != r.twin);
		cycles += r.full != NONE;
		logged += (uint64_t)r.logged;
		accesses += (uint64_t)r.accesses;
		late += (uint64_t)r.late;
		bad += r.full != r.filtered;
		bad_live += differs;
		if (r.full != r.filtered || differs)
			printf("# run %lu: full graph at event %d, filtered at %d, checker at %d, twin at %d\n",
			       i, r.full, r.filtered, r.live, r.twin);
	}
	printf("# %lu runs with a cycle; %llu accesses, %llu logged, %llu told late\n", cycles,
	       (unsigned long long)accesses, (unsigned long long)logged, (unsigned long long)late);
	printf("%s 1 - filtered and unfiltered runs have the same first cycle\n", bad ? "not ok" : "ok");
	printf("%s 2 - the live checker and its twin find it in the filtered run\n",
	       bad_live ? "not ok" : "ok");
	printf("%s 3 - much is not logged, some is told late, and cycles occur\n",
	       logged < accesses - accesses / 20 && late > runs / 10 && cycles > runs / 20 ? "ok"
											   : "not ok");
	printf("%s 4 - the short way, taken %llu times, agrees with the long one, and that of %llu accesses that wait\n",
	       bad_short || n_short < accesses / 20 || n_short_over == 0 || n_first < n_items / 4 || n_first_read == 0 ? "not ok" : "ok",
	       (unsigned long long)n_short, (unsigned long long)n_first);
	printf("%s 5 - none of %llu logged exact reads is told again with its neighbours\n", bad_exact || !n_exact ? "not ok" : "ok",
	       (unsigned long long)n_exact);
	printf("%s 6 - of %llu accesses that waited %llu were told\n", n_items_told && n_items_told < n_items ? "ok" : "not ok",
	       (unsigned long long)n_items, (unsigned long long)n_items_told);
	printf("%s 7 - %llu reads were lent, %llu of them behind an edge, %llu in tables and %llu of earlier stretches, %llu more in one go\n",
	       n_lent_linked && n_lent_many && n_lent_left && n_lent_again ? "ok" : "not ok", (unsigned long long)n_lent,
	       (unsigned long long)n_lent_linked, (unsigned long long)n_lent_many, (unsigned long long)n_lent_left,
	       (unsigned long long)n_lent_again);
	const unsigned long bad_paused = count_false(seed, runs / 2, PAUSES_LOCKED);
	printf("%s 8 - of runs with %llu pauses none has a cycle that is none\n", bad_paused || !n_pauses ? "not ok" : "ok",
	       (unsigned long long)n_pauses);
	const unsigned long unlocked = count_false(seed, runs / 2, PAUSES_UNLOCKED);
	printf("%s 9 - without the lock %lu have\n", unlocked || runs < 10000 ? "ok" : "not ok", unlocked);
	printf("%s 10 - outside regions %llu cells became nobody's\n", n_vacant ? "ok" : "not ok", (unsigned long long)n_vacant);
	printf("%s 11 - %llu accesses of earlier stretches were kept, %llu of them writes; %llu of them told later\n",
	       n_kept && n_kept_writes && n_kept_told ? "ok" : "not ok", (unsigned long long)n_kept, (unsigned long long)n_kept_writes,
	       (unsigned long long)n_kept_told);
	printf("1..11\n");
	return bad + bad_live + bad_short + bad_exact + bad_paused != 0;
}
