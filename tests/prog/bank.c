/*
 * The account of Fig. 2 of the constraint paper: the balance is read in one critical section and
 * written in another. No data race, and money is lost.
 */
/* SPDX-License-Identifier: MIT */
#include "example.h"

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static long balance;

static void withdraw(int id, long amount)
{
	ATOMMON_REGION("withdraw") {
		pthread_mutex_lock(&lock);
		long b = ATOMMON_LOAD(balance);
		if (!example.fixed) {
			pthread_mutex_unlock(&lock);
			example_pause(id);
			pthread_mutex_lock(&lock);
		}
		ATOMMON_STORE(balance, b - amount);
		pthread_mutex_unlock(&lock);
	}
}

static void body(int id)
{
	for (long i = 0; i < example.size; i++)
		withdraw(id, 1);
}

int main(int argc, char **argv)
{
	example_parse(argc, argv, 2, 1);
	atommon_name(&balance, sizeof balance, "balance");
	balance = example.threads * example.size;
	example_run(body);
	printf("balance %ld, expected 0\n", balance);
	return 0;
}
