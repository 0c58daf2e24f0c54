/*
 * A status line is printed if there is one: the pointer is tested, then read again to print, while its
 * owner sets it to NULL. Plain variables, no lock (a database's process list). Region: show.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#ifdef FIXED
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
#endif
static const char *volatile proc_info = "sorting";
static int shown, would_crash;

NOINLINE static void show(void)
{
#ifdef FIXED
	pthread_mutex_lock(&lock);
#endif
	if (proc_info) {
		POINT();
		const char *info = proc_info;
		if (info)
			shown++;
		else
			would_crash++;
	}
#ifdef FIXED
	pthread_mutex_unlock(&lock);
#endif
}

static void end_query(void)
{
#ifdef FIXED
	pthread_mutex_lock(&lock);
#endif
	proc_info = NULL;
#ifdef FIXED
	pthread_mutex_unlock(&lock);
#endif
}

int main(int argc, char **argv)
{
	order_run(argc, argv, show, end_query);
	printf("shown %d, crashes %d\n", shown, would_crash);
	return 0;
}
