/*
 * Signals: g_signal storm|mask [N]. A timer signal interrupts a thread that locks; the handler
 * locks too (a trylock, which is what a careful handler may do), posts a semaphore and annotates.
 * Both sides count; the sums must agree. Nothing shared is written, so there is nothing to report.
 */
/* SPDX-License-Identifier: MIT */
#include <atommon.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/time.h>
#include <unistd.h>

static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER, other = PTHREAD_MUTEX_INITIALIZER;
static sem_t ticks;
static atomic_int handled, got; /* handlers run in several threads at once */
static long inside;
static int cell;
static __thread int own_cell;

static void on_tick(int sig)
{
	const int saved = errno;

	(void)sig;
	handled++;
	atommon_begin("handler");
	if (pthread_mutex_trylock(&other) == 0) {
		got++;
		ATOMMON_STORE(own_cell, ATOMMON_LOAD(cell));
		pthread_mutex_unlock(&other);
	}
	atommon_end();
	sem_post(&ticks);
	errno = saved;
}

static void *locker(void *n)
{
	for (long i = 0; handled < (long)n; i++) {
		ATOMMON_REGION ("work") {
			pthread_mutex_lock(&mine);
			inside++;
			pthread_mutex_lock(&other);
			(void)ATOMMON_LOAD(cell);
			pthread_mutex_unlock(&other);
			pthread_mutex_unlock(&mine);
		}
	}
	return NULL;
}

static int storm(long n)
{
	struct sigaction sa = {.sa_handler = on_tick, .sa_flags = SA_RESTART};
	const struct itimerval fast = {{0, 100}, {0, 100}}, off = {{0, 0}, {0, 0}};
	pthread_t t[2];
	int left = 0, value;

	sigaction(SIGALRM, &sa, NULL);
	setitimer(ITIMER_REAL, &fast, NULL);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, locker, (void *)n);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	setitimer(ITIMER_REAL, &off, NULL);
	while (sem_trywait(&ticks) == 0)
		left++;
	sem_getvalue(&ticks, &value);
	printf("%s %s %d\n", handled >= n ? "stormed" : "calm",
	       left == handled ? "every tick posted" : "ticks missing", value);
	return 0;
}

/* The monitor's own thread must never take the application's signals: with the signal blocked in
 * every thread of ours, it stays pending. */
static int mask(void)
{
	sigset_t set, pending;
	pthread_t t;
	int sig = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	pthread_create(&t, NULL, locker, (void *)0);
	pthread_join(t, NULL);
	raise(SIGUSR1);
	kill(getpid(), SIGUSR1);
	sigpending(&pending);
	printf("pending: %d\n", sigismember(&pending, SIGUSR1));
	sigwait(&set, &sig);
	printf("sigwait: %d\n", sig == SIGUSR1);
	return 26;
}

int main(int argc, char **argv)
{
	sem_init(&ticks, 0, 0);
	if (argc > 1 && !strcmp(argv[1], "mask"))
		return mask();
	return storm(argc > 2 ? atol(argv[2]) : 500);
}
