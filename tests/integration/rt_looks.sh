#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The thread that looks at the rings does so the less often the less there is to see: a program that logs a little all the
# time is interrupted about a hundred times a second.
. "$(dirname "$0")/../lib.sh"

cat >looks.c <<'END'
#include <dirent.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static double now(void)
{
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec / 1e9;
}
static void *work(void *unused)
{
	const struct timespec pause = {0, 500000};
	for (const double end = now() + 1; now() < end; nanosleep(&pause, 0)) {
		pthread_mutex_lock(&lock);
		pthread_mutex_unlock(&lock);
	}
	return unused;
}
static long looks(void)
{
	char path[300], line[200];
	long n = -1;
	DIR *d = opendir("/proc/self/task");
	for (struct dirent *e; (e = readdir(d));) {
		int is_it = 0;
		snprintf(path, sizeof path, "/proc/self/task/%s/status", e->d_name);
		FILE *f = fopen(path, "r");
		while (f && fgets(line, sizeof line, f)) {
			is_it |= !strcmp(line, "Name:\tatommon\n");
			if (is_it)
				sscanf(line, "voluntary_ctxt_switches: %ld", &n);
		}
		if (f)
			fclose(f);
	}
	closedir(d);
	return n;
}
int main(void)
{
	pthread_t t[2];
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], 0, work, 0);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], 0);
	printf("%ld\n", looks());
	return 0;
}
END
check "builds" cc -O1 looks.c -o looks -lpthread
n=$(preload ATOMMON_ATOMIC=sections ./looks)
echo "# $n looks in a second"
same "there are looks" 1 $((n > 2))
same "about a hundred, not a thousand" 1 $((n < 250))
finish
