// Functions as regions: built with -finstrument-functions by the test that uses it.
// SPDX-License-Identifier: MIT
#include <cstdio>
#include <pthread.h>

namespace bank {
static long balance = 10;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

class account {
public:
	__attribute__((noinline)) long withdraw(long amount);
};

long account::withdraw(long amount)
{
	pthread_mutex_lock(&mutex);
	const long left = balance -= amount;
	pthread_mutex_unlock(&mutex);
	return left;
}
} // namespace bank

extern "C" __attribute__((noinline)) long plain_function(long n)
{
	return n + 1;
}

__attribute__((noinline)) static long other(long n)
{
	return n * 2;
}

int main()
{
	bank::account a;
	std::printf("%ld %ld %ld\n", a.withdraw(3), plain_function(1), other(4));
}
