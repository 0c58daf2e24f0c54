/*
 * A cache of objects in a std::map under a lock for many readers: find() and insert() each take it, and
 * get_or_make() calls one after the other. Two that both found nothing make the object twice; one replaces the
 * other, and its bytes stay counted for ever (server modules of several kinds). Region: Cache::get_or_make.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <cstddef>
#include <cstdio>
#include <map>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <vector>

namespace
{

struct Object {
	std::string key;
	std::vector<int> body;
};

class Cache {
      public:
	NOINLINE std::shared_ptr<Object> get_or_make(const std::string &key)
	{
		WHEN_FIXED(const std::unique_lock<std::shared_timed_mutex> all(mutex_);)
		if (auto found = find(key))
			return found;
		auto made = std::make_shared<Object>();
		made->key = key;
		made->body.assign(16, 1);
		POINT();
		insert(key, made);
		return made;
	}

	bool erase(const std::string &key)
	{
		const std::unique_lock<std::shared_timed_mutex> all(mutex_);
		const auto at = map_.find(key);
		if (at == map_.end())
			return false;
		bytes_ -= at->second->body.size();
		map_.erase(at);
		return true;
	}

	std::size_t bytes() const
	{
		const std::shared_lock<std::shared_timed_mutex> some(mutex_);
		return bytes_;
	}

      private:
	std::shared_ptr<Object> find(const std::string &key) const
	{
		WHEN_WRONG(const std::shared_lock<std::shared_timed_mutex> some(mutex_);)
		const auto at = map_.find(key);
		return at == map_.end() ? nullptr : at->second;
	}

	void insert(const std::string &key, const std::shared_ptr<Object> &object)
	{
		WHEN_WRONG(const std::unique_lock<std::shared_timed_mutex> all(mutex_);)
		bytes_ += object->body.size();
		map_[key] = object;
	}

	mutable std::shared_timed_mutex mutex_;
	std::map<std::string, std::shared_ptr<Object>> map_;
	std::size_t bytes_ = 0;
};

Cache *cache;

void serve()
{
	cache->get_or_make("index.html");
}

} // namespace

int main(int argc, char **argv)
{
	cache = new Cache;
	order_run(argc, argv, serve, serve);
	cache->erase("index.html");
	std::printf("%zu left over\n", cache->bytes());
	delete cache;
	return 0;
}
