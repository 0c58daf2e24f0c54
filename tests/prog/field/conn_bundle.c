/*
 * Connections are kept in bundles, one per host. The last one to leave finds its bundle empty
 * under the lock and removes it under the lock taken again: one that was added in between goes
 * with it (a transfer library). Region: remove_conn.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct bundle {
	struct bundle *next;
	char host[24];
	int connections;
};
static pthread_mutex_t share = PTHREAD_MUTEX_INITIALIZER;
static struct bundle *bundles;
static int total;

static struct bundle *find(const char *host)
{
	struct bundle *b;

	for (b = bundles; b; b = b->next)
		if (strcmp(b->host, host) == 0)
			break;
	return b;
}

NOINLINE static void add_conn(const char *host)
{
	pthread_mutex_lock(&share);
	struct bundle *b = find(host);
	if (!b) {
		b = calloc(1, sizeof *b);
		strncpy(b->host, host, sizeof b->host - 1);
		b->next = bundles;
		bundles = b;
	}
	b->connections++;
	total++;
	pthread_mutex_unlock(&share);
}

static void unlink_bundle(struct bundle *b)
{
	struct bundle **link = &bundles;

	while (*link != b)
		link = &(*link)->next;
	*link = b->next;
	free(b);
}

NOINLINE static void remove_conn(const char *host)
{
	pthread_mutex_lock(&share);
	struct bundle *b = find(host);
	if (!b) {
		pthread_mutex_unlock(&share);
		return;
	}
	const int is_empty = --b->connections == 0;
	total--;
	WHEN_WRONG(pthread_mutex_unlock(&share);)
	POINT();
	if (is_empty) {
		WHEN_WRONG(pthread_mutex_lock(&share);)
		unlink_bundle(b);
		WHEN_WRONG(pthread_mutex_unlock(&share);)
	}
	WHEN_FIXED(pthread_mutex_unlock(&share));
}

static void leaver(void)
{
	remove_conn("example.org");
}

static void comer(void)
{
	add_conn("example.org");
}

int main(int argc, char **argv)
{
	int kept = 0;

	add_conn("example.org");
	order_run(argc, argv, leaver, comer);
	for (struct bundle *b = bundles; b; b = b->next)
		kept += b->connections;
	printf("kept %d of %d\n", kept, total);
	return 0;
}
