/*
 * Lifts in a building: people wait on floors, each lift is a thread. A lift decides where to stop by
 * looking at the floors and later picks the people up; each step is locked, the decision as a whole
 * is not: two lifts may come for the same people. Not serializable, and harmless: a lift that finds
 * nobody goes on. --fixed decides and picks up in one critical section. --size N: floors.
 */
/* SPDX-License-Identifier: MIT */
#include "example.h"

struct floor {
	pthread_mutex_t lock;
	long waiting;
};

static struct floor *floors;
static long carried[EXAMPLE_THREADS_MAX], idle_stops[EXAMPLE_THREADS_MAX];

static void serve(int id, struct floor *f)
{
	ATOMMON_REGION("serve floor") {
		pthread_mutex_lock(&f->lock);
		const bool stop = ATOMMON_LOAD(f->waiting) > 0;
		if (stop) {
			if (!example.fixed) {
				pthread_mutex_unlock(&f->lock);
				example_pause(id);
				pthread_mutex_lock(&f->lock);
			}
			const long people = ATOMMON_LOAD(f->waiting);
			ATOMMON_STORE(f->waiting, 0);
			carried[id] += people;
			idle_stops[id] += people == 0;
		}
		pthread_mutex_unlock(&f->lock);
	}
}

static void body(int id)
{
	for (int round = 0; round < 4; round++)
		for (long i = 0; i < example.size; i++)
			serve(id, &floors[round % 2 ? example.size - 1 - i : i]);
}

int main(int argc, char **argv)
{
	long all = 0, idle = 0;

	example_parse(argc, argv, 4, 16);
	floors = calloc((size_t)example.size, sizeof *floors);
	for (long i = 0; i < example.size; i++) {
		pthread_mutex_init(&floors[i].lock, NULL);
		floors[i].waiting = 1 + i % 3;
		all += floors[i].waiting;
	}
	example_run(body);
	for (int i = 0; i < example.threads; i++) {
		all -= carried[i];
		idle += idle_stops[i];
	}
	printf("%ld people left, %ld stops for nobody\n", all, idle);
	free(floors);
	return 0;
}
