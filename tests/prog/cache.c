/* Check, then insert: two threads find the key missing, both insert it. Every access is locked. */
/* SPDX-License-Identifier: MIT */
#include "example.h"

enum { SLOTS = 4096 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long keys[SLOTS], used;

static bool find(long key)
{
	const long n = ATOMMON_LOAD(used);

	for (long i = 0; i < n; i++)
		if (ATOMMON_LOAD(keys[i]) == key)
			return true;
	return false;
}

static void insert(long key)
{
	const long n = ATOMMON_LOAD(used);

	if (n == SLOTS)
		return;
	ATOMMON_STORE(keys[n], key);
	ATOMMON_STORE(used, n + 1);
}

static void get(int id, long key)
{
	ATOMMON_REGION("get") {
		pthread_mutex_lock(&lock);
		const bool is_there = find(key);
		if (!example.fixed) {
			pthread_mutex_unlock(&lock);
			example_pause(id);
			pthread_mutex_lock(&lock);
		}
		if (!is_there)
			insert(key);
		pthread_mutex_unlock(&lock);
	}
}

static void body(int id)
{
	for (long key = 1; key <= example.size; key++)
		get(id, key);
}

int main(int argc, char **argv)
{
	example_parse(argc, argv, 2, 1);
	example_run(body);
	printf("%ld entries, expected %ld\n", used, example.size < SLOTS ? example.size : SLOTS);
	return 0;
}
