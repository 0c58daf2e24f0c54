/*
 * A picture of spheres, rows dealt out to threads; at its end each adds its checksum to a common one.
 * The mistake (that of the well-known benchmark): each thread locks a lock of its own, so the sum is
 * not protected at all and updates are lost. --fixed uses one lock. --size N: N x N pixels.
 */
/* SPDX-License-Identifier: MIT */
#include "example.h"

static pthread_mutex_t own[EXAMPLE_THREADS_MAX], common = PTHREAD_MUTEX_INITIALIZER;
static long checksum;

static long shade(long x, long y)
{
	long best = 0;

	for (int s = 0; s < 4; s++) {
		const long cx = example.size * (s + 1) / 5, cy = example.size * ((s * 3) % 5 + 1) / 6;
		const long r = example.size / 5 + s, d = r * r - (x - cx) * (x - cx) - (y - cy) * (y - cy);
		best = d > best ? d : best;
	}
	return best % 256;
}

static void body(int id)
{
	long sum = 0;

	for (long y = id; y < example.size; y += example.threads)
		for (long x = 0; x < example.size; x++)
			sum += shade(x, y);
	ATOMMON_REGION("add checksum") {
		pthread_mutex_t *lock = example.fixed ? &common : &own[id];
		pthread_mutex_lock(lock);
		const long old = ATOMMON_LOAD(checksum);
		example_pause(id);
		ATOMMON_STORE(checksum, old + sum);
		pthread_mutex_unlock(lock);
	}
}

int main(int argc, char **argv)
{
	long expected = 0;

	example_parse(argc, argv, 4, 100);
	for (int i = 0; i < EXAMPLE_THREADS_MAX; i++)
		pthread_mutex_init(&own[i], NULL);
	example_run(body);
	for (long y = 0; y < example.size; y++)
		for (long x = 0; x < example.size; x++)
			expected += shade(x, y);
	printf("checksum %ld, expected %ld\n", checksum, expected);
	return 0;
}
