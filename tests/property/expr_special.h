/* SPDX-License-Identifier: MIT */
/*
 * The rarer things of C for expr_generate.h: function pointers, recursion, variable arguments, structs by value, bit-fields,
 * unions, packed members, thread-local and constant data, floating point, inline assembler, 128 bits, vectors,
 * builtins, setjmp, arrays of variable length, blocks of bytes, atomics of all widths. Defined behaviour only.
 */
#ifndef ATOMMON_TESTS_EXPR_SPECIAL_H
#define ATOMMON_TESTS_EXPR_SPECIAL_H

/* What the programs share. */
static const char *const gen_special_prologue =
	"#include <alloca.h>\n#include <setjmp.h>\n#include <stdarg.h>\n#include <stdbool.h>\n#include <stdlib.h>\n"
	"struct bits { int a : 3; unsigned b : 7; int64_t c : 37; unsigned d : 1; unsigned e : 20, f : 4; } bits = {1, 2, 3, 1, 5, 6};\n"
	"union { uint32_t w; uint8_t b[4]; int16_t h[2]; float f; } un = {0x01020304};\n"
	"struct __attribute__((packed)) { uint8_t c; int16_t h; int32_t w; int64_t l; } pk = {1, -2, 3, -4};\n"
	"struct tiny { int16_t p; int8_t q; }; struct wide { int64_t v[4]; }; struct mixed { double d; int32_t i; };\n"
	"_Thread_local int32_t tls = 5; bool flag; double f64 = 1.5; float f32 = 2.5f; long double f80 = 3.5L;\n"
	"const int32_t table[8] = {3, 1, 4, 1, 5, 9, 2, 6}; int16_t grid[4][4]; __int128 huge = -1; jmp_buf place;\n"
	"typedef int32_t v4 __attribute__((vector_size(16))); v4 vec = {1, 2, 3, 4}; char text[16] = \"watch\";\n"
	"_Atomic int8_t at8 = 3; _Atomic uint16_t at16 = 500; _Atomic uint64_t atu = 1; _Atomic bool atb; _Atomic(int32_t *) atp = &a32;\n"
	"_Atomic struct tiny at_tiny; static int32_t f_add(int32_t a, int32_t b) { return a + b; }\n"
	"int32_t f_most(int32_t a, int32_t b) { if (a > b) return a; b32++; return b; }\n"
	"static int32_t f_swap(int32_t a, int32_t b) { a32 = b; return a ^ vol; }\n"
	"int32_t (*fns[4])(int32_t, int32_t) = {f_add, f_most, f_swap, f_add};\n"
	"uint32_t f_down(uint32_t n, uint32_t v) { return n ? f_down(n - 1, v * 3 + n) ^ (uint32_t)a32 : v; }\n"
	"int64_t f_sum(int n, ...) { va_list l; int64_t s = 0; va_start(l, n); for (int i = 0; i < n; i++)\n"
	"\ts += i & 1 ? va_arg(l, int64_t) : va_arg(l, int32_t); s += va_arg(l, double) > 2.0; va_end(l); return s; }\n"
	"struct tiny f_tiny(struct tiny t, int k) { t.p += k; if (t.q > 3) t.q = 0; return t; }\n"
	"struct wide f_wide(struct wide w, int64_t k) { w.v[k & 3] += k; a64 ^= w.v[0]; return w; }\n"
	"struct mixed f_mixed(double d, int32_t i, struct mixed m) { m.d += d; m.i = i > m.i ? i : m.i; return m; }\n"
	"int32_t f_many(int32_t a, int32_t b, int32_t c, int32_t d, int32_t e, int32_t f, int32_t g, int32_t h, int32_t i,\n"
	"\tint32_t j, int32_t k, int32_t l, int32_t m, int32_t n, int32_t o, int32_t p, int32_t q, int32_t r)\n"
	"{ return (a + b - c + d) ^ (e + f + g) ^ (h + i - j) ^ (k + l + m) ^ (n - o) ^ (p + q) ^ r; }\n"
	"int32_t f_jump(int32_t v) { static volatile int n; n = 0; if (setjmp(place) == 0) { a32 += 3; if (v & 1) longjmp(place, 1);\n"
	"\tn = v; } else b8++; return n; }\n"
	"int32_t f_array(int n, int32_t v) { int32_t list[n], *more = alloca(n * sizeof v); for (int i = 0; i < n; i++)\n"
	"\tlist[i] = more[i] = v + i; return list[n - 1] - more[0] + a8; }\n"
	"int32_t f_goto(int32_t v) { int n = 0; again: if (v > 100 && n++ < 5) { v /= 2; goto again; } return v + n; }\n"
	"int32_t f_where(int32_t v) { static void *const to[] = {&&one, &&two, &&three}; goto *to[(uint32_t)v % 3];\n"
	"\tone: return a16; two: return b8; three: return v + 1; }\n"
	"int32_t f_asm(int32_t v) { __asm__(\"addl $3, %0\" : \"+r\"(v)); return v; }\n"
	"__attribute__((weak)) int64_t f_weak(int64_t v) { return v - b64; }\n"
	"static inline __attribute__((always_inline)) int64_t f_inline(int64_t v) { return v * 2 + a8; }\n"
	"static int f_order(const void *a, const void *b) { const int32_t u = *(const int32_t *)a, v = *(const int32_t *)b;\n"
	"\treturn u < v ? -1 : u > v; }\n";

/* More that can be read and written. */
static const char *const gen_special_places[] = {
	"bits.a", "bits.b", "bits.c", "bits.d", "bits.e", "un.w", "un.b[2]", "un.h[1]", "pk.h", "pk.w", "pk.l", "tls", "flag",
	"grid[1][2]", "(*(row + 3))", "((struct s *)&s1)->m3", "pk.c", "at8", "at16", "atu",
};
enum { GEN_SPECIAL_PLACES = sizeof gen_special_places / sizeof *gen_special_places };

/* One expression: each %e is another. */
static const char *const gen_special_exprs[] = {
	"fns[(%e) & 3](%e, %e)",
	"f_down((%e) & 7, %e)",
	"f_sum(3, (int32_t)(%e), (int64_t)(%e), (int32_t)(%e), f64)",
	"f_tiny((struct tiny){(int16_t)(%e), (int8_t)(%e)}, %e).p",
	"f_wide((struct wide){{%e, %e}}, %e).v[1]",
	"f_mixed(f64, %e, (struct mixed){1.5, %e}).i",
	"f_many(%e, 1, %e, 3, 4, x, 6, y, 8, 9, 10, 11, 12, 13, 14, 15, %e, %e)",
	"f_jump(%e)",
	"f_array(((%e) & 3) + 1, %e)",
	"f_goto(%e)",
	"f_where(%e)",
	"f_asm(%e)",
	"f_weak(%e)",
	"f_inline(%e)",
	"(int64_t)(((__int128)(%e) * (%e)) >> 5)",
	"(int64_t)((huge + (%e)) >> 3)",
	"__builtin_popcountll(%e)",
	"__builtin_bswap32(%e)",
	"__builtin_clz((%e) | 1)",
	"({ int32_t o_; __builtin_add_overflow((int32_t)(%e), (int32_t)(%e), &o_) ? 77 : o_; })",
	"({ int64_t o_; bool c_ = __builtin_mul_overflow((int64_t)(%e), (int64_t)(%e), &o_); c_ + o_; })",
	"(f64 > (double)((%e) & 15))",
	"(f32 * 2 < (float)((%e) & 7) ? %e : %e)",
	"(int32_t)(f80 + (long double)((%e) & 255))",
	"__builtin_rotateleft32(%e, 5)",
	"table[(%e) & 7]",
	"grid[(%e) & 3][(%e) & 3]",
	"un.b[(%e) & 3]",
	"vec[(%e) & 3]",
	"((v4){(int32_t)(%e), 2, 3, 4} + vec)[0]",
	"(int64_t)strlen(text)",
	"(text[(%e) & 7] == 'w')",
	"(p32 == &a32)",
	"(&row[(%e) & 7] < &row[(%e) & 7])",
	"(fns[(%e) & 3] == f_most)",
	"(*atp)",
	"__builtin_expect((%e) > 3, 0)",
	"((int64_t)(%e) << ((%e) & 63))",
	"((uint64_t)(%e) >> ((%e) & 63))",
	"((int64_t)(%e) >> ((%e) & 63))",
	"(bool)(%e)",
	"(%e, %e)",
	"abs((int16_t)(%e))",
	"(int32_t)sizeof(int32_t[((%e) & 3) + 1])",
	"__builtin_choose_expr(1, %e, 0)",
	"(atomic_load(&atb) ? %e : atomic_load_explicit(&at16, memory_order_relaxed))",
	"*(volatile int16_t *)&un.h[0]",
};
enum { GEN_SPECIAL_EXPRS = sizeof gen_special_exprs / sizeof *gen_special_exprs };

/* One statement, %e as above. */
static const char *const gen_special_statements[] = {
	"f64 = (double)((%e) & 0xffff) / 3;",
	"f32 = (float)((%e) & 0xff);",
	"f80 = f64 + (%e & 15);",
	"huge = (__int128)(%e) << ((%e) & 63);",
	"vec = vec * (int32_t)(%e) + (v4){1, 2, 3, (int32_t)(%e)};",
	"vec[(%e) & 3] = %e;",
	"memcpy(row, grid, ((%e) & 7) * 4);",
	"memmove(row + 1, row, ((%e) & 7) * 4);",
	"memset(row, %e, ((%e) & 7) * 4);",
	"memset(grid, %e, sizeof grid);",
	"grid[(%e) & 3][(%e) & 3] += %e;",
	"un.b[(%e) & 3] = %e;",
	"fns[(%e) & 3] = (%e) & 1 ? f_most : f_swap;",
	"p32 = &row[(%e) & 7];",
	"at8 += %e;",
	"at16 *= %e;",
	"atu ^= %e;",
	"at8 = %e; b8 = at8;",
	"atomic_fetch_and_explicit(&atu, %e, memory_order_acq_rel);",
	"b8 += atomic_fetch_sub(&at8, %e);",
	"a64 += atomic_exchange(&at16, %e);",
	"atb = %e;",
	"atp = (%e) & 1 ? &a32 : &row[(%e) & 7];",
	"{ uint64_t e_ = %e; atomic_compare_exchange_strong(&atu, &e_, %e); b64 += e_; }",
	"{ uint16_t e_ = at16; if (atomic_compare_exchange_strong(&at16, &e_, %e)) a16--; }",
	"{ struct tiny t_ = at_tiny; t_.p += %e; at_tiny = t_; }",
	"atomic_thread_fence(memory_order_seq_cst);",
	"a8 = __atomic_fetch_nand((int8_t *)&at8, %e, __ATOMIC_SEQ_CST);",
	"{ struct wide w_ = {{%e, %e, %e}}, u_ = w_; u_ = f_wide(u_, %e); a64 ^= u_.v[2]; }",
	"{ struct bits b_ = bits; b_.c = %e; b_.f = %e; bits = b_; }",
	"{ unsigned n_ = 4; do { a8++; if (%e) break; } while (--n_ && (a8 & 3)); }",
	"switch ((int64_t)(%e)) { case -1: a8++; break; case 0 ... 9: b8++; break; case INT64_C(5000000000): a16++; }",
	"switch ((int8_t)(%e)) { case 0: case 1: a8 = 1; break; case 2: a16 = 2; break; case 3: case 4: b16 = 3;\n"
	"case 5: b8 = 5; break; case 6: case 7: case 8: case 9: case 10: case 11: case 12: case 13: case 14: case 15: case 16:\n"
	"case 17: a32 = 17; break; case 18: case -18: a32 = 18; break; default: b32 = 0; }",
	"__asm__ volatile(\"\" : : \"r\"((int32_t)(%e)) : \"memory\");",
	"{ int32_t l_[4] = {%e, %e, %e, %e}; qsort(l_, 4, sizeof *l_, f_order); a32 -= l_[1]; }",
	"{ void *m_ = malloc(16); memset(m_, %e, 16); ((int32_t *)m_)[1] += %e; b32 ^= ((uint32_t *)m_)[1]; free(m_); }",
	"if ((%e) > 5 && (%e) < 9 || !(%e)) a16 = %e;",
	"assert((%e) | 1);",
};
enum { GEN_SPECIAL_STATEMENTS = sizeof gen_special_statements / sizeof *gen_special_statements };

/* Prints a template, with an expression for each %e. */
static void gen_template(struct gen *g, const char *template, unsigned depth)
{
	for (const char *c = template; *c; c++) {
		if (c[0] != '%' || c[1] != 'e') {
			fputc(*c, g->out);
			continue;
		}
		gen_expr(g, depth);
		c++;
	}
}

#endif
