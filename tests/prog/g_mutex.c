/*
 * Every mutex kind and every way to lock one: prints what each call returned and what errno was
 * left at. Run with and without the preload; the output must be the same.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int failures_of_errno;

#define SHOW(call)                                                                                 \
	do {                                                                                       \
		errno = 77;                                                                        \
		const int r = (call);                                                              \
		printf("%-48s %d\n", #call, r);                                                    \
		failures_of_errno += errno != 77;                                                  \
	} while (0)

static struct timespec past(void)
{
	return (struct timespec){.tv_sec = 1};
}

static void kinds(int type, const char *name)
{
	pthread_mutexattr_t a;
	pthread_mutex_t m;
	struct timespec ts = past();

	pthread_mutexattr_init(&a);
	pthread_mutexattr_settype(&a, type);
	printf("-- %s\n", name);
	SHOW(pthread_mutex_init(&m, &a));
	SHOW(pthread_mutex_lock(&m));
	SHOW(pthread_mutex_trylock(&m));
	if (type == PTHREAD_MUTEX_RECURSIVE)
		SHOW(pthread_mutex_unlock(&m));
	SHOW(pthread_mutex_timedlock(&m, &ts));
	SHOW(pthread_mutex_clocklock(&m, CLOCK_MONOTONIC, &ts));
	if (type == PTHREAD_MUTEX_RECURSIVE) {
		SHOW(pthread_mutex_unlock(&m));
		SHOW(pthread_mutex_unlock(&m));
	}
	SHOW(pthread_mutex_destroy(&m));
	SHOW(pthread_mutex_unlock(&m));
	if (type == PTHREAD_MUTEX_ERRORCHECK || type == PTHREAD_MUTEX_RECURSIVE)
		SHOW(pthread_mutex_unlock(&m));
	SHOW(pthread_mutex_destroy(&m));
}

static void *lock_and_leave(void *m)
{
	pthread_mutex_lock(m);
	return NULL;
}

static void robust(void)
{
	pthread_mutexattr_t a;
	pthread_mutex_t m;
	pthread_t t;

	printf("-- robust\n");
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&m, &a);
	for (int round = 0; round < 4; round++) {
		pthread_create(&t, NULL, lock_and_leave, &m);
		pthread_join(t, NULL);
		if (round == 0)
			SHOW(pthread_mutex_lock(&m));
		if (round == 1)
			SHOW(pthread_mutex_trylock(&m));
		if (round == 2) {
			struct timespec ts = past();
			SHOW(pthread_mutex_timedlock(&m, &ts));
		}
		if (round < 3) {
			SHOW(pthread_mutex_consistent(&m));
			SHOW(pthread_mutex_unlock(&m));
		}
	}
	SHOW(pthread_mutex_lock(&m));
	SHOW(pthread_mutex_unlock(&m)); /* not made consistent: unusable from here */
	SHOW(pthread_mutex_lock(&m));
	SHOW(pthread_mutex_trylock(&m));
	SHOW(pthread_mutex_destroy(&m));
}

static void protocol(int which, const char *name)
{
	pthread_mutexattr_t a;
	pthread_mutex_t m;

	printf("-- %s\n", name);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setprotocol(&a, which);
	SHOW(pthread_mutex_init(&m, &a));
	SHOW(pthread_mutex_lock(&m));
	SHOW(pthread_mutex_trylock(&m));
	SHOW(pthread_mutex_unlock(&m));
	SHOW(pthread_mutex_destroy(&m));
}

static void process_shared(void)
{
	pthread_mutexattr_t a;
	int pipes[2];
	char c;
	pthread_mutex_t *m =
		mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	printf("-- process shared\n");
	fflush(stdout);
	pthread_mutexattr_init(&a);
	pthread_mutexattr_setpshared(&a, PTHREAD_PROCESS_SHARED);
	pthread_mutexattr_setrobust(&a, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(m, &a);
	if (pipe(pipes))
		return;
	if (fork() == 0) {
		pthread_mutex_lock(m);
		if (write(pipes[1], "x", 1) != 1)
			_exit(3);
		_exit(0);
	}
	if (read(pipes[0], &c, 1) != 1)
		return;
	wait(NULL);
	SHOW(pthread_mutex_lock(m));
	SHOW(pthread_mutex_consistent(m));
	SHOW(pthread_mutex_unlock(m));
	SHOW(pthread_mutex_destroy(m));
}

int main(void)
{
	kinds(PTHREAD_MUTEX_NORMAL, "normal");
	kinds(PTHREAD_MUTEX_RECURSIVE, "recursive");
	kinds(PTHREAD_MUTEX_ERRORCHECK, "error-checking");
	kinds(PTHREAD_MUTEX_ADAPTIVE_NP, "adaptive");
	robust();
	protocol(PTHREAD_PRIO_INHERIT, "priority inheritance");
	process_shared();
	printf("errno changed %d times\n", failures_of_errno);
	return failures_of_errno ? 1 : 23;
}
