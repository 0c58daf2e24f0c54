/* SPDX-License-Identifier: MIT */
/* In the manner of `SynchBench` (Sinha et al., Table I): many threads, one method lock, one object lock,
 * very short sections. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t method = PTHREAD_MUTEX_INITIALIZER, object = PTHREAD_MUTEX_INITIALIZER;
static int calls, sum;

__attribute__((noinline)) static void call(int i)
{
	pthread_mutex_lock(&method);
	calls++;
	pthread_mutex_unlock(&method);
	pthread_mutex_lock(&object);
	sum += i;
	pthread_mutex_unlock(&object);
}

static void *worker(void *arg)
{
	for (long i = 0; i < (long)arg; i++)
		call((int)i);
	return NULL;
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 15;
	const long rounds = argc > 2 ? atol(argv[2]) : 10;
	pthread_t t[64];

	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, worker, (void *)rounds);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("%d %d\n", calls, sum);
	return 0;
}
