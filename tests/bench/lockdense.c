/*
 * Lock-dense code: a lock around every 16 read-modify-writes of shared words, in a function that is
 * meant to be atomic. usage: lockdense CASE THREADS SECTIONS
 *   own     each thread has a mutex and words of its own
 *   share   all threads use one mutex and the same words
 *   mutex, spin, sem, rwlock
 *           64 such locks, each with words of its own, one at random each time; of the sections of reader-writer locks 7 of 8 only read
 *   queue   half of the threads put words into a queue of 64, half take them out, with a mutex and two conditions
 * Prints CPU and wall clock per section in ns, of the whole process (the monitor's thread included).
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREADS_MAX = 64, WORDS = 16, QUEUE = 64 };

static struct account {
	pthread_mutex_t mutex;
	pthread_spinlock_t spin;
	pthread_rwlock_t rwlock;
	sem_t sem;
	long word[WORDS];
} __attribute__((aligned(128))) account[THREADS_MAX];

static struct queue {
	pthread_mutex_t mutex;
	pthread_cond_t came, went;
	long word[QUEUE];
	int n;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .came = PTHREAD_COND_INITIALIZER, .went = PTHREAD_COND_INITIALIZER};

static const char *const names[] = {"own", "share", "mutex", "spin", "sem", "rwlock", "queue"};
enum { OWN, SHARE, MUTEX, SPIN, SEM, RWLOCK, QUEUED, CASES };

static int what;
static long sections;
static pthread_barrier_t start;

static double seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static inline __attribute__((always_inline)) void add(struct account *a, long by)
{
#pragma GCC unroll 1
	for (int i = 0; i < WORDS; i++) {
		a->word[i] += by;
		__asm__ volatile("" : : : "memory"); /* one by one, in every build */
	}
}

__attribute__((noinline)) static void post_all(struct account *a, long by)
{
	pthread_mutex_lock(&a->mutex);
	add(a, by);
	pthread_mutex_unlock(&a->mutex);
}

__attribute__((noinline)) static void spin_all(struct account *a, long by)
{
	pthread_spin_lock(&a->spin);
	add(a, by);
	pthread_spin_unlock(&a->spin);
}

__attribute__((noinline)) static void sem_all(struct account *a, long by)
{
	sem_wait(&a->sem);
	add(a, by);
	sem_post(&a->sem);
}

__attribute__((noinline)) static void write_all(struct account *a, long by)
{
	pthread_rwlock_wrlock(&a->rwlock);
	add(a, by);
	pthread_rwlock_unlock(&a->rwlock);
}

__attribute__((noinline)) static long read_all(struct account *a)
{
	long sum = 0;

	pthread_rwlock_rdlock(&a->rwlock);
#pragma GCC unroll 1
	for (int i = 0; i < WORDS; i++) {
		sum += a->word[i];
		__asm__ volatile("" : : : "memory");
	}
	pthread_rwlock_unlock(&a->rwlock);
	return sum;
}

__attribute__((noinline)) static void put_all(struct queue *q, long word)
{
	pthread_mutex_lock(&q->mutex);
	while (q->n == QUEUE)
		pthread_cond_wait(&q->went, &q->mutex);
	q->word[q->n++] = word;
	pthread_cond_signal(&q->came);
	pthread_mutex_unlock(&q->mutex);
}

__attribute__((noinline)) static long take_all(struct queue *q)
{
	pthread_mutex_lock(&q->mutex);
	while (q->n == 0)
		pthread_cond_wait(&q->came, &q->mutex);
	const long word = q->word[--q->n];
	pthread_cond_signal(&q->went);
	pthread_mutex_unlock(&q->mutex);
	return word;
}

static void section(long thread, long i, struct account *a, unsigned draw)
{
	switch (what) {
	case SPIN:
		spin_all(a, i & 7);
		break;
	case SEM:
		sem_all(a, i & 7);
		break;
	case RWLOCK:
		if (draw & 7)
			read_all(a);
		else
			write_all(a, i & 7);
		break;
	case QUEUED:
		if (thread & 1)
			take_all(&queue);
		else
			put_all(&queue, i);
		break;
	default:
		post_all(a, i & 7);
		break;
	}
}

static void *work(void *arg)
{
	unsigned draw = (unsigned)(long)arg + 1;

	pthread_barrier_wait(&start);
	for (long i = 0; i < sections; i++) {
		draw = draw * 1664525u + 1013904223u;
		section((long)arg, i, &account[what == OWN ? (unsigned)(long)arg : what == SHARE ? 0 : draw >> 26], draw >> 16);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];
	int n = 0;

	while (argc > 1 && what < CASES && strcmp(argv[1], names[what]))
		what++;
	if (argc != 4 || what == CASES || (n = atoi(argv[2])) < 1 || n > THREADS_MAX || (sections = atol(argv[3])) < 1 ||
	    (what == QUEUED && n % 2)) {
		fprintf(stderr, "usage: lockdense own|share|mutex|spin|sem|rwlock|queue THREADS SECTIONS\n");
		return 2;
	}
	for (int i = 0; i < THREADS_MAX; i++) {
		pthread_mutex_init(&account[i].mutex, NULL);
		pthread_spin_init(&account[i].spin, PTHREAD_PROCESS_PRIVATE);
		pthread_rwlock_init(&account[i].rwlock, NULL);
		sem_init(&account[i].sem, 0, 1);
	}
	pthread_barrier_init(&start, NULL, (unsigned)n);
	const double cpu = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
	for (long i = 0; i < n; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i) != 0)
			return 1;
	for (int i = 0; i < n; i++)
		pthread_join(thread[i], NULL);
	const double total = (double)sections * n;
	printf("%.1f %.1f\n", (seconds(CLOCK_PROCESS_CPUTIME_ID) - cpu) / total * 1e9,
	       (seconds(CLOCK_MONOTONIC) - wall) / total * 1e9);
	return 0;
}
