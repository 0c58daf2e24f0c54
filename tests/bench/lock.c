/*
 * Costs of synchronisation calls, by CPU time. usage: lock CASE THREADS OPERATIONS
 *   pair   each thread locks and unlocks a mutex of its own
 *   share  all threads lock and unlock one mutex, with a tiny critical section
 *   ping   two threads hand a token back and forth through a condition
 *   start  a process that does nothing starts and ends (THREADS is not used)
 * Prints, per operation in ns: CPU of the application's threads, CPU of the process, wall clock.
 * The first two differ by what the monitor's own thread costs.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>

extern char **environ;
enum { THREADS_MAX = 256, WARM = 40000 };

static struct cell {
	pthread_mutex_t mutex;
	long count;
	char pad[64];
} __attribute__((aligned(128))) cell[THREADS_MAX];

static long operations;
static int n_threads;
static const char *what;
static pthread_barrier_t start;
static double cpu[THREADS_MAX];
static pthread_cond_t turn_changed = PTHREAD_COND_INITIALIZER;
static int turn;

static double seconds(clockid_t clock)
{
	struct timespec ts;

	clock_gettime(clock, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec * 1e-9;
}

static void run_pairs(struct cell *c, long n)
{
	for (long i = 0; i < n; i++) {
		pthread_mutex_lock(&c->mutex);
		c->count++;
		pthread_mutex_unlock(&c->mutex);
	}
}

static void run_ping(int me)
{
	for (long i = 0; i < operations; i++) {
		pthread_mutex_lock(&cell[0].mutex);
		while (turn != me)
			pthread_cond_wait(&turn_changed, &cell[0].mutex);
		turn = !me;
		pthread_cond_signal(&turn_changed);
		pthread_mutex_unlock(&cell[0].mutex);
	}
}

static void *work(void *arg)
{
	const int me = (int)(long)arg;

	if (!strcmp(what, "pair")) /* warm: every page of a monitor's buffer was written once */
		run_pairs(&cell[me], operations < WARM ? operations / 20 + 1 : WARM);
	pthread_barrier_wait(&start);
	const double before = seconds(CLOCK_THREAD_CPUTIME_ID);
	if (!strcmp(what, "pair"))
		run_pairs(&cell[me], operations);
	else if (!strcmp(what, "share"))
		run_pairs(&cell[0], operations);
	else
		run_ping(me);
	cpu[me] = seconds(CLOCK_THREAD_CPUTIME_ID) - before;
	return NULL;
}

/* CPU of the children, and wall clock. */
static int run_start(void)
{
	char name[] = "/bin/true", *argv[] = {name, NULL};
	struct rusage used;
	const double wall = seconds(CLOCK_MONOTONIC);

	for (long i = 0; i < operations; i++) {
		pid_t pid;
		int status;
		if (posix_spawn(&pid, name, NULL, NULL, argv, environ) != 0 ||
		    waitpid(pid, &status, 0) != pid || status != 0)
			return 1;
	}
	getrusage(RUSAGE_CHILDREN, &used);
	const double sum = (double)(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
			   (double)(used.ru_utime.tv_usec + used.ru_stime.tv_usec) * 1e-6;
	printf("%.2f %.2f %.2f\n", sum / (double)operations * 1e9, sum / (double)operations * 1e9,
	       (seconds(CLOCK_MONOTONIC) - wall) / (double)operations * 1e9);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t thread[THREADS_MAX];

	if (argc != 4 || (n_threads = atoi(argv[2])) < 1 || n_threads > THREADS_MAX ||
	    (operations = atol(argv[3])) < 1) {
		fprintf(stderr, "usage: lock pair|share|ping|start THREADS OPERATIONS\n");
		return 2;
	}
	what = argv[1];
	if (!strcmp(what, "start"))
		return run_start();
	if (!strcmp(what, "ping"))
		n_threads = 2;
	for (int i = 0; i < n_threads; i++)
		pthread_mutex_init(&cell[i].mutex, NULL);
	pthread_barrier_init(&start, NULL, (unsigned)n_threads);
	for (long i = 0; i < n_threads; i++)
		if (pthread_create(&thread[i], NULL, work, (void *)i) != 0)
			return 1;
	const double process = seconds(CLOCK_PROCESS_CPUTIME_ID), wall = seconds(CLOCK_MONOTONIC);
	double sum = 0;
	for (int i = 0; i < n_threads; i++) {
		pthread_join(thread[i], NULL);
		sum += cpu[i];
	}
	const double total = (double)operations * n_threads;
	printf("%.2f %.2f %.2f\n", sum / total * 1e9,
	       (seconds(CLOCK_PROCESS_CPUTIME_ID) - process) / total * 1e9,
	       (seconds(CLOCK_MONOTONIC) - wall) / total * 1e9);
	return 0;
}
