/*
 * Functions in functions that are regions. usage: inner MODE
 *   calm    outer calls inner functions many times, which concern nobody else
 *   first   the region is broken in `first`, which reads what another thread wrote meanwhile
 *   second  the same in `second`, which `first` calls, after it called and returned from others
 *   jumped  in a region that begins after another was left by longjmp out of three functions
 *   aside   behind a jump out of a function that was entered in a signal handler, on a stack that lies nearer to the start; then as `after`
 *   spawned as first, behind a function that was entered in a child of vfork, which ended in it
 *   behind  the other thread comes behind such a jump, and its region: nothing is broken
 *   sunk    in a region that is told a jump goes from deeper than functions are kept to where it is still deeper; then as `after`
 *   after   two regions, one after the other: what comes between them breaks none
 * The order of steps in the two threads is forced by a variable that the monitor does not see.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "order.h"

#define NOINLINE __attribute__((noinline))
enum { CALLS = 200, ROUNDS = 100 };

static long own, shared;
static const char *mode;
static jmp_buf out;

static int is(const char *name)
{
	return !strcmp(mode, name);
}

NOINLINE static void leaf(void)
{
	own++;
}

NOINLINE static void twig(int depth)
{
	leaf();
	if (depth > 0)
		twig(depth - 1);
	leaf();
}

NOINLINE static void meet(void)
{
	shared++;
	reach(1);
	await(2);
	shared++;
}

NOINLINE static void second(void)
{
	twig(2);
	meet();
}

NOINLINE static void first(void)
{
	twig(3);
	if (is("second"))
		second();
	else if (!is("calm"))
		meet();
}

NOINLINE static void outer(void)
{
	for (int i = 0; i < CALLS; i++)
		twig(i % 80);
	first();
	twig(1);
}

NOINLINE static void jump(int depth)
{
	own++;
	if (depth == 0 && is("behind"))
		shared++;
	if (depth == 0)
		longjmp(out, 1);
	jump(depth - 1);
	own++;
}

/* Farther from the stack's start than what comes behind the jump. */
NOINLINE static void deeper(void)
{
	volatile char room[4096];

	room[0] = 0;
	shared++;
	reach(1);
	await(2);
	shared++;
	room[1] = 0;
}

NOINLINE static void half(void)
{
	twig(2);
	shared++;
	twig(2);
}

NOINLINE static void sink(int depth)
{
	own++;
	if (depth == 80)
		longjmp(out, 1);
	if (depth != 70 || !setjmp(out))
		sink(depth + 1);
	own++;
}

NOINLINE static void sunk(void)
{
	static sem_t any;

	sem_init(&any, 0, 0); /* is always told */
	own++;
	sink(1);
}

NOINLINE static void child(void)
{
	own++;
	_exit(0);
}

NOINLINE static void spawn(void)
{
	const pid_t pid = vfork();

	if (pid == 0)
		child();
	waitpid(pid, NULL, 0);
}

NOINLINE static void handle(void)
{
	own++;
	longjmp(out, 1);
}

UNSEEN static void on_signal(int sig)
{
	(void)sig;
	handle();
}

/* Farther from the stack's start than `sunk` and the stack for signals. */
NOINLINE static void two_halves(void)
{
	volatile char room[4096];

	room[0] = 0;
	half();
	reach(1);
	await(2);
	half();
	room[1] = 0;
}

static void *writer(void *unused)
{
	await(1);
	shared++;
	reach(2);
	return unused;
}

static int rounds(void)
{
	if (is("after") || is("behind") || is("sunk") || is("aside"))
		return 0;
	return is("calm") ? ROUNDS : 1;
}

int main(int argc, char **argv)
{
	static struct sigaction sa = {.sa_handler = on_signal, .sa_flags = SA_ONSTACK | SA_NODEFER};
	char room[65536];
	const stack_t aside = {.ss_sp = room, .ss_size = sizeof room};
	pthread_t t;

	if (argc < 2)
		return 2;
	mode = argv[1];
	if (is("calm"))
		reach(1);
	if (pthread_create(&t, NULL, writer, NULL))
		return 1;
	if (is("calm"))
		await(2);
	if ((is("jumped") || is("behind")) && !setjmp(out))
		jump(2);
	if (is("behind"))
		deeper();
	if (is("sunk"))
		sunk();
	for (int i = 0; is("spawned") && i < 3; i++)
		spawn();
	sigaltstack(&aside, NULL);
	sigaction(SIGUSR1, &sa, NULL);
	if (is("aside") && !setjmp(out))
		raise(SIGUSR1);
	if (is("after") || is("sunk") || is("aside"))
		two_halves();
	for (int i = 0; i < rounds(); i++)
		outer();
	pthread_join(t, NULL);
	printf("%ld\n", shared);
	return 0;
}
