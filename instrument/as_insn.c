/*
 * Takes one line of gcc's assembler apart, and owns the list of instructions that as_value.c may follow.
 * An instruction belongs here only if all that it writes is its last operand and the flags, or what
 * its effect names. Runs in the assembler of the compiler wrapper. Pure.
 */
/* SPDX-License-Identifier: MIT */
#include "instrument/as_insn.h"

#include <stdlib.h>
#include <string.h>

enum {
	WHOLE = 1 << 0,	 /* the name as it stands, else with b, w, l or q behind it */
	LOOSE = 1 << 1,	 /* with the letter or without */
	VECTOR = 1 << 2, /* also with v before it; the size in memory is not told by a letter */
	FRONT = 1 << 3,	 /* whatever follows */
};

static const struct rule {
	const char *name;
	enum am_as_effect effect;
	unsigned how;
	int least, most; /* operands */
} rules[] = {
	{"mov", AM_AS_COPY, 0, 2, 2},
	{"movabs", AM_AS_COPY, 0, 2, 2},
	{"lea", AM_AS_ADDRESS, 0, 2, 2},
	{"add", AM_AS_COMPUTE, 0, 2, 2},
	{"sub", AM_AS_COMPUTE, 0, 2, 2},
	{"and", AM_AS_COMPUTE, 0, 2, 2},
	{"or", AM_AS_COMPUTE, 0, 2, 2},
	{"xor", AM_AS_COMPUTE, 0, 2, 2},
	{"cmp", AM_AS_NOTHING, 0, 2, 2},
	{"test", AM_AS_NOTHING, 0, 2, 2},
	{"imul", AM_AS_COMPUTE, 0, 2, 3},
	{"imul", AM_AS_DIVIDE, 0, 1, 1},
	{"mul", AM_AS_DIVIDE, 0, 1, 1},
	{"div", AM_AS_DIVIDE, 0, 1, 1},
	{"idiv", AM_AS_DIVIDE, 0, 1, 1},
	{"sal", AM_AS_COMPUTE, 0, 1, 2},
	{"shl", AM_AS_COMPUTE, 0, 1, 2},
	{"sar", AM_AS_COMPUTE, 0, 1, 2},
	{"shr", AM_AS_COMPUTE, 0, 1, 2},
	{"rol", AM_AS_COMPUTE, 0, 1, 2},
	{"ror", AM_AS_COMPUTE, 0, 1, 2},
	{"inc", AM_AS_COMPUTE, 0, 1, 1},
	{"dec", AM_AS_COMPUTE, 0, 1, 1},
	{"neg", AM_AS_COMPUTE, 0, 1, 1},
	{"not", AM_AS_COMPUTE, 0, 1, 1},
	{"bswap", AM_AS_COMPUTE, LOOSE, 1, 1},
	{"movzb", AM_AS_CONVERT, 0, 2, 2},
	{"movzw", AM_AS_CONVERT, 0, 2, 2},
	{"movsb", AM_AS_CONVERT, 0, 2, 2},
	{"movsw", AM_AS_CONVERT, 0, 2, 2},
	{"movslq", AM_AS_CONVERT, WHOLE, 2, 2},
	{"cltq", AM_AS_WIDEN, WHOLE, 0, 0},
	{"cwtl", AM_AS_WIDEN, WHOLE, 0, 0},
	{"cqto", AM_AS_SPREAD, WHOLE, 0, 0},
	{"cltd", AM_AS_SPREAD, WHOLE, 0, 0},
	{"nop", AM_AS_NOTHING, WHOLE, 0, 0},
	{"bt", AM_AS_NOTHING, 0, 2, 2},
	{"adc", AM_AS_SET, 0, 2, 2},
	{"sbb", AM_AS_SET, 0, 2, 2},
	{"shld", AM_AS_SET, 0, 3, 3},
	{"shrd", AM_AS_SET, 0, 3, 3},
	{"bsf", AM_AS_SET, 0, 2, 2},
	{"bsr", AM_AS_SET, 0, 2, 2},
	{"tzcnt", AM_AS_SET, LOOSE, 2, 2},
	{"lzcnt", AM_AS_SET, LOOSE, 2, 2},
	{"popcnt", AM_AS_SET, LOOSE, 2, 2},
	{"andn", AM_AS_SET, LOOSE, 3, 3},
	{"sarx", AM_AS_SET, LOOSE, 3, 3},
	{"shlx", AM_AS_SET, LOOSE, 3, 3},
	{"shrx", AM_AS_SET, LOOSE, 3, 3},
	{"rorx", AM_AS_SET, LOOSE, 3, 3},
	{"cmov", AM_AS_SET, FRONT, 2, 2},
	{"set", AM_AS_SET, FRONT, 1, 1},
	{"cvt", AM_AS_SET, FRONT | VECTOR, 2, 3},
#define SCALAR(name) {name "ss", AM_AS_SET, WHOLE | VECTOR, 2, 3}, {name "sd", AM_AS_SET, WHOLE | VECTOR, 2, 3}
#define PACKED(name) {name "ps", AM_AS_SET, WHOLE | VECTOR, 2, 3}, {name "pd", AM_AS_SET, WHOLE | VECTOR, 2, 3}
	SCALAR("mov"), SCALAR("add"), SCALAR("sub"), SCALAR("mul"), SCALAR("div"), SCALAR("min"), SCALAR("max"), SCALAR("sqrt"),
	PACKED("mova"), PACKED("movu"), PACKED("movl"), PACKED("movh"), PACKED("add"), PACKED("sub"), PACKED("mul"),
	PACKED("div"), PACKED("and"), PACKED("andn"), PACKED("or"), PACKED("xor"), PACKED("unpckl"), PACKED("unpckh"),
#define INTEGER(name) {name, AM_AS_SET, WHOLE | VECTOR, 2, 3}
	INTEGER("movd"), INTEGER("movdqa"), INTEGER("movdqu"), INTEGER("pxor"), INTEGER("por"), INTEGER("pand"), INTEGER("pandn"),
	INTEGER("paddd"), INTEGER("paddq"), INTEGER("psubd"), INTEGER("psubq"), INTEGER("pshufd"), INTEGER("punpckldq"),
	INTEGER("punpcklqdq"),
	{"vmovq", AM_AS_SET, WHOLE | VECTOR, 2, 2},
	{"ucomis", AM_AS_NOTHING, FRONT | VECTOR, 2, 2},
	{"comis", AM_AS_NOTHING, FRONT | VECTOR, 2, 2},
};

static bool is(struct am_as_text t, const char *name)
{
	return t.n == strlen(name) && memcmp(t.at, name, t.n) == 0;
}

static bool starts(struct am_as_text t, const char *with)
{
	return t.n >= strlen(with) && memcmp(t.at, with, strlen(with)) == 0;
}

static struct am_as_text from(struct am_as_text t, size_t skip)
{
	return (struct am_as_text){t.at + skip, t.n - skip};
}

static int width_of(char letter)
{
	return letter == 'b' ? 1 : letter == 'w' ? 2 : letter == 'l' ? 4 : letter == 'q' ? 8 : 0;
}

static bool names(const struct rule *r, struct am_as_text name)
{
	if (r->how & VECTOR && starts(name, "v") && r->name[0] != 'v')
		name = from(name, 1);
	if (!name.n || *name.at != *r->name || !starts(name, r->name))
		return false;
	const struct am_as_text rest = from(name, strlen(r->name));
	if (r->how & FRONT)
		return true;
	if (rest.n == 0)
		return r->how & (WHOLE | LOOSE);
	return !(r->how & WHOLE) && rest.n == 1 && width_of(rest.at[0]);
}

static const struct rule *rule_of(struct am_as_text name, int operands)
{
	for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
		if (rules[i].least <= operands && operands <= rules[i].most && names(&rules[i], name))
			return &rules[i];
	return NULL;
}

/* Not more than these bytes of memory are written; as many are read, if what is read is to be followed. */
static void sizes(const struct rule *r, struct am_as_insn *insn)
{
	enum { MOST = 64 };
	const int last = width_of(insn->name.at[insn->name.n - 1]);

	if (r->how & VECTOR)
		insn->loads = insn->stores = is(insn->name, "movss") ? 4 : is(insn->name, "movsd") ? 8 : MOST;
	else if (r->how & FRONT)
		insn->loads = insn->stores = MOST;
	else
		insn->loads = insn->stores = last ? last : MOST;
	if (r->effect == AM_AS_CONVERT)
		insn->loads = width_of(insn->name.at[4]);
}

static bool read_register(struct am_as_text t, struct am_as_operand *o)
{
	static const char *const plain[8] = {"ax", "cx", "dx", "bx", "sp", "bp", "si", "di"};

	o->kind = AM_AS_REGISTER;
	if (starts(t, "%xmm") || starts(t, "%ymm")) {
		o->kind = AM_AS_VECTOR;
		return true;
	}
	for (int i = 0; i < 8; i++) {
		const char *r = plain[i];
		o->reg = i;
		if (t.n == 4 && memcmp(t.at + 2, r, 2) == 0 && (t.at[1] == 'r' || t.at[1] == 'e'))
			o->width = t.at[1] == 'r' ? 8 : 4;
		else if (t.n == 3 && memcmp(t.at + 1, r, 2) == 0)
			o->width = 2;
		else if (i < 4 && t.n == 3 && t.at[1] == r[0] && (t.at[2] == 'l' || t.at[2] == 'h'))
			o->width = t.at[2] == 'l' ? 1 : 0; /* 0: a part that is not the lowest */
		else if (i >= 4 && t.n == 4 && memcmp(t.at + 1, r, 2) == 0 && t.at[3] == 'l')
			o->width = 1;
		else
			continue;
		return true;
	}
	if (!starts(t, "%r"))
		return false;
	char *end;
	const long n = strtol(t.at + 2, &end, 10);
	const size_t rest = t.n - (size_t)(end - t.at);
	if (end == t.at + 2 || n < 8 || n > 15 || rest > 1)
		return false;
	o->reg = (int)n;
	o->width = rest == 0 ? 8 : *end == 'd' ? 4 : *end == 'w' ? 2 : *end == 'b' ? 1 : -1;
	return o->width > 0;
}

static struct am_as_text trim(struct am_as_text t)
{
	while (t.n && (*t.at == ' ' || *t.at == '\t'))
		t = from(t, 1);
	while (t.n && (t.at[t.n - 1] == ' ' || t.at[t.n - 1] == '\t'))
		t.n--;
	return t;
}

/* Cuts the part before the next comma outside parentheses. */
static struct am_as_text cut(struct am_as_text *rest)
{
	struct am_as_text t = *rest;
	int depth = 0;
	size_t i;

	for (i = 0; i < t.n && (t.at[i] != ',' || depth); i++)
		depth += (t.at[i] == '(') - (t.at[i] == ')');
	*rest = i < t.n ? from(t, i + 1) : from(t, t.n);
	t.n = i;
	return trim(t);
}

/* offset(base,index,scale), any part of which may be missing. */
static bool read_address(struct am_as_text t, struct am_as_operand *o)
{
	const char *open = memchr(t.at, '(', t.n);
	struct am_as_operand r;

	o->kind = AM_AS_MEMORY;
	o->text = t;
	o->has_segment = memchr(t.at, ':', t.n) != NULL;
	if (!open)
		return true;
	if (t.at[t.n - 1] != ')')
		return false;
	o->text.n = (size_t)(open - t.at);
	struct am_as_text in = {open + 1, t.n - o->text.n - 2};
	const struct am_as_text base = cut(&in), index = cut(&in), scale = cut(&in);
	o->is_rip = is(base, "%rip");
	if (base.n && !o->is_rip) {
		if (!read_register(base, &r) || r.kind != AM_AS_REGISTER || r.width != 8)
			return false;
		o->reg = r.reg;
	}
	if (index.n) {
		if (!read_register(index, &r) || r.kind != AM_AS_REGISTER || r.width != 8)
			return false;
		o->index = r.reg;
	}
	o->scale = scale.n ? *scale.at : '1';
	return in.n == 0 && scale.n <= 1;
}

static bool read_operand(struct am_as_text t, struct am_as_operand *o)
{
	*o = (struct am_as_operand){.reg = -1, .index = -1};
	if (t.n == 0 || t.at[0] == '*')
		return false;
	if (t.at[0] == '$') {
		o->kind = AM_AS_CONSTANT;
		o->text = t;
		return true;
	}
	if (t.at[0] == '%' && !memchr(t.at, ':', t.n))
		return read_register(t, o);
	return read_address(t, o);
}

bool am_as_insn_read(struct am_as_text line, struct am_as_insn *insn)
{
	int in_memory = 0;

	*insn = (struct am_as_insn){.name = line};
	for (size_t i = 0; i < line.n; i++)
		if (strchr(";{\"", line.at[i])) /* two in one line; a mask; nothing of gcc's */
			return false;
	for (size_t i = 0; i < line.n && insn->name.n == line.n; i++)
		if (line.at[i] == ' ' || line.at[i] == '\t')
			insn->name.n = i;
	struct am_as_text rest = trim(from(line, insn->name.n));
	while (rest.n) {
		if (insn->n == 3 || !read_operand(cut(&rest), &insn->operand[insn->n]))
			return false;
		in_memory += insn->operand[insn->n++].kind == AM_AS_MEMORY;
	}
	const struct rule *r = insn->name.n ? rule_of(insn->name, insn->n) : NULL;
	if (!r || in_memory > 1)
		return false;
	insn->effect = r->effect;
	sizes(r, insn);
	return true;
}
