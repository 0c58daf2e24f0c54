/*
 * A log writer with a buffer: the line is copied to where the buffer ends, then the end is moved. Two
 * writers that both copied before either moved the end overwrite each other and leave a hole (the pattern
 * of a web server's buffered logs). Region: log_line. Every access is under the lock; the mistake is to
 * let go of it in between.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
	pthread_mutex_t lock;
	unsigned used;
	char text[256];
} out = {.lock = PTHREAD_MUTEX_INITIALIZER};

NOINLINE static void log_line(const char *line, unsigned length)
{
	pthread_mutex_lock(&out.lock);
	memcpy(out.text + out.used, line, length);
	WHEN_WRONG(pthread_mutex_unlock(&out.lock);)
	POINT();
	WHEN_WRONG(pthread_mutex_lock(&out.lock);)
	out.used += length;
	pthread_mutex_unlock(&out.lock);
}

static void get(void)
{
	log_line("GET / 200\n", 10);
}

static void put(void)
{
	log_line("PUT /x 201\n", 11);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, get, put);
	printf("%u %zu\n", out.used, strlen(out.text));
	return 0;
}
