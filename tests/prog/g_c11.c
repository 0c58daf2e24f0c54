/*
 * C11 threads: glibc's thrd_, mtx_, cnd_ and call_once do not pass through the pthread names, so
 * they have hooks of their own. Prints every result; deterministic.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <threads.h>
#include <time.h>

static mtx_t plain, deep, timed;
static cnd_t cond;
static once_flag flag = ONCE_FLAG_INIT;
static tss_t key;
static int turn, count;

static void once(void)
{
	printf("once\n");
}

static void tss_gone(void *value)
{
	mtx_lock(&plain);
	count += *(int *)value;
	mtx_unlock(&plain);
	free(value);
}

static int player(void *arg)
{
	const int me = *(int *)arg;

	call_once(&flag, once);
	int *mine = malloc(sizeof *mine);
	*mine = 100;
	tss_set(key, mine);
	for (int i = 0; i < 50; i++) {
		mtx_lock(&plain);
		while (turn != me)
			cnd_wait(&cond, &plain);
		turn = 1 - me;
		count++;
		if (i % 2)
			cnd_signal(&cond);
		else
			cnd_broadcast(&cond);
		mtx_unlock(&plain);
	}
	if (me)
		thrd_exit(70);
	return 80;
}

static int try_them(void *unused)
{
	const struct timespec past = {.tv_sec = 1};

	(void)unused;
	printf("other: trylock %d", mtx_trylock(&deep));
	printf(" timedlock %d\n", mtx_timedlock(&timed, &past));
	return -1;
}

static int detached(void *unused)
{
	(void)unused;
	mtx_lock(&plain);
	turn = 9;
	cnd_signal(&cond);
	mtx_unlock(&plain);
	return 0;
}

int main(void)
{
	const struct timespec past = {.tv_sec = 1};
	const struct timespec nap = {.tv_nsec = 1};
	thrd_t t[2];
	int id[2] = {0, 1}, result = 0;

	printf("init %d", mtx_init(&plain, mtx_plain));
	printf(" %d", mtx_init(&deep, mtx_plain | mtx_recursive));
	printf(" %d", mtx_init(&timed, mtx_timed));
	printf(" bad %d", mtx_init(&timed, 99) == thrd_error);
	printf(" %d %d\n", cnd_init(&cond), tss_create(&key, tss_gone));
	mtx_init(&timed, mtx_timed);
	for (int i = 0; i < 2; i++)
		if (thrd_create(&t[i], player, &id[i]) != thrd_success)
			return 1;
	for (int i = 0; i < 2; i++) {
		printf("join %d", thrd_join(t[i], &result));
		printf(" result %d\n", result);
	}
	printf("count %d\n", count);

	printf("deep %d %d %d\n", mtx_lock(&deep), mtx_lock(&deep), mtx_trylock(&deep));
	printf("timed %d\n", mtx_timedlock(&timed, &past));
	thrd_create(&t[0], try_them, NULL);
	thrd_join(t[0], &result);
	printf("result %d\n", result);
	printf("unlock %d %d %d %d\n", mtx_unlock(&deep), mtx_unlock(&deep), mtx_unlock(&deep),
	       mtx_unlock(&timed));

	mtx_lock(&plain);
	printf("cnd_timedwait %d\n", cnd_timedwait(&cond, &plain, &past));
	thrd_create(&t[0], detached, NULL);
	printf("detach %d\n", thrd_detach(t[0]));
	while (turn != 9)
		cnd_wait(&cond, &plain);
	mtx_unlock(&plain);
	call_once(&flag, once);
	printf("equal %d sleep %d\n", thrd_equal(thrd_current(), thrd_current()) != 0,
	       thrd_sleep(&nap, NULL));
	thrd_yield();
	mtx_destroy(&deep);
	mtx_destroy(&timed);
	cnd_destroy(&cond);
	tss_delete(key);
	return 27;
}
