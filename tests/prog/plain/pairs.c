/*
 * One read-modify-write of every shape, built with gcc by cc_pairs.sh: its two callbacks become one.
 * Functions that begin with no_ have none that may. Prints what became of the data.
 */
/* SPDX-License-Identifier: MIT */
#include <stdio.h>

struct item {
	char c;
	short h;
	int n;
	long l;
	unsigned bits : 3;
	double d;
};

int shared_int = 1;
static long own_long = 2;
static _Thread_local int per_thread = 3;
static int ints[16] = {4, 5, 6};
static long longs[16] = {7, 8, 9};
static long *rows[2] = {longs, longs + 8};
static struct item item = {1, 2, 3, 4, 5, 6.5};
static unsigned char byte = 9;
static float single = 2.5F;
static __int128 wide = 77;
static volatile int touchy;
static int counter;

#define NOINLINE __attribute__((noinline))
NOINLINE static int twice(int n) { return 2 * n; }

NOINLINE static void increment(int *p) { (*p)++; }
NOINLINE static void members(struct item *p, int k) { p->c += k; p->h |= k; p->n -= k; p->l ^= k; }
NOINLINE static void bit_field(struct item *p) { p->bits++; }
NOINLINE static void element(int i, long m) { longs[i] |= m; }
NOINLINE static void product(int i, int m) { ints[i] *= m; }
NOINLINE static void globals(int k) { shared_int += k; own_long -= k; }
NOINLINE static void of_thread(int k) { per_thread += k; }
NOINLINE static void quotient(int *p, int by) { *p /= by; }
NOINLINE static void shift(int *p, int by) { *p <<= by; }
NOINLINE static void real(double *p, float *q) { *p *= 1.5; *q += 2; }
NOINLINE static void bytes(unsigned char *p) { *p = (unsigned char)(*p * 3 + 1); }
NOINLINE static int before(int *p) { return (*p)--; }
NOINLINE static void very_wide(__int128 *p, long k) { *p += k; }
NOINLINE static void sweep(int *p, int n) { for (int i = 0; i < n; i++) p[i] += i; }
NOINLINE static void row(long *r, int j) { r[j] += 3; }

NOINLINE static void no_volatile(int k) { touchy += k; }
NOINLINE static void no_atomic(int k) { __atomic_fetch_add(&counter, k, __ATOMIC_SEQ_CST); }
NOINLINE static void no_call(int *p, int k) { int v = *p; *p = v + twice(k); }
NOINLINE static void no_other_place(int *p, int *q) { int v = *p; *q = v; }
NOINLINE static void no_other_size(struct item *p) { int v = p->n; *(char *)&p->n = (char)(v + 1); }
NOINLINE static void no_label(int *p, int k) { int v = *p; if (k) v += twice(k); *p = v; }
NOINLINE static void no_assembler(int *p) { int v = *p; __asm__ volatile("nop" : : : "memory"); *p = v + 1; }

int main(int argc, char **argv)
{
	(void)argv;
	increment(&ints[1]);
	members(&item, argc + 4);
	bit_field(&item);
	element(argc, 64);
	product(argc, 3);
	globals(argc);
	of_thread(argc);
	quotient(&ints[2], argc + 1);
	shift(&ints[2], argc);
	real(&item.d, &single);
	bytes(&byte);
	const int was = before(&ints[0]);
	very_wide(&wide, argc);
	sweep(ints, 16);
	row(rows[argc & 1], argc);
	no_volatile(argc);
	no_atomic(argc);
	no_call(&ints[3], argc);
	no_other_place(&ints[4], &ints[5]);
	no_other_size(&item);
	no_label(&ints[6], argc);
	no_assembler(&ints[7]);
	for (int i = 0; i < 16; i++)
		printf("%d %ld ", ints[i], longs[i]);
	printf("%d %ld %d %d %d %d %ld %d %g %d %g %ld %d %d %d\n", shared_int, own_long, per_thread, item.c, item.h, item.n, item.l,
	       item.bits, item.d, byte, (double)single, (long)wide, touchy, counter, was);
	return 0;
}
