// What C++ offers, used rightly: operations that begin with op_ are atomic.
// SPDX-License-Identifier: MIT
#include "team.h"

#include <atomic>
#include <barrier>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <future>
#include <latch>
#include <map>
#include <memory>
#include <mutex>
#include <semaphore>
#include <shared_mutex>
#include <string>
#include <vector>

static int is_always(unsigned, unsigned)
{
	return 1;
}

// ---- a lock made of an atomic flag; with it, a guard of the library ----
struct spinlock {
	std::atomic<bool> busy{false};

	void lock()
	{
		while (busy.exchange(true, std::memory_order_acquire))
			while (busy.load(std::memory_order_relaxed))
				sched_yield();
	}
	void unlock()
	{
		busy.store(false, std::memory_order_release);
	}
};
static spinlock spin;
static long a, b;

NOINLINE static void op_spin(unsigned, unsigned)
{
	std::lock_guard<spinlock> guard(spin);
	a++;
	b++;
}

static int is_counted(unsigned threads, unsigned rounds)
{
	return a == (long)threads * rounds && b == a;
}

// ---- made once ----
static std::once_flag once;
static int made;

NOINLINE static int op_call_once()
{
	std::call_once(once, [] { made = 42; });
	return made;
}

static void use_call_once(unsigned, unsigned)
{
	if (op_call_once() != 42)
		abort();
}

struct table {
	std::vector<int> values;

	table() : values{1, 2, 3}
	{
	}
};

NOINLINE static int op_static()
{
	static const table t;

	return t.values[0] + t.values[2];
}

static void use_static(unsigned, unsigned)
{
	if (op_static() != 4)
		abort();
}

// ---- an object made when first needed, looked for without and then with the lock ----
static std::atomic<table *> instance;
static std::mutex mutex;

NOINLINE static int op_instance()
{
	table *t = instance.load(std::memory_order_acquire);
	if (!t) {
		std::lock_guard<std::mutex> guard(mutex);
		t = instance.load(std::memory_order_relaxed);
		if (!t) {
			t = new table;
			instance.store(t, std::memory_order_release);
		}
	}
	return t->values[1];
}

static void use_instance(unsigned, unsigned)
{
	if (op_instance() != 2)
		abort();
}

// ---- a queue with a condition ----
static std::deque<std::string> queue;
static std::condition_variable is_there;

NOINLINE static void op_push(unsigned who, unsigned round)
{
	std::lock_guard<std::mutex> guard(mutex);
	queue.push_back(std::to_string(who) + "/" + std::to_string(round));
	is_there.notify_one();
}

NOINLINE static std::string op_pop()
{
	std::unique_lock<std::mutex> guard(mutex);
	is_there.wait(guard, [] { return !queue.empty(); });
	std::string s = std::move(queue.front());
	queue.pop_front();
	return s;
}

static void push_and_pop(unsigned who, unsigned round)
{
	op_push(who, round);
	if (op_pop().empty())
		abort();
}

// ---- a dictionary with shared and exclusive access ----
static std::shared_mutex shared;
static std::map<int, std::string> dictionary;

NOINLINE static bool op_find(int key)
{
	std::shared_lock<std::shared_mutex> guard(shared);
	auto it = dictionary.find(key);
	return it != dictionary.end() && it->second == std::to_string(key);
}

NOINLINE static void op_insert(int key)
{
	std::unique_lock<std::shared_mutex> guard(shared);
	dictionary.emplace(key, std::to_string(key));
}

static void find_or_insert(unsigned who, unsigned round)
{
	const int key = (int)((who * 7 + round) % 20);
	if (!op_find(key))
		op_insert(key);
}

// ---- two locks at once ----
static std::mutex left, right;
static long apples, pears;

NOINLINE static void op_swap(unsigned who, unsigned)
{
	if (who % 2) {
		std::scoped_lock guard(left, right);
		apples++, pears--;
	} else {
		std::scoped_lock guard(right, left);
		apples--, pears++;
	}
}

static int is_balanced(unsigned, unsigned)
{
	return apples + pears == 0;
}

// ---- semaphores, latches and barriers between steps ----
static std::counting_semaphore<4> places(2);
static std::vector<int> free_places{0, 1};
static int used[2];

NOINLINE static int op_enter()
{
	std::lock_guard<std::mutex> guard(mutex);
	const int place = free_places.back();
	free_places.pop_back();
	return place;
}

NOINLINE static void op_leave(int place)
{
	std::lock_guard<std::mutex> guard(mutex);
	free_places.push_back(place);
}

static void enter_and_leave(unsigned, unsigned)
{
	places.acquire();
	const int place = op_enter();
	used[place]++;
	op_leave(place);
	places.release();
}

static std::barrier<> *phase;
static long parts[2][64];
static unsigned n_parts;

static void make_phase(unsigned threads)
{
	n_parts = threads;
	phase = new std::barrier<>((std::ptrdiff_t)threads);
}

NOINLINE static void op_step(unsigned who, unsigned round)
{
	parts[round % 2][who] = parts[1 - round % 2][(who + 1) % n_parts] + 1;
}

static void step(unsigned who, unsigned round)
{
	op_step(who, round);
	phase->arrive_and_wait();
}

// ---- a snapshot that readers share: the pointer is swapped under a lock, the object never changes ----
static std::shared_ptr<const std::vector<int>> snapshot = std::make_shared<const std::vector<int>>(4, 0);

NOINLINE static std::shared_ptr<const std::vector<int>> op_current()
{
	std::lock_guard<std::mutex> guard(mutex);
	return snapshot;
}

NOINLINE static void op_renew()
{
	std::lock_guard<std::mutex> guard(mutex);
	auto next = std::make_shared<std::vector<int>>(*snapshot);
	for (int &v : *next)
		v++;
	snapshot = std::move(next);
}

static void renew_or_read(unsigned who, unsigned round)
{
	if (who == 0 && round % 4 == 0) {
		op_renew();
		return;
	}
	const auto now = op_current();
	if ((*now)[0] != (*now)[3])
		abort();
}

// ---- a task that is handed over while its maker still has a reference; who drops the last frees it ----
static std::deque<std::function<void()>> tasks;

NOINLINE static std::future<unsigned> op_submit(unsigned round)
{
	auto task = std::make_shared<std::packaged_task<unsigned()>>([round] { return round + 1; });
	std::future<unsigned> result = task->get_future();
	{
		std::lock_guard<std::mutex> guard(mutex);
		tasks.emplace_back([task] { (*task)(); });
	}
	sched_yield();
	return result;
}

NOINLINE static std::function<void()> op_take()
{
	std::lock_guard<std::mutex> guard(mutex);
	if (tasks.empty())
		return nullptr;
	std::function<void()> task = std::move(tasks.front());
	tasks.pop_front();
	return task;
}

static void run_one()
{
	if (const auto task = op_take())
		task();
}

static void submit_and_run(unsigned, unsigned round)
{
	auto result = op_submit(round);

	run_one();
	while (result.wait_for(std::chrono::seconds(0)) != std::future_status::ready)
		run_one();
	if (result.get() != round + 1)
		abort();
}

// ---- the same with a task that its taker copies: a further reference, before it drops the queue's ----
struct work {
	unsigned round;
	std::atomic<unsigned> result{0};
};

NOINLINE static std::shared_ptr<work> op_post(unsigned round)
{
	auto task = std::make_shared<work>();
	task->round = round;
	{
		std::lock_guard<std::mutex> guard(mutex);
		tasks.emplace_back([task] { task->result = task->round + 1; });
	}
	sched_yield();
	const auto mine = task;
	return mine;
}

NOINLINE static std::function<void()> op_copy()
{
	std::lock_guard<std::mutex> guard(mutex);
	if (tasks.empty())
		return nullptr;
	std::function<void()> task = tasks.front();
	tasks.pop_front();
	return task;
}

static void post_and_copy(unsigned, unsigned round)
{
	const auto mine = op_post(round);

	while (mine->result != round + 1)
		if (const auto task = op_copy())
			task();
}

int main(int argc, char **argv)
{
	static const struct job jobs[] = {
		{"spin", op_spin, is_counted, nullptr},
		{"call_once", use_call_once, is_always, nullptr},
		{"static", use_static, is_always, nullptr},
		{"instance", use_instance, is_always, nullptr},
		{"queue", push_and_pop, is_always, nullptr},
		{"dictionary", find_or_insert, is_always, nullptr},
		{"swap", op_swap, is_balanced, nullptr},
		{"semaphore", enter_and_leave, is_always, nullptr},
		{"barrier", step, is_always, make_phase},
		{"snapshot", renew_or_read, is_always, nullptr},
		{"task", submit_and_run, is_always, nullptr},
		{"copied_task", post_and_copy, is_always, nullptr},
	};

	return team_main(argc, argv, jobs, sizeof jobs / sizeof *jobs);
}
