/*
 * A storage engine's memory budget in atomics: whether it suffices is read, then the memory is
 * added; two that both had room are over it together. Region: Budget::reserve.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <atomic>
#include <cstdio>
#include <memory>

namespace
{

class Budget {
      public:
	explicit Budget(std::size_t limit) : limit_(limit) {}

	NOINLINE bool reserve(std::size_t n)
	{
#ifdef FIXED
		std::size_t used = used_.load(std::memory_order_relaxed);
		do {
			if (used + n > limit_)
				return false;
		} while (!used_.compare_exchange_weak(used, used + n));
		return true;
#else
		if (used_.load(std::memory_order_relaxed) + n > limit_)
			return false;
		POINT();
		used_.fetch_add(n, std::memory_order_relaxed);
		return true;
#endif
	}
	void release(std::size_t n) { used_.fetch_sub(n, std::memory_order_relaxed); }
	std::size_t used() const { return used_.load(); }

      private:
	const std::size_t limit_;
	std::atomic<std::size_t> used_{0};
};

std::unique_ptr<Budget> budget;

void writer()
{
	budget->reserve(60);
}

} // namespace

int main(int argc, char **argv)
{
	budget = std::make_unique<Budget>(100);
	order_run(argc, argv, writer, writer);
	std::printf("used %zu\n", budget->used());
	return 0;
}
