/*
 * A query cache is resized: emptied in one section, given its new memory in the next. A query that
 * is stored in between finds a cache of size nothing with the old memory's tables (a database).
 * Region: resize.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct cache {
	pthread_mutex_t lock;
	size_t size, used;
	char *memory;
	unsigned queries, refused;
};
static struct cache cache = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void drop(struct cache *c)
{
	free(c->memory);
	c->memory = NULL;
	c->size = c->used = 0;
	c->queries = 0;
}

static void make(struct cache *c, size_t size)
{
	c->memory = malloc(size);
	c->size = size;
}

NOINLINE static void resize(struct cache *c, size_t size)
{
	pthread_mutex_lock(&c->lock);
	drop(c);
	WHEN_WRONG(pthread_mutex_unlock(&c->lock);)
	POINT();
	WHEN_WRONG(pthread_mutex_lock(&c->lock);)
	make(c, size);
	pthread_mutex_unlock(&c->lock);
}

NOINLINE static int store_query(struct cache *c, const char *text)
{
	const size_t n = strlen(text) + 1;
	int stored = 0;

	pthread_mutex_lock(&c->lock);
	if (c->used + n <= c->size) {
		memcpy(c->memory + c->used, text, n);
		c->used += n;
		c->queries++;
		stored = 1;
	} else {
		c->refused++;
	}
	pthread_mutex_unlock(&c->lock);
	return stored;
}

static void admin(void)
{
	resize(&cache, 4096);
}

static void client(void)
{
	store_query(&cache, "select 1");
}

int main(int argc, char **argv)
{
	make(&cache, 1024);
	order_run(argc, argv, admin, client);
	printf("%u queries, %u refused\n", cache.queries, cache.refused);
	return 0;
}
