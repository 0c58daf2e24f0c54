/*
 * A table and the log of its changes, each with its own lock: rows come in one order into the table, in
 * another into the log, and a replica that replays the log ends with a different table. No variable is
 * touched twice by one change; only both together show it. Region: change_row.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER, log_lock = PTHREAD_MUTEX_INITIALIZER;
static int row, log_entry[8], n_logged;

NOINLINE static void change_row(int value)
{
	pthread_mutex_lock(&table_lock);
	row = value;
	WHEN_WRONG(pthread_mutex_unlock(&table_lock);)
	POINT();
	pthread_mutex_lock(&log_lock);
	log_entry[n_logged++] = value;
	pthread_mutex_unlock(&log_lock);
#ifdef FIXED
	pthread_mutex_unlock(&table_lock);
#endif
}

static void one(void)
{
	change_row(1);
}

static void two(void)
{
	change_row(2);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, one, two);
	printf("row %d, last logged %d\n", row, log_entry[n_logged - 1]);
	return 0;
}
