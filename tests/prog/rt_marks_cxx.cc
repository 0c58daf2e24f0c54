// Annotations in C++: regions left by return, break and exceptions; loads and stores.
// SPDX-License-Identifier: MIT
#include "atommon.h"

#include <cstdio>
#include <stdexcept>

static long balance = 10;
static volatile int flag;
static bool is_open;

static long withdraw(long amount)
{
	ATOMMON_REGION("withdraw") {
		if (ATOMMON_LOAD(balance) < amount)
			throw std::runtime_error("too much");
		ATOMMON_STORE(balance, ATOMMON_LOAD(balance) - amount);
		return ATOMMON_LOAD(balance);
	}
	return -1;
}

static int object()
{
	atommon::region r("object");
	ATOMMON_STORE(flag, 3);
	ATOMMON_STORE(is_open, true);
	return ATOMMON_LOAD(flag) + ATOMMON_LOAD(is_open);
}

int main()
{
	std::printf("%ld\n", withdraw(3));
	try {
		withdraw(100);
	} catch (const std::exception &e) {
		std::printf("%s\n", e.what());
	}
	for (int i = 0; i < 2; i++)
		ATOMMON_REGION("loop") {
			if (i)
				break;
			atommon_read(&balance, sizeof balance);
		}
	std::printf("%d\n", object());
}
