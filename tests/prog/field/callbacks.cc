/*
 * Callbacks of requests, in a map. The one of a request is looked up under the lock, called
 * without it through the iterator, and erased under it: by then a new entry may have moved the
 * table (a parameter server). Region: Customer::run_callback.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <atomic>
#include <cstdio>
#include <functional>
#include <memory>
#include <mutex>
#include <unordered_map>

namespace
{

std::atomic<int> called;

class Customer {
      public:
	int add(std::function<void()> f)
	{
		const std::lock_guard<std::mutex> hold(mutex_);
		const int stamp = next_++;
		callbacks_[stamp] = std::move(f);
		return stamp;
	}

	NOINLINE void run_callback(int stamp)
	{
#ifdef FIXED
		std::function<void()> f;
		{
			const std::lock_guard<std::mutex> hold(mutex_);
			const auto it = callbacks_.find(stamp);
			if (it == callbacks_.end())
				return;
			f = std::move(it->second);
			callbacks_.erase(it);
		}
		f();
#else
		mutex_.lock();
		const auto it = callbacks_.find(stamp);
		if (it != callbacks_.end()) {
			mutex_.unlock();
			it->second();
			POINT();
			mutex_.lock();
			callbacks_.erase(it);
		}
		mutex_.unlock();
#endif
	}

      private:
	std::mutex mutex_;
	int next_ = 0;
	std::unordered_map<int, std::function<void()>> callbacks_;
};

std::unique_ptr<Customer> customer;

void receiver()
{
	customer->run_callback(0);
}

void pusher()
{
	for (int i = 0; i < 20; i++)
		customer->add([] { called++; });
}

} // namespace

int main(int argc, char **argv)
{
	customer = std::make_unique<Customer>();
	customer->add([] { called++; });
	order_run(argc, argv, receiver, pusher);
	std::printf("called %d\n", called.load());
	return 0;
}
