/*
 * An idle connection is found in the shared cache under its lock, and marked as in use under it, but in
 * another section: two transfers take the same one (a transfer library's shared cache). What is read again must not be replaced by
 * what was read before. Region: reuse_conn.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

static struct {
	pthread_mutex_t share;
	struct {
		int in_use;
		char host[12];
	} conn[2];
} cache = {PTHREAD_MUTEX_INITIALIZER, {{0, "a"}, {0, "b"}}};
static int most;

NOINLINE static int reuse_conn(char host)
{
	int found = 0;

	pthread_mutex_lock(&cache.share);
	while (found < 2 && (cache.conn[found].in_use || cache.conn[found].host[0] != host))
		found++;
	WHEN_WRONG(pthread_mutex_unlock(&cache.share);)
	POINT();
	WHEN_WRONG(pthread_mutex_lock(&cache.share);)
	if (found < 2 && ++cache.conn[found].in_use > most)
		most = cache.conn[found].in_use;
	pthread_mutex_unlock(&cache.share);
	return found;
}

static void connect_only(void)
{
	reuse_conn('a');
}

static void transfer(void)
{
	const int mine = reuse_conn('a');

	pthread_mutex_lock(&cache.share);
	if (mine < 2)
		cache.conn[mine].in_use--;
	pthread_mutex_unlock(&cache.share);
}

int main(int argc, char **argv)
{
	const int is_bad = argc > 1 && strcmp(argv[1], "bad") == 0;

	order_run(argc, argv, transfer, is_bad ? connect_only : transfer);
	printf("at most %d on one connection\n", most);
	return 0;
}
