/*
 * Questions to the rules: possible or not, the order matrix with 0, 1 and X (Yang et al., Fig. 5), one
 * interleaving, a minimal explanation. Tool side; never prints.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/rules_priv.h"

#include <assert.h>

enum { MOST_ITEMS = 120, MOST_ITEMS_EXPLAINED = 60 };

static const char *const names[] = {
#define X(name, text, meaning) text,
	AM_RULES(X)
#undef X
};

static const char *const meanings[] = {
#define X(name, text, meaning) meaning,
	AM_RULES(X)
#undef X
};

const char *am_rule_name(enum am_rule rule)
{
	return names[rule];
}

const char *am_rule_meaning(enum am_rule rule)
{
	return meanings[rule];
}

bool am_rule_from_name(const char *text, enum am_rule *rule)
{
	for (int i = 0; i < AM_RULE_COUNT; i++)
		if (!strcmp(text, names[i])) {
			*rule = (enum am_rule)i;
			return true;
		}
	return false;
}

/* ---- a possible outcome ---------------------------------------------------------------------- */

/* Items executed in the model, by how many others come before. */
static void interleaving(struct am_rules *r, struct am_rules_answer *answer)
{
	uint32_t *place = am_zalloc(r->n, sizeof *place);
	answer->run = am_zalloc(r->n, sizeof *answer->run);
	for (uint32_t i = 0; i < r->n; i++)
		for (uint32_t j = 0; j < r->n; j++)
			place[i] += i != j && am_smt_true(r->smt, r->order[(size_t)j * r->n + i]) &&
				    (j < r->initials || am_smt_true(r->smt, r->run[r->items[j]]));
	for (uint32_t at = 0; at <= r->n; at++)
		for (uint32_t i = 0; i < r->n; i++)
			if (place[i] == at &&
			    (i < r->initials || am_smt_true(r->smt, r->run[r->items[i]])))
				answer->run[answer->length++] = r->items[i];
	free(place);
}

struct matrix {
	struct am_rules *r;
	bool *seen; /* 2 * n * n: order was seen false, true */
	int8_t *truth;
};

static void look(struct matrix *m)
{
	const uint32_t n = m->r->n;
	am_smt_truths(m->r->smt, m->r->order, n * n, m->truth);
	for (uint32_t k = 0; k < n * n; k++)
		m->seen[2 * k + m->truth[k]] = true;
}

/* Every legal order of this execution: what holds in all, in none, in some. */
static bool fill_matrix(struct am_rules *r, struct am_rules_answer *answer)
{
	const uint32_t n = r->n;
	struct matrix m = { .r = r };
	bool *here = am_zalloc(n, sizeof *here), fine = true;
	m.seen = am_zalloc(2 * (size_t)n * n, sizeof *m.seen);
	m.truth = am_zalloc((size_t)n * n, 1);
	answer->matrix = am_zalloc((size_t)n * n, 1);
	for (uint32_t i = 0; i < n; i++)
		here[i] = i < r->initials || am_smt_true(r->smt, r->run[r->items[i]]);
	look(&m);
	/* the same events as in the first model */
	am_smt_push(r->smt);
	for (uint32_t i = r->initials; i < n; i++)
		am_smt_assert(r->smt, here[i] ? r->run[r->items[i]] : -r->run[r->items[i]]);
	for (uint32_t k = 0; k < n * n && fine; k++) {
		const uint32_t i = k / n, j = k % n;
		answer->matrix[k] = '0';
		if (i == j || !here[i] || !here[j])
			continue;
		for (int value = 0; value < 2 && fine; value++) {
			const int32_t want = value ? r->order[k] : -r->order[k];
			if (m.seen[2 * k + value])
				continue;
			const enum am_smt_result s =
				am_smt_check(r->smt, &want, 1, r->query->budget.units);
			fine = s != AM_SMT_UNKNOWN;
			if (s == AM_SMT_SAT)
				look(&m);
		}
		answer->matrix[k] = m.seen[2 * k] && m.seen[2 * k + 1] ? 'X'
				    : m.seen[2 * k + 1]		       ? '1'
								       : '0';
	}
	am_smt_pop(r->smt);
	free(here);
	free(m.seen);
	free(m.truth);
	return fine;
}

/* ---- an impossible one ------------------------------------------------------------------------ */

/* Without core[at .. at + chunk), is the outcome still forbidden? Then the core becomes smaller. */
static bool drop(struct am_rules *r, int32_t *core, uint32_t *count, uint32_t at, uint32_t chunk)
{
	int32_t *rest = am_zalloc(*count, sizeof *rest);
	uint32_t n = 0;
	for (uint32_t i = 0; i < *count; i++)
		if (i < at || i >= at + chunk)
			rest[n++] = core[i];
	const bool gone = am_smt_check(r->smt, rest, n, r->query->budget.units) == AM_SMT_UNSAT;
	if (gone) {
		/* keep the order, so that what was tried already stays behind us */
		bool *in = am_zalloc(n, sizeof *in);
		int32_t *needed = am_zalloc(n, sizeof *needed);
		const uint32_t m = am_smt_core(r->smt, needed, n);
		for (uint32_t i = 0; i < n; i++)
			for (uint32_t k = 0; k < m; k++)
				in[i] |= rest[i] == needed[k];
		*count = 0;
		for (uint32_t i = 0; i < n; i++)
			if (in[i])
				core[(*count)++] = rest[i];
		free(in);
		free(needed);
	}
	free(rest);
	return gone;
}

/* Deletes ever smaller chunks, at last one by one: what was needed once stays needed. */
static void minimise(struct am_rules *r, int32_t *core, uint32_t *count)
{
	for (uint32_t chunk = (*count + 1) / 2; chunk; chunk /= 2)
		for (uint32_t at = 0; at < *count;)
			if (!drop(r, core, count, at, chunk))
				at += chunk;
}

static void explain(struct am_rules *r, struct am_rules_answer *answer)
{
	int32_t *core = am_zalloc(r->use_count, sizeof *core);
	uint32_t count = am_smt_core(r->smt, core, r->use_count);
	minimise(r, core, &count);
	answer->uses = am_zalloc(count, sizeof *answer->uses);
	for (uint32_t u = 0; u < r->use_count; u++)
		for (uint32_t i = 0; i < count; i++)
			if (core[i] == r->selectors[u])
				answer->uses[answer->use_count++] = r->uses[u];
	free(core);
}

/* ---- entry ----------------------------------------------------------------------------------- */

static uint32_t count_items(const struct am_ctp *ctp)
{
	uint32_t n = ctp->event_count;
	for (uint32_t o = 0; o < ctp->object_count; o++)
		n += ctp->objects[o].class == AM_CTP_DATA;
	return n;
}

void am_rules_ask(struct am_ctp *ctp, const struct am_rules_query *query,
		  struct am_rules_answer *answer)
{
	*answer = (struct am_rules_answer){ .verdict = AM_UNDECIDED };
	assert(ctp->finished);
	if (count_items(ctp) > (query->explain ? MOST_ITEMS_EXPLAINED : MOST_ITEMS)) {
		answer->reason = "too many events for the rules";
		return;
	}
	struct am_rules r;
	struct am_rules_query plain = *query;
	am_rules_build(&r, ctp, query);
	switch (am_smt_check(r.smt, r.selectors, r.use_count, query->budget.units)) {
	case AM_SMT_SAT:
		answer->verdict = AM_FEASIBLE;
		answer->items = am_zalloc(r.n, sizeof *answer->items);
		memcpy(answer->items, r.items, r.n * sizeof *answer->items);
		answer->item_count = r.n;
		interleaving(&r, answer);
		if (query->matrix && !query->explain && !fill_matrix(&r, answer)) {
			answer->verdict = AM_UNDECIDED;
			answer->reason = "solver budget used up";
		}
		break;
	case AM_SMT_UNSAT:
		answer->verdict = AM_INFEASIBLE;
		if (query->explain)
			explain(&r, answer);
		break;
	case AM_SMT_UNKNOWN:
		answer->reason = am_smt_error(r.smt) ? "the solver failed" : "solver budget used up";
	}
	am_rules_destroy(&r);
	/* nothing to explain: the matrix wants the rules without their switches */
	plain.explain = false;
	if (query->explain && query->matrix && answer->verdict == AM_FEASIBLE) {
		am_rules_clear(answer);
		am_rules_ask(ctp, &plain, answer);
	}
}

void am_rules_clear(struct am_rules_answer *answer)
{
	free(answer->items);
	free(answer->matrix);
	free(answer->run);
	free(answer->uses);
	*answer = (struct am_rules_answer){ 0 };
}

bool am_rules_dump_smt2(struct am_ctp *ctp, const struct am_rules_query *query, FILE *out)
{
	struct am_rules r;
	am_rules_build(&r, ctp, query);
	const bool fine = am_smt_dump(r.smt, r.selectors, r.use_count, out);
	am_rules_destroy(&r);
	return fine;
}
