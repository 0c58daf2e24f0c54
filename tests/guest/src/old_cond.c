/*
 * A program bound to the condition variables of before glibc 2.3.2: the object is one pointer. The
 * guard words around it show whether somebody took it for the newer, larger object.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

typedef struct {
	void *cell;
} old_cond;

extern int old_init(old_cond *, const void *);
extern int old_destroy(old_cond *);
extern int old_wait(old_cond *, pthread_mutex_t *);
extern int old_timedwait(old_cond *, pthread_mutex_t *, const struct timespec *);
extern int old_signal(old_cond *);
extern int old_broadcast(old_cond *);
__asm__(".symver old_init,pthread_cond_init@GLIBC_2.2.5\n"
	".symver old_destroy,pthread_cond_destroy@GLIBC_2.2.5\n"
	".symver old_wait,pthread_cond_wait@GLIBC_2.2.5\n"
	".symver old_timedwait,pthread_cond_timedwait@GLIBC_2.2.5\n"
	".symver old_signal,pthread_cond_signal@GLIBC_2.2.5\n"
	".symver old_broadcast,pthread_cond_broadcast@GLIBC_2.2.5\n");

static struct {
	long before;
	old_cond cond;
	long after[8];
} box = {.before = 0x5555};

static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;
static int turn;

static void *player(void *arg)
{
	const int me = (int)(long)arg;

	for (int i = 0; i < 100; i++) {
		pthread_mutex_lock(&m);
		while (turn != me)
			old_wait(&box.cond, &m);
		turn = 1 - me;
		if (i & 1)
			old_signal(&box.cond);
		else
			old_broadcast(&box.cond);
		pthread_mutex_unlock(&m);
	}
	return NULL;
}

int main(void)
{
	const struct timespec past = {.tv_sec = 1};
	pthread_t t[2];

	for (int i = 0; i < 8; i++)
		box.after[i] = 0x6666;
	printf("init %d\n", old_init(&box.cond, NULL));
	pthread_mutex_lock(&m);
	printf("timed out %d\n", old_timedwait(&box.cond, &m, &past) == ETIMEDOUT);
	pthread_mutex_unlock(&m);
	for (long i = 0; i < 2; i++)
		pthread_create(&t[i], NULL, player, (void *)i);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	printf("destroy %d\n", old_destroy(&box.cond));
	for (int i = 0; i < 8; i++)
		if (box.after[i] != 0x6666 || box.before != 0x5555) {
			printf("guard word %d was overwritten\n", i);
			return 1;
		}
	return 29;
}
