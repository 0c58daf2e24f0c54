/* Size, then pop: between the two another thread takes the last item. Every access is locked. */
/* SPDX-License-Identifier: MIT */
#include "example.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long size, taken, missed;

static long queue_size(void)
{
	pthread_mutex_lock(&lock);
	const long n = ATOMMON_LOAD(size);
	pthread_mutex_unlock(&lock);
	return n;
}

static bool queue_pop(void)
{
	pthread_mutex_lock(&lock);
	const long n = ATOMMON_LOAD(size);
	if (n > 0) {
		ATOMMON_STORE(size, n - 1);
		ATOMMON_STORE(taken, ATOMMON_LOAD(taken) + 1);
	}
	pthread_mutex_unlock(&lock);
	return n > 0;
}

static void body(int id)
{
	for (bool more = true; more;) {
		ATOMMON_REGION("take one") {
			if (example.fixed) {
				more = queue_pop();
			} else if (queue_size() > 0) {
				example_pause(id);
				if (!queue_pop())
					__atomic_fetch_add(&missed, 1, __ATOMIC_RELAXED);
			} else {
				more = false;
			}
		}
	}
}

int main(int argc, char **argv)
{
	example_parse(argc, argv, 2, 1);
	size = example.size;
	example_run(body);
	printf("%ld taken, %ld pops of an empty queue, expected 0\n", taken, missed);
	return 0;
}
