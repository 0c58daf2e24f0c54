/*
 * A cache by last use, with a lock for many readers. get finds the entry with the lock shared and
 * marks it as used with the lock taken again: by then it may be another's. Region: Lru::get.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <cstdio>
#include <deque>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>

template <class Key, class Value> class Lru {
	struct Entry {
		Key key;
		Value value;
		unsigned long used;
	};

      public:
	explicit Lru(std::size_t max) : max_(max) {}

	NOINLINE Value get(const Key &key)
	{
		WHEN_WRONG(std::shared_lock<std::shared_timed_mutex> reading(lock_);)
#ifdef FIXED
		std::unique_lock<std::shared_timed_mutex> writing(lock_);
#endif
		const auto found = map_.find(key);
		if (found == map_.end())
			return Value();
		Entry &entry = entries_[found->second];
		WHEN_WRONG(reading.unlock();)
		POINT();
		WHEN_WRONG(std::unique_lock<std::shared_timed_mutex> writing(lock_);)
		entry.used = ++clock_;
		return entry.value;
	}

	/* In place of the entry that was not used for longest. */
	NOINLINE void put(const Key &key, Value value)
	{
		std::unique_lock<std::shared_timed_mutex> writing(lock_);
		std::size_t oldest = 0;
		if (entries_.size() < max_) {
			oldest = entries_.size();
			entries_.emplace_back();
		}
		for (std::size_t i = 0; i < entries_.size(); i++)
			if (entries_[i].used < entries_[oldest].used)
				oldest = i;
		map_.erase(entries_[oldest].key);
		entries_[oldest] = Entry{key, value, ++clock_};
		map_[key] = oldest;
	}

      private:
	std::shared_timed_mutex lock_;
	std::size_t max_;
	unsigned long clock_ = 0;
	std::deque<Entry> entries_;
	std::unordered_map<Key, std::size_t> map_;
};

static std::unique_ptr<Lru<std::string, int>> cache;

static void first()
{
	cache->get("a");
}

static void second()
{
	cache->put("d", 4);
}

int main(int argc, char **argv)
{
	cache = std::make_unique<Lru<std::string, int>>(3);
	cache->put("a", 1);
	cache->put("b", 2);
	cache->put("c", 3);
	order_run(argc, argv, first, second);
	std::puts("done");
	return 0;
}
