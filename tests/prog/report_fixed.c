/* The bank without its mistake: one critical section per region. Argument: rounds, exit status. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "atommon.h"

static long balance = 100;
static pthread_mutex_t bank_lock = PTHREAD_MUTEX_INITIALIZER;
static int rounds = 1000;

static void *teller(void *step)
{
	for (int i = 0; i < rounds; i++) {
		ATOMMON_REGION("transfer")
		{
			pthread_mutex_lock(&bank_lock);
			ATOMMON_STORE(balance, ATOMMON_LOAD(balance) + (long)step);
			pthread_mutex_unlock(&bank_lock);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	if (argc > 1)
		rounds = atoi(argv[1]);
	pthread_create(&a, NULL, teller, (void *)10);
	pthread_create(&b, NULL, teller, (void *)-10);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("balance %ld\n", balance);
	return argc > 2 ? atoi(argv[2]) : 0;
}
