/*
 * A driver's pool of connections, one per host, each with its lock. Whether one more may be made is asked
 * under the lock; the connection is made without it, and counted when it is there: the pool grows past its
 * limit. Region: pool_get.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { HOSTS = 4, LIMIT = 4 };

struct connection {
	struct connection *next;
	int host;
};
struct pool {
	pthread_mutex_t lock;
	struct connection *free_list;
	int created, borrowed;
};
static struct pool *pools;

static struct connection *connect_to(int host)
{
	struct connection *c = calloc(1, sizeof *c);

	c->host = host;
	return c;
}
static struct connection *(*const connector)(int host) = connect_to;

NOINLINE static struct connection *pool_get(int host)
{
	struct pool *p = &pools[host];

	pthread_mutex_lock(&p->lock);
	struct connection *c = p->free_list;
	if (c) {
		p->free_list = c->next;
		p->borrowed++;
		pthread_mutex_unlock(&p->lock);
		return c;
	}
	if (p->created >= LIMIT) {
		pthread_mutex_unlock(&p->lock);
		return NULL;
	}
#ifdef FIXED
	p->created++;
	p->borrowed++;
	pthread_mutex_unlock(&p->lock);
	return connector(host);
#else
	pthread_mutex_unlock(&p->lock);
	c = connector(host);
	POINT();
	pthread_mutex_lock(&p->lock);
	p->created++;
	p->borrowed++;
	pthread_mutex_unlock(&p->lock);
	return c;
#endif
}

NOINLINE static void pool_put(struct connection *c)
{
	struct pool *p = &pools[c->host];

	pthread_mutex_lock(&p->lock);
	c->next = p->free_list;
	p->free_list = c;
	p->borrowed--;
	pthread_mutex_unlock(&p->lock);
}

static void keep(void)
{
	pool_get(2);
}

static void use(void)
{
	struct connection *other = pool_get(1);

	pool_get(2);
	pool_put(other);
}

int main(int argc, char **argv)
{
	pools = calloc(HOSTS, sizeof *pools);
	for (int i = 0; i < HOSTS; i++)
		pthread_mutex_init(&pools[i].lock, NULL);
	order_run(argc, argv, keep, use);
	printf("%d made\n", pools[2].created);
	return 0;
}
