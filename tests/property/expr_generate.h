/* SPDX-License-Identifier: MIT */
/*
 * Random C programs for expr_sound.c: functions over globals of every integer width, with loops,
 * calls, pointers, structs, arrays, switches, shifts, divisions, atomics, volatile and memcpy; the rarer
 * things are in expr_special.h. Defined behaviour only, given -fwrapv. Deterministic in the seed.
 */
#ifndef ATOMMON_TESTS_EXPR_GENERATE_H
#define ATOMMON_TESTS_EXPR_GENERATE_H

#include <stdint.h>
#include <stdio.h>

struct gen {
	FILE *out;
	uint64_t state;
	unsigned program, helpers;
	unsigned locals; /* int locals v0..v(n-1) in scope */
	unsigned labels;
};

static unsigned gen_pick(struct gen *g, unsigned n)
{
	g->state = g->state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(g->state >> 33) % n;
}

static const char *const gen_types[] = {"int8_t",  "uint8_t",  "int16_t", "uint16_t",
					"int32_t", "uint32_t", "int64_t", "uint64_t"};
static const char *const gen_globals[] = {"a8", "b8", "a16", "b16", "a32", "b32", "a64", "b64"};

#define GEN(...) fprintf(g->out, __VA_ARGS__)

static void gen_expr(struct gen *g, unsigned depth);

#include "tests/property/expr_special.h"

/* Something that can be read and written. */
static void gen_place(struct gen *g)
{
	switch (gen_pick(g, 10)) {
	case 0:
	case 1: GEN("%s", gen_globals[gen_pick(g, 8)]); break;
	case 2: GEN("s%u.m%u", gen_pick(g, 2), gen_pick(g, 5)); break;
	case 3: GEN("row[%u]", gen_pick(g, 8)); break;
	case 4:
		GEN("row[(");
		gen_expr(g, 0);
		GEN(") & 7]");
		break;
	case 5: GEN("ps->m%u", gen_pick(g, 5)); break;
	case 6: GEN("*p32"); break;
	case 7: GEN("vol"); break;
	case 8: GEN("%s", gen_special_places[gen_pick(g, GEN_SPECIAL_PLACES)]); break;
	default:
		if (g->locals)
			GEN("v%u", gen_pick(g, g->locals));
		else
			GEN("a32");
	}
}

static void gen_leaf(struct gen *g)
{
	switch (gen_pick(g, 8)) {
	case 0: GEN("(%d)", (int)gen_pick(g, 200) - 100); break;
	case 1: GEN("INT64_C(%lld)", (long long)((int64_t)g->state >> gen_pick(g, 60))); break;
	case 2: GEN("x"); break;
	case 3: GEN("y"); break;
	default: gen_place(g); break;
	}
}

static void gen_expr(struct gen *g, unsigned depth)
{
	static const char *const plain[] = {"+", "-", "*", "&", "|", "^"};
	static const char *const compare[] = {"<", "<=", ">", ">=", "==", "!="};

	if (depth == 0) {
		gen_leaf(g);
		return;
	}
	GEN("(");
	switch (gen_pick(g, 17)) {
	case 14:
	case 15:
		gen_template(g, gen_special_exprs[gen_pick(g, GEN_SPECIAL_EXPRS)], depth - 1);
		break;
	case 0:
	case 1:
	case 2:
	case 3:
		gen_expr(g, depth - 1);
		GEN(" %s ", plain[gen_pick(g, 6)]);
		gen_expr(g, depth - 1);
		break;
	case 4:
		gen_expr(g, depth - 1);
		GEN(" %s ", compare[gen_pick(g, 6)]);
		gen_expr(g, depth - 1);
		break;
	case 5: /* divisors are 1 to 256 */
		GEN("(%s)", gen_types[gen_pick(g, 8)]);
		gen_expr(g, depth - 1);
		GEN(" %c (((", gen_pick(g, 2) ? '/' : '%');
		gen_expr(g, depth - 1);
		GEN(") & 0xff) + 1)");
		break;
	case 6: /* both operands at least int: amounts below 32 are fine */
		GEN("(%s)", gen_types[gen_pick(g, 8)]);
		gen_expr(g, depth - 1);
		GEN(" %s ((", gen_pick(g, 2) ? "<<" : ">>");
		gen_expr(g, depth - 1);
		GEN(") & 31)");
		break;
	case 7:
		gen_expr(g, depth - 1);
		GEN(" ? ");
		gen_expr(g, depth - 1);
		GEN(" : ");
		gen_expr(g, depth - 1);
		break;
	case 8:
		GEN("%s", gen_pick(g, 2) ? "~" : "-");
		gen_expr(g, depth - 1);
		break;
	case 9:
		GEN("!");
		gen_expr(g, depth - 1);
		break;
	case 10:
		gen_expr(g, depth - 1);
		GEN(" %s ", gen_pick(g, 2) ? "&&" : "||");
		gen_expr(g, depth - 1);
		break;
	case 11:
		if (g->helpers) {
			GEN("h%u_%u(", g->program, gen_pick(g, g->helpers));
			gen_expr(g, depth - 1);
			GEN(", ");
			gen_expr(g, depth - 1);
			GEN(")");
		} else {
			gen_leaf(g);
		}
		break;
	case 12:
		GEN("(int64_t)((double)(");
		gen_expr(g, depth - 1);
		GEN(" & 0xfff) * 1.5)");
		break;
	default:
		GEN("(%s)", gen_types[gen_pick(g, 8)]);
		gen_expr(g, depth - 1);
	}
	GEN(")");
}

static void gen_block(struct gen *g, unsigned depth);

static void gen_assign(struct gen *g)
{
	static const char *const ops[] = {"=", "=", "=", "+=", "-=", "^=", "|=", "&=", "*="};

	gen_place(g);
	GEN(" %s ", ops[gen_pick(g, 9)]);
	gen_expr(g, 2);
	GEN(";\n");
}

static void gen_atomic(struct gen *g)
{
	static const char *const ops[] = {"add", "sub", "or", "xor", "and"};

	switch (gen_pick(g, 5)) {
	case 0:
		GEN("atomic_fetch_%s(&at32, ", ops[gen_pick(g, 5)]);
		gen_expr(g, 1);
		GEN(");\n");
		break;
	case 1:
		GEN("a64 = atomic_exchange(&at64, ");
		gen_expr(g, 1);
		GEN(");\n");
		break;
	case 2:
		GEN("{ int32_t e = ");
		gen_expr(g, 1);
		GEN("; if (atomic_compare_exchange_strong(&at32, &e, ");
		gen_expr(g, 1);
		GEN(")) b16++; else a32 = e; }\n");
		break;
	case 3: GEN("{ int32_t e = at32; atomic_compare_exchange_weak(&at32, &e, e + 3); }\n"); break;
	default:
		GEN("atomic_store_explicit(&at64, ");
		gen_expr(g, 1);
		GEN(" + atomic_load_explicit(&at32, memory_order_acquire), memory_order_release);\n");
	}
}

static void gen_statement(struct gen *g, unsigned depth)
{
	const unsigned label = g->labels++;

	if (gen_pick(g, 5) == 0) {
		gen_template(g, gen_special_statements[gen_pick(g, GEN_SPECIAL_STATEMENTS)], 1);
		GEN("\n");
		return;
	}
	switch (gen_pick(g, depth ? 15 : 7)) {
	case 7:
	case 8:
		GEN("if (");
		gen_expr(g, 2);
		GEN(") {\n");
		gen_block(g, depth - 1);
		if (gen_pick(g, 2)) {
			GEN("} else {\n");
			gen_block(g, depth - 1);
		}
		GEN("}\n");
		break;
	case 9:
		GEN("for (int i%u = 0; i%u < (int)(", label, label);
		gen_expr(g, 1);
		GEN(" & 3); i%u++) {\n", label);
		gen_block(g, depth - 1);
		GEN("}\n");
		break;
	case 10:
		GEN("{ unsigned n%u = %u; while (n%u-- && ", label, 1 + gen_pick(g, 3), label);
		gen_expr(g, 1);
		GEN(") {\n");
		gen_block(g, depth - 1);
		GEN("if (n%u == 1) %s;\n} }\n", label, gen_pick(g, 2) ? "break" : "continue");
		break;
	case 11:
		GEN("switch ((");
		gen_expr(g, 1);
		GEN(") & 7) {\n");
		for (unsigned i = 0; i < 4; i++) {
			GEN("case %u:\n", 2 * i);
			gen_assign(g);
			if (gen_pick(g, 3))
				GEN("break;\n");
		}
		GEN("default:\n");
		gen_assign(g);
		GEN("}\n");
		break;
	case 12:
		GEN("{ int32_t box%u[4] = {", label);
		gen_expr(g, 1);
		GEN(", ");
		gen_expr(g, 1);
		GEN("}; box%u[(", label);
		gen_expr(g, 1);
		GEN(") & 3] += 7; a32 ^= box%u[", label);
		gen_expr(g, 0);
		GEN(" & 3]; }\n");
		break;
	case 13: GEN("assert((b8 & 1) <= 1);\n"); break;
	case 14: GEN("p32 = %s;\n", gen_pick(g, 2) ? "&a32" : "(int32_t *)&b32"); break;
	case 0: GEN("ps = ((%s) & 1) ? &s0 : &s1;\n", gen_globals[gen_pick(g, 8)]); break;
	case 1: gen_atomic(g); break;
	case 2: GEN("%s;\n", gen_pick(g, 2) ? "s0 = s1" : "memcpy(&s1, &s0, sizeof s1)"); break;
	default: gen_assign(g); break;
	}
}

static void gen_block(struct gen *g, unsigned depth)
{
	const unsigned n = 1 + gen_pick(g, 3);

	for (unsigned i = 0; i < n; i++)
		gen_statement(g, depth);
}

static void gen_function(struct gen *g, unsigned statements)
{
	g->locals = 0;
	for (unsigned i = 0; i < 3; i++) {
		GEN("%s v%u = (%s)", gen_types[gen_pick(g, 8)], i, gen_types[gen_pick(g, 8)]);
		gen_expr(g, 1);
		GEN(";\n");
		g->locals++;
	}
	GEN("(void)v0; (void)v1; (void)v2; (void)x; (void)y;\n");
	for (unsigned i = 0; i < statements; i++)
		gen_statement(g, 2);
}

/* One program: helpers, and the function run<number>. */
static void gen_program(FILE *out, uint64_t seed, unsigned number)
{
	struct gen gen = {.out = out, .state = seed, .program = number}, *g = &gen;
	const unsigned helpers = gen_pick(g, 3);

	for (unsigned i = 0; i < helpers; i++) {
		GEN("%s%s h%u_%u(%s x, %s y)\n{\n", gen_pick(g, 2) ? "static " : "",
		    gen_types[gen_pick(g, 8)], number, i, gen_types[gen_pick(g, 8)],
		    gen_types[gen_pick(g, 8)]);
		g->helpers = i;
		gen_function(g, 2);
		GEN("return ");
		gen_expr(g, 2);
		GEN(";\n}\n");
	}
	g->helpers = helpers;
	GEN("void run%u(int64_t x, int32_t y)\n{\n", number);
	gen_function(g, 6);
	GEN("}\n");
}

static void gen_prologue(FILE *out)
{
	fputs("#include <assert.h>\n#include <stdatomic.h>\n#include <stdint.h>\n#include <stdio.h>\n"
	      "#include <string.h>\n"
	      "int8_t a8 = -3; uint8_t b8 = 200; int16_t a16 = -300; uint16_t b16 = 60000;\n"
	      "int32_t a32 = -70000; uint32_t b32 = 4000000000u; int64_t a64 = -5000000000;\n"
	      "uint64_t b64 = 18000000000000000000u; volatile int32_t vol = 17;\n"
	      "_Atomic int32_t at32 = 9; _Atomic int64_t at64 = -9;\n"
	      "struct s { int8_t m0; int32_t m1; uint16_t m2; int64_t m3; uint8_t m4; } s0 = {1, 2, 3, 4, 5},\n"
	      "\ts1 = {6, 7, 8, 9, 10}, *ps = &s0;\n"
	      "int32_t row[8] = {1, -1, 2, -2, 3, -3, 4, -4}; int32_t *p32 = &a32;\n",
	      out);
	fputs(gen_special_prologue, out);
}

static void gen_main(FILE *out, unsigned programs)
{
	fputs("int main(void)\n{\n", out);
	for (unsigned i = 0; i < programs; i++)
		fprintf(out, "run%u(%d, %d);\n", i, (int)(i * 7919 % 1000) - 500, (int)i - 50);
	fputs("printf(\"%d %d %d %d %d %d %lld %llu %d %d %lld %lld %d\\n\", a8, b8, a16, b16, a32, b32,\n"
	      "(long long)a64, (unsigned long long)b64, vol, at32, (long long)at64, (long long)s0.m3, row[3]);\n"
	      "printf(\"%d %lld %u %d %lld %d %d %g %g %lld %d %d %d %llu %d\\n\", bits.a, (long long)bits.c, un.w, pk.w, (long long)pk.l,\n"
	      "tls, flag, f64, (double)f80, (long long)huge, grid[1][1], vec[1], at8, (unsigned long long)atu, *atp);\n"
	      "return 0;\n}\n",
	      out);
}

#undef GEN
#endif
