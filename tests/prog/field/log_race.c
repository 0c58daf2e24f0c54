/*
 * The same log without any lock: what is written where depends on two plain variables. Region: log_line.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SIZE = 64 };
#ifdef FIXED
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif
static char buffer[SIZE];
static unsigned used, flushed;

static void flush(void)
{
	flushed += used;
	used = 0;
}

NOINLINE static void log_line(const char *line, unsigned length)
{
#ifdef FIXED
	pthread_mutex_lock(&lock);
#endif
	if (length + used > SIZE)
		flush();
	for (unsigned i = 0; i < length; i++)
		buffer[used + i] = line[i];
	POINT();
	used += length;
#ifdef FIXED
	pthread_mutex_unlock(&lock);
#endif
}

static void one(void)
{
	log_line("first line\n", 11);
}

static void two(void)
{
	log_line("the second\n", 11);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, one, two);
	printf("%u %u\n", flushed, used);
	return 0;
}
