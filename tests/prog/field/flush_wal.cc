/*
 * Two flushes of a storage engine note in its manifest which logs are still needed: computed under the lock, which
 * is given back while the manifest is written, and noted under it. By then the other one has finished, and the
 * note is out of date: a log that is needed counts as old (a key-value store). Region: install.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <algorithm>
#include <cstdio>
#include <mutex>

namespace
{

struct Versions {
	unsigned long log_number[2] = {6, 6};
	unsigned long oldest_needed = 6;
	unsigned long next = 7;
};

std::mutex mutex;
Versions versions;

struct FlushJob {
	int family;

	NOINLINE void install()
	{
		std::unique_lock<std::mutex> hold(mutex);
		const unsigned long fresh = versions.next++;
		const unsigned long needed = std::min(versions.log_number[1 - family], fresh);
		WHEN_WRONG(hold.unlock();)
		POINT();
		WHEN_WRONG(hold.lock();)
		versions.log_number[family] = fresh;
		versions.oldest_needed = needed;
	}
};

void flush_first()
{
	FlushJob{0}.install();
}

void flush_second()
{
	FlushJob{1}.install();
}

} // namespace

int main(int argc, char **argv)
{
	order_run(argc, argv, flush_first, flush_second);
	std::printf("needed from %lu, logs %lu %lu\n", versions.oldest_needed, versions.log_number[0],
		    versions.log_number[1]);
	return 0;
}
