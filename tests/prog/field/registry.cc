/*
 * A C++ cache: contains() and insert() each take the lock, lookup() calls one after the other, and the
 * second caller throws the first one's object away. Region: lookup.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <cstdio>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>

namespace
{

class Registry
{
      public:
	bool contains(int id)
	{
		const std::lock_guard<std::recursive_mutex> hold(lock_);
		return entries_.count(id) > 0;
	}
	void insert(int id, std::string name)
	{
		const std::lock_guard<std::recursive_mutex> hold(lock_);
		entries_[id] = std::make_shared<std::string>(std::move(name));
		inserted_++;
	}
	NOINLINE void lookup(int id)
	{
#ifdef FIXED
		const std::lock_guard<std::recursive_mutex> hold(lock_);
#endif
		if (!contains(id)) {
			POINT();
			insert(id, "name");
		}
	}
	int inserted() const { return inserted_; }

      private:
	std::recursive_mutex lock_;
	std::unordered_map<int, std::shared_ptr<std::string>> entries_;
	int inserted_ = 0;
};

Registry registry;

void body()
{
	registry.lookup(7);
}

} // namespace

int main(int argc, char **argv)
{
	order_run(argc, argv, body, body);
	std::printf("inserted %d\n", registry.inserted());
	return 0;
}
