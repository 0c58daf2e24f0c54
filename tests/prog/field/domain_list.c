/*
 * A manager of virtual machines finds one in its list, lets go of the list and then takes the machine's own
 * lock: by then it may have been removed, and is suspended all the same. Region: suspend.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum state { RUNNING, SUSPENDED, REMOVED };

struct domain {
	struct domain *next;
	pthread_mutex_t lock;
	enum state state;
	int id;
};
static struct {
	pthread_rwlock_t lock;
	struct domain *head;
	int count;
} list = {.lock = PTHREAD_RWLOCK_INITIALIZER};

static void add(int id)
{
	struct domain *d = calloc(1, sizeof *d);

	d->id = id;
	pthread_mutex_init(&d->lock, NULL);
	pthread_rwlock_wrlock(&list.lock);
	d->next = list.head;
	list.head = d;
	list.count++;
	pthread_rwlock_unlock(&list.lock);
}

NOINLINE static int suspend(int id)
{
	pthread_rwlock_rdlock(&list.lock);
	struct domain *d = list.head;
	while (d && d->id != id)
		d = d->next;
	if (!d) {
		pthread_rwlock_unlock(&list.lock);
		return -1;
	}
	WHEN_WRONG(pthread_rwlock_unlock(&list.lock);)
	POINT();
	pthread_mutex_lock(&d->lock);
	d->state = SUSPENDED;
	pthread_mutex_unlock(&d->lock);
#ifdef FIXED
	pthread_rwlock_unlock(&list.lock);
#endif
	return 0;
}

NOINLINE static void undefine(int id)
{
	pthread_rwlock_wrlock(&list.lock);
	struct domain **p = &list.head;
	while (*p && (*p)->id != id)
		p = &(*p)->next;
	struct domain *d = *p;
	if (d) {
		*p = d->next;
		list.count--;
		pthread_mutex_lock(&d->lock);
		d->state = REMOVED;
		pthread_mutex_unlock(&d->lock);
	}
	pthread_rwlock_unlock(&list.lock);
}

static void first(void)
{
	suspend(7);
}

static void second(void)
{
	undefine(7);
}

int main(int argc, char **argv)
{
	for (int i = 0; i < 10; i++)
		add(i);
	order_run(argc, argv, first, second);
	printf("%d left\n", list.count);
	return 0;
}
