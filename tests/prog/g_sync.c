/*
 * Reader-writer locks, spin locks, barriers, semaphores, once and condition variables, each by
 * every entry point: prints what the calls returned and what errno was left at. Run with and
 * without the preload; the output must be the same.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define SHOW(call)                                                                                 \
	do {                                                                                       \
		errno = 77;                                                                        \
		const int r = (call);                                                              \
		printf("%-56s %d errno %d\n", #call, r, errno);                                    \
	} while (0)

static struct timespec past = {.tv_sec = 1}, broken = {.tv_sec = 1, .tv_nsec = -5};

static void *other_reader(void *l)
{
	SHOW(pthread_rwlock_tryrdlock(l));
	SHOW(pthread_rwlock_trywrlock(l));
	SHOW(pthread_rwlock_timedwrlock(l, &past));
	SHOW(pthread_rwlock_clockwrlock(l, CLOCK_MONOTONIC, &past));
	SHOW(pthread_rwlock_unlock(l));
	return NULL;
}

static void *other_against_writer(void *l)
{
	SHOW(pthread_rwlock_tryrdlock(l));
	SHOW(pthread_rwlock_timedrdlock(l, &past));
	SHOW(pthread_rwlock_clockrdlock(l, CLOCK_MONOTONIC, &past));
	SHOW(pthread_rwlock_clockrdlock(l, 1234, &past));
	SHOW(pthread_rwlock_timedrdlock(l, &broken));
	return NULL;
}

static void in_thread(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	pthread_create(&t, NULL, fn, arg);
	pthread_join(t, NULL);
}

static void rwlocks(void)
{
	pthread_rwlock_t l;

	SHOW(pthread_rwlock_init(&l, NULL));
	SHOW(pthread_rwlock_rdlock(&l));
	SHOW(pthread_rwlock_rdlock(&l)); /* a second read lock of one thread */
	in_thread(other_reader, &l);
	SHOW(pthread_rwlock_unlock(&l));
	SHOW(pthread_rwlock_unlock(&l));
	SHOW(pthread_rwlock_wrlock(&l));
	SHOW(pthread_rwlock_wrlock(&l));
	SHOW(pthread_rwlock_rdlock(&l));
	in_thread(other_against_writer, &l);
	SHOW(pthread_rwlock_unlock(&l));
	SHOW(pthread_rwlock_timedrdlock(&l, &past));
	SHOW(pthread_rwlock_unlock(&l));
	SHOW(pthread_rwlock_clockwrlock(&l, CLOCK_REALTIME, &past));
	SHOW(pthread_rwlock_unlock(&l));
	SHOW(pthread_rwlock_destroy(&l));
}

static void spins(void)
{
	pthread_spinlock_t s;

	SHOW(pthread_spin_init(&s, PTHREAD_PROCESS_PRIVATE));
	SHOW(pthread_spin_lock(&s));
	SHOW(pthread_spin_trylock(&s));
	SHOW(pthread_spin_unlock(&s));
	SHOW(pthread_spin_trylock(&s));
	SHOW(pthread_spin_unlock(&s));
	SHOW(pthread_spin_destroy(&s));
}

static void barriers(void)
{
	pthread_barrier_t b;

	SHOW(pthread_barrier_init(&b, NULL, 0));
	SHOW(pthread_barrier_init(&b, NULL, 1));
	SHOW(pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD);
	SHOW(pthread_barrier_wait(&b) == PTHREAD_BARRIER_SERIAL_THREAD);
	SHOW(pthread_barrier_destroy(&b));
}

static void semaphores(void)
{
	sem_t s;
	char name[64];
	int v = -1;

	SHOW(sem_init(&s, 0, 0x80000000u));
	SHOW(sem_init(&s, 0, 2));
	SHOW(sem_wait(&s));
	SHOW(sem_trywait(&s));
	SHOW(sem_trywait(&s));
	SHOW(sem_timedwait(&s, &past));
	SHOW(sem_timedwait(&s, &broken));
	SHOW(sem_clockwait(&s, CLOCK_MONOTONIC, &past));
	SHOW(sem_clockwait(&s, 1234, &past));
	SHOW(sem_post(&s));
	SHOW(sem_getvalue(&s, &v));
	SHOW(v);
	SHOW(sem_clockwait(&s, CLOCK_REALTIME, &past));
	SHOW(sem_destroy(&s));
	SHOW(sem_init(&s, 0, 0x7fffffff));
	SHOW(sem_post(&s));
	SHOW(sem_destroy(&s));

	snprintf(name, sizeof name, "/atommon-test-%d", (int)getpid());
	errno = 77;
	sem_t *n = sem_open(name, 0);
	printf("open missing: %d errno %d\n", n == SEM_FAILED, errno);
	n = sem_open(name, O_CREAT | O_EXCL, 0600, 3);
	printf("create: %d\n", n != SEM_FAILED);
	sem_t *again = sem_open(name, O_CREAT, 0600, 9);
	printf("same address: %d\n", again == n);
	SHOW(sem_wait(n));
	SHOW(sem_close(again));
	SHOW(sem_wait(n));
	SHOW(sem_getvalue(n, &v));
	SHOW(v);
	SHOW(sem_post(n));
	SHOW(sem_unlink(name));
	SHOW(sem_unlink(name));
	SHOW(sem_close(n));
}

static pthread_once_t once = PTHREAD_ONCE_INIT, inner = PTHREAD_ONCE_INIT;

static void inner_routine(void)
{
	printf("inner once\n");
}

static void once_routine(void)
{
	printf("outer once\n");
	pthread_once(&inner, inner_routine);
	pthread_once(&inner, inner_routine);
}

static void onces(void)
{
	SHOW(pthread_once(&once, once_routine));
	SHOW(pthread_once(&once, once_routine));
	SHOW(pthread_once(&inner, inner_routine));
}

static void conditions(void)
{
	pthread_cond_t c;
	pthread_condattr_t ca;
	pthread_mutexattr_t ma;
	pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, checked, deep;

	pthread_condattr_init(&ca);
	pthread_condattr_setclock(&ca, CLOCK_MONOTONIC);
	SHOW(pthread_cond_init(&c, &ca));
	SHOW(pthread_mutex_lock(&m));
	SHOW(pthread_cond_timedwait(&c, &m, &past));
	SHOW(pthread_cond_timedwait(&c, &m, &broken));
	SHOW(pthread_cond_clockwait(&c, &m, CLOCK_REALTIME, &past));
	SHOW(pthread_cond_clockwait(&c, &m, 1234, &past));
	SHOW(pthread_cond_signal(&c));
	SHOW(pthread_cond_broadcast(&c));
	SHOW(pthread_mutex_unlock(&m));

	pthread_mutexattr_init(&ma);
	pthread_mutexattr_settype(&ma, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&checked, &ma);
	SHOW(pthread_cond_wait(&c, &checked)); /* not ours: EPERM, and no wait */
	SHOW(pthread_cond_timedwait(&c, &checked, &past));
	SHOW(pthread_mutex_lock(&checked));
	SHOW(pthread_cond_timedwait(&c, &checked, &past));
	SHOW(pthread_mutex_unlock(&checked));
	SHOW(pthread_mutex_unlock(&checked));

	pthread_mutexattr_settype(&ma, PTHREAD_MUTEX_RECURSIVE);
	pthread_mutex_init(&deep, &ma);
	SHOW(pthread_mutex_lock(&deep));
	SHOW(pthread_cond_timedwait(&c, &deep, &past));
	SHOW(pthread_mutex_lock(&deep));
	SHOW(pthread_cond_timedwait(&c, &deep, &past)); /* stays held: one level deeper */
	SHOW(pthread_mutex_unlock(&deep));
	SHOW(pthread_mutex_unlock(&deep));
	SHOW(pthread_cond_destroy(&c));
}

int main(void)
{
	rwlocks();
	spins();
	barriers();
	semaphores();
	onces();
	conditions();
	return 24;
}
