/*
 * Is the result of a call used, and if so, for more than to see whether it was one (see insn.h)? Follows the code behind the call
 * until the register that holds it is overwritten, or until there is doubt. Knows the instructions that compilers put there, and
 * takes all others for a use. Runs in application threads, once per place.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/insn.h"

#include "atommon/inlined.h"

#include <string.h>

enum effect { READS, KEEPS, KILLS }; /* of the register that is followed, or part of it */
enum { REX_B = 1, REX_X = 2, REX_R = 4, RAX = 0, RCX = 1, RBX = 3, RBP = 5, R12 = 12, AH = 4, NO_INDEX = 4, SIDES = 6 };
enum { STEPS = 64, STEPS_COMPARED = 256 };

/* What is followed: the result, less `less` (0 or 1), in a register. */
struct value {
	unsigned reg, less;
};

static unsigned reg_of(const struct am_insn *i)
{
	return (i->modrm >> 3 & 7) | (i->rex & REX_R ? 8 : 0);
}

static bool is_register(const struct am_insn *i)
{
	return i->modrm >> 6 == 3;
}

static unsigned rm_of(const struct am_insn *i)
{
	return (i->modrm & 7) | (i->rex & REX_B ? 8 : 0);
}

/* Is this number of a register part of `own`? Of bytes without a prefix the fifth is the second byte of rax, and so on. */
static bool is_part(const struct am_insn *i, unsigned own, unsigned reg, bool is_byte)
{
	return reg == own || (is_byte && !i->rex && reg == own + AH && own < AH);
}

/* Does the address of the operand in memory need it? */
static bool is_addressed(const struct am_insn *i, unsigned own)
{
	const unsigned mod = i->modrm >> 6, rm = i->modrm & 7, high = i->rex & REX_B ? 8 : 0;

	if (!i->has_modrm || mod == 3)
		return false;
	if (rm != 4)
		return (rm | high) == own;
	const unsigned base = (i->sib & 7) | high, index = (i->sib >> 3 & 7) | (i->rex & REX_X ? 8 : 0);
	return base == own || (index == own && index != NO_INDEX);
}

/* The operand that may be memory is read, the register written. */
static enum effect load(const struct am_insn *i, unsigned own, bool is_byte_read, bool is_part_written)
{
	if (is_addressed(i, own) || (is_register(i) && is_part(i, own, rm_of(i), is_byte_read)))
		return READS;
	return reg_of(i) == own && !is_part_written ? KILLS : KEEPS;
}

/* Both are read. */
static enum effect both(const struct am_insn *i, unsigned own, bool is_byte)
{
	return is_addressed(i, own) || is_part(i, own, reg_of(i), is_byte) || (is_register(i) && is_part(i, own, rm_of(i), is_byte)) ? READS
														     : KEEPS;
}

/* The operand that may be memory is read. */
static enum effect one(const struct am_insn *i, unsigned own, bool is_byte)
{
	return is_addressed(i, own) || (is_register(i) && is_part(i, own, rm_of(i), is_byte)) ? READS : KEEPS;
}

/* It is written. */
static enum effect store(const struct am_insn *i, unsigned own, bool is_byte)
{
	if (is_addressed(i, own))
		return READS;
	return is_register(i) && rm_of(i) == own && !is_byte && !i->is_word ? KILLS : KEEPS;
}

/* Of a call. Those that the callee keeps are as before; others may be its arguments. */
static enum effect call(unsigned own)
{
	return own == RAX ? KILLS : own == RBX || own == RBP || own >= R12 ? KEEPS : READS;
}

static enum effect group_ff(const struct am_insn *i, unsigned own)
{
	switch (i->modrm >> 3 & 7) {
	case 0: case 1: case 6: /* inc, dec, push */
		return one(i, own, false);
	case 2: /* call */
		return one(i, own, false) == READS ? READS : call(own);
	default:
		return READS;
	}
}

static enum effect effect1(const struct am_insn *i, unsigned own)
{
	const uint8_t op = i->op;
	const bool is_byte = !(op & 1);

	if (op < 0x40 && (op & 7) < 4) { /* arithmetic; of a register with itself it may be a zero */
		const bool is_zero = (op == 0x31 || op == 0x33) && is_register(i) && rm_of(i) == reg_of(i);
		return is_zero && reg_of(i) == own && !i->is_word ? KILLS : both(i, own, is_byte);
	}
	if (op >> 3 == 0x50 >> 3 || op >> 3 == 0x58 >> 3) /* push, pop */
		return ((op & 7) | (i->rex & REX_B ? 8 : 0)) != own ? KEEPS : op < 0x58 ? READS : KILLS;
	if (op >> 3 == 0xb0 >> 3)
		return KEEPS;
	if (op >> 3 == 0xb8 >> 3)
		return ((op & 7) | (i->rex & REX_B ? 8 : 0)) == own && !i->is_word ? KILLS : KEEPS;
	if (op >> 4 == 7) /* jcc */
		return KEEPS;
	switch (op) {
	case 0x63: case 0x69: case 0x6b: /* movsxd, imul */
		return load(i, own, false, i->is_word);
	case 0xd2: case 0xd3: /* by cl */
		return own == RCX ? READS : one(i, own, is_byte);
	case 0x80: case 0x81: case 0x83: case 0xc0: case 0xc1: case 0xd0: case 0xd1:
		return one(i, own, is_byte);
	case 0x84: case 0x85: case 0x86: case 0x87: /* test, xchg */
		return both(i, own, is_byte);
	case 0x88: case 0x89:
		return is_part(i, own, reg_of(i), is_byte) ? READS : store(i, own, is_byte);
	case 0x8a: case 0x8b:
		return load(i, own, is_byte, is_byte || i->is_word);
	case 0x8d: /* lea */
		return load(i, own, false, i->is_word);
	case 0x90:
		return i->rex & REX_B ? READS : KEEPS;
	case 0xc6: case 0xc7:
		return store(i, own, is_byte);
	case 0xc9: /* leave */
		return own == RBP ? READS : KEEPS;
	case 0xeb: case 0xe9: /* jumps are followed */
		return KEEPS;
	case 0xe8:
		return call(own);
	case 0xf6: case 0xf7: /* test, not, neg; the others divide and multiply */
		return (i->modrm >> 3 & 7) < 4 ? one(i, own, is_byte) : READS;
	case 0xff:
		return group_ff(i, own);
	default:
		return READS;
	}
}

static enum effect effect2(const struct am_insn *i, unsigned own)
{
	switch (i->op) {
	case 0x10: case 0x11: case 0x12: case 0x13: case 0x16: case 0x17: case 0x28: case 0x29: case 0x57: case 0x6f: case 0x7f:
	case 0xef: /* moves and zeroes of vector registers */
	case 0x1e: case 0x1f: /* endbr, nop */
		return is_addressed(i, own) ? READS : KEEPS;
	case 0xb6: case 0xb7: case 0xbe: case 0xbf: /* movzx, movsx */
		return load(i, own, !(i->op & 1), i->is_word);
	case 0xa3: case 0xaf: /* bt, imul */
		return both(i, own, false);
	case 0xba:
		return one(i, own, false);
	default:
		return i->op >> 4 == 8 ? KEEPS : i->op >> 4 == 4 ? both(i, own, false) : i->op >> 4 == 9 ? store(i, own, true) : READS;
	}
}

/* Where a call of another module goes through: jmp *there(%rip), behind one or two prefixes. */
static bool is_stub(uintptr_t at)
{
	const uint8_t *code = (const uint8_t *)at;

	if (code[0] == 0xf3 && code[1] == 0x0f && code[2] == 0x1e && code[3] == 0xfa)
		code += 4;
	code += *code == 0xf2;
	return code[0] == 0xff && code[1] == 0x25;
}

/*
 * A callback that is jumped over while the program is not watched (instrument/as.c): cmpl $0, (%r11); je; call. For the
 * compiler it is a call, and nothing lives in rax across it, whether it is made or not.
 */
static bool is_callback(uintptr_t at, uintptr_t start, uintptr_t end)
{
	static const uint8_t before[] = {0x41, 0x83, 0x3b, 0x00}, behind[] = {0x74, 0x05, 0xe8};

	return at - start >= sizeof before && end - at > sizeof behind + 4 &&
	       memcmp((const uint8_t *)at - sizeof before, before, sizeof before) == 0 &&
	       memcmp((const uint8_t *)at, behind, sizeof behind) == 0;
}

/* ---- only whether it was one ------------------------------------------------------------------ */

/*
 * The result was two or more, as its asker knows (owners.h). So the code may compare it with one or with nothing, in whatever way, and go where the flags say:
 * it would go the same way with any other such number.
 */
struct walk {
	uintptr_t start, end;
	unsigned steps; /* left */
	bool may_compare;
};

static bool is_dead(struct walk *w, uintptr_t at, struct value v, unsigned sides);

/* Parity is another for other numbers. */
static bool asks_parity(const struct am_insn *i)
{
	return (i->op & 0x0e) == 0x0a && (i->map == 0 ? i->op >> 4 == 7 : i->op >> 4 == 4 || i->op >> 4 == 8 || i->op >> 4 == 9);
}

/* Its copy in another register, made by the instruction before `next`, and what it is itself from there on. */
static enum effect copy(struct walk *w, uintptr_t next, struct value *v, struct value to, unsigned sides)
{
	if (to.reg == v->reg)
		*v = to;
	else if (sides == 0 || !is_dead(w, next, to, sides - 1))
		return READS;
	return KEEPS;
}

/* By a number in the last byte: cmp, sub, add. */
static enum effect with_number(const struct am_insn *i, int8_t number, struct value *v)
{
	const unsigned what = i->modrm >> 3 & 7;

	if (what == 7)
		return number + (int)v->less == 0 || number + (int)v->less == 1 ? KEEPS : READS;
	if (v->less != 0 || !((what == 5 && number == 1) || (what == 0 && number == -1)))
		return READS;
	v->less = 1;
	return KEEPS;
}

/* Of an instruction that reads it, or part of it: does it do no more than that? */
static enum effect compares(struct walk *w, uintptr_t at, const struct am_insn *i, struct value *v, unsigned sides)
{
	const uintptr_t next = at + i->length;
	const int8_t number = (int8_t)((const uint8_t *)next)[-1];
	const bool is_rm = is_register(i) && rm_of(i) == v->reg, is_reg = reg_of(i) == v->reg;

	if (i->is_word || i->map || !i->has_modrm)
		return READS;
	switch (i->op) {
	case 0x83:
		return is_rm ? with_number(i, number, v) : READS;
	case 0x85: /* test */
		return is_rm && is_reg ? KEEPS : READS;
	case 0x89:
		return is_register(i) ? copy(w, next, v, (struct value){rm_of(i), v->less}, sides) : READS;
	case 0x8b:
		return is_rm ? copy(w, next, v, (struct value){reg_of(i), v->less}, sides) : READS;
	case 0x8d: /* lea -1(it), another */
		return i->modrm >> 6 == 1 && (i->modrm & 7) != 4 && number == -1 && v->less == 0
			       ? copy(w, next, v, (struct value){reg_of(i), 1}, sides) : READS;
	case 0xff: /* dec */
		if (!is_rm || (i->modrm >> 3 & 7) != 1 || v->less != 0)
			return READS;
		v->less = 1;
		return KEEPS;
	default:
		return READS;
	}
}

/* What the instruction does to it. */
static enum effect effect_of(struct walk *w, uintptr_t at, const struct am_insn *i, struct value *v, unsigned sides)
{
	if (i->is_vex || i->map > 1 || (w->may_compare && asks_parity(i)))
		return READS;
	/* A byte that takes the place of its lowest: nobody looks at the others then. */
	if (w->may_compare && i->map == 1 && i->op >> 4 == 9 && is_register(i) && rm_of(i) == v->reg && (i->rex || v->reg < AH))
		return KILLS;
	const enum effect effect = i->map ? effect2(i, v->reg) : effect1(i, v->reg);
	return effect == READS && w->may_compare ? compares(w, at, i, v, sides) : effect;
}

/* ---- the walk ---------------------------------------------------------------------------------- */

static bool is_dead(struct walk *w, uintptr_t at, struct value v, unsigned sides)
{
	struct am_insn i;

	for (; at >= w->start && at < w->end && w->steps && w->steps-- && am_insn_decode((const uint8_t *)at, w->end - at, &i);
	     at += i.length) {
		const enum effect effect = effect_of(w, at, &i, &v, sides);
		if (effect != KEEPS)
			return effect == KILLS;
		if (!i.is_jump)
			continue;
		if (is_callback(at, w->start, w->end)) {
			if (call(v.reg) != KEEPS)
				return call(v.reg) == KILLS;
			continue;
		}
		const uintptr_t to = at + i.length + (uintptr_t)(intptr_t)i.to;
		const bool is_always = !i.map && i.op >> 4 == 0xe;
		if (is_always && (to < w->start || to >= w->end))
			return v.reg == RAX && is_stub(to); /* the last call of a function; elsewhere a part of it may lie */
		if (!is_always && (sides == 0 || !is_dead(w, to, v, sides - 1)))
			return false;
		if (is_always)
			at = to - i.length;
	}
	return false;
}

bool am_insn_is_unused(uintptr_t pc, uintptr_t start, uintptr_t end)
{
	const uint32_t answer = am_insn_answer(pc, end);
	struct walk w = {start, end, STEPS, false};

	if (answer)
		return answer & AM_ANSWER_UNUSED;
	return is_dead(&w, pc, (struct value){RAX, 0}, SIDES);
}

bool am_insn_is_compared(uintptr_t pc, uintptr_t start, uintptr_t end)
{
	const uint32_t answer = am_insn_answer(pc, end);
	struct walk w = {start, end, STEPS_COMPARED, true};

	if (answer)
		return !(answer & AM_ANSWER_ANY);
	return is_dead(&w, pc, (struct value){RAX, 0}, SIDES);
}
