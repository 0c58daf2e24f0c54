/*
 * What the access filter drops must not change a verdict: random runs go, unfiltered and filtered,
 * through a full conflict graph; the first cycle must be closed by the same event, or there is none
 * in both. Usage: instrument_filter [seed [runs]].
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "preload/filter.h"

enum { THREADS = 5, WORDS = 4, EVENTS = 48, NONE = -1 };

struct access {
	int tx, word;
	uint64_t bits;
	bool writes;
};

/* The full graph: transactions are nodes, closed over by Floyd and Warshall after each event. */
struct graph {
	int n_tx, n_access;
	int last_tx[THREADS]; /* newest transaction of a thread */
	struct access access[EVENTS];
	bool reach[EVENTS + THREADS][EVENTS + THREADS];
};

static void add_edge(struct graph *g, int from, int to)
{
	if (from == to || g->reach[from][to])
		return;
	for (int a = 0; a < g->n_tx; a++)
		for (int b = 0; b < g->n_tx; b++)
			if ((a == from || g->reach[a][from]) && (b == to || g->reach[to][b]))
				g->reach[a][b] = true;
}

static int new_tx(struct graph *g, int thread)
{
	const int tx = g->n_tx++;

	if (g->last_tx[thread] != NONE)
		add_edge(g, g->last_tx[thread], tx);
	return g->last_tx[thread] = tx;
}

/* Returns whether a cycle goes through tx now. */
static bool add_access(struct graph *g, int tx, int word, uint64_t bits, bool writes)
{
	const uint64_t bytes = bits & 0xff;

	for (int i = 0; i < g->n_access; i++) {
		const struct access *a = &g->access[i];
		if (a->word == word && (a->bits & 0xff & bytes) && (a->writes || writes))
			add_edge(g, a->tx, tx);
	}
	g->access[g->n_access++] = (struct access){tx, word, bits, writes};
	return g->reach[tx][tx];
}

static void graph_init(struct graph *g)
{
	memset(g, 0, sizeof *g);
	for (int t = 0; t < THREADS; t++)
		g->last_tx[t] = NONE;
}

/* The filter's state as preload/shadow.c keeps it. */
struct filter {
	uint64_t shadow[WORDS], stretch[THREADS];
	uint32_t open, generation, reached[THREADS];
	bool in_region[THREADS];
};

static uint64_t next_stretch(struct filter *f, int t)
{
	return f->stretch[t] += UINT64_C(1) << AM_STRETCH_SHIFT;
}

static bool passes(struct filter *f, int t, int word, uint64_t bits)
{
	uint64_t *shadow = &f->shadow[word];

	if (am_filter_known(*shadow, f->stretch[t], bits))
		return false;
	switch (am_filter_decide(*shadow, f->stretch[t], bits, f->in_region[t],
				 f->reached[t] == f->generation, f->open)) {
	case AM_FILTER_DROP:
		return false;
	case AM_FILTER_NEW_STRETCH:
		next_stretch(f, t);
		f->reached[t] = f->generation;
		break;
	case AM_FILTER_LOG:
		break;
	}
	*shadow = am_filter_next(*shadow, f->stretch[t], bits);
	return true;
}

static void region_begin(struct filter *f, int t)
{
	if (f->open++ == 0)
		f->generation++;
	f->in_region[t] = true;
	next_stretch(f, t);
}

static void region_end(struct filter *f, int t)
{
	f->in_region[t] = false;
	f->reached[t] = f->generation;
	f->open--;
	next_stretch(f, t);
}

static uint64_t state;
static unsigned pick(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(state >> 33) % n;
}

struct result {
	int full, filtered; /* event that closed the first cycle */
	int dropped, accesses;
};

static struct result run(void)
{
	static struct graph full, thin;
	struct filter f = {.generation = 1};
	struct result r = {NONE, NONE, 0, 0};
	int tx_full[THREADS], tx_thin[THREADS];
	const unsigned threads = 2 + pick(THREADS - 1), words = 1 + pick(WORDS);
	const unsigned eagerness = 2 + pick(8); /* how often a region begins or ends */

	graph_init(&full);
	graph_init(&thin);
	for (unsigned t = 0; t < THREADS; t++)
		f.stretch[t] = (uint64_t)(t + 1) << AM_BLOCK_SHIFT;
	for (int e = 0; e < EVENTS - THREADS && r.full == NONE && r.filtered == NONE; e++) {
		const int t = (int)pick(threads);
		if (pick(eagerness) == 0) {
			if (f.in_region[t]) {
				region_end(&f, t);
			} else {
				region_begin(&f, t);
				tx_full[t] = new_tx(&full, t);
				tx_thin[t] = new_tx(&thin, t);
			}
			continue;
		}
		const int word = (int)pick(words);
		const bool writes = pick(2);
		const unsigned size = 1u << pick(4);
		const uint64_t bits = am_filter_bits(pick(8 / size) * size, size, writes);
		const bool inside = f.in_region[t];
		r.accesses++;
		if (add_access(&full, inside ? tx_full[t] : new_tx(&full, t), word, bits, writes))
			r.full = e;
		if (!passes(&f, t, word, bits)) {
			r.dropped++;
			continue;
		}
		if (add_access(&thin, inside ? tx_thin[t] : new_tx(&thin, t), word, bits, writes))
			r.filtered = e;
	}
	return r;
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20240607;
	const unsigned long runs = argc > 2 ? strtoul(argv[2], NULL, 0) : 200000;
	unsigned long cycles = 0, bad = 0;
	uint64_t dropped = 0, accesses = 0;

	printf("# seed %llu, %lu runs\n", (unsigned long long)seed, runs);
	for (unsigned long i = 0; i < runs && bad < 5; i++) {
		state = seed + i * UINT64_C(0x9e3779b97f4a7c15);
		const struct result r = run();
		cycles += r.full != NONE;
		dropped += (uint64_t)r.dropped;
		accesses += (uint64_t)r.accesses;
		if (r.full != r.filtered) {
			bad++;
			printf("# run %lu: full graph at event %d, filtered at %d\n", i, r.full,
			       r.filtered);
		}
	}
	printf("# %lu runs with a cycle; %llu of %llu accesses dropped\n", cycles,
	       (unsigned long long)dropped, (unsigned long long)accesses);
	printf("%s 1 - filtered and unfiltered runs have the same first cycle\n",
	       bad ? "not ok" : "ok");
	printf("%s 2 - the filter drops something, and cycles occur\n",
	       dropped > accesses / 20 && cycles > runs / 20 ? "ok" : "not ok");
	printf("1..2\n");
	return bad != 0;
}
