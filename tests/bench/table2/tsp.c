/* SPDX-License-Identifier: MIT */
/* In the manner of `tsp` (Sinha et al., Table I): branch and bound for a travelling salesman; tours to
 * extend come from a shared counter, the best length is kept under a lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define CITIES 8

static int distance[CITIES][CITIES];
static pthread_mutex_t work_lock = PTHREAD_MUTEX_INITIALIZER, best_lock = PTHREAD_MUTEX_INITIALIZER;
static int next_start = 1, best = 1 << 30;

/* Looks, and looks again before it writes: two sections, not one. */
__attribute__((noinline)) static void offer(int length)
{
	pthread_mutex_lock(&best_lock);
	const int is_better = length < best;
	pthread_mutex_unlock(&best_lock);
	if (!is_better)
		return;
	pthread_mutex_lock(&best_lock);
	if (length < best)
		best = length;
	pthread_mutex_unlock(&best_lock);
}

static void search(int *tour, int n, int length, unsigned used)
{
	if (n == CITIES) {
		const int all = length + distance[tour[n - 1]][0];
		offer(all);
		return;
	}
	for (int c = 1; c < CITIES; c++) {
		const int more = length + distance[tour[n - 1]][c];
		if (used >> c & 1 || more >= 40)
			continue;
		tour[n] = c;
		search(tour, n + 1, more, used | 1u << c);
	}
}

static void *worker(void *arg)
{
	(void)arg;
	for (;;) {
		pthread_mutex_lock(&work_lock);
		const int start = next_start;
		if (start < CITIES)
			next_start++;
		pthread_mutex_unlock(&work_lock);
		if (start >= CITIES)
			return NULL;
		int *tour = calloc(CITIES, sizeof *tour);
		tour[1] = start;
		search(tour, 2, distance[0][start], 1u | 1u << start);
		free(tour);
	}
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 3;
	pthread_t t[64];

	for (int i = 0; i < CITIES; i++)
		for (int k = 0; k < CITIES; k++)
			distance[i][k] = i == k ? 0 : 3 + (i * 7 + k * 5 + (i > k ? i - k : k - i) * 3) % 11;
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, worker, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("best %d\n", best);
	return 0;
}
