/*
 * transfer() between C++ objects that lock themselves: money is taken here and given there, and an audit in
 * between finds some missing. Virtual functions and an exception on the way. Region: audit.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <cstdio>
#include <mutex>
#include <stdexcept>

namespace
{

struct Account {
	explicit Account(long n) : balance_(n) {}
	virtual ~Account() = default;
	virtual long balance()
	{
		const std::lock_guard<std::mutex> hold(lock_);
		return balance_;
	}
	virtual void add(long n)
	{
		const std::lock_guard<std::mutex> hold(lock_);
		if (balance_ + n < 0)
			throw std::runtime_error("not enough");
		balance_ += n;
	}

      protected:
	std::mutex lock_;
	long balance_;
};

struct Savings : Account {
	using Account::Account;
	void add(long n) override { Account::add(n); }
};

std::mutex all;
Account giro(100);
Savings savings(0);
long seen;

NOINLINE void audit()
{
#ifdef FIXED
	const std::lock_guard<std::mutex> hold(all);
#endif
	const long a = giro.balance();
	POINT();
	seen = a + savings.balance();
}

void transfer()
{
#ifdef FIXED
	const std::lock_guard<std::mutex> hold(all);
#endif
	try {
		giro.add(-30);
		savings.add(30);
		giro.add(-1000);
	} catch (const std::runtime_error &) {
	}
}

} // namespace

int main(int argc, char **argv)
{
	order_run(argc, argv, audit, transfer);
	std::printf("seen %ld\n", seen);
	return 0;
}
