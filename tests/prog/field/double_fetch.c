/*
 * A message in shared memory says how long it is. The length is checked, then read again to copy:
 * its writer may have made it longer (drivers of several systems). Region: receive.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <stdio.h>
#include <string.h>

struct message {
	volatile unsigned length;
	char body[256];
};
static struct message shared = {8, "abcdefgh"};
static unsigned overflow;

NOINLINE static int receive(const struct message *m)
{
	char local[16];

#ifdef FIXED
	const unsigned n = m->length;
	if (n > sizeof local)
		return -1;
#else
	if (m->length > sizeof local)
		return -1;
	POINT();
	const unsigned n = m->length;
#endif
	if (n > sizeof local) {
		overflow = n; /* the real one copied */
		return -1;
	}
	memcpy(local, m->body, n);
	return local[0];
}

static void driver(void)
{
	receive(&shared);
}

NOINLINE static void writer(void)
{
	shared.length = 200;
}

int main(int argc, char **argv)
{
	order_run(argc, argv, driver, writer);
	printf("overflow %u\n", overflow);
	return 0;
}
