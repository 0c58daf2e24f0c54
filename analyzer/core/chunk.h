/* SPDX-License-Identifier: MIT */
/*
 * The coding of units in a chunk. Two columns: one control byte per unit, then the data that the
 * predictors missed. Encoder and decoder keep the same predictors, reset at every chunk, so that
 * each chunk stands for itself. doc/trace-format.md describes the form for other implementations.
 */
#ifndef ATOMMON_CORE_CHUNK_H
#define ATOMMON_CORE_CHUNK_H

#include "atommon/trace.h"

enum {
	CHUNK_HEADS = 1024,   /* what follows what */
	CHUNK_OBJECTS = 512,  /* objects and payloads by head */
	CHUNK_NUMBERS = 2048, /* newest sequence number by slot */
	CHUNK_RECENT = 31,
	CHUNK_UNIT_BYTES = 26, /* at most, control byte included */
	CHUNK_RUN_BYTES = 8,   /* of one run of an ordered chunk, at most */
	CHUNK_SCRATCH = AM_ATM_UNITS_MAX * (CHUNK_UNIT_BYTES + CHUNK_RUN_BYTES) + 64,
};

/* Control byte. */
enum {
	CHUNK_C_HEAD =
		1, /* kind, flags and site are those that followed the previous unit last time */
	CHUNK_C_OBJECT = 2, /* object as predicted */
	CHUNK_C_W1 = 4,	    /* number, or payload, as predicted */
	CHUNK_C_AGAIN = 8,  /* with CHUNK_C_HEAD, not CHUNK_C_OBJECT: object of the unit before */
	CHUNK_C_INDEX_SHIFT =
		3, /* without CHUNK_C_HEAD: place in the recent heads; 31: given in full */
};

/* Predicts a value that stays, or goes on with the step it made twice. */
struct chunk_stride {
	uint64_t last, step, delta;
};

static inline uint64_t chunk_predict(const struct chunk_stride *s)
{
	return s->last + s->step;
}

static inline void chunk_learn(struct chunk_stride *s, uint64_t value)
{
	const uint64_t delta = value - s->last;
	if (delta == s->delta)
		s->step = delta;
	else if (delta != s->step)
		s->step = 0;
	s->delta = delta;
	s->last = value;
}

struct chunk_model {
	uint64_t follows[CHUNK_HEADS];
	uint64_t recent[CHUNK_RECENT];
	struct chunk_stride object[CHUNK_OBJECTS], w1[CHUNK_OBJECTS];
	uint32_t number[CHUNK_NUMBERS];
	uint64_t previous; /* head of the unit before */
	uint64_t before;   /* object of the unit before */
	uint64_t record;   /* head of the record that extension units belong to */
	uint32_t site;
};

static inline uint32_t chunk_hash(uint64_t head)
{
	return (uint32_t)(head * UINT64_C(0x9e3779b97f4a7c15) >> 32);
}

/* Is w1 a payload of 64 bits rather than a number and a site? */
static inline bool chunk_is_wide(uint64_t w0)
{
	const uint64_t kind = w0 & AM_R_KIND_MASK;
	return kind == AM_EXT || kind == AM_EXPR;
}

struct am_chunk_coder {
	struct chunk_model model;
	_Alignas(16) uint8_t lz4[16 * 1024 + 64];
	uint8_t scratch[CHUNK_SCRATCH];
};

/* The columns of n units; returns their bytes. out has room for n * CHUNK_UNIT_BYTES. */
size_t am_chunk_pack(struct chunk_model *model, uint8_t *out, const struct am_unit *units,
		     size_t n);
/* The same, byte for byte, by the plain way: for tests. */
size_t am_chunk_pack_slowly(struct chunk_model *model, uint8_t *out, const struct am_unit *units,
			    size_t n);
/* False: the columns do not hold exactly n units. */
bool am_chunk_unpack(struct chunk_model *model, const uint8_t *in, size_t bytes,
		     struct am_unit *units, size_t n);

/* Little-endian base-128 numbers. */
static inline uint8_t *chunk_put_varint(uint8_t *p, uint64_t v)
{
	for (; v >= 0x80; v >>= 7)
		*p++ = (uint8_t)(v | 0x80);
	*p++ = (uint8_t)v;
	return p;
}

/* NULL when cut or longer than 64 bits. */
static inline const uint8_t *chunk_get_varint(const uint8_t *p, const uint8_t *end, uint64_t *v)
{
	*v = 0;
	for (unsigned shift = 0; p < end && shift < 64; shift += 7) {
		const uint8_t byte = *p++;
		if (shift == 63 && byte > 1)
			return NULL;
		*v |= (uint64_t)(byte & 0x7f) << shift;
		if (!(byte & 0x80))
			return p;
	}
	return NULL;
}

static inline uint64_t chunk_zigzag(uint64_t delta)
{
	return delta << 1 ^ (uint64_t)((int64_t)delta >> 63);
}

static inline uint64_t chunk_unzigzag(uint64_t v)
{
	return v >> 1 ^ (0 - (v & 1));
}

uint32_t am_atm_header_checksum(const struct am_atm_header *header);
uint32_t am_chunk_checksum(const struct am_atm_chunk *header, const uint8_t *payload);
/* Decompress a payload; false when it does not give exactly raw_bytes. */
bool am_chunk_expand(const struct am_atm_chunk *header, const uint8_t *payload, uint8_t *raw);
/* Compress raw behind the header at buf (if that pays), fill the header in, return all bytes. */
size_t am_chunk_seal(uint8_t *lz4, uint8_t *buf, struct am_atm_chunk header, const uint8_t *raw);

#endif
