/*
 * A host that looks after its children: while a violation is found and reported, it must get no
 * SIGCHLD and find nothing to wait for. Then it forks children that have violations of their own.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "atommon.h"

static long balance;
static sem_t has_read, has_paid;
static volatile sig_atomic_t signals;

static void on_child(int sig)
{
	(void)sig;
	signals++;
}

static void *teller(void *unused)
{
	(void)unused;
	ATOMMON_REGION("withdraw")
	{
		long seen = ATOMMON_LOAD(balance);
		sem_post(&has_read);
		sem_wait(&has_paid);
		ATOMMON_STORE(balance, seen - 1);
	}
	return NULL;
}

static void violate(void)
{
	pthread_t t;

	sem_init(&has_read, 0, 0);
	sem_init(&has_paid, 0, 0);
	pthread_create(&t, NULL, teller, NULL);
	sem_wait(&has_read);
	ATOMMON_STORE(balance, 5);
	sem_post(&has_paid);
	pthread_join(t, NULL);
}

int main(int argc, char **argv)
{
	const int children = argc > 1 ? atoi(argv[1]) : 0;
	int reaped = 0;

	signal(SIGCHLD, on_child);
	violate();
	/* until the report is out: the log file has something in it */
	for (int i = 0; argc > 2 && i < 1000 && access(argv[2], R_OK) != 0; i++)
		usleep(10000);
	const int found = waitpid(-1, NULL, WNOHANG);
	printf("signals %d, wait %s\n", (int)signals, found < 0 && errno == ECHILD ? "none" : "some");
	fflush(stdout);
	for (int i = 0; i < children; i++)
		if (fork() == 0) {
			violate();
			return 3;
		}
	int status;
	while (waitpid(-1, &status, 0) > 0 || errno == EINTR)
		reaped += WIFEXITED(status) && WEXITSTATUS(status) == 3, status = 0;
	printf("reaped %d\n", reaped);
	return 0;
}
