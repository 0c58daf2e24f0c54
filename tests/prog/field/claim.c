/*
 * A resource belongs to whom its name field names: empty is free. Looked at with string functions in one
 * section, written with them in another; two claim it. Region: claim.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static char owner[16];
static int claimed;

NOINLINE static void claim(const char *name)
{
	pthread_mutex_lock(&lock);
	const int is_free = strcmp(owner, "") == 0;
	WHEN_WRONG(pthread_mutex_unlock(&lock);)
	POINT();
	WHEN_WRONG(pthread_mutex_lock(&lock);)
	if (is_free) {
		strcpy(owner, name);
		claimed++;
	}
	pthread_mutex_unlock(&lock);
}

static void alice(void)
{
	claim("alice");
}

static void bob(void)
{
	claim("bob");
}

int main(int argc, char **argv)
{
	order_run(argc, argv, alice, bob);
	printf("%s, claimed %d times\n", owner, claimed);
	return 0;
}
