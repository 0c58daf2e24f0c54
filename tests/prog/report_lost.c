/*
 * A lost update, forced: the withdrawal reads and writes the balance in two critical sections, the
 * deposit comes in between. Semaphores make it happen in every run; they order nothing that a
 * serial run would need. Argument: how often (default 1).
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>

#include "atommon.h"

static long balance = 100;
static pthread_mutex_t bank_lock = PTHREAD_MUTEX_INITIALIZER;
static sem_t has_read, has_paid;
static int rounds = 1;

static void withdraw(long amount)
{
	atommon_begin("withdraw");
	pthread_mutex_lock(&bank_lock);
	long seen = ATOMMON_LOAD(balance);
	pthread_mutex_unlock(&bank_lock);
	sem_post(&has_read);
	sem_wait(&has_paid);
	pthread_mutex_lock(&bank_lock);
	ATOMMON_STORE(balance, seen - amount);
	pthread_mutex_unlock(&bank_lock);
	atommon_end();
}

static void deposit(long amount)
{
	atommon_begin("deposit");
	pthread_mutex_lock(&bank_lock);
	ATOMMON_STORE(balance, ATOMMON_LOAD(balance) + amount);
	pthread_mutex_unlock(&bank_lock);
	atommon_end();
}

static void *teller(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "teller");
	for (int i = 0; i < rounds; i++)
		withdraw(10);
	return NULL;
}

static void *payer(void *unused)
{
	(void)unused;
	pthread_setname_np(pthread_self(), "payer");
	for (int i = 0; i < rounds; i++) {
		sem_wait(&has_read);
		deposit(50);
		sem_post(&has_paid);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	if (argc > 1)
		rounds = atoi(argv[1]);
	sem_init(&has_read, 0, 0);
	sem_init(&has_paid, 0, 0);
	pthread_create(&a, NULL, teller, NULL);
	pthread_create(&b, NULL, payer, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("balance %ld\n", balance);
	return argc > 2 ? atoi(argv[2]) : 0;
}
