/*
 * Closing a file once: the flag is looked at in one critical section and cleared in another, so two
 * threads close it, and the second may hit somebody else's descriptor.
 */
/* SPDX-License-Identifier: MIT */
#include "example.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_open = 1, closes;

static void close_once(int id)
{
	ATOMMON_REGION("close once") {
		pthread_mutex_lock(&lock);
		const int seen = ATOMMON_LOAD(is_open);
		pthread_mutex_unlock(&lock);
		if (seen && !example.fixed) {
			example_pause(id);
			pthread_mutex_lock(&lock);
			closes++;
			ATOMMON_STORE(is_open, 0);
			pthread_mutex_unlock(&lock);
		}
	}
	if (!example.fixed)
		return;
	ATOMMON_REGION("close if open") { /* looked at again where it is cleared */
		pthread_mutex_lock(&lock);
		if (ATOMMON_LOAD(is_open)) {
			closes++;
			ATOMMON_STORE(is_open, 0);
		}
		pthread_mutex_unlock(&lock);
	}
}

static void body(int id)
{
	for (long i = 0; i < example.size; i++)
		close_once(id);
}

int main(int argc, char **argv)
{
	example_parse(argc, argv, 2, 1);
	example_run(body);
	printf("closed %d times, expected 1\n", closes);
	return 0;
}
