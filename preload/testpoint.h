/* SPDX-License-Identifier: MIT */
/*
 * Named places at side effects of the runtime, where a test can hold a thread to force a race. They exist only in the
 * objects that the unit tests link (AM_TEST_POINTS); in the library they are nothing.
 */
#ifndef ATOMMON_PRELOAD_TESTPOINT_H
#define ATOMMON_PRELOAD_TESTPOINT_H

#ifdef AM_TEST_POINTS
extern void (*am_test_point)(const char *name);
#define AM_TEST_POINT(name)                                                                        \
	do {                                                                                       \
		void (*const point_)(const char *) = __atomic_load_n(&am_test_point, __ATOMIC_ACQUIRE); \
		if (point_)                                                                        \
			point_(name);                                                              \
	} while (0)
#else
#define AM_TEST_POINT(name) ((void)0)
#endif

#endif
