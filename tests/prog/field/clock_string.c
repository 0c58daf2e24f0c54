/*
 * A web server keeps the time of day as text, for its headers, and makes it anew when the second
 * has changed. Who finds somebody else at it goes on, and copies the text while it is being
 * written: the writers' lock is tried, the readers take none (a small web server). Region: update.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_rwlock_t lock = PTHREAD_RWLOCK_INITIALIZER;
static struct {
	char text[32];
	size_t length;
} now_string = {"00:00:00", 8};
static long now_seconds;
static char header[2][40];

NOINLINE static void update(long seconds)
{
	if (pthread_rwlock_trywrlock(&lock) != 0)
		return;
	now_seconds = seconds;
	now_string.length = 0;
	for (int i = 0; i < 8; i++) {
		const long part = i < 2 ? seconds / 3600 : i < 5 ? seconds / 60 % 60 : seconds % 60;
		const long digit = i % 3 ? part % 10 : part / 10 % 10;
		now_string.text[i] = i % 3 == 2 ? ':' : (char)('0' + digit);
		if (i == 4)
			POINT();
	}
	now_string.length = 8;
	pthread_rwlock_unlock(&lock);
}

NOINLINE static void add_date(char *to)
{
	WHEN_FIXED(pthread_rwlock_rdlock(&lock));
	memcpy(to, now_string.text, sizeof now_string.text);
	to[now_string.length] = 0;
	WHEN_FIXED(pthread_rwlock_unlock(&lock));
}

static void timer(void)
{
	update(45296);
}

static void request(void)
{
	add_date(header[0]);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, timer, request);
	printf("%s\n", header[0]);
	return 0;
}
