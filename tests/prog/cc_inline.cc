// Functions that a compiler may inline, and whether fn: sees them in watched code: those that only access memory vanish
// into their callers, one that takes a lock or is marked stays.
/* SPDX-License-Identifier: MIT */
#include <cstdio>
#include <pthread.h>

struct Account {
	pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
	long balance = 10;

	long peek() const { return balance; }
	bool has(long amount) const { return peek() >= amount; }
	__attribute__((noinline)) void set(long amount) { balance = amount; }
	void take(long amount)
	{
		pthread_mutex_lock(&mutex);
		if (has(amount))
			balance -= amount;
		pthread_mutex_unlock(&mutex);
	}
};

static inline long twice(const Account *a)
{
	return a->peek() + a->peek();
}

static Account account;

static void *work(void *)
{
	account.take(3);
	account.set(account.peek() + 5);
	return nullptr;
}

int main()
{
	pthread_t thread;

	pthread_create(&thread, nullptr, work, nullptr);
	pthread_join(thread, nullptr);
	std::printf("%ld %ld\n", account.peek(), twice(&account));
	return 0;
}
