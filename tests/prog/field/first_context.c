/*
 * An interpreter makes its shared tables with the first context and drops them with the last one. Whether it
 * is the first is asked in one section, the context linked in another: the last one of the other thread
 * drops the tables in between. Region: new_context.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct runtime;
struct context {
	struct context *next, *prev;
	struct runtime *rt;
};
struct runtime {
	pthread_mutex_t lock;
	struct context *list;
	int atoms, contexts;
};
static struct runtime *rt;

static void init_atoms(struct runtime *r)
{
	r->atoms = 17;
}

static void finish_atoms(struct runtime *r)
{
	r->atoms = 0;
}

NOINLINE static struct context *new_context(struct runtime *r)
{
	struct context *cx = calloc(1, sizeof *cx);

	cx->rt = r;
	pthread_mutex_lock(&r->lock);
	const int is_first = r->list == NULL;
	WHEN_WRONG(pthread_mutex_unlock(&r->lock);)
	POINT();
	WHEN_WRONG(pthread_mutex_lock(&r->lock);)
	cx->next = r->list;
	if (r->list)
		r->list->prev = cx;
	r->list = cx;
	r->contexts++;
	if (is_first)
		init_atoms(r);
	pthread_mutex_unlock(&r->lock);
	return cx;
}

NOINLINE static void destroy_context(struct context *cx)
{
	struct runtime *r = cx->rt;

	pthread_mutex_lock(&r->lock);
	if (cx->prev)
		cx->prev->next = cx->next;
	else
		r->list = cx->next;
	if (cx->next)
		cx->next->prev = cx->prev;
	r->contexts--;
	if (!r->list)
		finish_atoms(r);
	pthread_mutex_unlock(&r->lock);
	free(cx);
}

static void body(void)
{
	destroy_context(new_context(rt));
}

int main(int argc, char **argv)
{
	rt = calloc(1, sizeof *rt);
	pthread_mutex_init(&rt->lock, NULL);
	order_run(argc, argv, body, body);
	printf("%d contexts\n", rt->contexts);
	return 0;
}
