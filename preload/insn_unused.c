/*
 * Is the result of a call used (see insn.h)? Follows the code behind the call until the register that holds it is
 * overwritten, or until there is doubt. Knows the instructions that compilers put there, and takes all others for a use.
 * Runs in application threads, once per place.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/insn.h"

#include "atommon/inlined.h"

#include <string.h>

enum effect { READS, KEEPS, KILLS }; /* of rax, or part of it */
enum { REX_B = 1, REX_X = 2, REX_R = 4, RAX = 0, AH = 4, NO_INDEX = 4, STEPS = 64, SIDES = 6 };

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

/* Is this number of a register part of rax? Of bytes without a prefix the fifth is the second byte of rax. */
static bool is_rax(const struct am_insn *i, unsigned reg, bool is_byte)
{
	return reg == RAX || (is_byte && !i->rex && reg == AH);
}

/* Does the address of the operand in memory need rax? */
static bool is_addressed(const struct am_insn *i)
{
	const unsigned mod = i->modrm >> 6, rm = i->modrm & 7, high = i->rex & REX_B ? 8 : 0;

	if (!i->has_modrm || mod == 3)
		return false;
	if (rm != 4)
		return (rm | high) == RAX;
	const unsigned base = (i->sib & 7) | high, index = (i->sib >> 3 & 7) | (i->rex & REX_X ? 8 : 0);
	return base == RAX || (index == RAX && index != NO_INDEX);
}

/* The operand that may be memory is read, the register written. */
static enum effect load(const struct am_insn *i, bool is_byte_read, bool is_part_written)
{
	if (is_addressed(i) || (is_register(i) && is_rax(i, rm_of(i), is_byte_read)))
		return READS;
	return reg_of(i) == RAX && !is_part_written ? KILLS : KEEPS;
}

/* Both are read. */
static enum effect both(const struct am_insn *i, bool is_byte)
{
	return is_addressed(i) || is_rax(i, reg_of(i), is_byte) || (is_register(i) && is_rax(i, rm_of(i), is_byte)) ? READS
														     : KEEPS;
}

/* The operand that may be memory is read. */
static enum effect one(const struct am_insn *i, bool is_byte)
{
	return is_addressed(i) || (is_register(i) && is_rax(i, rm_of(i), is_byte)) ? READS : KEEPS;
}

/* It is written. */
static enum effect store(const struct am_insn *i, bool is_byte)
{
	if (is_addressed(i))
		return READS;
	return is_register(i) && rm_of(i) == RAX && !is_byte && !i->is_word ? KILLS : KEEPS;
}

static enum effect group_ff(const struct am_insn *i)
{
	switch (i->modrm >> 3 & 7) {
	case 0: case 1: case 6: /* inc, dec, push */
		return one(i, false);
	case 2: /* call */
		return one(i, false) == READS ? READS : KILLS;
	default:
		return READS;
	}
}

static enum effect effect1(const struct am_insn *i)
{
	const uint8_t op = i->op;
	const bool is_byte = !(op & 1);

	if (op < 0x40 && (op & 7) < 4) { /* arithmetic; of a register with itself it may be a zero */
		const bool is_zero = (op == 0x31 || op == 0x33) && is_register(i) && rm_of(i) == reg_of(i);
		return is_zero && reg_of(i) == RAX && !i->is_word ? KILLS : both(i, is_byte);
	}
	if (op >> 3 == 0x50 >> 3 || op >> 3 == 0x58 >> 3) /* push, pop */
		return ((op & 7) | (i->rex & REX_B ? 8 : 0)) != RAX ? KEEPS : op < 0x58 ? READS : KILLS;
	if (op >> 3 == 0xb0 >> 3)
		return KEEPS;
	if (op >> 3 == 0xb8 >> 3)
		return ((op & 7) | (i->rex & REX_B ? 8 : 0)) == RAX && !i->is_word ? KILLS : KEEPS;
	if (op >> 4 == 7) /* jcc */
		return KEEPS;
	switch (op) {
	case 0x63: case 0x69: case 0x6b: /* movsxd, imul */
		return load(i, false, i->is_word);
	case 0x80: case 0x81: case 0x83: case 0xc0: case 0xc1: case 0xd0: case 0xd1: case 0xd2: case 0xd3:
		return one(i, is_byte);
	case 0x84: case 0x85: case 0x86: case 0x87: /* test, xchg */
		return both(i, is_byte);
	case 0x88: case 0x89:
		return is_rax(i, reg_of(i), is_byte) ? READS : store(i, is_byte);
	case 0x8a: case 0x8b:
		return load(i, is_byte, is_byte || i->is_word);
	case 0x8d: /* lea */
		return load(i, false, i->is_word);
	case 0x90:
		return i->rex & REX_B ? READS : KEEPS;
	case 0xc6: case 0xc7:
		return store(i, is_byte);
	case 0xc9: case 0xeb: case 0xe9: /* leave; jumps are followed */
		return KEEPS;
	case 0xe8:
		return KILLS;
	case 0xf6: case 0xf7: /* test, not, neg; the others divide and multiply in rax */
		return (i->modrm >> 3 & 7) < 4 ? one(i, is_byte) : READS;
	case 0xff:
		return group_ff(i);
	default:
		return READS;
	}
}

static enum effect effect2(const struct am_insn *i)
{
	switch (i->op) {
	case 0x10: case 0x11: case 0x12: case 0x13: case 0x16: case 0x17: case 0x28: case 0x29: case 0x57: case 0x6f: case 0x7f:
	case 0xef: /* moves and zeroes of vector registers */
	case 0x1e: case 0x1f: /* endbr, nop */
		return is_addressed(i) ? READS : KEEPS;
	case 0xb6: case 0xb7: case 0xbe: case 0xbf: /* movzx, movsx */
		return load(i, !(i->op & 1), i->is_word);
	case 0xa3: case 0xaf: /* bt, imul */
		return both(i, false);
	case 0xba:
		return one(i, false);
	default:
		return i->op >> 4 == 8 ? KEEPS : i->op >> 4 == 4 ? both(i, false) : i->op >> 4 == 9 ? store(i, true) : READS;
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

static bool is_unused(uintptr_t at, uintptr_t start, uintptr_t end, unsigned *steps, unsigned sides)
{
	struct am_insn i;

	for (; at >= start && at < end && (*steps)++ < STEPS && am_insn_decode((const uint8_t *)at, end - at, &i);
	     at += i.length) {
		const enum effect effect = i.is_vex || i.map > 1 ? READS : i.map ? effect2(&i) : effect1(&i);
		if (effect != KEEPS)
			return effect == KILLS;
		if (!i.is_jump)
			continue;
		if (is_callback(at, start, end))
			return true;
		const uintptr_t to = at + i.length + (uintptr_t)(intptr_t)i.to;
		const bool is_always = !i.map && i.op >> 4 == 0xe;
		if (is_always && (to < start || to >= end))
			return is_stub(to); /* the last call of a function; elsewhere a part of it may lie */
		if (!is_always && (sides == 0 || !is_unused(to, start, end, steps, sides - 1)))
			return false;
		if (is_always)
			at = to - i.length;
	}
	return false;
}

bool am_insn_is_unused(uintptr_t pc, uintptr_t start, uintptr_t end)
{
	const uint32_t answer = am_insn_answer(pc, end);
	unsigned steps = 0;

	if (answer)
		return answer & AM_ANSWER_UNUSED;
	return is_unused(pc, start, end, &steps, SIDES);
}
