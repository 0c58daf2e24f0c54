/*
 * C++: every synchronisation class of the standard library, exceptions through once and through
 * locks, static locals made by several threads at once. Prints sums; deterministic.
 */
/* SPDX-License-Identifier: MIT */
#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <future>
#include <iostream>
#include <latch>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace std::chrono_literals;

static std::mutex m;
static std::timed_mutex tm;
static std::recursive_mutex rm;
static std::recursive_timed_mutex rtm;
static std::shared_mutex sm;
static std::shared_timed_mutex stm;
static std::condition_variable cv;
static std::condition_variable_any cva;
static std::once_flag flag;
static int made, once_tries;

struct Costly {
	int value;
	Costly() : value(42)
	{
		std::lock_guard g(m);
		if (++made == 1)
			throw std::runtime_error("first try fails");
	}
};

static Costly &costly()
{
	static Costly c;
	return c;
}

template <class F> static void together(int n, F f)
{
	std::vector<std::thread> t;
	for (int i = 0; i < n; i++)
		t.emplace_back(f, i);
	for (auto &x : t)
		x.join();
}

int main()
{
	constexpr int n = 4;
	int sum = 0, threw = 0, caught = 0;

	together(n, [&](int i) {
		for (int k = 0; k < 100; k++) {
			{
				std::lock_guard g(m);
				sum += i;
			}
			std::unique_lock u(tm, 1h);
			std::scoped_lock two(rm, rtm);
			std::lock_guard again(rm);
			std::unique_lock w(sm);
		}
		for (int k = 0; k < 100; k++) {
			std::shared_lock r(sm);
			std::shared_lock r2(stm, 1h);
		}
	});
	std::cout << "sum " << sum << "\n";

	together(n, [&](int) {
		try {
			std::call_once(flag, [&] {
				if (once_tries++ == 0)
					throw std::logic_error("again");
			});
		} catch (const std::logic_error &) {
			std::lock_guard g(m);
			threw++;
		}
	});
	std::cout << "once tries " << once_tries << " threw " << threw << "\n";

	together(n, [&](int) {
		for (;;) {
			try {
				if (costly().value == 42)
					break;
			} catch (const std::runtime_error &) {
				std::lock_guard g(m);
				caught++;
			}
		}
	});
	std::cout << "static made " << made << " caught " << caught << "\n";

	bool ready = false;
	std::thread waiter([&] {
		std::unique_lock u(m);
		cv.wait(u, [&] { return ready; });
		std::cout << "woken " << cv.wait_for(u, 1ms, [] { return false; }) << "\n";
	});
	{
		std::lock_guard g(m);
		ready = true;
	}
	cv.notify_one();
	waiter.join();

	std::jthread stopper([&](std::stop_token st) {
		std::unique_lock u(m);
		std::cout << "stopped " << cva.wait(u, st, [] { return false; }) << "\n";
	});
	stopper.request_stop();
	stopper.join();

	std::counting_semaphore<8> sem(2);
	std::binary_semaphore bin(0);
	std::barrier bar(n);
	std::latch latch(n);
	std::atomic<int> word{0};
	together(n, [&](int i) {
		sem.acquire();
		sem.release();
		bar.arrive_and_wait();
		latch.arrive_and_wait();
		if (i == 0) {
			word = 1;
			word.notify_all();
			bin.release();
		} else {
			word.wait(0);
		}
	});
	bin.acquire();
	std::cout << "word " << word << "\n";

	auto f = std::async(std::launch::async, [] { return 17; });
	std::promise<int> p;
	std::thread setter([&] { p.set_value(f.get() + 1); });
	std::cout << "future " << p.get_future().get() << "\n";
	setter.join();
	auto bad = std::async(std::launch::async, []() -> int { throw std::out_of_range("x"); });
	try {
		bad.get();
	} catch (const std::out_of_range &) {
		std::cout << "exception came across\n";
	}
	return 28;
}
