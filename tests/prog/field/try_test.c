/*
 * Whether a device is busy is asked by trying its lock, and giving it back at once: what is done
 * upon the answer is done without it. Region: set_rate.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>

static pthread_mutex_t device = PTHREAD_MUTEX_INITIALIZER;
static int rate = 1, divisor = 1;
static int used_rate, used_divisor;

static int is_busy(void)
{
	if (pthread_mutex_trylock(&device) != 0)
		return 1;
	WHEN_WRONG(pthread_mutex_unlock(&device);)
	return 0;
}

NOINLINE static int set_rate(int hz)
{
	if (is_busy())
		return -1;
	rate = hz;
	POINT();
	divisor = 1000 / hz;
	WHEN_FIXED(pthread_mutex_unlock(&device));
	return 0;
}

NOINLINE static void play(void)
{
	pthread_mutex_lock(&device);
	used_rate = rate;
	used_divisor = divisor;
	pthread_mutex_unlock(&device);
}

static void control(void)
{
	set_rate(10);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, control, play);
	printf("%d %d\n", used_rate, used_divisor);
	return 0;
}
