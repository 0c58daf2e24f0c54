/*
 * Signal handlers between any two instructions: one thread runs its regions under the trap flag, and at
 * every STRIDE-th instruction the handler takes a lock of its own and uses words of its own. Another
 * thread uses the same words as the first, each with the lock held. Nothing is interrupted that is meant
 * to be atomic. usage: stepped ROUNDS STRIDE. Regions: step.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define NOINLINE __attribute__((noinline))
#define UNSEEN __attribute__((noinline, no_sanitize("thread")))

enum { WORDS = 4 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER, its = PTHREAD_MUTEX_INITIALIZER;
static long word[WORDS], inside[WORDS];
static long traps, handled;
static int stride;
static volatile int is_over;

static void set_trap(void)
{
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\torq $0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp" ::: "memory", "cc");
}

static void clear_trap(void)
{
	__asm__ volatile("sub $128, %%rsp\n\tpushfq\n\tandq $~0x100, (%%rsp)\n\tpopfq\n\tadd $128, %%rsp" ::: "memory", "cc");
}

NOINLINE static void handler_work(void)
{
	pthread_mutex_lock(&its);
	for (int i = 0; i < WORDS; i++)
		inside[i]++;
	handled++;
	pthread_mutex_unlock(&its);
}

UNSEEN static void on_trap(int sig)
{
	(void)sig;
	if (++traps % stride)
		return;
	handler_work();
}

NOINLINE static void step(void)
{
	pthread_mutex_lock(&lock);
	for (int i = 0; i < WORDS; i++)
		word[i]++;
	pthread_mutex_unlock(&lock);
}

UNSEEN static int finished(void)
{
	return is_over;
}

static void *other(void *unused)
{
	while (!finished()) {
		step();
		usleep(20); /* or the other would never get the lock */
	}
	return unused;
}

UNSEEN static void stepped(void)
{
	set_trap();
	step();
	clear_trap();
}

int main(int argc, char **argv)
{
	const struct sigaction sa = {.sa_handler = on_trap};
	pthread_t t;

	if (argc < 3 || (stride = atoi(argv[2])) < 1)
		return 2;
	sigaction(SIGTRAP, &sa, NULL);
	for (int i = 0; i < 10; i++)
		step(); /* what happens but once */
	if (pthread_create(&t, NULL, other, NULL))
		return 1;
	for (int i = 0; i < atoi(argv[1]); i++)
		stepped();
	is_over = 1;
	pthread_join(t, NULL);
	for (int i = 1; i < WORDS; i++)
		if (word[i] != word[0] || inside[i] != handled)
			return 1;
	printf("%s\n", handled > 0 ? "handled" : "not once");
	return 0;
}
