/* See generate.h. No state but the seed. */
/* SPDX-License-Identifier: MIT */
#include "generate.h"

#include <stdarg.h>
#include <stdio.h>

struct gen {
	uint64_t state;
	char *text;
	size_t size, at;
	unsigned threads, vars, steps_left;
	unsigned reg;	   /* next register of this thread */
	unsigned depth;
	bool in_atomic, in_lock;
	bool has_array, has_sem, has_cond, has_fork, has_barrier;
	const struct am_lit_generate *how;
};

static uint64_t next(struct gen *g)
{
	uint64_t z = (g->state += UINT64_C(0x9e3779b97f4a7c15));

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

static unsigned below(struct gen *g, unsigned n)
{
	return (unsigned)(next(g) % n);
}

static bool chance(struct gen *g, unsigned percent)
{
	return below(g, 100) < percent;
}

__attribute__((format(printf, 2, 3))) static void put(struct gen *g, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	const int n = vsnprintf(g->text + g->at, g->size - g->at, format, args);
	va_end(args);
	if (n > 0)
		g->at += (size_t)n < g->size - g->at ? (size_t)n : g->size - g->at - 1;
}

static void indent(struct gen *g)
{
	for (unsigned i = 0; i <= g->depth; i++)
		put(g, "\t");
}

static const char *var(struct gen *g)
{
	static const char *const names[] = { "x", "y", "z" };

	return names[below(g, g->vars)];
}

/* A value: constant, register, or register plus one. */
static void value(struct gen *g, char *text, size_t size)
{
	if (g->reg && chance(g, 45))
		snprintf(text, size, chance(g, 50) ? "r%u" : "r%u + 1", below(g, g->reg));
	else
		snprintf(text, size, "%u", 1 + below(g, 2));
}

static void read_step(struct gen *g)
{
	const char *v = var(g);

	indent(g);
	put(g, "int r%u = ", g->reg);
	switch (below(g, 5)) {
	case 0:
	case 1: put(g, "*%s;\n", v); break;
	case 2: put(g, "READ_ONCE(*%s);\n", v); break;
	case 3: put(g, "smp_load_acquire(%s);\n", v); break;
	default: put(g, "READ_ONCE(*%s);\n", v);
	}
	g->reg++;
}

static void write_step(struct gen *g)
{
	char text[32];
	const char *v = var(g);

	value(g, text, sizeof(text));
	indent(g);
	switch (below(g, 6)) {
	case 0:
	case 1: put(g, "*%s = %s;\n", v, text); break;
	case 2:
	case 3: put(g, "WRITE_ONCE(*%s, %s);\n", v, text); break;
	case 4: put(g, "smp_store_release(%s, %s);\n", v, text); break;
	default: put(g, "atomic_store_explicit(%s, %s, memory_order_seq_cst);\n", v, text);
	}
}

static void update_step(struct gen *g)
{
	char text[32];
	const char *v = var(g);

	value(g, text, sizeof(text));
	indent(g);
	switch (below(g, 4)) {
	case 0: put(g, "int r%u = xchg(%s, %s);\n", g->reg, v, text); break;
	case 1: put(g, "int r%u = atomic_fetch_add_relaxed(1, %s);\n", g->reg, v); break;
	case 2: put(g, "int r%u = cmpxchg(%s, %u, %s);\n", g->reg, v, below(g, 2), text); break;
	default: put(g, "int r%u = atomic_add_return_acquire(1, %s);\n", g->reg, v);
	}
	g->reg++;
}

static void fence_step(struct gen *g)
{
	static const char *const fences[] = { "smp_mb", "smp_rmb", "smp_wmb", "smp_mb" };

	indent(g);
	put(g, "%s();\n", fences[below(g, 4)]);
}

static void array_step(struct gen *g)
{
	char text[32];

	value(g, text, sizeof(text));
	indent(g);
	if (g->reg && chance(g, 60))
		put(g, "a[r%u & 1] = %s;\n", below(g, g->reg), text);
	else if (g->reg && chance(g, 60)) {
		put(g, "int r%u = a[r%u & 1];\n", g->reg, below(g, g->reg));
		g->reg++;
	} else {
		put(g, "a[%u] = %s;\n", below(g, 2), text);
	}
}

static void steps(struct gen *g, unsigned n);

static void branch_step(struct gen *g)
{
	static const char *const tests[] = { "r%u", "r%u == 1", "r%u > 0", "!r%u", "r%u != 2" };
	const unsigned before = g->reg;

	indent(g);
	put(g, "if (");
	put(g, tests[below(g, 5)], below(g, g->reg));
	put(g, ") {\n");
	g->depth++;
	steps(g, 1 + below(g, 2));
	g->depth--;
	g->reg = before; /* what it declared is out of scope */
	indent(g);
	if (chance(g, 30)) {
		put(g, "} else {\n");
		g->depth++;
		steps(g, 1);
		g->depth--;
		g->reg = before;
		indent(g);
	}
	put(g, "}\n");
}

static void block_step(struct gen *g)
{
	indent(g);
	put(g, "atomic {\n");
	g->depth++;
	g->in_atomic = true;
	const unsigned before = g->reg;
	steps(g, 2 + below(g, 2));
	g->reg = before;
	g->in_atomic = false;
	g->depth--;
	indent(g);
	put(g, "}\n");
}

static void lock_step(struct gen *g)
{
	const unsigned before = g->reg;

	indent(g);
	put(g, "spin_lock(l); {\n");
	g->depth++;
	g->in_lock = true;
	steps(g, 1 + below(g, 2));
	g->in_lock = false;
	g->depth--;
	g->reg = before;
	indent(g);
	put(g, "} spin_unlock(l);\n");
}

static void one_step(struct gen *g)
{
	const bool can_sync = !g->how->no_sync && !g->in_lock;

	if (!g->steps_left)
		return;
	g->steps_left--;
	switch (below(g, 20)) {
	case 0:
	case 1:
	case 2:
	case 3:
	case 4: read_step(g); break;
	case 5:
	case 6:
	case 7:
	case 8:
	case 9: write_step(g); break;
	case 10: update_step(g); break;
	case 11:
		if (chance(g, 50))
			fence_step(g);
		break;
	case 12:
	case 13:
		if (g->reg && g->depth < 3)
			branch_step(g);
		else
			read_step(g);
		break;
	case 14:
	case 15:
		if (!g->in_atomic && g->depth < 2)
			block_step(g);
		break;
	case 16:
		if (can_sync && g->depth < 2)
			lock_step(g);
		break;
	case 17:
		if (g->has_array)
			array_step(g);
		else
			write_step(g);
		break;
	case 18:
		if (can_sync && g->has_sem) {
			indent(g);
			put(g, chance(g, 60) ? "sem_post(s);\n" : "sem_wait(s);\n");
		} else if (can_sync && g->has_cond) {
			indent(g);
			put(g, "%s(c);\n", chance(g, 35) ? "cond_wait" :
					   chance(g, 60) ? "cond_signal" :
							   "cond_broadcast");
		} else if (g->reg) {
			indent(g);
			put(g, "assert(r%u != %u);\n", below(g, g->reg), 1 + below(g, 2));
		}
		break;
	default:
		if (can_sync && g->has_barrier && !g->depth) {
			indent(g);
			put(g, "barrier_wait(b);\n");
		} else if (g->reg) {
			indent(g);
			put(g, "assert(r%u <= %u);\n", below(g, g->reg), below(g, 3));
		}
	}
}

static void steps(struct gen *g, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		one_step(g);
}

static void thread(struct gen *g, unsigned number)
{
	put(g, "P%u(int *x, int *y, int *z, spinlock_t *l%s%s%s%s)\n{\n", number,
	    g->has_array ? ", int *a" : "", g->has_sem ? ", sem_t *s" : "",
	    g->has_cond ? ", cond_t *c" : "", g->has_barrier ? ", barrier_t *b" : "");
	g->reg = 0;
	if (number == 0 && g->has_fork)
		put(g, "\tfork(P1);\n");
	if (number == 0) {
		put(g, "\tint r0 = READ_ONCE(*x);\n");
		g->reg = 1;
	}
	const unsigned share = g->steps_left / (g->threads - number);
	const unsigned rest = g->steps_left - share;
	g->steps_left = share;
	while (g->steps_left)
		one_step(g);
	g->steps_left = rest;
	if (number == 0 && g->has_fork && chance(g, 50))
		put(g, "\tjoin(P1);\n");
	put(g, "}\n\n");
}

size_t am_lit_generate(const struct am_lit_generate *how, char *text, size_t size)
{
	struct gen g = { .state = how->seed * UINT64_C(0x2545f4914f6cdd1d) + 1, .text = text,
			 .size = size, .how = how };

	g.threads = chance(&g, 70) ? 2 : 3;
	g.vars = 1 + below(&g, 3);
	g.steps_left = how->steps;
	g.has_array = !how->no_pointers && chance(&g, 25);
	g.has_sem = !how->no_sync && chance(&g, 15);
	g.has_cond = !how->no_sync && chance(&g, 15);
	g.has_barrier = !how->no_sync && chance(&g, 10);
	g.has_fork = !how->no_sync && chance(&g, 10);
	put(&g, "C random-%llu\n\n{\n\tint x; int y; int z; spinlock_t l;%s%s%s%s\n}\n\n",
	    (unsigned long long)how->seed, g.has_array ? " int a[2];" : "",
	    g.has_sem ? " sem_t s;" : "", g.has_cond ? " cond_t c;" : "",
	    g.has_barrier ? " barrier_t b = 2;" : "");
	for (unsigned t = 0; t < g.threads; t++)
		thread(&g, t);
	static const char *const vars[] = { "x", "y", "z" };
	put(&g, "%s (", chance(&g, 80) ? "exists" : "forall");
	put(&g, "%s=%u", vars[below(&g, g.vars)], below(&g, 3));
	put(&g, " /\\ 0:r0%s%u", chance(&g, 80) ? "=" : ">", below(&g, 2));
	if (chance(&g, 60))
		put(&g, " %s %s=%u", chance(&g, 80) ? "/\\" : "\\/", vars[below(&g, g.vars)],
		    below(&g, 4));
	put(&g, ")\n");
	return g.at;
}
