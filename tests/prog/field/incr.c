/*
 * A key-value store keeps numbers as text. "incr" finds the item under the lock, and takes it again to
 * store the sum: two increments add up to one. Region: add_delta.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct item {
	struct item *next;
	unsigned length;
	char key[8], data[24];
};
static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static struct item *hash[16];

static unsigned hash_of(const char *key)
{
	unsigned h = 5381;

	for (; *key; key++)
		h = h * 33 + (unsigned char)*key;
	return h % 16;
}

static struct item *find(const char *key)
{
	struct item *it = hash[hash_of(key)];

	while (it && strcmp(it->key, key) != 0)
		it = it->next;
	return it;
}

NOINLINE static void add_delta(const char *key, unsigned long delta)
{
	char text[24];

	pthread_mutex_lock(&cache_lock);
	struct item *it = find(key);
	const unsigned long value = strtoul(it->data, NULL, 10) + delta;
	WHEN_WRONG(pthread_mutex_unlock(&cache_lock);)
	POINT();
	const int n = snprintf(text, sizeof text, "%lu", value);
	WHEN_WRONG(pthread_mutex_lock(&cache_lock);)
	memset(it->data, ' ', it->length);
	memcpy(it->data, text, (size_t)n + 1);
	pthread_mutex_unlock(&cache_lock);
}

static void body(void)
{
	add_delta("hits", 1);
}

int main(int argc, char **argv)
{
	static struct item hits = {.length = 4, .key = "hits", .data = "1000"};

	hash[hash_of("hits")] = &hits;
	order_run(argc, argv, body, body);
	printf("%s\n", hits.data);
	return 0;
}
