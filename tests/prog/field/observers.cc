/*
 * Observers in a vector, told one after the other: the lock is taken for the size and for each
 * element, so that a callback may lock, too. One that is removed meanwhile shifts the rest, and
 * one is not told (server software of several kinds). Region: Subject::notify.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <algorithm>
#include <cstdio>
#include <mutex>
#include <vector>

namespace
{

struct Observer {
	int told = 0;
};

class Subject {
      public:
	void attach(Observer *o)
	{
		const std::lock_guard<std::mutex> hold(mutex_);
		all_.push_back(o);
	}
	NOINLINE void detach(Observer *o)
	{
		const std::lock_guard<std::mutex> hold(mutex_);
		all_.erase(std::remove(all_.begin(), all_.end(), o), all_.end());
	}
	NOINLINE void notify()
	{
#ifdef FIXED
		std::vector<Observer *> copy;
		{
			const std::lock_guard<std::mutex> hold(mutex_);
			copy = all_;
		}
		for (Observer *o : copy)
			o->told++;
#else
		for (std::size_t i = 0; i < size(); i++) {
			Observer *o = at(i);
			if (o)
				o->told++;
			POINT();
		}
#endif
	}

      private:
	std::size_t size()
	{
		const std::lock_guard<std::mutex> hold(mutex_);
		return all_.size();
	}
	Observer *at(std::size_t i)
	{
		const std::lock_guard<std::mutex> hold(mutex_);
		return i < all_.size() ? all_[i] : nullptr;
	}

	std::mutex mutex_;
	std::vector<Observer *> all_;
};

Subject subject;
Observer observers[3];

void teller()
{
	subject.notify();
}

void leaver()
{
	subject.detach(&observers[0]);
}

} // namespace

int main(int argc, char **argv)
{
	for (Observer &o : observers)
		subject.attach(&o);
	order_run(argc, argv, teller, leaver);
	std::printf("told %d %d %d\n", observers[0].told, observers[1].told, observers[2].told);
	return 0;
}
