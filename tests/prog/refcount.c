/*
 * A reference count that is lowered in one critical section and looked at in another: two threads
 * see zero, and the object is destroyed twice.
 */
/* SPDX-License-Identifier: MIT */
#include "example.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long refs, destroyed;

static void put(int id)
{
	ATOMMON_REGION("put") {
		pthread_mutex_lock(&lock);
		const long left = ATOMMON_LOAD(refs) - 1;
		ATOMMON_STORE(refs, left);
		if (!example.fixed) {
			pthread_mutex_unlock(&lock);
			example_pause(id);
			pthread_mutex_lock(&lock);
		}
		if ((example.fixed ? left : ATOMMON_LOAD(refs)) == 0)
			destroyed++;
		pthread_mutex_unlock(&lock);
	}
}

static void body(int id)
{
	for (long i = 0; i < example.size; i++)
		put(id);
}

int main(int argc, char **argv)
{
	example_parse(argc, argv, 2, 1);
	refs = example.threads * example.size;
	example_run(body);
	printf("destroyed %ld times, expected 1\n", destroyed);
	return 0;
}
