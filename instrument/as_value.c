/*
 * Numbers for what registers hold (as_value.h): local value numbering, as compilers do it, over the
 * instructions of as_insn.c. Runs in the assembler of the compiler wrapper, once a line: tables are
 * short and old entries give way, which loses knowledge only.
 */
/* SPDX-License-Identifier: MIT */
#include "instrument/as_value.h"
#include "instrument/as_insn.h"

#include <stdlib.h>
#include <string.h>

static unsigned fresh(struct am_as_values *v)
{
	return v->next++;
}

void am_as_values_begin(struct am_as_values *v)
{
	v->next = 1;
	v->nodes = v->slots = 0;
	for (int i = 0; i < AM_AS_REGISTERS; i++)
		v->of[i] = fresh(v);
}

void am_as_values_call(struct am_as_values *v)
{
	for (int i = 0; i < AM_AS_REGISTERS; i++)
		if (i != AM_AS_RBX && i != AM_AS_RSP && i != AM_AS_RBP && i < 12)
			v->of[i] = fresh(v);
}

static bool equal(struct am_as_text a, struct am_as_text b)
{
	return a.n == b.n && (a.n == 0 || memcmp(a.at, b.at, a.n) == 0);
}

static unsigned node(struct am_as_values *v, struct am_as_node like)
{
	const unsigned n = v->nodes < AM_AS_NODES ? v->nodes : AM_AS_NODES;

	for (unsigned i = 0; i < n; i++) {
		const struct am_as_node *m = &v->node[i];
		if (m->a == like.a && m->b == like.b && m->scale == like.scale && equal(m->how, like.how) &&
		    equal(m->constant, like.constant))
			return m->is;
	}
	like.is = fresh(v);
	v->node[v->nodes++ % AM_AS_NODES] = like;
	return like.is;
}

/* A value that its text alone tells. */
static unsigned constant(struct am_as_values *v, struct am_as_text text)
{
	return node(v, (struct am_as_node){.constant = text});
}

/* An address in the function's own frame? Then with its offset. */
static bool is_in_frame(const struct am_as_values *v, const struct am_as_operand *o, long *offset)
{
	char *end = NULL;

	if (o->index >= 0 || o->is_rip || o->has_segment || (o->reg != AM_AS_RSP && !(o->reg == AM_AS_RBP && v->has_frame)))
		return false;
	*offset = o->text.n ? strtol(o->text.at, &end, 10) : 0;
	return !o->text.n || end == o->text.at + o->text.n;
}

static unsigned load(struct am_as_values *v, const struct am_as_operand *o, int bytes)
{
	static const char got[] = "@GOTPCREL", tcb[] = "%fs:0";
	const unsigned n = v->slots < AM_AS_SLOTS ? v->slots : AM_AS_SLOTS;
	long offset;

	/* The linker's and the thread's own: nobody changes these. */
	if (o->is_rip && bytes == 8 && o->text.n > strlen(got) &&
	    memcmp(o->text.at + o->text.n - strlen(got), got, strlen(got)) == 0)
		return constant(v, o->text);
	if (o->reg < 0 && o->index < 0 && bytes == 8 && equal(o->text, (struct am_as_text){tcb, strlen(tcb)}))
		return constant(v, o->text);
	if (!is_in_frame(v, o, &offset))
		return fresh(v);
	for (unsigned i = 0; i < n; i++)
		if (v->slot[i].base == v->of[o->reg] && v->slot[i].offset == offset && v->slot[i].bytes == bytes)
			return v->slot[i].is;
	const struct am_as_slot s = {v->of[o->reg], fresh(v), offset, bytes};
	v->slot[v->slots++ % AM_AS_SLOTS] = s;
	return s.is;
}

/* Forgets what may have been overwritten: all but what lies beside, counted from the same place. */
static void store(struct am_as_values *v, const struct am_as_operand *o, int bytes)
{
	unsigned n = v->slots < AM_AS_SLOTS ? v->slots : AM_AS_SLOTS, left = 0;
	long offset;
	const bool is_known = is_in_frame(v, o, &offset);

	for (unsigned i = 0; i < n; i++) {
		const struct am_as_slot s = v->slot[i];
		if (is_known && s.base == v->of[o->reg] && (s.offset + s.bytes <= offset || offset + bytes <= s.offset))
			v->slot[left++] = s;
	}
	v->slots = left;
}

static unsigned address(struct am_as_values *v, const struct am_as_insn *insn)
{
	const struct am_as_operand *o = &insn->operand[0];
	struct am_as_text offset = o->text;

	if (o->kind != AM_AS_MEMORY || o->has_segment)
		return fresh(v);
	if (offset.n == 1 && *offset.at == '0')
		offset.n = 0;
	return node(v, (struct am_as_node){.how = insn->name,
					   .constant = offset,
					   .scale = o->is_rip ? 'r' : o->scale,
					   .a = o->reg >= 0 ? v->of[o->reg] : 0,
					   .b = o->index >= 0 ? v->of[o->index] : 0});
}

static unsigned value(struct am_as_values *v, const struct am_as_insn *insn, int i)
{
	const struct am_as_operand *o = &insn->operand[i];

	if (o->kind == AM_AS_CONSTANT)
		return constant(v, o->text);
	if (o->kind == AM_AS_REGISTER && o->width > 0)
		return v->of[o->reg];
	return o->kind == AM_AS_MEMORY ? load(v, o, insn->loads) : fresh(v);
}

/* What an instruction of its name and these operands gives, in a register of `width` bytes. */
static unsigned result(struct am_as_values *v, const struct am_as_insn *insn, unsigned a, unsigned b, int width)
{
	return node(v, (struct am_as_node){.how = insn->name, .scale = (char)('a' + width), .a = a, .b = b});
}

static void set(struct am_as_values *v, int reg, unsigned is)
{
	v->of[reg] = is;
	if (reg == AM_AS_RSP) /* what lay below is anybody's */
		v->slots = 0;
}

/* The last operand's new value, in all 64 bits: the upper half is cleared by what writes the lower. */
static unsigned outcome(struct am_as_values *v, const struct am_as_insn *insn)
{
	const int width = insn->operand[insn->n - 1].width;

	if (width < 4)
		return fresh(v);
	switch (insn->effect) {
	case AM_AS_COPY: {
		const unsigned a = value(v, insn, 0);
		const bool is_all = width == 8 && insn->operand[0].kind != AM_AS_VECTOR;
		return is_all ? a : result(v, insn, a, 0, width);
	}
	case AM_AS_ADDRESS:
		return address(v, insn);
	case AM_AS_CONVERT:
		return result(v, insn, value(v, insn, 0), 0, width);
	case AM_AS_COMPUTE: {
		const unsigned a = value(v, insn, 0);
		return result(v, insn, a, insn->n > 1 ? value(v, insn, 1) : 0, width);
	}
	default:
		return fresh(v);
	}
}

static void apply(struct am_as_values *v, const struct am_as_insn *insn)
{
	const struct am_as_operand *last = insn->n ? &insn->operand[insn->n - 1] : NULL;

	if (insn->effect == AM_AS_NOTHING)
		return;
	if (insn->effect == AM_AS_WIDEN) {
		set(v, AM_AS_RAX, result(v, insn, v->of[AM_AS_RAX], 0, 8));
	} else if (insn->effect == AM_AS_SPREAD) {
		set(v, AM_AS_RDX, fresh(v));
	} else if (insn->effect == AM_AS_DIVIDE) {
		set(v, AM_AS_RAX, fresh(v));
		set(v, AM_AS_RDX, fresh(v));
	} else if (last->kind == AM_AS_REGISTER) {
		set(v, last->reg, outcome(v, insn));
	} else if (last->kind == AM_AS_MEMORY) {
		store(v, last, insn->stores);
	}
}

bool am_as_values_step(struct am_as_values *v, struct am_as_text line)
{
	struct am_as_insn insn;

	if (!am_as_insn_read(line, &insn) || (insn.n && insn.operand[insn.n - 1].kind == AM_AS_CONSTANT &&
					      insn.effect != AM_AS_NOTHING)) {
		am_as_values_begin(v);
		return false;
	}
	apply(v, &insn);
	return true;
}
