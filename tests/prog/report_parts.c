/* SPDX-License-Identifier: MIT */
/* One lost update in a member of an element of a global array of structures, its lock beside it. */
#include <pthread.h>
#include <semaphore.h>

#include "atommon.h"

struct account {
	char owner[12];
	pthread_mutex_t lock;
	union {
		long balance;
		char bytes[8];
	};
	short history[2][3];
};

static struct {
	int n;
	struct account account[4];
} bank = {.account = {[2] = {.lock = PTHREAD_MUTEX_INITIALIZER}}};

static sem_t is_read, is_written;

static void *disturb(void *arg)
{
	struct account *a = &bank.account[2];

	(void)arg;
	sem_wait(&is_read);
	pthread_mutex_lock(&a->lock);
	ATOMMON_STORE(a->balance, 7);
	ATOMMON_STORE(a->history[1][2], 1);
	pthread_mutex_unlock(&a->lock);
	sem_post(&is_written);
	return NULL;
}

static void deposit(struct account *a)
{
	ATOMMON_REGION("deposit")
	{
		pthread_mutex_lock(&a->lock);
		const long balance = ATOMMON_LOAD(a->balance);
		pthread_mutex_unlock(&a->lock);
		sem_post(&is_read);
		sem_wait(&is_written);
		pthread_mutex_lock(&a->lock);
		ATOMMON_STORE(a->balance, balance + 1);
		pthread_mutex_unlock(&a->lock);
	}
	ATOMMON_REGION("append")
	{
		const short last = ATOMMON_LOAD(a->history[1][2]);
		sem_post(&is_read);
		sem_wait(&is_written);
		ATOMMON_STORE(a->history[1][2], (short)(last + 1));
	}
}

int main(void)
{
	pthread_t thread[2];

	sem_init(&is_read, 0, 0);
	sem_init(&is_written, 0, 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, disturb, NULL);
	deposit(&bank.account[2]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	return 0;
}
