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

size_t am_chunk_pack(struct chunk_model *m, uint8_t *out, const struct am_unit *units, size_t n)
{
	uint8_t *const control = out;
	uint8_t *data = out + n;
	uint64_t before = 0;
	uint32_t site = 0, previous = chunk_hash(0); /* hash of the head before */

	assert(n <= AM_ATM_UNITS_MAX);
	memset(m, 0, sizeof *m);
	for (size_t i = 0; i < n; i++) {
		const uint64_t w0 = units[i].w0 & ~(uint64_t)AM_R_PHASE;
		const uint64_t w1 = units[i].w1, object = w0 >> AM_R_OBJECT_SHIFT;
		const bool wide = chunk_is_wide(w0);
		const uint64_t head = (w0 & HEAD_MASK) | (wide ? 0 : w1 >> 32 << 16);
		const uint32_t hash = chunk_hash(head);
		uint64_t *follows = &m->follows[previous & (CHUNK_HEADS - 1)];
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
					data = chunk_put_varint(data,
								chunk_zigzag((uint64_t)now - site));
					site = now;
				}
			}
		}
		previous = hash;

		const uint64_t context = context_of(m, head);
		const uint32_t by = context == head ? hash : chunk_hash(context);
		struct chunk_stride *const so = object_of(m, by);
		const uint64_t guess = chunk_predict(so);
		if (guess == object)
			c |= CHUNK_C_OBJECT;
		else if (c & CHUNK_C_HEAD && object == before)
			c |= CHUNK_C_AGAIN;
		else
			data = chunk_put_varint(data, chunk_zigzag(object - guess));
		chunk_learn(so, object);
		before = object;

		if (wide) {
			struct chunk_stride *const sw = w1_of(m, by);
			const uint64_t g = chunk_predict(sw);
			if (g == w1)
				c |= CHUNK_C_W1;
			else
				data = chunk_put_varint(data, chunk_zigzag(w1 - g));
			chunk_learn(sw, w1);
		} else if (w0 & AM_R_SEQ) {
			uint32_t *last = &m->number[am_record_slot(&(struct am_unit){w0, w1}) &
						    (CHUNK_NUMBERS - 1)];
			const uint32_t number = (uint32_t)w1, g = *last + 1;
			if (g == number)
				c |= CHUNK_C_W1;
			else
				data = chunk_put_varint(
					data,
					chunk_zigzag((uint64_t)(int64_t)(int32_t)(number - g)));
			*last = number;
		} else {
			c |= CHUNK_C_W1;
		}
		control[i] = (uint8_t)c;
	}
	assert((size_t)(data - out) <= n * CHUNK_UNIT_BYTES);
	return (size_t)(data - out);
}

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
