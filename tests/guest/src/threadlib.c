/*
 * A library with threads, locks and a constructor and destructor that use them. Built into a
 * shared object in several ways by the guest tests.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static long total;

static void *work(void *n)
{
	for (long i = 0; i < (long)n; i++) {
		pthread_mutex_lock(&m);
		total++;
		pthread_mutex_unlock(&m);
	}
	return NULL;
}

long threadlib_run(long n);
long threadlib_run(long n)
{
	pthread_t t[3];

	for (int i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, work, (void *)n);
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	return total;
}

__attribute__((constructor)) static void begin(void)
{
	work((void *)5);
#ifdef THREADS_IN_CONSTRUCTOR
	threadlib_run(5);
#endif
}

__attribute__((destructor)) static void end(void)
{
	work((void *)5);
#ifdef THREADS_IN_CONSTRUCTOR
	threadlib_run(5);
#endif
	printf("threadlib ends at %ld\n", total);
	fflush(stdout);
}
