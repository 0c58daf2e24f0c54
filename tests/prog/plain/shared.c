/*
 * Two threads work in critical sections of a reader-writer lock, held shared or alone, and of spin locks. usage: shared good|bad
 *   good  nobody is concerned
 *   bad   then a section that holds the lock shared writes back what it read, and the other's changed that meanwhile. The order is
 *         forced by a variable that the monitor does not see
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "order.h"

enum { ROUNDS = 1000 };

static pthread_rwlock_t table = PTHREAD_RWLOCK_INITIALIZER;
static pthread_spinlock_t slot[2];
static long version, balance, own[2];
static int is_bad;

static void work(int me)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_rwlock_rdlock(&table);
		pthread_spin_lock(&slot[me]);
		own[me] += i;
		pthread_spin_unlock(&slot[me]);
		pthread_rwlock_unlock(&table);
		if (i % 10 != 0)
			continue;
		pthread_rwlock_wrlock(&table);
		version++;
		pthread_rwlock_unlock(&table);
	}
}

static void *first(void *unused)
{
	work(0);
	await(1);
	if (is_bad) {
		pthread_rwlock_rdlock(&table);
		const long seen = balance;
		reach(2);
		await(3);
		balance = seen + 1;
		pthread_rwlock_unlock(&table);
	}
	return unused;
}

static void *second(void *unused)
{
	work(1);
	reach(1);
	if (is_bad) {
		await(2);
		pthread_rwlock_rdlock(&table);
		balance = 10;
		pthread_rwlock_unlock(&table);
		reach(3);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	is_bad = argc == 2 && !strcmp(argv[1], "bad");
	if (pthread_spin_init(&slot[0], 0) || pthread_spin_init(&slot[1], 0) || pthread_create(&a, NULL, first, NULL) ||
	    pthread_create(&b, NULL, second, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%ld %ld %ld\n", version, balance, own[0] + own[1]);
	return 0;
}
