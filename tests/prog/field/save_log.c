/*
 * A downloader writes its state when it is stopped, for going on later: each thread's offset, and
 * the total. The threads go on meanwhile, so that the total is not the sum of the parts. Region:
 * save_log.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { PARTS = 4 };
struct part {
	long begin, offset, end;
};
struct state {
	struct part parts[PARTS];
	long written;
};
static struct part parts[PARTS];
static long written;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct state saved;

NOINLINE static void save_log(struct state *s)
{
	WHEN_FIXED(pthread_mutex_lock(&lock));
	for (int i = 0; i < PARTS; i++) {
		WHEN_WRONG(pthread_mutex_lock(&lock);)
		s->parts[i] = parts[i];
		WHEN_WRONG(pthread_mutex_unlock(&lock);)
	}
	POINT();
	WHEN_WRONG(pthread_mutex_lock(&lock);)
	s->written = written;
	pthread_mutex_unlock(&lock);
}

NOINLINE static void got(struct part *p, long n)
{
	pthread_mutex_lock(&lock);
	p->offset += n;
	written += n;
	pthread_mutex_unlock(&lock);
}

static void saver(void)
{
	save_log(&saved);
}

static void downloader(void)
{
	got(&parts[2], 1460);
}

int main(int argc, char **argv)
{
	long sum = 0;

	order_run(argc, argv, saver, downloader);
	for (int i = 0; i < PARTS; i++)
		sum += saved.parts[i].offset;
	printf("%s\n", sum == saved.written ? "consistent" : "torn");
	return 0;
}
