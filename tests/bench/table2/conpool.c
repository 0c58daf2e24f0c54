/* SPDX-License-Identifier: MIT */
/* In the manner of `conpool` (Sinha et al., Table I): threads take connections from a small pool, use
 * them and give them back. Regions: get and put. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define POOL 2

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t freed = PTHREAD_COND_INITIALIZER;
static int is_used[POOL], uses[POOL], available = POOL;

static int get(void)
{
	int got = -1;

	pthread_mutex_lock(&lock);
	while (!available)
		pthread_cond_wait(&freed, &lock);
	for (int i = 0; i < POOL && got < 0; i++)
		if (!is_used[i])
			got = i;
	is_used[got] = 1;
	available--;
	pthread_mutex_unlock(&lock);
	return got;
}

static void put(int c)
{
	pthread_mutex_lock(&lock);
	is_used[c] = 0;
	available++;
	pthread_cond_signal(&freed);
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void use(void)
{
	const int c = get();

	uses[c]++;
	put(c);
}

static void *client(void *arg)
{
	for (long i = 0; i < (long)arg; i++)
		use();
	return NULL;
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 3;
	const long rounds = argc > 2 ? atol(argv[2]) : 2;
	pthread_t t[64];

	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, client, (void *)rounds);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("%d uses\n", uses[0] + uses[1]);
	return 0;
}
