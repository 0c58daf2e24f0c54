/*
 * Units of a chunk to columns and back, see chunk.h. Runs in the drain thread (encoder) and in
 * tools (both). No memory, no I/O; the decoder must survive any input.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/chunk.h"

#include "analyzer/core/decode.h"

#include <assert.h>
#include <string.h>

#define HEAD_MASK UINT64_C(0xffff)

static struct chunk_stride *object_of(struct chunk_model *m, uint32_t hash)
{
	return &m->object[hash & (CHUNK_OBJECTS - 1)];
}

static struct chunk_stride *w1_of(struct chunk_model *m, uint32_t hash)
{
	return &m->w1[hash & (CHUNK_OBJECTS - 1)];
}

/* Extension units are predicted by their record's head too. */
static uint64_t context_of(struct chunk_model *m, uint64_t head)
{
	if ((head & AM_R_KIND_MASK) == AM_EXT)
		return head ^ m->record << 16;
	m->record = head;
	return head;
}

/* ---- encoder -------------------------------------------------------------------------------- */

struct packer {
	struct chunk_model *m;
	uint8_t *data;	   /* column of what was not predicted */
	uint64_t before;   /* object of the unit before */
	uint32_t previous; /* hash of the head before */
	uint32_t site;
};

static uint64_t head_of(const struct am_unit *u)
{
	return (u->w0 & HEAD_MASK & ~(uint64_t)AM_R_PHASE) |
	       (chunk_is_wide(u->w0) ? 0 : u->w1 >> 32 << 16);
}

static uint32_t *number_of(struct chunk_model *m, const struct am_unit *u)
{
	return &m->number[am_record_slot(u) & (CHUNK_NUMBERS - 1)];
}

/* One unit, whatever it is; its control byte. */
static unsigned pack_unit(struct packer *p, const struct am_unit *u)
{
	struct chunk_model *const m = p->m;
	const uint64_t w0 = u->w0 & ~(uint64_t)AM_R_PHASE, w1 = u->w1;
	const uint64_t object = w0 >> AM_R_OBJECT_SHIFT, head = head_of(u);
	const bool wide = chunk_is_wide(w0);
	const uint32_t hash = chunk_hash(head);
	uint64_t *follows = &m->follows[p->previous & (CHUNK_HEADS - 1)];
	uint8_t *data = p->data;
	unsigned c = 0;

	if (*follows == head) {
		c |= CHUNK_C_HEAD;
	} else {
		const unsigned at = (hash >> 8) % CHUNK_RECENT;
		*follows = head;
		if (m->recent[at] == head) {
			c |= at << CHUNK_C_INDEX_SHIFT;
		} else {
			c |= CHUNK_RECENT << CHUNK_C_INDEX_SHIFT;
			m->recent[at] = head;
			*data++ = (uint8_t)head;
			*data++ = (uint8_t)(head >> 8);
			if (!wide) {
				const uint32_t now = (uint32_t)(w1 >> 32);
				data = chunk_put_varint(data, chunk_zigzag((uint64_t)now - p->site));
				p->site = now;
			}
		}
	}
	p->previous = hash;

	const uint64_t context = context_of(m, head);
	const uint32_t by = context == head ? hash : chunk_hash(context);
	struct chunk_stride *const so = object_of(m, by);
	const uint64_t guess = chunk_predict(so);
	if (guess == object)
		c |= CHUNK_C_OBJECT;
	else if (c & CHUNK_C_HEAD && object == p->before)
		c |= CHUNK_C_AGAIN;
	else
		data = chunk_put_varint(data, chunk_zigzag(object - guess));
	chunk_learn(so, object);
	p->before = object;

	if (wide) {
		struct chunk_stride *const sw = w1_of(m, by);
		const uint64_t g = chunk_predict(sw);
		if (g == w1)
			c |= CHUNK_C_W1;
		else
			data = chunk_put_varint(data, chunk_zigzag(w1 - g));
		chunk_learn(sw, w1);
	} else if (w0 & AM_R_SEQ) {
		uint32_t *last = number_of(m, u);
		const uint32_t number = (uint32_t)w1, g = *last + 1;
		if (g == number)
			c |= CHUNK_C_W1;
		else
			data = chunk_put_varint(
				data, chunk_zigzag((uint64_t)(int64_t)(int32_t)(number - g)));
		*last = number;
	} else {
		c |= CHUNK_C_W1;
	}
	p->data = data;
	return c;
}

/* All that is usual, in one go: true if this numbered unit is as predicted, and nothing has to be
 * learnt but its number. */
static inline bool pack_usual(struct packer *p, const struct am_unit *u)
{
	struct chunk_model *const m = p->m;
	const uint64_t w0 = u->w0, head = (w0 & HEAD_MASK & ~(uint64_t)AM_R_PHASE) | u->w1 >> 32 << 16;
	const uint32_t hash = chunk_hash(head);
	const struct chunk_stride *const so = object_of(m, hash);

	if (!(w0 & AM_R_SEQ) || chunk_is_wide(w0) ||
	    m->follows[p->previous & (CHUNK_HEADS - 1)] != head ||
	    so->last != w0 >> AM_R_OBJECT_SHIFT || (so->step | so->delta) != 0)
		return false;
	uint32_t *last = number_of(m, u);
	if (*last + 1 != (uint32_t)u->w1)
		return false;
	++*last;
	p->previous = hash;
	p->before = so->last;
	m->record = head;
	return true;
}

/*
 * Threads do the same again and again. If the last two times `period` units were all as predicted and
 * differ only in their numbers, each by a constant, then so are the units that go on like this: the
 * predictors are where they were, but for the newest numbers. Returns how many from u[i] on.
 */
static size_t periodic(const struct am_unit *u, size_t i, size_t n, size_t period)
{
	const uint64_t same = ~(uint64_t)AM_R_PHASE;
	const size_t start = i;

	for (size_t k = i - period; k < i; k++)
		if ((u[k].w0 ^ u[k - period].w0) & same || (u[k].w1 ^ u[k - period].w1) >> 32)
			return 0;
	while (i < n && !((u[i].w0 ^ u[i - period].w0) & same) &&
	       !((u[i].w1 ^ u[i - period].w1) >> 32) &&
	       u[i].w1 - u[i - period].w1 == u[i - period].w1 - u[i - 2 * period].w1)
		i++;
	return i - start;
}

static void learn_periodic(struct packer *p, const struct am_unit *u, size_t end, size_t period)
{
	for (size_t k = end - period; k < end; k++)
		*number_of(p->m, &u[k]) = (uint32_t)u[k].w1;
	p->m->record = head_of(&u[end - 1]);
	p->previous = chunk_hash(p->m->record);
	p->before = u[end - 1].w0 >> AM_R_OBJECT_SHIFT;
}

static size_t pack(struct chunk_model *m, uint8_t *out, const struct am_unit *units, size_t n,
		   bool is_quick)
{
	enum { PERIOD_MAX = 8, LOOK = 4 * PERIOD_MAX };
	const unsigned as_predicted = CHUNK_C_HEAD | CHUNK_C_OBJECT | CHUNK_C_W1;
	struct packer p = {.m = m, .data = out + n, .previous = chunk_hash(0)};
	size_t usual = 0; /* in a row */

	assert(n <= AM_ATM_UNITS_MAX);
	memset(m, 0, sizeof *m);
	for (size_t i = 0, c = 0; i < n;) {
		if (!is_quick || c != as_predicted || !pack_usual(&p, &units[i])) {
			c = pack_unit(&p, &units[i]);
			out[i++] = (uint8_t)c;
			usual = 0;
			continue;
		}
		out[i++] = as_predicted;
		if (++usual % LOOK != 2 * PERIOD_MAX)
			continue;
		for (size_t period = 1; period <= PERIOD_MAX; period++) {
			const size_t more = periodic(units, i, n, period);
			if (more < period)
				continue;
			memset(out + i, as_predicted, more);
			i += more;
			learn_periodic(&p, units, i, period);
			break;
		}
	}
	assert((size_t)(p.data - out) <= n * CHUNK_UNIT_BYTES);
	return (size_t)(p.data - out);
}

size_t am_chunk_pack(struct chunk_model *m, uint8_t *out, const struct am_unit *units, size_t n)
{
	return pack(m, out, units, n, true);
}

size_t am_chunk_pack_slowly(struct chunk_model *m, uint8_t *out, const struct am_unit *units,
			    size_t n)
{
	return pack(m, out, units, n, false);
}

/* ---- decoder -------------------------------------------------------------------------------- */

struct input {
	const uint8_t *at, *end;
	bool cut;
};

static uint64_t get(struct input *in)
{
	uint64_t v;
	const uint8_t *p = chunk_get_varint(in->at, in->end, &v);

	if (!p) {
		in->cut = true;
		return 0;
	}
	in->at = p;
	return chunk_unzigzag(v);
}

static uint64_t get_head(struct chunk_model *m, struct input *in)
{
	if (in->end - in->at < 2) {
		in->cut = true;
		return 0;
	}
	uint64_t head = in->at[0] | (uint64_t)in->at[1] << 8;
	in->at += 2;
	if (!chunk_is_wide(head)) {
		m->site += (uint32_t)get(in);
		head |= (uint64_t)m->site << 16;
	}
	m->recent[(chunk_hash(head) >> 8) % CHUNK_RECENT] = head;
	return head;
}

static uint64_t get_object(const struct chunk_model *m, struct input *in, unsigned c,
			   uint64_t guess)
{
	if (c & CHUNK_C_OBJECT)
		return guess;
	if (c & CHUNK_C_HEAD && c & CHUNK_C_AGAIN)
		return m->before;
	return guess + get(in);
}

static uint64_t get_w1(struct chunk_model *m, struct input *in, unsigned c, uint64_t w0,
		       uint64_t head, uint64_t context)
{
	if (chunk_is_wide(w0)) {
		struct chunk_stride *s = w1_of(m, chunk_hash(context));
		const uint64_t w1 = chunk_predict(s) + (c & CHUNK_C_W1 ? 0 : get(in));
		chunk_learn(s, w1);
		return w1;
	}
	uint64_t w1 = head >> 16 << 32;
	if (w0 & AM_R_SEQ) {
		uint32_t *last =
			&m->number[am_record_slot(&(struct am_unit){w0, 0}) & (CHUNK_NUMBERS - 1)];
		*last = *last + 1 + (c & CHUNK_C_W1 ? 0 : (uint32_t)get(in));
		w1 |= *last;
	}
	return w1;
}

bool am_chunk_unpack(struct chunk_model *m, const uint8_t *bytes, size_t n_bytes,
		     struct am_unit *units, size_t n)
{
	if (n_bytes < n)
		return false;
	struct input in = {bytes + n, bytes + n_bytes, false};
	memset(m, 0, sizeof *m);
	for (size_t i = 0; i < n && !in.cut; i++) {
		const unsigned c = bytes[i], index = c >> CHUNK_C_INDEX_SHIFT;
		uint64_t *follows = &m->follows[chunk_hash(m->previous) & (CHUNK_HEADS - 1)];
		if (!(c & CHUNK_C_HEAD))
			*follows = index == CHUNK_RECENT ? get_head(m, &in) : m->recent[index];
		const uint64_t head = m->previous = *follows;
		const uint64_t context = context_of(m, head);
		struct chunk_stride *s = object_of(m, chunk_hash(context));
		const uint64_t object =
			get_object(m, &in, c, chunk_predict(s)) & (UINT64_MAX >> 16);
		chunk_learn(s, object);
		m->before = object;
		units[i].w0 = (head & HEAD_MASK) | object << AM_R_OBJECT_SHIFT;
		units[i].w1 = get_w1(m, &in, c, units[i].w0, head, context);
	}
	return !in.cut && in.at == in.end;
}
