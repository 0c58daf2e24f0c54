/*
 * The bank example: every candidate of av is real, none of nav, of sav those between different gates;
 * a small instance is enumerated state by state to confirm that. With "table" as argument: a table of
 * the encodings (time, clauses, conflicts) instead: ctp_bank table [SECONDS [ENCODING]]; see
 * tests/bench/symbolic.sh.
 */
/* SPDX-License-Identifier: MIT */
#include "tests/property/ctp_bank.h"

#include "analyzer/predict/exec.h"
#include "analyzer/predict/grow.h"

#include <time.h>

static int number, bad;

static void tap(bool fine, const char *what)
{
	printf("%s %d - %s\n", fine ? "ok" : "not ok", ++number, what);
	bad += !fine;
}

static double seconds(void)
{
	struct timespec t;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* ---- all candidates of all regions ----------------------------------------------------------- */

struct tally {
	struct am_engine *engine;
	struct am_ctp *c;
	uint64_t asked, feasible, undecided, wrong;
	enum bank_kind kind;
	double until;
};

/* Do the two threads pass the same gate? */
static bool same_gate(const struct tally *t, uint32_t a, uint32_t b)
{
	const uint32_t x = t->c->events[a].thread, y = t->c->events[b].thread;
	const uint32_t gx = x ? (x - 1) % 2 : 0, gy = y ? (y - 1) % 2 : 0;
	return t->kind == BANK_NAV || (t->kind == BANK_SAV && gx == gy);
}

static void ask(void *arg, const struct am_query *q)
{
	struct tally *t = arg;
	struct am_answer a;
	if (t->until > 0 && seconds() > t->until) {
		t->undecided++;
		return;
	}
	am_engine_ask(t->engine, q, &a);
	t->asked++;
	t->feasible += a.verdict == AM_FEASIBLE;
	t->undecided += a.verdict == AM_UNDECIDED;
	t->wrong += (a.verdict == AM_FEASIBLE) == same_gate(t, q->a, q->b);
	am_answer_clear(&a);
}

static struct tally run(enum bank_kind kind, uint32_t tellers, uint32_t work,
			struct am_engine_options o, struct am_engine_stats *stats, double limit,
			uint64_t *all)
{
	struct am_ctp *c = bank_make(kind, tellers, work, true);
	const char *wrong = am_ctp_finish(c);
	if (wrong)
		fprintf(stderr, "bank: %s\n", wrong);
	struct tally t = { .c = c, .kind = kind, .engine = am_engine_new(c, &o),
			   .until = limit > 0 ? seconds() + limit : 0 };
	*all = 0;
	for (uint32_t r = 0; r < c->region_count; r++)
		am_engine_triplets(t.engine, r, ask, &t, all);
	*stats = *am_engine_stats(t.engine);
	am_engine_free(t.engine);
	am_ctp_free(c);
	return t;
}

static const char *const kinds[] = { "av", "sav", "nav" };

static void table_row(int kind, uint32_t n, int encoding, double limit)
{
	static const char *const names[] = { "lazy", "lazy, no derived locks", "direct" };
	struct am_engine_options o = am_engine_defaults();
	struct am_engine_stats s;
	uint64_t all;
	o.encoding = encoding == 2 ? AM_ENCODE_DIRECT : AM_ENCODE_LAZY;
	o.no_derived_locks = encoding == 1;
	if (encoding) {
		o.budget.ms = (uint64_t)(limit * 1000);
		o.budget.units = 0;
		o.budget.rounds = UINT64_MAX;
	}
	const double start = seconds();
	const struct tally t = run(kind, n, 6, o, &s, limit, &all);
	printf("| bank-%s-%u | %lu | %lu/%lu | %lu%s | %s | %s%.2f | %lu | %lu | %lu | %lu |\n",
	       kinds[kind], n, (unsigned long)s.events, (unsigned long)all, (unsigned long)n * n,
	       (unsigned long)t.feasible, t.undecided ? "?" : "", names[encoding],
	       t.undecided ? "over " : "", seconds() - start, (unsigned long)s.literals,
	       (unsigned long)s.clauses, (unsigned long)s.conflicts, (unsigned long)s.rounds);
	fflush(stdout);
}

/* encoding: -1 all of them */
static void table(double limit, int encoding)
{
	printf("| instance | events | candidates before/after pruning | real | encoding | seconds | "
	       "literals | clauses | conflicts | rounds |\n"
	       "|---|---|---|---|---|---|---|---|---|---|\n");
	for (uint32_t n = 2; n <= 8; n += 2)
		for (int kind = BANK_AV; kind <= BANK_NAV; kind++)
			for (int e = 0; e < 3; e++)
				if (encoding < 0 || e == encoding)
					table_row(kind, n, e, limit);
}

/* ---- enumeration of a small instance, state by state ------------------------------------------ */

struct states {
	struct am_ctp *c;
	struct am_exec x;
	struct am_query q;
	uint32_t run[64], length;
	uint64_t *seen;
	uint32_t seen_count, seen_room;
	uint64_t states;
	bool hit;
};

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ h >> 29;
}

/* What the future and the property depend on, as a hash of 64 bits: few states, collisions unlikely. */
static uint64_t state_of(const struct states *s)
{
	uint64_t h = 1;
	for (uint32_t t = 0; t < s->c->thread_count; t++)
		h = mix(mix(h, s->x.done[t]), s->x.waited[t] != 0);
	for (uint32_t i = 0; i < s->x.bytes; i++)
		h = mix(h, s->x.memory[i]);
	for (uint32_t e = 0; e < s->c->event_count; e++)
		h = mix(h, s->x.reads[e]);
	for (uint32_t o = 0; o < s->c->object_count; o++)
		h = mix(h, s->x.holder[o]);
	uint32_t order = 0;
	for (uint32_t i = 0; i < s->length; i++) {
		const uint32_t e = s->run[i];
		if (e == s->q.a || e == s->q.b || e == s->q.c)
			order = order * 4 + (e == s->q.a ? 1 : e == s->q.b ? 2 : 3);
	}
	return mix(h, order);
}

static bool is_new(struct states *s)
{
	const uint64_t h = state_of(s);
	for (uint32_t i = 0; i < s->seen_count; i++)
		if (s->seen[i] == h)
			return false;
	AM_PUSH(s->seen, s->seen_count, s->seen_room) = h;
	return true;
}

static void explore(struct states *s)
{
	if (!is_new(s))
		return;
	s->states++;
	uint32_t order = 0;
	for (uint32_t i = 0; i < s->length; i++) {
		const uint32_t e = s->run[i];
		order = e == s->q.a ? order * 4 + 1 : e == s->q.b ? order * 4 + 2
			: e == s->q.c			   ? order * 4 + 3
							   : order;
	}
	/* amounts differ and are not zero, so the three are dependent whenever they come in this order */
	s->hit |= order == 1 * 16 + 2 * 4 + 3;
	for (uint32_t t = 0; t < s->c->thread_count && !s->hit; t++) {
		if (s->x.done[t] >= s->c->threads[t].length)
			continue;
		const uint32_t e = s->c->threads[t].events[s->x.done[t]];
		if (am_exec_step(&s->x, e) == AM_STEP_OK) {
			s->run[s->length++] = e;
			explore(s);
			s->length--;
		}
		am_exec_reset(&s->x);
		for (uint32_t i = 0; i < s->length; i++)
			am_exec_step(&s->x, s->run[i]);
	}
}

struct small {
	struct tally tally;
	uint64_t agree, differ, states;
};

static void both(void *arg, const struct am_query *q)
{
	struct small *m = arg;
	struct states s = { .c = m->tally.c, .q = *q };
	am_exec_init(&s.x, s.c, AM_MODEL_SC);
	explore(&s);
	am_exec_clear(&s.x);
	free(s.seen);
	struct am_answer a;
	am_engine_ask(m->tally.engine, q, &a);
	m->states += s.states;
	if ((a.verdict == AM_FEASIBLE) == s.hit)
		m->agree++;
	else
		m->differ++;
	am_answer_clear(&a);
}

static void enumerate(enum bank_kind kind, uint32_t tellers)
{
	struct am_ctp *c = bank_make(kind, tellers, 0, false);
	am_ctp_finish(c);
	struct am_engine_options o = am_engine_defaults();
	struct small m = { .tally = { .c = c, .engine = am_engine_new(c, &o) } };
	for (uint32_t r = 0; r < c->region_count; r++)
		am_engine_triplets(m.tally.engine, r, both, &m, NULL);
	char text[128];
	snprintf(text, sizeof text, "bank-%s with %u tellers, enumerated: %lu candidates agree",
		 kinds[kind], tellers, (unsigned long)m.agree);
	printf("# %lu states\n", (unsigned long)m.states);
	tap(m.differ == 0 && m.agree > 0, text);
	am_engine_free(m.tally.engine);
	am_ctp_free(c);
}

int main(int argc, char **argv)
{
	if (argc > 1 && !strcmp(argv[1], "table")) {
		table(argc > 2 ? atof(argv[2]) : 60, argc > 3 ? atoi(argv[3]) : -1);
		return 0;
	}
	for (int kind = BANK_AV; kind <= BANK_NAV; kind++) {
		enumerate(kind, 2);
		for (uint32_t n = 2; n <= 8; n += 2) {
			struct am_engine_options o = am_engine_defaults();
			struct am_engine_stats s;
			uint64_t all;
			char text[128];
			const double start = seconds();
			const struct tally t = run(kind, n, 6, o, &s, 0, &all);
			snprintf(text, sizeof text, "bank-%s-%u: %lu of %lu candidates are real",
				 kinds[kind], n, (unsigned long)t.feasible, (unsigned long)t.asked);
			printf("# %lu events, %lu candidates before pruning, %.2f s, %lu rounds, "
			       "%lu cycles, %lu lock, %lu sync, %lu data lemmas, %lu reads, %lu derived "
			       "locks, %lu bit-vector cones\n",
			       (unsigned long)s.events, (unsigned long)all, seconds() - start,
			       (unsigned long)s.rounds, (unsigned long)s.cycles,
			       (unsigned long)s.lock_lemmas, (unsigned long)s.sync_lemmas,
			       (unsigned long)s.data_lemmas, (unsigned long)s.activated_reads,
			       (unsigned long)s.derived_locks, (unsigned long)s.bitvector_cones);
			tap(t.asked == (uint64_t)n * n && !t.wrong && !t.undecided, text);
			fflush(stdout);
		}
	}
	printf("1..%d\n", number);
	return bad != 0;
}
