/*
 * No annotation: size-then-pop, two functions that lock, another thread pops in between. With
 * -finstrument-functions and ATOMMON_ATOMIC=fn:take the function is the region. Forced by
 * semaphores.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t looked, popped;
static int items = 1;

static int size(void)
{
	pthread_mutex_lock(&lock);
	const int n = items;
	pthread_mutex_unlock(&lock);
	return n;
}

static void pop(void)
{
	pthread_mutex_lock(&lock);
	items--;
	pthread_mutex_unlock(&lock);
}

static void take(void)
{
	if (size() > 0) {
		sem_post(&looked);
		sem_wait(&popped);
		pop();
	}
}

static void *consumer(void *unused)
{
	take();
	return unused;
}

static void *thief(void *unused)
{
	sem_wait(&looked);
	pop();
	sem_post(&popped);
	return unused;
}

int main(void)
{
	pthread_t a, b;

	sem_init(&looked, 0, 0);
	sem_init(&popped, 0, 0);
	pthread_create(&a, NULL, consumer, NULL);
	pthread_create(&b, NULL, thief, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return items == -1 ? 0 : 1;
}
