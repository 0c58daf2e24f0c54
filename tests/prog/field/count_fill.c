/*
 * A list is counted under the lock to know how much memory a copy needs, and copied under the lock
 * when the memory is there: it may have grown (a database's join buffer; many a "list all" call).
 * Region: snapshot.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct client {
	struct client *next;
	int id;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct client *clients;
static int next_id, overflow;

static int count(void)
{
	int n = 0;

	for (struct client *c = clients; c; c = c->next)
		n++;
	return n;
}

NOINLINE static int *snapshot(int *n)
{
	int *ids, i = 0;

	pthread_mutex_lock(&lock);
	*n = count();
	WHEN_WRONG(pthread_mutex_unlock(&lock);)
	ids = malloc(sizeof *ids * (size_t)(*n + 1));
	POINT();
	WHEN_WRONG(pthread_mutex_lock(&lock);)
	for (struct client *c = clients; c; c = c->next) {
		if (i == *n) {
			overflow = 1; /* the real one wrote past the end */
			break;
		}
		ids[i++] = c->id;
	}
	pthread_mutex_unlock(&lock);
	return ids;
}

NOINLINE static void join(void)
{
	struct client *c = malloc(sizeof *c);

	pthread_mutex_lock(&lock);
	c->id = next_id++;
	c->next = clients;
	clients = c;
	pthread_mutex_unlock(&lock);
}

static void lister(void)
{
	int n;

	free(snapshot(&n));
}

int main(int argc, char **argv)
{
	join();
	join();
	order_run(argc, argv, lister, join);
	printf("overflow %d\n", overflow);
	return 0;
}
