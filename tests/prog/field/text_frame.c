/*
 * A text frame is an offset and a length into a buffer. They are read one after the other, each by a
 * getter that takes the lock, while another thread replaces both (a browser's layout). Region: paint.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>

static const char text[] = "short text, and then some more of it";
static struct {
	pthread_rwlock_t lock;
	unsigned offset, length;
} frame = {.lock = PTHREAD_RWLOCK_INITIALIZER, .offset = 0, .length = 10};
static unsigned painted, outside;

#ifdef FIXED
static unsigned get(const unsigned *field)
{
	return *field;
}
#else
static unsigned get(const unsigned *field)
{
	pthread_rwlock_rdlock(&frame.lock);
	const unsigned value = *field;
	pthread_rwlock_unlock(&frame.lock);
	return value;
}
#endif

NOINLINE static void paint(void)
{
#ifdef FIXED
	pthread_rwlock_rdlock(&frame.lock);
#endif
	const unsigned offset = get(&frame.offset);
	POINT();
	const unsigned length = get(&frame.length);
#ifdef FIXED
	pthread_rwlock_unlock(&frame.lock);
#endif
	painted += length;
	outside += offset + length > sizeof text - 1;
}

static void change(void)
{
	pthread_rwlock_wrlock(&frame.lock);
	frame.offset = 12;
	frame.length = 24;
	pthread_rwlock_unlock(&frame.lock);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, paint, change);
	printf("painted %u, outside %u\n", painted, outside);
	return 0;
}
