/*
 * A lost update in a program that has done the same thing right many times before: by then nothing
 * of its regions is logged until it matters. The order is forced by a variable that the monitor does not
 * see. usage: warm bad|good|nested|outside ROUNDS
 *   bad      the lock is let go between the read and the write, and another thread comes in between
 *   good     it is held throughout
 *   nested   as bad, below a second lock that nobody else takes and below another region
 *   outside  as bad, but what comes in between is no region
 * Regions: withdraw, session.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"

#define NOINLINE __attribute__((noinline))

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, door = PTHREAD_MUTEX_INITIALIZER;
static long balance = 1000, log_lines;
static int rounds;
static const char *mode;

NOINLINE static void withdraw(long amount, int is_first)
{
	pthread_mutex_lock(&lock);
	const long seen = balance;
	log_lines++;
	if (is_first && strcmp(mode, "good") != 0) {
		pthread_mutex_unlock(&lock);
		reach(1);
		await(2);
		pthread_mutex_lock(&lock);
	}
	balance = seen - amount;
	pthread_mutex_unlock(&lock);
}

NOINLINE static void session(long amount)
{
	pthread_mutex_lock(&door);
	withdraw(amount, 1);
	pthread_mutex_unlock(&door);
}

static void warm_up(void)
{
	for (int i = 0; i < rounds; i++)
		withdraw(i & 1 ? -1 : 1, 0);
}

static void *first(void *unused)
{
	warm_up();
	if (!strcmp(mode, "nested"))
		session(10);
	else
		withdraw(10, 1);
	reach(1);
	return unused;
}

static void *second(void *unused)
{
	warm_up();
	await(1);
	if (!strcmp(mode, "outside")) {
		pthread_mutex_lock(&lock);
		balance -= 20;
		pthread_mutex_unlock(&lock);
	} else {
		withdraw(20, 0);
	}
	reach(2);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	if (argc != 3)
		return 2;
	mode = argv[1];
	rounds = atoi(argv[2]);
	if (pthread_create(&a, NULL, first, NULL) || pthread_create(&b, NULL, second, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("balance %ld\n", balance);
	return 0;
}
