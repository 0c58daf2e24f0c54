/* SPDX-License-Identifier: MIT */
/* A lost update without a data race: the balance is read in one critical section and written in the
 * next. Build with -DFIXED for the version that holds the lock throughout. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int balance = 100;

__attribute__((noinline)) static void withdraw(int amount)
{
	pthread_mutex_lock(&lock);
	int seen = balance;
#ifndef FIXED
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
#endif
	if (seen >= amount)
		balance = seen - amount;
	pthread_mutex_unlock(&lock);
}

static void *customer(void *arg)
{
	int id = *(int *)arg;

	usleep(50000 * (id - 1)); /* customers come one after the other: the usual, lucky case */
	withdraw(10 * id);
	return NULL;
}

int main(void)
{
	pthread_t thread[2];
	int id[2] = {1, 2};

	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, customer, &id[i]);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("balance %d\n", balance);
	return 0;
}
