/*
 * A sampler reads a counter and sets it to zero; what is counted in between is in no sample. The counting is by atomic additions
 * whose results nobody uses (a database's statistics). Region: sample.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <stdatomic.h>
#include <stdio.h>

struct counter {
	atomic_long value;
	long sampled;
};
static struct counter hits;

NOINLINE static void sample(struct counter *c)
{
	WHEN_FIXED(c->sampled += atomic_exchange(&c->value, 0);)
	WHEN_WRONG(c->sampled += atomic_load(&c->value);)
	POINT();
	WHEN_WRONG(atomic_store(&c->value, 0);)
}

static void take_sample(void)
{
	sample(&hits);
}

static void serve(void)
{
	atomic_fetch_add_explicit(&hits.value, 1, memory_order_relaxed);
}

int main(int argc, char **argv)
{
	serve();
	order_run(argc, argv, take_sample, serve);
	printf("counted %ld of 2\n", hits.sampled + atomic_load(&hits.value));
	return 0;
}
