/* SPDX-License-Identifier: MIT */
/* In the manner of `account` (Sinha et al., Table I): transfers between accounts with a lock each, taken
 * in order. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define ACCOUNTS 10

static struct {
	pthread_mutex_t lock;
	int balance;
} account[ACCOUNTS];

__attribute__((noinline)) static void transfer(int from, int to, int amount)
{
	const int first = from < to ? from : to, second = from < to ? to : from;

	pthread_mutex_lock(&account[first].lock);
	pthread_mutex_lock(&account[second].lock);
	if (account[from].balance >= amount) {
		account[from].balance -= amount;
		account[to].balance += amount;
	}
	pthread_mutex_unlock(&account[second].lock);
	pthread_mutex_unlock(&account[first].lock);
}

/* Two transfers: each is atomic, both together are not. */
__attribute__((noinline)) static void order(int from, int to)
{
	transfer(from, to, 5);
	transfer(to, from, 2);
}

static void *customer(void *arg)
{
	const int id = (int)(long)arg;

	for (int i = 0; i < 6; i++)
		transfer((id + i) % ACCOUNTS, (id + 2 * i + 1) % ACCOUNTS == (id + i) % ACCOUNTS
						      ? (id + i + 1) % ACCOUNTS
						      : (id + 2 * i + 1) % ACCOUNTS,
			 5);
	order(id, (id + 1) % ACCOUNTS);
	return NULL;
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 10;
	pthread_t t[64];
	int sum = 0;

	for (int i = 0; i < ACCOUNTS; i++) {
		pthread_mutex_init(&account[i].lock, NULL);
		account[i].balance = 100;
	}
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, customer, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	for (int i = 0; i < ACCOUNTS; i++)
		sum += account[i].balance;
	printf("%d\n", sum);
	return sum != 100 * ACCOUNTS;
}
