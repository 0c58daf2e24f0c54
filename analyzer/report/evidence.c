/*
 * Answers that a story keeps: see evidence.h. Runs in the drain thread and in tools; no malloc. When memory
 * ends an answer is not kept, and the story asks again.
 */
/* SPDX-License-Identifier: MIT */
#include "evidence.h"

#include <string.h>

enum question { NAME, BLOCK, SYNC, HELD, BETWEEN };

struct am_finding {
	struct am_finding *next;
	uint64_t what, index; /* address, or thread */
	uint8_t question;
	uint32_t n; /* extents or sections that were found */
	union {
		struct am_extent extent;
		struct am_section section[1]; /* n of them */
	};
};

static const struct am_finding *recall(const struct am_evidence *e, enum question question, uint64_t what,
				       uint64_t index)
{
	const struct am_finding *f = e->first;

	while (f && (f->question != question || f->what != what || f->index != index))
		f = f->next;
	return f;
}

/* A place for an answer of so many bytes beyond the usual; NULL: it is not kept. */
static struct am_finding *keep(struct am_evidence *e, enum question question, uint64_t what, uint64_t index,
			       size_t more)
{
	struct am_finding *f = e->arena ? am_arena_get(e->arena, sizeof *f + more) : NULL;

	if (!f)
		return NULL;
	f->question = question;
	f->what = what;
	f->index = index;
	if (e->last)
		e->last->next = f;
	else
		e->first = f;
	return e->last = f;
}

static bool ask_objects(const struct am_objects *o, enum question question, uint64_t address, uint64_t index,
			struct am_extent *out)
{
	switch (question) {
	case NAME:
		return am_objects_name(o, address, index, out);
	case BLOCK:
		return am_objects_block(o, address, index, out);
	default:
		return am_objects_sync(o, address, out);
	}
}

static bool find_extent(struct am_evidence *e, enum question question, uint64_t address, uint64_t index,
			struct am_extent *out)
{
	const struct am_finding *known = recall(e, question, address, index);

	if (known) {
		if (known->n)
			*out = known->extent;
		return known->n;
	}
	const bool is_there = ask_objects(e->objects, question, address, index, out);
	struct am_finding *f = keep(e, question, address, index, 0);
	if (f) {
		f->n = is_there;
		if (is_there)
			f->extent = *out;
	}
	return is_there;
}

bool am_evidence_name(struct am_evidence *e, uint64_t address, uint64_t index, struct am_extent *out)
{
	return find_extent(e, NAME, address, index, out);
}

bool am_evidence_block(struct am_evidence *e, uint64_t address, uint64_t index, struct am_extent *out)
{
	return find_extent(e, BLOCK, address, index, out);
}

bool am_evidence_sync(struct am_evidence *e, uint64_t address, struct am_extent *out)
{
	return find_extent(e, SYNC, address, 0, out);
}

static bool find_sections(struct am_evidence *e, enum question question, uint32_t thread, uint64_t index,
			  struct am_section *out, unsigned max, unsigned *n)
{
	const struct am_finding *known = recall(e, question, thread, index);

	if (!known)
		return false;
	*n = known->n < max ? known->n : max;
	memcpy(out, known->section, *n * sizeof *out);
	return true;
}

static unsigned keep_sections(struct am_evidence *e, enum question question, uint32_t thread, uint64_t index,
			      const struct am_section *out, unsigned n)
{
	struct am_finding *f = keep(e, question, thread, index, n * sizeof *out);

	if (f) {
		f->n = n;
		memcpy(f->section, out, n * sizeof *out);
	}
	return n;
}

unsigned am_evidence_held(struct am_evidence *e, uint32_t thread, uint64_t index, struct am_section *out,
			  unsigned max)
{
	unsigned n;

	if (find_sections(e, HELD, thread, index, out, max, &n))
		return n;
	return keep_sections(e, HELD, thread, index, out,
			     am_history_held(e->history, thread, index, out, max));
}

unsigned am_evidence_between(struct am_evidence *e, uint32_t thread, uint64_t first, uint64_t last,
			     struct am_section *out, unsigned max)
{
	unsigned n;

	if (find_sections(e, BETWEEN, thread, first ^ last << 32, out, max, &n))
		return n;
	return keep_sections(e, BETWEEN, thread, first ^ last << 32, out,
			     am_history_between(e->history, thread, first, last, out, max));
}
