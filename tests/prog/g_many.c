/*
 * More objects than any table of ours starts with: g_many [N]. Holds N read locks at once, each
 * twice over and released in another order; opens N named semaphores twice; nests once routines.
 * Prints what it counted.
 */
/* SPDX-License-Identifier: MIT */
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void *read_locks(void *arg)
{
	const long n = (long)arg;
	pthread_rwlock_t *l = calloc((size_t)n, sizeof *l);
	long bad = 0;

	for (long i = 0; i < n; i++)
		bad += pthread_rwlock_init(&l[i], NULL) != 0;
	for (int depth = 0; depth < 2; depth++)
		for (long i = 0; i < n; i++)
			bad += pthread_rwlock_rdlock(&l[i]) != 0;
	for (long i = 0; i < n; i++)
		bad += pthread_rwlock_unlock(&l[i * 7 % n]) != 0;
	for (long i = n; i-- > 0;)
		bad += pthread_rwlock_unlock(&l[i]) != 0;
	for (long i = 0; i < n; i++) {
		bad += pthread_rwlock_wrlock(&l[i]) != 0;
		bad += pthread_rwlock_unlock(&l[i]) != 0;
	}
	for (long i = 0; i < n; i++)
		bad += pthread_rwlock_destroy(&l[i]) != 0;
	free(l);
	return (void *)bad;
}

static long named(long n)
{
	sem_t **s = calloc((size_t)n, sizeof *s);
	char name[64];
	long bad = 0;

	for (int round = 0; round < 2; round++)
		for (long i = 0; i < n; i++) {
			snprintf(name, sizeof name, "/atommon-many-%d-%ld", (int)getpid(), i);
			sem_t *p = sem_open(name, O_CREAT, 0600, 1);
			bad += p == SEM_FAILED || (round && p != s[i]);
			s[i] = p;
		}
	for (long i = 0; i < n; i++) {
		snprintf(name, sizeof name, "/atommon-many-%d-%ld", (int)getpid(), i);
		bad += sem_wait(s[i]) != 0;
		bad += sem_post(s[i]) != 0;
		bad += sem_close(s[i]) != 0;
		bad += sem_unlink(name) != 0;
		bad += sem_close(s[i]) != 0;
	}
	free(s);
	return bad;
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 600; /* not a multiple of 7 */
	pthread_t t;
	void *bad_locks;

	pthread_create(&t, NULL, read_locks, (void *)n);
	pthread_join(t, &bad_locks);
	printf("%ld read locks, %ld failures\n", n, (long)bad_locks);
	printf("%ld named semaphores, %ld failures\n", n, named(n));
	return 33;
}
