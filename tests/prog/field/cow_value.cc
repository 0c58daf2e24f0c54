/*
 * A value that is copied when it is written: whoever holds the only reference writes in place. Whether it is the
 * only one is asked first, and a reader that takes another reference in between sees the value change
 * under it (strings and shared data of several class libraries). Region: Cow::modify.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <atomic>
#include <cstdio>
#include <mutex>
#include <string>
#include <vector>

namespace
{

std::mutex guard;

template <class T> class Cow {
	struct Shared {
		explicit Shared(const T &v) : value(v) {}
		std::atomic<int> references{1};
		T value;
	};
	Shared *shared_;

	void drop()
	{
		if (shared_->references.fetch_sub(1) == 1)
			delete shared_;
	}

      public:
	explicit Cow(const T &v) : shared_(new Shared(v)) {}
	Cow(const Cow &other) : shared_(other.shared_) { shared_->references.fetch_add(1); }
	Cow &operator=(const Cow &) = delete;
	~Cow()
	{
		/* Else the writer sees two references, and gives back the last one. */
		WHEN_FIXED(const std::lock_guard<std::mutex> hold(guard);)
		drop();
	}

	const T &read() const { return shared_->value; }

	template <class F> NOINLINE void modify(F change)
	{
		WHEN_FIXED(const std::lock_guard<std::mutex> hold(guard);)
		if (shared_->references.load() == 1) {
			POINT();
			change(shared_->value);
			return;
		}
		auto *own = new Shared(shared_->value);
		change(own->value);
		drop();
		shared_ = own;
	}
};

struct Settings {
	std::vector<int> ports;
	int version = 0;
};

Cow<Settings> *settings;
int seen, differed;

void reload()
{
	settings->modify([](Settings &s) {
		s.version++;
		s.ports.push_back(s.version);
	});
}

void serve()
{
	WHEN_FIXED(guard.lock();)
	const Cow<Settings> mine(*settings);
	WHEN_FIXED(guard.unlock();)
	const int version = mine.read().version;

	if (mine.read().ports.size() != static_cast<std::size_t>(version))
		differed++;
	seen += version;
}

} // namespace

int main(int argc, char **argv)
{
	settings = new Cow<Settings>(Settings());
	order_run(argc, argv, reload, serve);
	std::printf("%d seen, %d differed\n", seen, differed);
	delete settings;
	return 0;
}
