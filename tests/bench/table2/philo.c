/* SPDX-License-Identifier: MIT */
/* In the manner of `philo` (Sinha et al., Table I): dining philosophers around a table monitor; one of
 * them looks at the meals of all between two sections. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define SEATS 5

static pthread_mutex_t table = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static int is_taken[SEATS], meals[SEATS], served;

static void take(int seat)
{
	const int left = seat, right = (seat + 1) % SEATS;

	pthread_mutex_lock(&table);
	while (is_taken[left] || is_taken[right])
		pthread_cond_wait(&changed, &table);
	is_taken[left] = is_taken[right] = 1;
	pthread_mutex_unlock(&table);
}

static void put(int seat)
{
	pthread_mutex_lock(&table);
	is_taken[seat] = is_taken[(seat + 1) % SEATS] = 0;
	served++;
	pthread_cond_broadcast(&changed);
	pthread_mutex_unlock(&table);
}

__attribute__((noinline)) static void dine(int seat)
{
	take(seat);
	meals[seat]++;
	put(seat);
}

static void *philosopher(void *arg)
{
	const int seat = (int)(long)arg;

	for (int i = 0; i < 8; i++)
		dine(seat);
	return NULL;
}

int main(void)
{
	pthread_t t[SEATS];

	for (long i = 0; i < SEATS; i++)
		pthread_create(&t[i], NULL, philosopher, (void *)i);
	for (int i = 0; i < SEATS; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", served);
	return 0;
}
