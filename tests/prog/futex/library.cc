// What C++20 makes of futexes, used rightly, and with a mistake (_torn, _beside): operations begin with op_.
// SPDX-License-Identifier: MIT
#include "../correct/team.h"

#include <atomic>
#include <barrier>
#include <latch>
#include <semaphore>
#include <thread>

static long a, b, torn, beside;
static volatile int place_of_first;

static void both()
{
	a++;
	if (a % 5 == 0)
		sched_yield();
	b++;
	if (a != b)
		abort();
}

static int is_counted(unsigned threads, unsigned rounds)
{
	return a == (long)threads * rounds && b == a;
}

static int is_any(unsigned, unsigned)
{
	return 1;
}

// ---- locks ----
template <class T> struct waiting_lock { // the futex is the word itself only if it is an int
	std::atomic<T> busy{0};

	void lock()
	{
		while (busy.exchange(1))
			busy.wait(1);
	}
	void unlock()
	{
		busy.store(0);
		busy.notify_one();
	}
};

struct flag_lock {
	std::atomic_flag busy;

	void lock()
	{
		while (busy.test_and_set())
			busy.wait(true);
	}
	void unlock()
	{
		busy.clear();
		busy.notify_one();
	}
};

template <class S> struct semaphore_lock {
	S units{1};

	void lock()
	{
		units.acquire();
	}
	void unlock()
	{
		units.release();
	}
};

static waiting_lock<int> word;
static waiting_lock<long> wide;
static waiting_lock<bool> narrow;
static flag_lock flag;
static semaphore_lock<std::binary_semaphore> binary;
static semaphore_lock<std::counting_semaphore<5>> counting;

// The words in which libstdc++ counts who waits are known once somebody did; live, nothing is before the first region.
NOINLINE static void op_first()
{
	place_of_first = 1;
}

static bool is_asleep(int thread)
{
	char path[64], state = 0;

	snprintf(path, sizeof path, "/proc/self/task/%d/stat", thread);
	FILE *f = fopen(path, "r");
	if (f && fscanf(f, "%*d (%*[^)]) %c", &state) != 1)
		state = 0;
	if (f)
		fclose(f);
	return state == 'S';
}

template <class W, class G> static void meanwhile(W waits, G goes_on)
{
	op_first();
	std::atomic<int> comes{0};
	std::thread other([&] {
		comes = gettid();
		waits();
	});

	for (int times = 0; times < 10; times = comes && is_asleep(comes) ? times + 1 : 0)
		usleep(1000);
	goes_on();
	other.join();
}

template <class L> static void wait_once(L &lock)
{
	lock.lock();
	meanwhile([&] { lock.lock(); lock.unlock(); }, [&] { lock.unlock(); });
}

#define USES(name)                                                   \
	static void make_##name(unsigned)                            \
	{                                                            \
		wait_once(name);                                     \
	}                                                            \
	NOINLINE static void op_##name(unsigned, unsigned)           \
	{                                                            \
		name.lock();                                         \
		both();                                              \
		name.unlock();                                       \
	}                                                            \
	NOINLINE static void op_##name##_torn(unsigned, unsigned)    \
	{                                                            \
		name.lock();                                         \
		const long v = torn;                                 \
		name.unlock();                                       \
		sched_yield();                                       \
		name.lock();                                         \
		torn = v + 1;                                        \
		name.unlock();                                       \
	}                                                            \
	NOINLINE static void op_##name##_beside(unsigned, unsigned)  \
	{                                                            \
		const long v = beside;                               \
		name.lock();                                         \
		both();                                              \
		name.unlock();                                       \
		sched_yield();                                       \
		beside = v + 1;                                      \
	}
#define JOBS(name)                                            \
	{#name, op_##name, is_counted, make_##name},              \
	{#name "_torn", op_##name##_torn, is_any, make_##name},   \
	{#name "_beside", op_##name##_beside, is_any, make_##name}

USES(word)
USES(wide)
USES(narrow)
USES(flag)
USES(binary)
USES(counting)

// ---- all are there, then all go on ----
static std::barrier<> *together;
static std::latch *there;
static long place[64];

static void make_together(unsigned threads)
{
	together = new std::barrier<>(threads);
	there = new std::latch(threads);
}

static unsigned n_there;

static void make_team(unsigned threads)
{
	n_there = threads;
	make_together(threads);
}

NOINLINE static void op_place(unsigned who, unsigned round)
{
	place[who] = round;
}

NOINLINE static long op_sum()
{
	long sum = 0;
	for (unsigned i = 0; i < n_there; i++)
		sum += place[i];
	return sum;
}

static void meet(unsigned who, unsigned round)
{
	op_place(who, round);
	together->arrive_and_wait();
	if (op_sum() != (long)n_there * round)
		abort();
	together->arrive_and_wait();
}

NOINLINE static void op_once(unsigned who)
{
	place[who] = 1;
	there->arrive_and_wait();
}

static void gather(unsigned who, unsigned round)
{
	if (round == 0)
		op_once(who);
}

// ---- what one thread made is there for all once it says so ----
static std::atomic<int> made_int;
static std::atomic<bool> made_bool;
static long made[2];

NOINLINE static void op_make()
{
	made[0] = made[1] = 5;
	made_int.store(1);
	made_int.notify_all();
	made_bool.store(true);
	made_bool.notify_all();
}

NOINLINE static long op_use_int()
{
	made_int.wait(0);
	return made[0] - made[1];
}

NOINLINE static long op_use_bool()
{
	made_bool.wait(false);
	return made[0] - made[1];
}

template <class T> static void wait_for(std::atomic<T> &made)
{
	meanwhile([&] { made.wait(0); }, [&] { made = 1; made.notify_all(); });
	made = 0;
}

static void make_publish(unsigned)
{
	wait_for(made_int);
	wait_for(made_bool);
}

static void publish(unsigned who, unsigned round)
{
	if (who == 0 && round == 0)
		op_make();
	else if (op_use_int() || op_use_bool())
		abort();
}

int main(int argc, char **argv)
{
	static const struct job jobs[] = {
		JOBS(word), JOBS(wide), JOBS(narrow), JOBS(flag), JOBS(binary), JOBS(counting),
		{"meet", meet, is_any, make_team},
		{"gather", gather, is_any, make_together},
		{"publish", publish, is_any, make_publish},
	};
	return team_main(argc, argv, jobs, sizeof jobs / sizeof *jobs);
}
