/* Branches that are not taken, each side writing something else; main reads `seen`, which is 0, and goes the other way. What
 * tests/integration/cc_sides.sh must find is behind each. */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "atommon.h"

struct pair {
	int first, second;
};

int condition, x, y, z, array[8], other, *pointer = &other;
int many[40];
struct pair both;
static _Thread_local int mine;

/* Not static: compiled before their callers. */
void helper(void)
{
	z = 1;
}

void deep(void)
{
	helper();
	y = 2;
}

int recursive(int n)
{
	x = n;
	return n ? recursive(n - 1) : 0;
}

void lend(int *p)
{
	*p = 1;
}

int twice(int seen)
{
	if (seen) /* - merge */
		return 1;
	y = 4;
	return 2; }

int main(void)
{
	int local = 0, lent = 0;

	lend(&lent);
	const int seen = condition;
	if (seen) /* x */
		x = 1;
	if (seen) /* z */
		helper();
	if (seen) /* y z */
		deep();
	if (seen) /* x */
		recursive(3);
	if (seen) /* - */
		local = 2;
	if (seen) /* - */
		mine = 1;
	if (seen) /* array:32 */
		array[seen & 7] = 1;
	if (seen) /* both+4 */
		both.second = 1;
	if (seen) /* both:8 */
		memset(&both, 0, sizeof both);
	if (seen) /* unknown */
		*pointer = 1;
	if (seen) /* unknown */
		lent = 3;
	if (seen) /* unknown */
		free(NULL);
	if (seen) { /* y assert */
		assert(x);
		y = 1;
	} else {
		z = 1;
	}
	x = 6;
	if (seen) { /* unknown y */
		if (!x)
			abort();
		y = 1;
	}
	x = 7;
	switch (seen) { /* y z */
	case 0: x = 1; break;
	case 1: y = 1; break;
	default: z = 1;
	}
	for (int i = 0; i < seen; i++) /* y z */
		if (i & 1)
			y = i;
		else
			z = i;
	if (seen) /* x */
		ATOMMON_REGION("inside")
			x = 2;
	if (seen) /* unknown 32 */
		for (int i = 0; i < 1; i++) {
#define W(n) many[n] = n; many[n + 1] = n; many[n + 2] = n; many[n + 3] = n; many[n + 4] = n;
			W(0) W(5) W(10) W(15) W(20) W(25) W(30) W(35)
		}
	x = twice(seen) + local;
	return 0;
}
