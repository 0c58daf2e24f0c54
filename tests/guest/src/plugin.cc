/*
 * A C++ plugin for a C program: static locals made by racing threads, exceptions thrown and caught
 * inside it. The C program does not know libstdc++, so it comes with the plugin.
 */
/* SPDX-License-Identifier: MIT */
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

static int made;

struct Thing {
	std::string text;
	Thing()
	{
		if (++made == 1)
			throw std::runtime_error("once more");
		text = "thing";
	}
};

static Thing &thing()
{
	static Thing t;
	return t;
}

extern "C" long plugin_run(long n)
{
	std::mutex m;
	long sum = 0;
	std::vector<std::thread> v;
	for (int i = 0; i < 4; i++)
		v.emplace_back([&] {
			for (;;) {
				try {
					std::lock_guard g(m);
					sum += (long)thing().text.size();
					break;
				} catch (const std::exception &) {
					std::lock_guard g(m);
					sum += n;
				}
			}
		});
	for (auto &t : v)
		t.join();
	return sum;
}
