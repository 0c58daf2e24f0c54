/*
 * Annotations in C: regions left by break, continue, return and goto, nested regions, loads and
 * stores of all sizes. Prints what the program computes; the trace tells the rest.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon.h"

#include <stdio.h>

struct item {
	char c;
	short s;
	int i;
	long l;
	double d;
	char *p;
	struct {
		int a[5];
	} big;
};

static struct item item;
static const int fixed = 42;

static int by_return(int x)
{
	ATOMMON_REGION("by return")
	{
		if (x > 0)
			return x * 2;
		ATOMMON_STORE(item.i, x);
	}
	return -1;
}

static int by_goto(int x)
{
	ATOMMON_REGION("by goto")
	{
		if (x > 0)
			goto out;
		x = 100;
	}
out:
	return x + 1;
}

static int by_break(int x)
{
	ATOMMON_REGION("by break")
	{
		if (x > 0)
			break;
		x = 100;
	}
	return x + 1;
}

static int nested(void)
{
	int sum = 0;

	for (int i = 0; i < 3; i++) {
		ATOMMON_REGION("outer")
		{
			ATOMMON_REGION("inner") ATOMMON_STORE(item.l, (long)i * 10);
			if (i == 1)
				continue; /* ends the region, as break does */
			sum += (int)ATOMMON_LOAD(item.l);
		}
		sum++;
	}
	return sum;
}

int main(void)
{
	char text[] = "x";

	atommon_name(&item, sizeof item, "item");
	printf("%d ", by_return(1));
	printf("%d ", by_return(0));
	printf("%d ", by_goto(1));
	printf("%d ", by_break(1));
	printf("%d\n", nested());
	atommon_begin("sizes");
	ATOMMON_STORE(item.c, 'a');
	ATOMMON_STORE(item.s, -2);
	ATOMMON_STORE(item.i, 3);
	ATOMMON_STORE(item.l, 4L);
	ATOMMON_STORE(item.d, 1.5);
	ATOMMON_STORE(item.p, text);
	struct item copy = ATOMMON_LOAD(item);
	printf("%c %d %d %ld %g %s %d\n", copy.c, copy.s, copy.i, copy.l, copy.d, ATOMMON_LOAD(item.p),
	       ATOMMON_LOAD(fixed));
	atommon_read(&item, sizeof item);
	atommon_write(&item.big, sizeof item.big);
	atommon_end();
	atommon_end(); /* one too many: ignored */
	return 0;
}
