/*
 * What neither is an access nor ends a region: posts, signals, barriers, once. usage: notes KIND | notes lock ROUNDS
 *   none post take signal broadcast barrier once
 *          twice loads a variable, at one place, and does that behind each; another thread writes the variable meanwhile. Region: twice.
 *          Without anything in between the first load was made in vain, and twice is atomic; otherwise it told others something.
 *   lock   threads that work in regions of their own, each ROUNDS times, with a semaphore, a mutex of C11, a condition, a barrier of one and once. Region: step
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

#include "order.h"

#define NOINLINE __attribute__((noinline))
enum { THREADS = 2, WORDS = 4 };

static const char *const names[] = {"none", "post", "take", "signal", "broadcast", "barrier", "once", "lock"};
enum kind { NONE, POST, TAKE, SIGNAL, BROADCAST, BARRIER, ONCE, LOCK, KINDS };

static enum kind kind;
static sem_t sem;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static pthread_barrier_t barrier;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static atomic_int shared;
static long rounds;

static void nothing(void)
{
}

NOINLINE static void note(void)
{
	switch (kind) {
	case POST:
		sem_post(&sem);
		break;
	case TAKE:
		sem_wait(&sem);
		break;
	case SIGNAL:
		pthread_cond_signal(&cond);
		break;
	case BROADCAST:
		pthread_cond_broadcast(&cond);
		break;
	case BARRIER:
		pthread_barrier_wait(&barrier);
		break;
	case ONCE:
		pthread_once(&once, nothing);
		break;
	default:
		break;
	}
}

NOINLINE static int twice(int turns)
{
	int sum = 0;

	for (int i = 0; i < turns; i++) {
		sum += atomic_load(&shared);
		note();
		if (i == 0) {
			reach(1);
			await(2);
		}
	}
	return sum;
}

static void *writer(void *unused)
{
	await(1);
	atomic_store(&shared, 1);
	reach(2);
	return unused;
}

static struct own {
	sem_t sem;
	mtx_t mutex;
	pthread_barrier_t barrier;
	long word[WORDS];
} __attribute__((aligned(128))) owns[THREADS];

NOINLINE static void step(struct own *own)
{
	sem_wait(&own->sem);
	mtx_lock(&own->mutex);
	for (int i = 0; i < WORDS; i++)
		own->word[i]++;
	mtx_unlock(&own->mutex);
	pthread_cond_signal(&cond);
	pthread_cond_broadcast(&cond);
	pthread_barrier_wait(&own->barrier);
	pthread_once(&once, nothing);
	sem_post(&own->sem);
}

static void *worker(void *own)
{
	for (long i = 0; i < rounds; i++)
		step(own);
	return NULL;
}

static void work(void)
{
	pthread_t thread[THREADS];

	for (int i = 0; i < THREADS; i++) {
		sem_init(&owns[i].sem, 0, 1);
		mtx_init(&owns[i].mutex, mtx_plain);
		pthread_barrier_init(&owns[i].barrier, NULL, 1);
		pthread_create(&thread[i], NULL, worker, &owns[i]);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	printf("%ld\n", owns[0].word[0] + owns[1].word[WORDS - 1]);
}

int main(int argc, char **argv)
{
	pthread_t thread;

	while (argc > 1 && kind < KINDS && strcmp(argv[1], names[kind]))
		kind++;
	if (argc < 2 || kind == KINDS || (kind == LOCK && (argc < 3 || (rounds = atol(argv[2])) < 1)))
		return 2;
	sem_init(&sem, 0, 2);
	pthread_barrier_init(&barrier, NULL, 1);
	if (kind == LOCK) {
		work();
		return 0;
	}
	if (pthread_create(&thread, NULL, writer, NULL))
		return 1;
	printf("%d\n", twice(argc));
	pthread_join(thread, NULL);
	return 0;
}
