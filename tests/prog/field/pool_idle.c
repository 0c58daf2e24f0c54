/*
 * A pool of threads: jobs wait in a queue with its lock, and how many threads work is counted under another
 * one. A worker takes a job and then counts itself; who asks in between finds no job in the queue and nobody
 * at work, and ends the program early (a small and popular pool). Region: take.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct job {
	struct job *next;
	void (*run)(void *);
	void *argument;
};
struct queue {
	pthread_mutex_t lock;
	struct job *front, *rear;
	int length;
};
struct pool {
	struct queue queue;
	pthread_mutex_t count_lock;
	int working;
	long done;
};
static struct pool *pool;
static int early;

static void push(struct queue *q, void (*run)(void *), void *argument)
{
	struct job *j = malloc(sizeof *j);

	if (!j)
		abort();
	*j = (struct job){NULL, run, argument};
	pthread_mutex_lock(&q->lock);
	if (q->length++ == 0)
		q->front = j;
	else
		q->rear->next = j;
	q->rear = j;
	pthread_mutex_unlock(&q->lock);
}

static struct job *pull(struct queue *q)
{
	struct job *j = q->front;

	if (j) {
		q->front = j->next;
		q->length--;
	}
	return j;
}

static void count(struct pool *p, int by)
{
	pthread_mutex_lock(&p->count_lock);
	p->working += by;
	p->done += by < 0;
	pthread_mutex_unlock(&p->count_lock);
}

NOINLINE static struct job *take(struct pool *p)
{
	pthread_mutex_lock(&p->queue.lock);
	struct job *j = pull(&p->queue);
	WHEN_WRONG(pthread_mutex_unlock(&p->queue.lock);)
	POINT();
	if (j)
		count(p, 1);
	WHEN_FIXED(pthread_mutex_unlock(&p->queue.lock);)
	return j;
}

/* Both under the queue's lock when right: what is in neither place is in none. */
NOINLINE static int is_idle(struct pool *p)
{
	pthread_mutex_lock(&p->queue.lock);
	const int length = p->queue.length;
	WHEN_WRONG(pthread_mutex_unlock(&p->queue.lock);)
	pthread_mutex_lock(&p->count_lock);
	const int working = p->working;
	pthread_mutex_unlock(&p->count_lock);
	WHEN_FIXED(pthread_mutex_unlock(&p->queue.lock);)
	return length == 0 && working == 0;
}

static void work(void *argument)
{
	(void)argument;
}

static void worker(void)
{
	struct job *j = take(pool);

	if (!j)
		return;
	j->run(j->argument);
	free(j);
	count(pool, -1);
}

static void waiter(void)
{
	pthread_mutex_lock(&pool->count_lock);
	const long done = pool->done;
	pthread_mutex_unlock(&pool->count_lock);
	if (is_idle(pool) && done == 0)
		early++;
}

int main(int argc, char **argv)
{
	pool = calloc(1, sizeof *pool);
	if (!pool)
		return 2;
	pthread_mutex_init(&pool->queue.lock, NULL);
	pthread_mutex_init(&pool->count_lock, NULL);
	push(&pool->queue, work, NULL);
	order_run(argc, argv, worker, waiter);
	printf("%d early\n", early);
	return 0;
}
