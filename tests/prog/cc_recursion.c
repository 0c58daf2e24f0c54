/* SPDX-License-Identifier: MIT */
/* A region function that calls itself, deep and shallow, and is left by longjmp once. */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static int count;
static jmp_buf out;

__attribute__((noinline)) static int descend(int n, int jumps)
{
	pthread_mutex_lock(&mutex);
	count++;
	pthread_mutex_unlock(&mutex);
	if (n == 0 && jumps)
		longjmp(out, 1);
	const int below = n ? descend(n - 1, jumps) : 0;
	pthread_mutex_lock(&mutex);
	count++;
	pthread_mutex_unlock(&mutex);
	return below + 1;
}

__attribute__((noinline)) static void outside(void)
{
	pthread_mutex_lock(&mutex);
	count++;
	pthread_mutex_unlock(&mutex);
}

static void *work(void *arg)
{
	(void)arg;
	descend(200, 0);
	outside();
	if (!setjmp(out))
		descend(5, 1);
	descend(2, 0);
	outside();
	return NULL;
}

int main(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, work, NULL);
	pthread_join(thread, NULL);
	printf("%d\n", count);
	return 0;
}
