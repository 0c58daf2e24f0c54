/* SPDX-License-Identifier: MIT */
/*
 * The full conflict graph of a small run, for the test of the access filter: transactions are nodes, and every access is
 * kept. Shares nothing with what it is compared with.
 */
#ifndef ATOMMON_TESTS_FILTER_GRAPH_H
#define ATOMMON_TESTS_FILTER_GRAPH_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

enum { THREADS = 5, WORDS = 5, EVENTS = 96, NODES = 3 * EVENTS, ENTRIES = 8 * EVENTS, NONE = -1 };

struct access {
	int tx, word;
	uint64_t bytes;
	bool writes;
	bool commutes; /* with those of the same bytes that do */
};

/* The full graph: transactions are nodes, closed over by Floyd and Warshall after each event. */
struct graph {
	int n_tx, n_access;
	int last_tx[THREADS]; /* newest transaction of a thread */
	struct access access[ENTRIES];
	uint64_t reach[NODES][NODES / 64]; /* bit sets */
};

static bool reaches(const struct graph *g, int from, int to)
{
	return g->reach[from][to / 64] >> (to % 64) & 1;
}

static void add_edge(struct graph *g, int from, int to)
{
	if (from == to || reaches(g, from, to))
		return;
	for (int a = 0; a < g->n_tx; a++) {
		if (a != from && !reaches(g, a, from))
			continue;
		for (int i = 0; i < NODES / 64; i++)
			g->reach[a][i] |= g->reach[to][i];
		g->reach[a][to / 64] |= UINT64_C(1) << (to % 64);
	}
}

static int new_tx(struct graph *g, int thread)
{
	const int tx = g->n_tx++;

	if (g->last_tx[thread] != NONE)
		add_edge(g, g->last_tx[thread], tx);
	return g->last_tx[thread] = tx;
}

/* Returns whether a cycle goes through tx now. */
static bool add_access(struct graph *g, int tx, int word, uint64_t bytes, bool writes, bool commutes)
{
	for (int i = 0; i < g->n_access; i++) {
		const struct access *a = &g->access[i];
		if (a->word == word && (a->bytes & bytes) && (a->writes || writes) &&
		    !(commutes && a->commutes && a->bytes == bytes))
			add_edge(g, a->tx, tx);
	}
	g->access[g->n_access++] = (struct access){tx, word, bytes, writes, commutes};
	return reaches(g, tx, tx);
}

/* The memory is used anew: what was there is another entity. */
static void renew(struct graph *g, int word)
{
	int kept = 0;

	for (int i = 0; i < g->n_access; i++)
		if (g->access[i].word != word)
			g->access[kept++] = g->access[i];
	g->n_access = kept;
}

static void graph_init(struct graph *g)
{
	memset(g, 0, sizeof *g);
	for (int t = 0; t < THREADS; t++)
		g->last_tx[t] = NONE;
}

#endif
