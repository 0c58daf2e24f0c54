/*
 * A thread comes to what an open critical section of another has; then both work in further sections of their own. The order is forced by a variable that the monitor does not see. usage: met good|bad
 *   good  nothing more happens to shared data
 *   bad   a later section of the thread that came is broken: it writes what it wrote in the section before, the other
 *         thread's section reads that and answers, and it sees the answer
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "order.h"

enum { ROUNDS = 1000 };

static pthread_mutex_t left = PTHREAD_MUTEX_INITIALIZER, right = PTHREAD_MUTEX_INITIALIZER;
static long shared, question, answer, of_left, of_right;
static int is_bad;

static void work(pthread_mutex_t *lock, long *own)
{
	for (int i = 0; i < ROUNDS; i++) {
		pthread_mutex_lock(lock);
		*own += i;
		pthread_mutex_unlock(lock);
	}
}

static void *first(void *unused)
{
	pthread_mutex_lock(&left);
	shared++;
	reach(1);
	await(2);
	pthread_mutex_unlock(&left);
	reach(3);
	work(&left, &of_left);
	if (is_bad) {
		await(4);
		pthread_mutex_lock(&left);
		answer = question;
		pthread_mutex_unlock(&left);
		reach(5);
	}
	return unused;
}

static void ask(long what, int waits)
{
	pthread_mutex_lock(&right);
	question = what;
	if (waits) {
		reach(4);
		await(5);
		of_right += answer;
	}
	pthread_mutex_unlock(&right);
}

static void *second(void *unused)
{
	await(1);
	shared++;
	reach(2);
	await(3);
	work(&right, &of_right);
	if (is_bad) {
		ask(1, 0);
		ask(2, 1);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	is_bad = argc == 2 && !strcmp(argv[1], "bad");
	if (pthread_create(&a, NULL, first, NULL) || pthread_create(&b, NULL, second, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%ld %ld\n", shared, of_left + of_right);
	return 0;
}
