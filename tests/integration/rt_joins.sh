#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Critical sections as regions: the wait for a thread's end ends one, as in a pool that is shut down, seen at the level of
# locks and at that of accesses. The same steps without that wait are reported.
. "$(dirname "$0")/../lib.sh"

cat >pool.c <<'END'
#include <pthread.h>
#include <semaphore.h>
enum { N = 3 };
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static sem_t go[N], done[N];
int stopped;
static void *worker(void *p)
{
	const int i = (int)(long)p;
	sem_wait(&go[i]);
	pthread_mutex_lock(&inner);
	stopped++;
	pthread_mutex_unlock(&inner);
	sem_post(&done[i]);
	return NULL;
}
int main(void)
{
	pthread_t t[N];
	for (int i = 0; i < N; i++) {
		sem_init(&go[i], 0, 0);
		sem_init(&done[i], 0, 0);
		pthread_create(&t[i], NULL, worker, (void *)(long)i);
	}
	pthread_mutex_lock(&outer);
	for (int i = 0; i < N; i++) {
		pthread_mutex_lock(&inner);
		stopped++;
		pthread_mutex_unlock(&inner);
		sem_post(&go[i]);
#ifdef OPEN
		sem_wait(&done[i]);
#else
		pthread_join(t[i], NULL);
#endif
	}
	pthread_mutex_unlock(&outer);
#ifdef OPEN
	for (int i = 0; i < N; i++)
		pthread_join(t[i], NULL);
#endif
	return stopped == 2 * N ? 0 : 1;
}
END
reports() { ATOMMON_ATOMIC=sections LD_PRELOAD=$B/lib/libatommon.so ATOMMON_SYMBOLIZER='' "$@" 2>&1 | grep -c 'atomicity violation AV'; }

for cc in "${CC:-cc}" atommon-cc; do
	check "$cc: builds" sh -c "$cc -g -O1 pool.c -o pool -pthread && $cc -g -O1 -DOPEN pool.c -o open -pthread"
	same "$cc: a pool that is shut down under a lock" 0 "$(reports ./pool)"
	check "$cc: the same without waiting for the threads' ends" [ "$(reports ./open)" -gt 0 ]
done
finish
