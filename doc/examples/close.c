/* SPDX-License-Identifier: MIT */
/* Checked, then closed: whether the connection is open is looked at in one critical section, it is closed
 * in the next, while another thread still counts what it sends over it. Build with -DFIXED for one section. */
#include <pthread.h>
#include <stdio.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static int is_open = 1, sent, closed_at;

__attribute__((noinline)) static void finish(void)
{
	pthread_mutex_lock(&lock);
	int so_far = is_open ? sent : -1;
#ifndef FIXED
	pthread_mutex_unlock(&lock);
	pthread_mutex_lock(&lock);
#endif
	if (so_far >= 0) {
		closed_at = so_far;
		is_open = 0;
		sent = 0;
	}
	pthread_mutex_unlock(&lock);
}

__attribute__((noinline)) static void transmit(int bytes)
{
	pthread_mutex_lock(&lock);
	sent = sent + bytes;
	pthread_mutex_unlock(&lock);
}

static void *closer(void *unused)
{
	finish();
	return unused;
}

static void *sender(void *unused)
{
	usleep(50000);
	transmit(7);
	return unused;
}

int main(void)
{
	pthread_t a, b;

	pthread_create(&a, NULL, closer, NULL);
	pthread_create(&b, NULL, sender, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("open %d, sent %d, closed at %d\n", is_open, sent, closed_at);
	return 0;
}
