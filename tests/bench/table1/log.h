/* SPDX-License-Identifier: MIT */
/*
 * In the manner of a web server's buffered log (Wang et al. 2010, Table 1, first pair; Lu et al. 2008):
 * a writer appends its line at an index that it read a moment before. FIXED: the writers claim the
 * buffer with a flag first, so that nobody can come in between, though no lock is held throughout.
 */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "atommon.h"

static pthread_mutex_t log_lock = PTHREAD_MUTEX_INITIALIZER;
static int out_count;
static int is_claimed;
static char out_buf[256];

static int claim(void)
{
	if (!FIXED)
		return 1;
	pthread_mutex_lock(&log_lock);
	const int got = !is_claimed;
	if (got)
		is_claimed = 1;
	pthread_mutex_unlock(&log_lock);
	return got;
}

static void unclaim(void)
{
	if (!FIXED)
		return;
	pthread_mutex_lock(&log_lock);
	is_claimed = 0;
	pthread_mutex_unlock(&log_lock);
}

static void *writer(void *arg)
{
	const char *line = arg;
	const int length = (int)strlen(line);

	usleep(line[0] == 'b' ? 20000 : 0);
	if (!claim())
		return NULL;
	atommon_begin("append");
	pthread_mutex_lock(&log_lock);
	const int at = out_count;
	pthread_mutex_unlock(&log_lock);
	if (at + length < (int)sizeof out_buf) {
		pthread_mutex_lock(&log_lock);
		out_count = at + length;
		pthread_mutex_unlock(&log_lock);
	}
	atommon_end();
	for (int i = 0; i < length; i++)
		out_buf[at + i] = line[i];
	unclaim();
	return NULL;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, writer, (void *)"a\n");
	pthread_create(&b, NULL, writer, (void *)"bb\n");
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%.*s", out_count, out_buf);
	return 0;
}
