/* SPDX-License-Identifier: MIT */
/*
 * The bank of Table 1 (Wang et al. 2010, §6), our own: N tellers move money between two accounts.
 * Each change of an account is meant to be atomic, but reads and writes the balance in critical sections
 * of their own, with nested locks. FIX: how many of the two accounts are guarded by a busy flag and a
 * condition variable as well: 0 (av, every candidate real), 1 (sav, half of them), 2 (nav, none).
 *
 * Tellers start one after the other, by time alone, so that the recorded run is serial without any
 * synchronisation that would order it.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "atommon.h"

#define MAX_TELLERS 16

struct account {
	pthread_mutex_t lock;
	pthread_cond_t idle;
	int busy;
	int balance;
	int is_guarded;
};

static struct account checking = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 1000, FIX >= 1};
static struct account savings = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, 1000, FIX >= 2};
static pthread_mutex_t bank = PTHREAD_MUTEX_INITIALIZER;
static int served;

static void enter(struct account *a)
{
	if (!a->is_guarded)
		return;
	pthread_mutex_lock(&a->lock);
	while (a->busy)
		pthread_cond_wait(&a->idle, &a->lock);
	a->busy = 1;
	pthread_mutex_unlock(&a->lock);
}

static void leave(struct account *a)
{
	if (!a->is_guarded)
		return;
	pthread_mutex_lock(&a->lock);
	a->busy = 0;
	pthread_cond_signal(&a->idle);
	pthread_mutex_unlock(&a->lock);
}

static int get(struct account *a)
{
	pthread_mutex_lock(&bank);
	pthread_mutex_lock(&a->lock);
	const int balance = a->balance;
	pthread_mutex_unlock(&a->lock);
	pthread_mutex_unlock(&bank);
	return balance;
}

static void put(struct account *a, int balance)
{
	pthread_mutex_lock(&bank);
	pthread_mutex_lock(&a->lock);
	a->balance = balance;
	pthread_mutex_unlock(&a->lock);
	pthread_mutex_unlock(&bank);
}

#ifdef FORCED
/* The order of a witness, by hand: the first teller reads the forced account, the second changes it
 * whole, then the first writes. Nothing else is ordered. */
#include <semaphore.h>
static sem_t has_read, has_changed;
#define FORCED_ACCOUNT (FIX ? &savings : &checking)
static void pause_first(struct account *a, int id)
{
	if (a != FORCED_ACCOUNT || id != 0)
		return;
	sem_post(&has_read);
	sem_wait(&has_changed);
}
#define BEFORE_SECOND(a, id) ((a) == FORCED_ACCOUNT && (id) == 1 ? (void)sem_wait(&has_read) : (void)0)
#define AFTER_SECOND(a, id) ((a) == FORCED_ACCOUNT && (id) == 1 ? (void)sem_post(&has_changed) : (void)0)
#else
#define pause_first(a, id) ((void)(id))
#define BEFORE_SECOND(a, id) ((void)0)
#define AFTER_SECOND(a, id) ((void)0)
#endif

static void change(struct account *a, const char *region, int amount, int id)
{
	BEFORE_SECOND(a, id);
	enter(a);
	atommon_begin(region);
	const int balance = get(a);
	pause_first(a, id);
	if (balance + amount >= 0)
		put(a, balance + amount);
	atommon_end();
	leave(a);
	AFTER_SECOND(a, id);
}

static void *teller(void *arg)
{
	const int id = (int)(long)arg;

	usleep((useconds_t)(20000 * id));
	change(&checking, "withdraw", -10 - id, id);
	change(&savings, "deposit", 10 + id, id);
	pthread_mutex_lock(&bank);
	served++;
	pthread_mutex_unlock(&bank);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[MAX_TELLERS];
	const int tellers = argc > 1 ? atoi(argv[1]) : 2;

	if (tellers < 1 || tellers > MAX_TELLERS)
		return 2;
#ifdef FORCED
	sem_init(&has_read, 0, 0);
	sem_init(&has_changed, 0, 0);
#endif
	for (long i = 0; i < tellers; i++)
		pthread_create(&thread[i], NULL, teller, (void *)i);
	for (int i = 0; i < tellers; i++)
		pthread_join(thread[i], NULL);
	printf("%d + %d after %d transfers\n", checking.balance, savings.balance, served);
	return checking.balance + savings.balance != 2000;
}
