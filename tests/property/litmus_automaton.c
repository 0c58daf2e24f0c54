/*
 * Random runs: the serializability automaton notices a cycle iff the conflict graph has one, and some
 * block is called broken iff the run is not serializable. Prints the seed. usage: [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/litmus/automaton.h"
#include "analyzer/litmus/history.h"
#include "tests/property/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t state;

static unsigned below(unsigned n)
{
	state = state * UINT64_C(6364136223846793005) + 1442695040888963407u;
	return (unsigned)(state >> 33) % n;
}

enum { THREADS = 4, CELLS = 3, STEPS = 14 };

struct run {
	struct am_vm_step steps[STEPS];
	uint32_t n;
	bool automaton_fine;
};

/* A run, and the automaton beside it; it stays at its first cycle. */
static void make(struct run *r)
{
	uint64_t words[THREADS * AM_SER_WORDS] = { 0 };
	struct am_ser ser = { THREADS, words };
	uint32_t region[THREADS] = { 0 }, regions[THREADS] = { 0 }, po[THREADS] = { 0 };
	bool has_ended[THREADS] = { false };

	memset(r, 0, sizeof(*r));
	r->automaton_fine = true;
	while (r->n < STEPS) {
		const uint32_t t = below(THREADS);
		const unsigned what = below(10);
		if (has_ended[t])
			continue;
		if (what == 0 && !region[t] && below(8) == 0) {
			has_ended[t] = true;
			if (r->automaton_fine)
				am_ser_thread_end(&ser, t);
			if (has_ended[0] && has_ended[1] && has_ended[2] && has_ended[3])
				break;
		} else if (what < 2 && !region[t]) {
			region[t] = ++regions[t];
			if (r->automaton_fine)
				am_ser_begin(&ser, t);
		} else if (what == 2 && region[t]) {
			region[t] = 0;
			if (r->automaton_fine)
				am_ser_end(&ser, t);
		} else if (what > 2) {
			const uint8_t kinds[] = { AM_READ, AM_WRITE, AM_READ, AM_UPDATE };
			struct am_vm_step *s = &r->steps[r->n++];
			*s = (struct am_vm_step){ .kind = kinds[below(4)], .thread = t,
						  .cell = below(CELLS), .po = ++po[t],
						  .region = region[t], .block = t };
			if (!r->automaton_fine)
				continue;
			if (!region[t])
				am_ser_begin(&ser, t);
			r->automaton_fine = am_ser_access(&ser, t, s->cell, s->kind != AM_WRITE,
							  s->kind != AM_READ);
			if (!region[t] && r->automaton_fine)
				am_ser_end(&ser, t);
		}
	}
}

static void count(void *arg, const struct am_finding *finding)
{
	(void)finding;
	++*(unsigned *)arg;
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20261116;
	const uint64_t runs = cases_wanted(argc, argv, 20000);
	static struct am_lit lit = { .n_cells = CELLS, .n_threads = THREADS };
	unsigned bad_automaton = 0, bad_blame = 0, cycles = 0;

	printf("# seed %llu, %llu runs\n", (unsigned long long)seed, (unsigned long long)runs);
	for (uint64_t i = 0; i < runs; i++) {
		struct run r;
		unsigned broken = 0;
		state = seed + i * 7919;
		make(&r);
		const struct am_history h = { &lit, r.steps, r.n };
		const bool is_fine = am_hist_is_serializable(&h);
		am_hist_judge(&h, AM_HIST_SERIAL, count, &broken);
		cycles += !is_fine;
		if (is_fine != r.automaton_fine && bad_automaton++ < 3)
			printf("# automaton: run %llu\n", (unsigned long long)i);
		if (is_fine != (broken == 0) && bad_blame++ < 3)
			printf("# blame: run %llu\n", (unsigned long long)i);
	}
	printf("# %u runs have a cycle\n", cycles);
	printf("%s 1 - the automaton and the conflict graph agree\n", bad_automaton ? "not ok" : "ok");
	printf("%s 2 - a block is broken iff the run is not serializable\n", bad_blame ? "not ok" : "ok");
	printf("1..2\n");
	return bad_automaton || bad_blame;
}
