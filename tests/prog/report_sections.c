/*
 * No annotation: an outer critical section takes an inner lock twice, another thread takes it in
 * between. Seen with ATOMMON_ATOMIC=sections, at lock level. Forced by semaphores.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_mutex_t counter_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t first_done, other_done;
static int counter;

static void count_one(void)
{
	pthread_mutex_lock(&counter_lock);
	counter++;
	pthread_mutex_unlock(&counter_lock);
}

static void *insert_pair(void *unused)
{
	pthread_mutex_lock(&table_lock);
	count_one();
	sem_post(&first_done);
	sem_wait(&other_done);
	count_one();
	pthread_mutex_unlock(&table_lock);
	return unused;
}

static void *insert_one(void *unused)
{
	sem_wait(&first_done);
	count_one();
	sem_post(&other_done);
	return unused;
}

int main(void)
{
	pthread_t a, b;

	sem_init(&first_done, 0, 0);
	sem_init(&other_done, 0, 0);
	pthread_create(&a, NULL, insert_pair, NULL);
	pthread_create(&b, NULL, insert_one, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return counter == 3 ? 0 : 1;
}
