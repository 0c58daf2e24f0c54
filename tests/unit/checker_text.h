/*
 * Traces in one line of text for the checker's unit tests: "T1:begin(m) T1:w(V1) T2:r(V1)", and what
 * the checkers say of them. Events: begin end r w u (update), acq rel acqs rels (shared), wait wake
 * (of a lock), fork join exit, alloc free (16 bytes), lost. Each letter and number names one object.
 */
/* SPDX-License-Identifier: MIT */
#ifndef CHECKER_TEXT_H
#define CHECKER_TEXT_H

#include "analyzer/core/oracle.h"
#include "atommon/checker.h"
#include "atommon/mem.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MAX = 64 };

struct text_trace {
	struct am_event event[TEXT_MAX];
	size_t n;
};

static inline struct text_trace text_parse(const char *text)
{
	static const struct {
		const char *name;
		enum am_kind kind;
		uint8_t mode;
	} names[] = {{"begin", AM_BEGIN, 0}, {"end", AM_END, 0}, {"r", AM_READ, 0}, {"w", AM_WRITE, 0},
		     {"u", AM_UPDATE, 0}, {"acq", AM_ACQUIRE, 0}, {"rel", AM_RELEASE, 0},
		     {"acqs", AM_ACQUIRE, AM_SHARED}, {"rels", AM_RELEASE, AM_SHARED}, {"wait", AM_WAIT, 0},
		     {"wake", AM_WAKE, 0}, {"fork", AM_FORK, 0}, {"join", AM_JOIN, 0}, {"exit", AM_THREAD_END, 0},
		     {"alloc", AM_ALLOC, 0}, {"free", AM_FREE, 0}, {"lost", AM_LOST, 0}};
	struct text_trace t = {.n = 0};
	char name[16], what;
	unsigned thread, number;
	int used;

	while (sscanf(text, " T%u:%15[a-z](%c%n", &thread, name, &what, &used) == 3) {
		number = (unsigned)strtoul(text + used, NULL, 10);
		text = strchr(text, ')') + 1;
		struct am_event *e = &t.event[t.n];
		*e = (struct am_event){.index = t.n++, .thread = thread, .site = (uint32_t)t.n};
		for (size_t i = 0; i < sizeof names / sizeof *names; i++)
			if (!strcmp(names[i].name, name)) {
				e->kind = (uint8_t)names[i].kind;
				e->mode = names[i].mode;
			}
		if (!e->kind || t.n == TEXT_MAX)
			abort();
		e->object = what == 'T' ? number : (uint64_t)(unsigned char)what << 12 | number << 4;
		if (e->kind == AM_BEGIN || e->kind == AM_END)
			e->object = (uint64_t)(unsigned char)what;
		if (e->kind == AM_READ || e->kind == AM_WRITE || e->kind == AM_UPDATE)
			e->size = 4;
		if (e->kind == AM_ALLOC || e->kind == AM_FREE)
			e->aux = 16;
		if (e->kind == AM_WAIT || e->kind == AM_WAKE) {
			e->aux = e->object;
			e->object = 1;
		}
	}
	return t;
}

struct text_verdict {
	size_t first; /* event number from 1, 0: serializable */
	uint64_t cycles;
	struct am_cycle cycle; /* the first */
};

static inline void text_on_cycle(void *ctx, const struct am_cycle *cycle)
{
	struct text_verdict *v = ctx;

	if (!v->cycles++) {
		v->first = cycle->close_index + 1;
		v->cycle = *cycle;
	}
}

static inline struct text_verdict text_check(const char *text, enum am_conflicts conflicts)
{
	const struct text_trace t = text_parse(text);
	struct text_verdict v = {0};
	const struct am_checker_config config = {conflicts, text_on_cycle, &v};
	struct am_mem mem;

	am_mem_init(&mem, 0);
	struct am_checker *c = am_checker_new(&config, &mem);
	for (size_t i = 0; i < t.n; i++)
		am_checker_event(c, &t.event[i]);
	am_checker_free(c);
	am_mem_destroy(&mem);
	return v;
}

static inline size_t text_full(const char *text, enum am_conflicts conflicts)
{
	const struct text_trace t = text_parse(text);
	struct text_verdict v = {0};
	const struct am_checker_config config = {conflicts, text_on_cycle, &v};
	struct am_mem mem;

	am_mem_init(&mem, 0);
	struct am_fullgraph *g = am_fullgraph_new(&config, &mem);
	for (size_t i = 0; i < t.n; i++)
		am_fullgraph_event(g, &t.event[i]);
	am_fullgraph_free(g);
	am_mem_destroy(&mem);
	return v.first;
}

static inline size_t text_oracle(const char *text, enum am_conflicts conflicts)
{
	const struct text_trace t = text_parse(text);
	const size_t at = am_oracle(t.event, t.n, conflicts);

	return at == AM_ORACLE_SERIALIZABLE ? 0 : at == AM_ORACLE_TOO_LARGE ? SIZE_MAX : at + 1;
}

/* Section 3 of Farzan & Madhusudan: the cycle goes through a completed transaction. */
#define TEXT_SECTION_3                                                                             \
	"T1:begin(m) T1:r(x) T2:begin(m) T2:w(x) T2:r(z) T3:begin(m) T3:w(z) T2:end(m) T1:w(x)"

#endif
