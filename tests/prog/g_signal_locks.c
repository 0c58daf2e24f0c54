/*
 * Signals in the very instructions that log: g_signal_locks N. A thread locks and unlocks; another one
 * sends it N signals, each as soon as the one before was handled; the handler locks and unlocks a mutex
 * of its own a few times. Prints how many acquires there were.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

static pthread_mutex_t mine = PTHREAD_MUTEX_INITIALIZER, its = PTHREAD_MUTEX_INITIALIZER;
static atomic_long handled;
static atomic_int is_over;
static long locked, locked_inside;

static void on_signal(int sig)
{
	const int times = 1 + handled % 4; /* a ring keeps that much room for handlers */

	(void)sig;
	for (int i = 0; i < times; i++) {
		pthread_mutex_lock(&its);
		locked_inside++;
		pthread_mutex_unlock(&its);
	}
	handled++;
}

static void *locker(void *unused)
{
	while (!is_over) {
		pthread_mutex_lock(&mine);
		locked++;
		pthread_mutex_unlock(&mine);
	}
	return unused;
}

int main(int argc, char **argv)
{
	const long n = argc > 1 ? atol(argv[1]) : 1000;
	const struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
	pthread_t t;

	sigaction(SIGUSR1, &sa, NULL);
	if (pthread_create(&t, NULL, locker, NULL) != 0)
		return 1;
	for (long i = 0; i < n; i++) {
		pthread_kill(t, SIGUSR1);
		while (handled == i)
			;
	}
	is_over = 1;
	pthread_join(t, NULL);
	fprintf(stderr, "%ld\n", locked + locked_inside);
	return 0;
}
