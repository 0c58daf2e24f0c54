/* SPDX-License-Identifier: MIT */
/* In the manner of `Barrier` (Sinha et al., Table I): a barrier made of a mutex and a condition, with the
 * bug that the generation is read outside of the section that counts. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t full = PTHREAD_COND_INITIALIZER;
static int arrived, generation, parties;
static int cell[64];

__attribute__((noinline)) static void meet(void)
{
	pthread_mutex_lock(&lock);
	const int mine = generation;
	arrived++;
	const int is_last = arrived == parties;
	if (is_last) {
		arrived = 0;
		generation++;
		pthread_cond_broadcast(&full);
	}
	while (generation == mine)
		pthread_cond_wait(&full, &lock);
	pthread_mutex_unlock(&lock);
}

static void *worker(void *arg)
{
	const int id = (int)(long)arg;

	for (int round = 0; round < 2; round++) {
		cell[id]++;
		meet();
		pthread_mutex_lock(&lock);
		cell[id] += cell[(id + 1) % parties];
		pthread_mutex_unlock(&lock);
		meet();
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[64];

	parties = argc > 1 ? atoi(argv[1]) : 9;
	for (long i = 0; i < parties; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	for (int i = 0; i < parties; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", cell[0]);
	return 0;
}
