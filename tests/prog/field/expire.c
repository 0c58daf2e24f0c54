/*
 * Sessions are walked through to drop the old ones; the lock is given back around the callback,
 * and the successor remembered before may be gone after it (a kernel's and many a server's list).
 * Region: expire.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct session {
	struct session *next;
	int id, age, is_dead;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct session *sessions;
static int told, dead_met;

static void tell(int id)
{
	told += id;
}

NOINLINE static void expire(int limit)
{
	struct session *s, *next;

	pthread_mutex_lock(&lock);
	for (s = sessions; s; s = next) {
		next = s->next;
		dead_met += s->is_dead;
		if (s->age < limit)
			continue;
		const int id = s->id;
		s->age = 0;
		WHEN_WRONG(pthread_mutex_unlock(&lock);)
		tell(id);
		POINT();
		WHEN_WRONG(pthread_mutex_lock(&lock);)
	}
	pthread_mutex_unlock(&lock);
}

NOINLINE static void drop(int id)
{
	pthread_mutex_lock(&lock);
	for (struct session **link = &sessions; *link; link = &(*link)->next)
		if ((*link)->id == id) {
			struct session *s = *link;

			*link = s->next;
			s->is_dead = 1; /* the real one frees here */
			break;
		}
	pthread_mutex_unlock(&lock);
}

static void housekeeper(void)
{
	expire(10);
}

static void client(void)
{
	drop(2);
}

int main(int argc, char **argv)
{
	for (int i = 3; i > 0; i--) {
		struct session *s = calloc(1, sizeof *s);
		s->id = i;
		s->age = 20;
		s->next = sessions;
		sessions = s;
	}
	order_run(argc, argv, housekeeper, client);
	printf("dead met %d\n", dead_met);
	return 0;
}
