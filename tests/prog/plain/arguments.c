/* Arguments of every class, through pointers, so that each call goes by the function's first instructions. */
/* SPDX-License-Identifier: MIT */
#include <complex.h>
#include <stdarg.h>
#include <stdio.h>

#define NOINLINE __attribute__((noinline))

struct three {
	long a, b, c;
};

struct large {
	int n[40];
};

struct mixed {
	double d;
	long l;
};

typedef int vector __attribute__((vector_size(32)));

static long total;

NOINLINE long by_value(long n, struct three t)
{
	total += n;
	return t.a + 10 * t.b + 100 * t.c;
}

NOINLINE struct large by_value_and_result(struct large x, struct three t)
{
	x.n[39] += (int)by_value(1, t);
	return x;
}

NOINLINE double many(int a, long b, short c, char d, long e, int f, long g, double h, float i, long double j,
		     struct mixed k, __int128 l, struct three m, double _Complex n, double o, double p,
		     double q, double r, double s, double t, vector v)
{
	total += a;
	return a + 2 * b + 3 * c + 4 * d + 5 * e + 6 * f + 7 * g + 8 * h + 9 * i + 10 * (double)j + 11 * k.d +
	       12 * k.l + 13 * (double)l + 14 * m.c + 15 * creal(n) + 16 * cimag(n) + 17 * o + 18 * p + 19 * q +
	       20 * r + 21 * s + 22 * t + 23 * v[0] + 24 * v[7];
}

NOINLINE long sum(int n, ...)
{
	va_list list;
	long s = 0;

	va_start(list, n);
	for (int i = 0; i < n; i++)
		s += va_arg(list, long);
	va_end(list);
	total += s;
	return s;
}

NOINLINE long down(long depth, struct three t)
{
	long (*volatile self)(long, struct three) = down;

	total++;
	return depth == 0 ? t.c : 1 + self(depth - 1, (struct three){t.a, t.b, t.c + 1});
}

int main(void)
{
	long (*volatile f)(long, struct three) = by_value;
	struct large (*volatile g)(struct large, struct three) = by_value_and_result;
	double (*volatile h)(int, long, short, char, long, int, long, double, float, long double, struct mixed,
			     __int128, struct three, double _Complex, double, double, double, double, double,
			     double, vector) = many;
	long (*volatile s)(int, ...) = sum;
	long (*volatile d)(long, struct three) = down;
	const struct three t = {1, 2, 3};
	const vector v = {1, 2, 3, 4, 5, 6, 7, 8};

	printf("%ld ", f(7, t));
	printf("%d ", g((struct large){.n = {[39] = 5}}, t).n[39]);
	printf("%.0f ", h(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, (struct mixed){11, 12}, 13, t, 15 + 16 * I, 17, 18, 19, 20, 21,
			  22, v));
	printf("%ld ", s(3, 1L, 2L, 3L));
	printf("%ld ", d(1000, t));
	printf("%ld\n", total);
	return 0;
}
