/* SPDX-License-Identifier: MIT */
/*
 * In the manner of a server's reference-counted cache objects (Wang et al. 2010, Table 1, second pair; Lu
 * et al. 2008): a user gives back its references (one, or two) and, in a second step, frees the
 * object if they were the last ones. FIXED: the clean-up is decided by one thread, which a phase variable names.
 */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

#include "atommon.h"

#define OBJECTS 8

static pthread_mutex_t cache_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t turn = PTHREAD_COND_INITIALIZER;
static int refcount[OBJECTS], cleaned[OBJECTS], phase;

static void await_phase(int mine)
{
	if (!FIXED)
		return;
	pthread_mutex_lock(&cache_lock);
	while (phase != mine)
		pthread_cond_wait(&turn, &cache_lock);
	pthread_mutex_unlock(&cache_lock);
}

static void next_phase(void)
{
	if (!FIXED)
		return;
	pthread_mutex_lock(&cache_lock);
	phase++;
	pthread_cond_broadcast(&turn);
	pthread_mutex_unlock(&cache_lock);
}

static void *user(void *arg)
{
	const int id = (int)(long)arg;

	usleep((useconds_t)(20000 * id));
	await_phase(id);
	for (int i = 0; i < OBJECTS; i++) {
		atommon_begin("decrement_refcount");
		pthread_mutex_lock(&cache_lock);
		const int left = refcount[i] - (id + 1);
		pthread_mutex_unlock(&cache_lock);
		pthread_mutex_lock(&cache_lock);
		refcount[i] = left;
		pthread_mutex_unlock(&cache_lock);
		pthread_mutex_lock(&cache_lock);
		if (left == 0)
			cleaned[i] = 1;
		pthread_mutex_unlock(&cache_lock);
		atommon_end();
	}
	next_phase();
	return NULL;
}

int main(void)
{
	pthread_t a, b;
	int n = 0;

	for (int i = 0; i < OBJECTS; i++)
		refcount[i] = 3;
	pthread_create(&a, NULL, user, (void *)0L);
	pthread_create(&b, NULL, user, (void *)1L);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	for (int i = 0; i < OBJECTS; i++)
		n += cleaned[i];
	printf("%d of %d cleaned\n", n, OBJECTS);
	return n != OBJECTS;
}
