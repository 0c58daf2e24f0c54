/*
 * Cancellation inside blocking calls: g_cancel cond|timed|sem|join|once|async|state. Each victim
 * announces through a semaphore that it is about to block; a cancellation that arrives before or
 * inside the call has the same outcome, so no sleep is needed. Prints what the cleanup handlers
 * saw.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t c = PTHREAD_COND_INITIALIZER;
static sem_t ready, never;
static int guarded;

static void unlock(void *arg)
{
	/* The mutex is held again: another thread cannot have it. */
	guarded++;
	printf("cleanup: trylock says %s\n", pthread_mutex_trylock(arg) == EBUSY ? "busy" : "free");
	pthread_mutex_unlock(arg);
}

static void note(void *text)
{
	printf("cleanup: %s\n", (const char *)text);
}

static void *in_cond(void *timed)
{
	struct timespec far = {.tv_sec = time(NULL) + 1000};

	pthread_mutex_lock(&m);
	pthread_cleanup_push(unlock, &m);
	sem_post(&ready);
	for (;;) {
		if (timed)
			pthread_cond_timedwait(&c, &m, &far);
		else
			pthread_cond_wait(&c, &m);
	}
	pthread_cleanup_pop(1);
	return NULL;
}

static void *in_sem(void *unused)
{
	pthread_cleanup_push(note, "sem_wait");
	sem_post(&ready);
	for (;;)
		sem_wait(&never);
	pthread_cleanup_pop(1);
	return unused;
}

static void *sleeper(void *unused)
{
	sem_wait(&never);
	return unused;
}

static pthread_t target;

static void *in_join(void *unused)
{
	pthread_cleanup_push(note, "join");
	sem_post(&ready);
	pthread_join(target, NULL);
	pthread_cleanup_pop(0);
	return unused;
}

static pthread_once_t once = PTHREAD_ONCE_INIT;
static int once_runs;

static void once_routine(void)
{
	if (once_runs++ == 0) {
		sem_post(&ready);
		for (;;)
			sem_wait(&never);
	}
}

static void *in_once(void *unused)
{
	pthread_cleanup_push(note, "once");
	pthread_once(&once, once_routine);
	pthread_cleanup_pop(0);
	return unused;
}

static void *spinning(void *unused)
{
	int old;

	pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, &old);
	sem_post(&ready);
	for (volatile unsigned i = 0;; i++)
		;
	return unused;
}

static void *not_now(void *unused)
{
	int old;

	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &old);
	sem_post(&ready);
	sem_wait(&never); /* posted by main after the cancellation */
	printf("not cancelled while disabled\n");
	pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, &old);
	pthread_cleanup_push(note, "testcancel");
	pthread_testcancel();
	pthread_cleanup_pop(0);
	return unused;
}

static void victim(void *(*fn)(void *), void *arg)
{
	pthread_t t;
	void *result;

	pthread_create(&t, NULL, fn, arg);
	sem_wait(&ready);
	if (fn == in_cond) {
		/* Once we have the mutex, the victim is inside its wait. */
		pthread_mutex_lock(&m);
		pthread_mutex_unlock(&m);
	}
	pthread_cancel(t);
	if (fn == not_now)
		sem_post(&never);
	pthread_join(t, &result);
	printf("result: %s\n", result == PTHREAD_CANCELED ? "cancelled" : "returned");
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "cond";

	sem_init(&ready, 0, 0);
	sem_init(&never, 0, 0);
	if (!strcmp(what, "cond") || !strcmp(what, "timed")) {
		for (int i = 0; i < 20; i++)
			victim(in_cond, !strcmp(what, "timed") ? &m : NULL);
		printf("cleanups: %d\n", guarded);
		pthread_mutex_lock(&m);
		pthread_mutex_unlock(&m);
	} else if (!strcmp(what, "sem")) {
		victim(in_sem, NULL);
	} else if (!strcmp(what, "join")) {
		pthread_create(&target, NULL, sleeper, NULL);
		victim(in_join, NULL);
		sem_post(&never);
		printf("second join: %d\n", pthread_join(target, NULL));
	} else if (!strcmp(what, "once")) {
		victim(in_once, NULL);
		printf("once again: %d\n", pthread_once(&once, once_routine));
		printf("routine ran %d times\n", once_runs);
	} else if (!strcmp(what, "async")) {
		victim(spinning, NULL);
	} else {
		victim(not_now, NULL);
	}
	return 25;
}
