/*
 * A resumed session is shared by connections. The first one that names the host stores it there: the
 * pointer, and then the text; others compare with what they find (a library for secure connections). Region: parse_hello.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

static struct {
	pthread_mutex_t lock;
	char *host;
} session = {PTHREAD_MUTEX_INITIALIZER, NULL};
static int matches;

NOINLINE static int parse_hello(const char *name)
{
	int is_same = 1;

	WHEN_FIXED(pthread_mutex_lock(&session.lock);)
	if (!session.host) {
		session.host = malloc(16);
		POINT();
		session.host[0] = name[0];
		session.host[1] = 0;
	} else {
		is_same = session.host[0] == name[0];
	}
	WHEN_FIXED(pthread_mutex_unlock(&session.lock);)
	return is_same;
}

static void hello(void)
{
	matches += parse_hello("h");
}

int main(int argc, char **argv)
{
	order_run(argc, argv, hello, hello);
	printf("%d of 2 match\n", matches);
	return 0;
}
