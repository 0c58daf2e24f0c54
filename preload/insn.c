/* Lengths of instructions, and loops (see insn.h). Runs in application threads, once per place. */
/* SPDX-License-Identifier: MIT */
#include "preload/insn.h"

#include "atommon/inlined.h"

#include <string.h>

/* What follows an opcode. */
enum { NO = 0, M = 1, I8 = 2, IZ = 4, BAD = 8, I16 = 16, IV = 32, OFFSET = 64, J8 = 128 };

/* Rows of 16 opcodes of the first map. */
static uint8_t shape1(uint8_t op)
{
	static const uint8_t arithmetic[8] = {M, M, M, M, I8, IZ, BAD, BAD};
	static const uint8_t from60[] = {BAD, BAD, BAD, M, NO, NO, NO, NO, IZ, M | IZ, I8, M | I8, NO, NO, NO, NO};
	static const uint8_t from80[] = {M | I8, M | IZ, BAD, M | I8, M, M, M, M, M, M, M, M, M, M, M, M};
	static const uint8_t fromc0[] = {M | I8, M | I8, I16, NO, BAD, BAD, M | I8, M | IZ,
					 I16 | I8, NO, I16, NO, NO, I8, BAD, NO};
	static const uint8_t frome0[] = {J8, J8, J8, J8, I8, I8, I8, I8, IZ, IZ, BAD, J8, NO, NO, NO, NO};
	static const uint8_t fromf0[] = {NO, NO, NO, NO, NO, NO, M, M, NO, NO, NO, NO, NO, NO, M, M};

	switch (op >> 4) {
	case 0: case 1: case 2: case 3:
		return arithmetic[op & 7];
	case 5:
		return NO;
	case 6:
		return from60[op & 15];
	case 7:
		return J8;
	case 8:
		return from80[op & 15];
	case 9:
		return op == 0x9a ? BAD : NO;
	case 10:
		return op < 0xa4 ? OFFSET : op == 0xa8 ? I8 : op == 0xa9 ? IZ : NO;
	case 11:
		return op < 0xb8 ? I8 : IV;
	case 12:
		return fromc0[op & 15];
	case 13:
		return op < 0xd4 || op >= 0xd8 ? M : op == 0xd7 ? NO : BAD;
	case 14:
		return frome0[op & 15];
	case 15:
		return fromf0[op & 15];
	default:
		return BAD;
	}
}

static uint8_t shape2(uint8_t op)
{
	if (op >> 4 == 8)
		return IZ;
	switch (op) {
	case 0x04: case 0x0a: case 0x0c: case 0x0f:
	case 0x24: case 0x25: case 0x26: case 0x27: case 0x36: case 0x39: case 0x3b:
		return BAD;
	case 0x05: case 0x06: case 0x07: case 0x08: case 0x09: case 0x0b: case 0x0e: case 0x30: case 0x31: case 0x32:
	case 0x33: case 0x34: case 0x35: case 0x37: case 0x77: case 0xa0: case 0xa1: case 0xa2: case 0xa8: case 0xa9: case 0xaa:
	case 0xc8: case 0xc9: case 0xca: case 0xcb: case 0xcc: case 0xcd: case 0xce: case 0xcf:
		return NO;
	case 0x70: case 0x71: case 0x72: case 0x73: case 0xa4: case 0xac: case 0xba: case 0xc2: case 0xc4: case 0xc5: case 0xc6:
		return M | I8;
	default:
		return M;
	}
}

struct reader {
	const uint8_t *at, *end;
	uint8_t sib;
	bool is_short; /* of code */
};

static uint8_t next(struct reader *r)
{
	if (r->at < r->end)
		return *r->at++;
	r->is_short = true;
	return 0;
}

static void skip(struct reader *r, unsigned n)
{
	if ((size_t)(r->end - r->at) < n)
		r->is_short = true;
	else
		r->at += n;
}

/* The operand in memory; returns the ModRM byte. */
static uint8_t operand(struct reader *r)
{
	const uint8_t modrm = next(r), mod = modrm >> 6, rm = modrm & 7;
	uint8_t base = rm;

	if (mod == 3)
		return modrm;
	if (rm == 4) {
		r->sib = next(r);
		base = r->sib & 7;
	}
	skip(r, mod == 1 ? 1 : mod == 2 || base == 5 ? 4 : 0);
	return modrm;
}

/* Maps as VEX numbers them; 0: opcodes of one byte. VEX: with an operand always, but for one. */
static uint8_t shape_of(unsigned map, uint8_t op, bool is_vex)
{
	switch (map) {
	case 0:
		return shape1(op);
	case 1:
		return !is_vex ? shape2(op) : op == 0x77 ? NO : M | (shape2(op) & I8);
	case 2:
		return M;
	case 3:
		return M | I8;
	default:
		return BAD;
	}
}

struct opcode {
	uint8_t op;
	uint8_t map;
	uint8_t rex;
	bool is_vex, is_word, is_wide, is_near;
};

static struct opcode opcode(struct reader *r)
{
	struct opcode o = {.op = next(r)};

	for (;; o.op = next(r)) {
		if (o.op == 0x66)
			o.is_word = true;
		else if (o.op == 0x67)
			o.is_near = true;
		else if (!o.op || !memchr("\xf0\xf2\xf3\x2e\x36\x3e\x26\x64\x65", o.op, 9))
			break;
	}
	if (o.op >> 4 == 4) {
		o.rex = o.op;
		o.is_wide = o.op & 8;
		o.op = next(r);
	}
	if (o.op == 0xc5 || o.op == 0xc4 || o.op == 0x62) {
		const uint8_t first = next(r);
		o.is_vex = true;
		o.map = o.op == 0xc5 ? 1 : first & (o.op == 0xc4 ? 0x1f : 7);
		skip(r, o.op == 0xc4 ? 1 : o.op == 0x62 ? 2 : 0);
		o.op = next(r);
	} else if (o.op == 0x0f) {
		o.map = 1;
		o.op = next(r);
		if (o.op == 0x38 || o.op == 0x3a) {
			o.map = o.op == 0x38 ? 2 : 3;
			o.op = next(r);
		}
	}
	return o;
}

/* Bytes of the immediate operand. */
static unsigned immediate(const struct opcode *o, uint8_t shape, uint8_t modrm)
{
	const bool is_relative = (o->map == 0 && (o->op == 0xe8 || o->op == 0xe9)) || (o->map == 1 && o->op >> 4 == 8);

	if (o->map == 0 && (o->op == 0xf6 || o->op == 0xf7)) /* a group: only test has one */
		return modrm & 0x30 ? 0 : o->op == 0xf6 ? 1 : o->is_word ? 2 : 4;
	return (shape & (I8 | J8) ? 1 : 0) + (shape & I16 ? 2 : 0) +
	       (shape & IZ ? (o->is_word && !is_relative ? 2 : 4) : 0) +
	       (shape & IV ? (o->is_wide ? 8 : o->is_word ? 2 : 4) : 0) +
	       (shape & OFFSET ? (o->is_near ? 4 : 8) : 0);
}

bool am_insn_decode(const uint8_t *code, size_t room, struct am_insn *insn)
{
	struct reader r = {code, code + (room < 15 ? room : 15), 0, false};
	const struct opcode o = opcode(&r);
	const uint8_t shape = shape_of(o.map, o.op, o.is_vex);

	*insn = (struct am_insn){0};
	if (r.is_short || shape & BAD)
		return false;
	const uint8_t modrm = shape & M ? operand(&r) : 0;
	const unsigned n = immediate(&o, shape, modrm);
	skip(&r, n);
	if (r.is_short)
		return false;
	*insn = (struct am_insn){.length = (unsigned)(r.at - code), .op = o.op, .map = o.map, .rex = o.rex, .modrm = modrm,
				 .sib = r.sib, .is_vex = o.is_vex, .is_word = o.is_word, .has_modrm = shape & M};
	if (o.map == 0 ? o.op >> 4 == 7 || o.op == 0xeb || o.op == 0xe9 : o.map == 1 && !o.is_vex && o.op >> 4 == 8) {
		insn->is_jump = true;
		if (n == 1)
			insn->to = (int8_t)r.at[-1];
		else
			memcpy(&insn->to, r.at - 4, 4);
	}
	return true;
}

/* A call, or what the code behind is not reached by. */
static bool leaves(const struct am_insn *i)
{
	if (i->map != 0 || i->is_vex)
		return false;
	return i->op == 0xe8 || i->op == 0xe9 || i->op == 0xeb || i->op == 0xc3 ||
	       (i->op == 0xff && (i->modrm >> 3 & 7) >= 2 && (i->modrm >> 3 & 7) <= 5);
}

uint32_t am_insn_answer(uintptr_t pc, uintptr_t end)
{
	static const uint8_t code[] = {AM_ANSWER_CODE};
	enum { STEPS = 64 };
	struct am_insn insn;
	uint32_t answer;

	for (unsigned i = 0; i < STEPS && pc < end; i++, pc += insn.length) {
		if (!am_insn_decode((const uint8_t *)pc, end - pc, &insn))
			return 0;
		if (insn.length == sizeof code + sizeof answer && memcmp((const void *)pc, code, sizeof code) == 0) {
			memcpy(&answer, (const uint8_t *)pc + sizeof code, sizeof answer);
			return answer >> AM_ANSWER_SHIFT == AM_ANSWER_SAME ? answer : 0;
		}
		if (insn.is_jump || leaves(&insn))
			return 0;
	}
	return 0;
}

bool am_insn_in_inner_loop(uintptr_t pc, uintptr_t other, uintptr_t start, uintptr_t end)
{
	enum { FAR = 1024 };
	const uintptr_t stop = end - pc < FAR ? end : pc + FAR;
	const uint32_t answer = am_insn_answer(pc, end), of_other = am_insn_answer(other, end);
	struct am_insn insn;

	if (answer && of_other) {
		const uint32_t first = answer & AM_ANSWER_LOOPS, last = answer >> AM_ANSWER_BITS & AM_ANSWER_LOOPS;
		const uint32_t n = of_other & AM_ANSWER_LOOPS;
		return first != 0 && (n < first || n > last);
	}
	for (uintptr_t at = pc; at < stop; at += insn.length) {
		if (!am_insn_decode((const uint8_t *)at, stop - at, &insn))
			return false;
		const uintptr_t next_at = at + insn.length, to = next_at + (uintptr_t)(intptr_t)insn.to;
		if (insn.is_jump && to >= start && to < pc && (other <= to || other > next_at))
			return true;
	}
	return false;
}
