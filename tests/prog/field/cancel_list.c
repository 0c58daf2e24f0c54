/*
 * A timer that must hear of changes to the clock is put into a list. Whether it is there already is asked without
 * the list's lock: two that set the timer put it there twice, and the list has a loop (a kernel's timers).
 * Region: setup_cancel.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct timer {
	struct timer *next;
	int is_listed;
	pthread_mutex_t lock;
};
static pthread_mutex_t cancel_lock = PTHREAD_MUTEX_INITIALIZER;
static struct timer *cancel_list, *timer;
static int times;

NOINLINE static void setup_cancel(struct timer *t)
{
	WHEN_FIXED(pthread_mutex_lock(&t->lock);)
	if (!t->is_listed) {
		POINT();
		t->is_listed = 1;
		pthread_mutex_lock(&cancel_lock);
		t->next = cancel_list;
		cancel_list = t;
		times++;
		pthread_mutex_unlock(&cancel_lock);
	}
	WHEN_FIXED(pthread_mutex_unlock(&t->lock);)
}

static void set(void)
{
	setup_cancel(timer);
}

int main(int argc, char **argv)
{
	timer = calloc(1, sizeof *timer);
	pthread_mutex_init(&timer->lock, NULL);
	order_run(argc, argv, set, set);
	printf("listed %d times\n", times);
	return 0;
}
