/* C++ and control flow: each function below is left in another way, and every entry must be followed by an exit. */
/* SPDX-License-Identifier: MIT */
#include <csetjmp>
#include <cstdio>
#include <stdexcept>
#ifdef __cpp_impl_coroutine
#include <coroutine>
#endif

#define NOINLINE __attribute__((noinline))

long before, after_throw, tail_count, made, frames;
thread_local long own;
static jmp_buf back;

struct shape {
	long corners = 0;
	NOINLINE shape() { made += 1; }
	virtual ~shape() { made -= 1; }
	virtual long area() const { return corners; }
};

struct square : shape {
	NOINLINE square() { corners = 4; }
	~square() override { corners = 0; }
	long area() const override { return corners * corners; }
};

/* A static object is made once, under the compiler's guard. */
NOINLINE shape &only()
{
	static square one;
	return one;
}

NOINLINE void throws(int depth)
{
	before += 1;
	if (depth == 0)
		throw std::runtime_error("deep");
	throws(depth - 1);
	before += 100;
}

NOINLINE void catches()
{
	try {
		throws(3);
	} catch (const std::runtime_error &) {
		after_throw += 1;
	}
}

NOINLINE void jumps(int depth)
{
	before += 1;
	if (depth == 0)
		longjmp(back, 1);
	jumps(depth - 1);
	before += 100;
}

NOINLINE void lands()
{
	if (setjmp(back) == 0)
		jumps(3);
	else
		after_throw += 1;
}

NOINLINE long tail_two(long n);
NOINLINE long tail_one(long n)
{
	tail_count += 1;
	return n == 0 ? tail_count : tail_two(n - 1);
}

NOINLINE long tail_two(long n)
{
	tail_count += 1;
	return n == 0 ? tail_count : tail_one(n - 1);
}

#ifdef __cpp_impl_coroutine
struct numbers {
	struct promise_type {
		long value = 0;
		numbers get_return_object()
		{
			return {std::coroutine_handle<promise_type>::from_promise(*this)};
		}
		std::suspend_always initial_suspend() noexcept { return {}; }
		std::suspend_always final_suspend() noexcept { return {}; }
		std::suspend_always yield_value(long v)
		{
			value = v;
			return {};
		}
		void return_void() {}
		void unhandled_exception() { throw; }
	};
	std::coroutine_handle<promise_type> handle;
};

numbers count_up(long from)
{
	for (long n = from;; n++) {
		frames += 1;
		co_yield n;
	}
}

NOINLINE long coroutine()
{
	numbers n = count_up(10);
	long sum = 0;
	for (int i = 0; i < 3; i++) {
		n.handle.resume();
		sum += n.handle.promise().value;
	}
	n.handle.destroy();
	return sum;
}
#else
NOINLINE long coroutine()
{
	frames += 3;
	return 10 + 11 + 12;
}
#endif

int main(int argc, char **)
{
	own += argc;
	catches();
	lands();
	printf("%ld %ld %ld %ld ", before, after_throw, tail_one(5), own);
	{
		shape *s = argc > 5 ? new shape : new square;
		printf("%ld ", s->area());
		delete s;
	}
	printf("%ld ", only().area());
	printf("%ld %ld ", only().corners, made);
	printf("%ld ", coroutine());
	printf("%ld\n", frames);
}
