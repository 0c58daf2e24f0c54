/*
 * A slot of an array is found under the lock and filled after it, when another thread has made the
 * array larger and moved it: what is written is lost with the old memory (a game server's table of
 * handlers). Region: set_handler.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct slot {
	int event, handler;
};
static struct {
	pthread_mutex_t lock;
	struct slot *slots;
	size_t n, room;
} table = {.lock = PTHREAD_MUTEX_INITIALIZER};

static struct slot *slot_of(int event)
{
	for (size_t i = 0; i < table.n; i++)
		if (table.slots[i].event == event)
			return &table.slots[i];
	return NULL;
}

NOINLINE static void add_event(int event)
{
	pthread_mutex_lock(&table.lock);
	if (table.n == table.room) {
		struct slot *larger = calloc(table.room * 2 + 2, sizeof *larger);

		for (size_t i = 0; i < table.n; i++)
			larger[i] = table.slots[i];
		free(table.slots);
		table.slots = larger;
		table.room = table.room * 2 + 2;
	}
	table.slots[table.n++].event = event;
	pthread_mutex_unlock(&table.lock);
}

NOINLINE static void set_handler(int event, int handler)
{
	pthread_mutex_lock(&table.lock);
	struct slot *s = slot_of(event);
	WHEN_WRONG(pthread_mutex_unlock(&table.lock);)
	POINT();
	if (s)
		s->handler = handler;
	WHEN_FIXED(pthread_mutex_unlock(&table.lock));
}

static void configure(void)
{
	set_handler(1, 99);
}

static void extend(void)
{
	add_event(3);
}

int main(int argc, char **argv)
{
	add_event(1);
	add_event(2);
	order_run(argc, argv, configure, extend);
	printf("handler %d\n", table.slots[0].handler);
	return 0;
}
