/*
 * Travelling salesman by branch and bound: threads take first legs from a shared counter and share
 * the best length found. A search reads the best length again and again while others lower it: not
 * serializable, and meant to be so, as an old bound only costs time. --fixed searches against the
 * bound that it read at its beginning. --size N: cities, at most 12.
 */
/* SPDX-License-Identifier: MIT */
#include "example.h"

enum { CITIES = 12 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long best = 1000000, next_leg = 1;
static long distance[CITIES][CITIES];

struct tour {
	int id, at;
	long length, bound;
	unsigned seen;
};

static long bound_of(const struct tour *t)
{
	if (example.fixed)
		return t->bound;
	pthread_mutex_lock(&lock);
	const long b = ATOMMON_LOAD(best);
	pthread_mutex_unlock(&lock);
	return b;
}

static long search(struct tour t, int left)
{
	long found = t.bound;

	if (t.length >= bound_of(&t))
		return found;
	if (left == 0)
		return t.length + distance[t.at][0];
	for (int city = 1; city < example.size; city++) {
		if (t.seen >> city & 1)
			continue;
		struct tour longer = t;
		longer.at = city;
		longer.length += distance[t.at][city];
		longer.seen |= 1u << city;
		longer.bound = found;
		const long length = search(longer, left - 1);
		found = length < found ? length : found;
	}
	return found;
}

static bool solve(int id)
{
	int city = 0;

	ATOMMON_REGION("take leg") {
		pthread_mutex_lock(&lock);
		city = (int)ATOMMON_LOAD(next_leg);
		ATOMMON_STORE(next_leg, city + 1);
		pthread_mutex_unlock(&lock);
	}
	if (city >= example.size)
		return false;
	struct tour t = {id, city, distance[0][city], 0, 1u | 1u << city};
	ATOMMON_REGION("search") {
		pthread_mutex_lock(&lock);
		t.bound = ATOMMON_LOAD(best);
		pthread_mutex_unlock(&lock);
		example_pause(id);
		const long length = search(t, (int)example.size - 2);
		if (!example.fixed) {
			pthread_mutex_lock(&lock);
			if (length < ATOMMON_LOAD(best))
				ATOMMON_STORE(best, length);
			pthread_mutex_unlock(&lock);
		} else {
			t.length = length;
		}
	}
	if (example.fixed)
		ATOMMON_REGION("lower best") {
			pthread_mutex_lock(&lock);
			if (t.length < ATOMMON_LOAD(best))
				ATOMMON_STORE(best, t.length);
			pthread_mutex_unlock(&lock);
		}
	return true;
}

static void body(int id)
{
	while (solve(id))
		;
}

int main(int argc, char **argv)
{
	example_parse(argc, argv, 3, 7);
	if (example.size < 3 || example.size > CITIES) {
		fprintf(stderr, "tsp: --size is 3 to %d\n", CITIES);
		return 2;
	}
	for (int i = 0; i < CITIES; i++)
		for (int k = 0; k < CITIES; k++)
			distance[i][k] = i == k ? 0 : 10 + (i * 37 + k * 37 + i * k * 11) % 50;
	example_run(body);
	printf("best %ld\n", best);
	return 0;
}
