/*
 * A region that makes one atomic or volatile access, by argument, or adds twice and looks in between, and concerns nobody; 1,000 times.
 * usage: exact store|add|swap|load|volatile|mixed
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <string.h>

static atomic_long number;
static long plain;
static volatile long flag;

__attribute__((noinline)) static void region(char what)
{
	long expected = plain;

	if (what == 's')
		atomic_store(&number, plain);
	else if (what == 'a')
		atomic_fetch_add_explicit(&number, 1, memory_order_relaxed);
	else if (what == 'l')
		plain += atomic_load(&number);
	else if (what == 'v')
		plain += flag;
	else if (what == 'm') {
		atomic_fetch_add_explicit(&number, 1, memory_order_relaxed);
		plain += atomic_load(&number);
		atomic_fetch_add_explicit(&number, 1, memory_order_relaxed);
	}
	else
		atomic_compare_exchange_strong(&number, &expected, plain + 1);
	plain++;
}

static void *nothing(void *arg)
{
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t t;

	if (argc != 2)
		return 2;
	pthread_create(&t, NULL, nothing, NULL);
	pthread_join(t, NULL);
	for (int i = 0; i < 1000; i++)
		region(strcmp(argv[1], "swap") == 0 ? 'w' : argv[1][0]);
	return 0;
}
