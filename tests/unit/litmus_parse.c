/* The litmus parser: what it accepts, what it refuses, and where its messages point. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/litmus/ast.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct am_lit *parse(const char *text, struct am_lit_error *error)
{
	return am_lit_parse("t.litmus", text, strlen(text), error);
}

static void accepts(const char *text)
{
	struct am_lit_error error;
	struct am_lit *lit = parse(text, &error);

	cr_assert(lit, "%u:%u: %s in\n%s", error.pos.line, error.pos.column, error.message, text);
	am_lit_free(lit);
}

static void refuses(const char *text, unsigned line, unsigned column, const char *word)
{
	struct am_lit_error error;
	struct am_lit *lit = parse(text, &error);

	cr_assert(!lit, "accepted: %s", text);
	cr_expect(error.pos.line == line && error.pos.column == column, "%u:%u: %s in\n%s",
		  error.pos.line, error.pos.column, error.message, text);
	cr_expect(strstr(error.message, word), "'%s' is not in: %s", word, error.message);
}

Test(litmus_parse, header_comments_and_metadata_come_before_the_init_block)
{
	accepts("C a\n{}\nP0(int *x) { }\n");
	accepts("C a+b-c.d\n\"doc string\"\nCycle=Fre Rfe\nPrefetch=0:x=F,1:y=T\n(* a (* nested *) "
		"comment *)\n{ }\nP0(int *x) { }\nexists (x=0)\n");
	accepts("(* first *)\nC a\n\nP0(int *x) { *x = 1; }\n");
}

Test(litmus_parse, init_block_declares_numbers_pointers_arrays_and_objects)
{
	struct am_lit_error error;
	struct am_lit *lit = parse("C a\n{ int x = 3; int *p = &x; q=x; spinlock_t s; int a[2] = {1,2}; "
				   "sem_t m = 2; 0:r1=5; unsigned char c = 300; y; }\n"
				   "P0(int *x, int **p, int **q) { int r2 = r1; }\nexists (0:r2=5)\n",
				   &error);

	cr_assert(lit, "%s", error.message);
	cr_expect_eq(lit->n_objects, 8);
	cr_expect_eq(lit->cells[0].init, 3);
	cr_expect_eq(lit->cells[1].init, am_lit_address(0));
	cr_expect_eq(lit->cells[2].init, am_lit_address(0));
	cr_expect_eq(lit->objects[2].type.pointers, 1, "an untyped variable takes its parameter's type");
	cr_expect(lit->objects[4].is_array);
	cr_expect_eq(lit->cells[5].init, 2);
	cr_expect_eq(lit->cells[7].init, 44, "values are cut to the type");
	am_lit_free(lit);
}

Test(litmus_parse, every_family_of_functions_is_known)
{
	accepts("C a\n{ spinlock_t l; sem_t s; cond_t c; barrier_t b = 2; atomic_t v; int x; }\n"
		"P0(spinlock_t *l, sem_t *s, cond_t *c, barrier_t *b, atomic_t *v, int *x) {\n"
		"int r0 = READ_ONCE(*x); WRITE_ONCE(*x, r0); r0 = smp_load_acquire(x);\n"
		"smp_store_release(x, 1); smp_store_mb(*x, 2); smp_mb(); smp_rmb(); smp_wmb();\n"
		"smp_mb__before_atomic(); smp_mb__after_atomic(); smp_mb__after_spinlock(); barrier();\n"
		"r0 = atomic_read(v); atomic_set(v, 1); atomic_add(1, v); atomic_inc(v); atomic_dec(v);\n"
		"r0 = atomic_add_return(1, v); r0 = atomic_sub_return_relaxed(1, v);\n"
		"r0 = atomic_fetch_or_release(1, v); r0 = atomic_dec_and_test(v);\n"
		"r0 = atomic_xchg_acquire(v, 2); r0 = atomic_cmpxchg(v, 1, 2); r0 = xchg(x, 1);\n"
		"r0 = cmpxchg_relaxed(x, 0, 1); r0 = atomic_add_unless(v, 1, 0);\n"
		"r0 = atomic_load_explicit(x, memory_order_acquire);\n"
		"atomic_store_explicit(x, 1, memory_order_seq_cst); r0 = atomic_load(x);\n"
		"r0 = atomic_fetch_add(x, 3); r0 = atomic_fetch_add_explicit(x, 3, "
		"memory_order_relaxed);\n"
		"r0 = atomic_compare_exchange_strong_explicit(x, &r0, 1, memory_order_acq_rel, "
		"memory_order_relaxed);\n"
		"atomic_thread_fence(memory_order_release);\n"
		"spin_lock(l); r0 = spin_is_locked(l); spin_unlock(l); r0 = spin_trylock(l);\n"
		"sem_post(s); sem_wait(s); cond_signal(c); cond_broadcast(c); cond_wait(c, l);\n"
		"cond_wait(c); barrier_wait(b); rcu_read_lock(); rcu_read_unlock(); assert(r0 == 1);\n"
		"}\nP1() { fork(P2); join(P2); }\nP2(int *x) { *x = 1; }\n");
}

Test(litmus_parse, statements_and_operators_are_those_of_c)
{
	accepts("C a\n{ int x; int a[4]; }\nP0(int *x, int *a) {\n"
		"int i, *p = &a[1]; unsigned long u = 1UL << 40; // C++ comment\n"
		"for (i = 0; i < 3; i++) { a[i] += i * 2 - -1; if (a[i] == 2) continue; else break; }\n"
		"while (i-- > 0 && !(*x)) *x |= (i & 3) ^ 1; do { i = ~i % 7; } while (i > 100);\n"
		"*p = (i ? 1 : 2), (*x)++; /* C comment */ u >>= 3; *x = (int)u + (*p <= 3) + (1 && 0 || 1);\n"
		"atomic { *x = 1; } atomic named { *x = 2; } atomic \"a name\" { ; }\n"
		"return;\n}\nforall (x=1 \\/ not (a[1]=2) => x!=-1)\n");
}

Test(litmus_parse, a_parenthesis_and_a_star_in_a_body_is_no_comment)
{
	accepts("C a\n{}\nP0(int *x) { (*x)++; if (*x) (*x) = 2; }\n");
}

Test(litmus_parse, errors_point_at_line_and_column)
{
	refuses("", 1, 1, "C name");
	refuses("X86 SB\n{}\n", 1, 1, "only C");
	refuses("C a\n{}\n", 3, 1, "thread");
	refuses("C a\n{ int x; int x; }\nP0(int *x) {}\n", 2, 14, "twice");
	refuses("C a\n{}\nP0(int *x) { *x = y; }\n", 3, 19, "'y' is not declared");
	refuses("C a\n{}\nP0(int *x) { *x = 1 }\n", 3, 21, "';'");
	refuses("C a\n{}\nP0(int *x) { frobnicate(*x); }\n", 3, 14, "frobnicate");
	refuses("C a\n{}\nP0(int *x) { WRITE_ONCE(*x); }\n", 3, 14, "2 arguments");
	refuses("C a\n{}\nP0(int *x) { spin_lock(x); }\n", 3, 24, "lock");
	refuses("C a\n{}\nP0(int *x) { break; }\n", 3, 14, "loop");
	refuses("C a\n{}\nP0(int *x) { goto out; }\n", 3, 14, "goto");
	refuses("C a\n{}\nP0(int *x) {\n\t*x = 1;\n", 5, 1, "end of the file");
	refuses("C a\n{}\nP0(int *x) { }\nP0(int *x) { }\n", 4, 1, "twice");
	refuses("C a\n{}\nP0(int *x) { }\nexists (1:r0=0)\n", 4, 9, "P1");
	refuses("C a\n{}\nP0(int *x) { }\nexists (0:r0=0)\n", 4, 11, "r0");
	refuses("C a\n{}\nP0(int *x) { }\nexists (z=0)\n", 4, 9, "'z'");
	refuses("C a\n(* open\n{}\n", 2, 1, "comment");
	refuses("C a\n{}\nP0(int *x) { *x = 99999999999999999999; }\n", 3, 19, "64 bits");
	refuses("C a\n{}\nP0(int *x) { *x = 1; } @\n", 3, 24, "character");
	refuses("C a\n{}\nP0(int *x) { for (;;) atomic { break; } }\n", 3, 32, "loop");
}

Test(litmus_parse, a_message_shows_the_line_and_a_caret)
{
	const char *text = "C a\n{}\nP0(int *x)\n{\n\t*x = bad;\n}\n";
	struct am_lit_error error;
	char shown[400];

	cr_assert(!parse(text, &error));
	am_lit_error_text("t.litmus", text, strlen(text), &error, shown, sizeof(shown));
	cr_expect_str_eq(shown, "t.litmus:5:7: error: 'bad' is not declared\n\t*x = bad;\n\t     ^\n");
}

Test(litmus_parse, hostile_nesting_and_sizes_are_refused)
{
	const size_t n = 100000;
	char *text = malloc(n + 200);
	struct am_lit_error error;

	size_t at = (size_t)sprintf(text, "C a\n{}\nP0(int *x) { *x = ");
	memset(text + at, '(', n);
	text[at + n] = 0;
	cr_expect(!parse(text, &error));
	memset(text + at, '-', n);
	cr_expect(!parse(text, &error));
	at = (size_t)sprintf(text, "C a\n{}\nP0(int *x) { ");
	memset(text + at, '{', n);
	text[at + n] = 0;
	cr_expect(!parse(text, &error));
	at = (size_t)sprintf(text, "C a\n{}\nP0(int *x) { }\nexists ");
	memset(text + at, '~', n);
	text[at + n] = 0;
	cr_expect(!parse(text, &error));
	cr_expect(!parse("C a\n{ int a[100000]; }\nP0() {}\n", &error));
	free(text);
}

Test(litmus_parse, grace_periods_are_named_as_not_modelled)
{
	struct am_lit_error error;
	struct am_lit *lit = parse("C a\n{}\nP0(int *x) { synchronize_rcu(); }\n", &error);

	cr_assert(lit);
	cr_expect_str_eq(lit->unmodelled, "synchronize_rcu");
	am_lit_free(lit);
}
