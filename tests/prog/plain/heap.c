/* A lost update in a heap block that was allocated before there were threads or regions; C, and C++ with -x c++. */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct account {
	long id;
	long balance;
	pthread_mutex_t lock;
};

static struct account *account;
static pthread_barrier_t looked, drawn;

static __attribute__((noinline)) struct account *open_account(long balance)
{
#ifdef __cplusplus
	struct account *a = new struct account();
#else
	struct account *a = calloc(1, sizeof *a);
#endif
	pthread_mutex_init(&a->lock, NULL);
	a->balance = balance;
	return a;
}

static __attribute__((noinline)) void withdraw(struct account *a, long amount, int waits)
{
	pthread_mutex_lock(&a->lock);
	const long seen = a->balance;
	pthread_mutex_unlock(&a->lock);
	if (waits) {
		pthread_barrier_wait(&looked);
		pthread_barrier_wait(&drawn);
	}
	pthread_mutex_lock(&a->lock);
	a->balance = seen - amount;
	pthread_mutex_unlock(&a->lock);
}

static void *slow(void *arg)
{
	withdraw(account, 10, 1);
	return arg;
}

static void *quick(void *arg)
{
	pthread_barrier_wait(&looked);
	withdraw(account, 20, 0);
	pthread_barrier_wait(&drawn);
	return arg;
}

int main(void)
{
	pthread_t a, b;

	account = open_account(100);
	pthread_barrier_init(&looked, NULL, 2);
	pthread_barrier_init(&drawn, NULL, 2);
	pthread_create(&a, NULL, slow, NULL);
	pthread_create(&b, NULL, quick, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%ld\n", account->balance);
	return 0;
}
