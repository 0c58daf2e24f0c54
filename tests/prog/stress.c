/*
 * Stress of the runtime: many threads, every primitive, random operations that cannot deadlock.
 * usage: stress THREADS OPERATIONS SHMFILE [SEED]
 * Each thread counts in SHMFILE (tests/stress_shm.h) the events that its calls must have logged, so
 * that a judge can compare them with the trace, also after a SIGKILL at any moment.
 *
 * Deadlock freedom: a thread blocks only while it holds nothing, or in the order of the ranks
 * (pool, mutex by index, rwlock, spin). Barriers come at fixed operation numbers, holding nothing.
 */
/* SPDX-License-Identifier: MIT */
#include <atommon.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "../stress_shm.h"

#define N_MUTEX 6
#define N_RW 3
#define N_ONCE 512
#define BARRIER_EVERY 4096
#define THREAD_EVERY 1024

static pthread_mutex_t mutex[N_MUTEX];
static pthread_rwlock_t rw[N_RW];
static pthread_spinlock_t spin;
static sem_t sem;
static pthread_barrier_t start, round_;
static pthread_cond_t cond;
static pthread_mutex_t pool;
static pthread_once_t once[N_ONCE];
static int pool_free, cell[8];
static struct stress_shm *shm;
static long operations;
static __thread uint64_t random_state;
static __thread volatile uint64_t *count;

static void did(unsigned events)
{
	*count += events;
}

static uint32_t any(uint32_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return (uint32_t)((random_state >> 32) * n >> 32);
}

static void must(int r)
{
	if (r) {
		fprintf(stderr, "stress: a call failed: %d\n", r);
		abort();
	}
}

static void unlock(pthread_mutex_t *m)
{
	must(pthread_mutex_unlock(m));
	did(1);
}

/* Mutexes 0..1 normal, 2..3 recursive, 4 error-checking, 5 adaptive. */
static void one_mutex(void)
{
	const struct timespec past = {.tv_sec = 1};
	const uint32_t i = any(N_MUTEX);
	pthread_mutex_t *m = &mutex[i];
	int r = 0;

	switch (any(4)) {
	case 0:
		r = pthread_mutex_trylock(m);
		break;
	case 1:
		r = pthread_mutex_timedlock(m, &past);
		break;
	default:
		must(pthread_mutex_lock(m));
	}
	if (r)
		return;
	did(1);
	if (i == 2 || i == 3) { /* the inner pair is no event */
		must(pthread_mutex_lock(m));
		must(pthread_mutex_unlock(m));
	}
	unlock(m);
}

static void nested_mutexes(void)
{
	const uint32_t a = any(N_MUTEX - 1), b = a + 1 + any(N_MUTEX - 1 - a);

	ATOMMON_REGION ("nested") {
		did(1);
		must(pthread_mutex_lock(&mutex[a]));
		did(1);
		must(pthread_mutex_lock(&mutex[b]));
		did(1);
		ATOMMON_STORE(cell[b], (int)a);
		did(1);
		(void)ATOMMON_LOAD(cell[b]);
		did(1);
		unlock(&mutex[b]);
		unlock(&mutex[a]);
	}
	did(1);
}

static void one_rwlock(void)
{
	const struct timespec past = {.tv_sec = 1};
	pthread_rwlock_t *l = &rw[any(N_RW)];
	int r = 0, inner = 0;

	switch (any(6)) {
	case 0:
		r = pthread_rwlock_trywrlock(l);
		break;
	case 1:
		r = pthread_rwlock_tryrdlock(l);
		inner = !r && !pthread_rwlock_tryrdlock(l); /* a second read lock is no event */
		break;
	case 2:
		r = pthread_rwlock_timedwrlock(l, &past);
		break;
	case 3:
		must(pthread_rwlock_wrlock(l));
		break;
	default:
		must(pthread_rwlock_rdlock(l));
	}
	if (r)
		return;
	did(1);
	if (inner)
		must(pthread_rwlock_unlock(l));
	must(pthread_rwlock_unlock(l));
	did(1);
}

static void one_spin(void)
{
	if (any(2)) {
		if (pthread_spin_trylock(&spin))
			return;
	} else {
		must(pthread_spin_lock(&spin));
	}
	did(1);
	must(pthread_spin_unlock(&spin));
	did(1);
}

static void one_sem(void)
{
	if (any(2)) {
		if (sem_trywait(&sem))
			return;
	} else {
		while (sem_wait(&sem) && errno == EINTR)
			;
	}
	did(1);
	must(sem_post(&sem));
	did(1);
}

/* A resource pool with fewer places than threads, so that threads really wait. */
static void one_pool(void)
{
	const struct timespec past = {.tv_sec = 1};

	must(pthread_mutex_lock(&pool));
	did(1);
	while (pool_free == 0) {
		if (any(4) == 0)
			pthread_cond_timedwait(&cond, &pool, &past);
		else
			must(pthread_cond_wait(&cond, &pool));
		did(2);
	}
	pool_free--;
	unlock(&pool);
	one_mutex();
	must(pthread_mutex_lock(&pool));
	did(1);
	pool_free++;
	if (any(8))
		must(pthread_cond_signal(&cond));
	else
		must(pthread_cond_broadcast(&cond));
	did(1);
	unlock(&pool);
}

static __thread int ran;

static void once_routine(void)
{
	ran = 1;
}

static void one_once(long i)
{
	ran = 0;
	must(pthread_once(&once[(i >> 4) % N_ONCE], once_routine));
	did(ran ? 2 : 1);
}

static void *short_life(void *unused)
{
	must(pthread_mutex_lock(&mutex[0]));
	must(pthread_mutex_unlock(&mutex[0]));
	return unused;
}

static void one_thread(void)
{
	pthread_t t;

	must(pthread_create(&t, NULL, short_life, NULL));
	did(1);
	must(pthread_join(t, NULL));
	did(1);
}

static void barrier(pthread_barrier_t *b)
{
	const int r = pthread_barrier_wait(b);

	must(r == PTHREAD_BARRIER_SERIAL_THREAD ? 0 : r);
	did(2);
}

static void *worker(void *arg)
{
	const uintptr_t me = (uintptr_t)arg;

	count = &shm->cell[me].count;
	random_state = (me + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ shm->pad[0];
	did(1); /* thread-begin */
	barrier(&start);
	for (long i = 1; i <= operations; i++) {
		switch (any(16)) {
		case 0 ... 5:
			one_mutex();
			break;
		case 6 ... 7:
			nested_mutexes();
			break;
		case 8 ... 10:
			one_rwlock();
			break;
		case 11:
			one_spin();
			break;
		case 12:
			one_sem();
			break;
		case 13 ... 14:
			one_pool();
			break;
		default:
			one_once(i);
		}
		if (i % BARRIER_EVERY == 0)
			barrier(&round_);
		if (i % THREAD_EVERY == (long)(me * 16) % THREAD_EVERY)
			one_thread();
	}
	return NULL;
}

static void make_mutexes(void)
{
	static const int type[N_MUTEX] = {PTHREAD_MUTEX_NORMAL,	    PTHREAD_MUTEX_NORMAL,
					  PTHREAD_MUTEX_RECURSIVE,  PTHREAD_MUTEX_RECURSIVE,
					  PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ADAPTIVE_NP};
	pthread_mutexattr_t a;

	pthread_mutexattr_init(&a);
	for (int i = 0; i < N_MUTEX; i++) {
		pthread_mutexattr_settype(&a, type[i]);
		must(pthread_mutex_init(&mutex[i], &a));
		did(1);
	}
	must(pthread_mutex_init(&pool, NULL));
	did(1);
}

int main(int argc, char **argv)
{
	if (argc < 4) {
		fprintf(stderr, "usage: stress THREADS OPERATIONS SHMFILE [SEED]\n");
		return 2;
	}
	const uintptr_t n = (uintptr_t)atol(argv[1]);
	const int fd = open(argv[3], O_RDWR | O_CREAT, 0600);
	if (fd < 0 || n < 1 || n > STRESS_THREADS_MAX || ftruncate(fd, sizeof *shm))
		return 2;
	shm = mmap(NULL, sizeof *shm, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (shm == MAP_FAILED)
		return 2;
	operations = atol(argv[2]);
	shm->pad[0] = argc > 4 ? strtoull(argv[4], NULL, 0) : 1;
	shm->n_threads = n;
	shm->magic = STRESS_MAGIC;
	count = &shm->cell[0].count;
	did(1); /* thread-begin */

	make_mutexes();
	for (int i = 0; i < N_RW; i++) {
		must(pthread_rwlock_init(&rw[i], NULL));
		did(1);
	}
	must(pthread_spin_init(&spin, PTHREAD_PROCESS_PRIVATE));
	did(1);
	must(sem_init(&sem, 0, n > 4 ? 3 : 1));
	did(1);
	must(pthread_barrier_init(&start, NULL, (unsigned)n));
	did(1);
	must(pthread_barrier_init(&round_, NULL, (unsigned)n));
	did(1);
	must(pthread_cond_init(&cond, NULL));
	did(1);
	pool_free = n > 3 ? 2 : 1;
	for (int i = 0; i < N_ONCE; i++)
		once[i] = PTHREAD_ONCE_INIT;

	pthread_t *t = calloc(n, sizeof *t);
	for (uintptr_t i = 0; i < n; i++) {
		must(pthread_create(&t[i], NULL, worker, (void *)(i + 1)));
		did(1);
	}
	for (uintptr_t i = 0; i < n; i++) {
		must(pthread_join(t[i], NULL));
		did(1);
	}
	free(t);
	must(pthread_barrier_destroy(&start));
	did(1);
	must(sem_destroy(&sem));
	did(1);
	shm->finished = 1;
	return 0;
}
