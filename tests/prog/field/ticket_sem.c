/*
 * Seats are counted down under a binary semaphore, once to look and once to take: what is decided upon may
 * be sold by then. Region: sell.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <semaphore.h>
#include <stdio.h>

static sem_t mutex;
static int seats = 2, sold;

NOINLINE static void sell(void)
{
	sem_wait(&mutex);
	const int is_free = seats > 0;
	WHEN_WRONG(sem_post(&mutex);)
	POINT();
	WHEN_WRONG(sem_wait(&mutex);)
	if (is_free) {
		seats--;
		sold++;
	}
	sem_post(&mutex);
}

int main(int argc, char **argv)
{
	sem_init(&mutex, 0, 1);
	order_run(argc, argv, sell, sell);
	printf("seats %d, sold %d\n", seats, sold);
	return 0;
}
