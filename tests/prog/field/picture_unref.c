/*
 * A picture is shared by reference count. It is dropped with one atomic operation, and whether it
 * was the last is asked with a second one: two owners may both find zero, and free it twice (a
 * video metric's library; the cache of a web server before it). Region: picture_unref.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct picture {
	atomic_int refs;
	int width, height;
	unsigned char *planes;
};
static struct picture *shared;
static atomic_int freed;

static struct picture *picture_new(int width, int height)
{
	struct picture *p = malloc(sizeof *p);

	atomic_init(&p->refs, 1);
	p->width = width;
	p->height = height;
	p->planes = calloc((size_t)width, (size_t)height);
	return p;
}

static void picture_ref(struct picture *p)
{
	atomic_fetch_add(&p->refs, 1);
}

NOINLINE static void picture_unref(struct picture *p)
{
#ifdef FIXED
	const int left = atomic_fetch_sub(&p->refs, 1) - 1;
#else
	atomic_fetch_sub(&p->refs, 1);
	POINT();
	const int left = atomic_load(&p->refs);
#endif
	if (left == 0)
		atomic_fetch_add(&freed, 1); /* the real one frees here */
}

static void owner(void)
{
	picture_unref(shared);
}

int main(int argc, char **argv)
{
	shared = picture_new(16, 8);
	picture_ref(shared);
	order_run(argc, argv, owner, owner);
	printf("freed %d times\n", atomic_load(&freed));
	free(shared->planes);
	free(shared);
	return 0;
}
