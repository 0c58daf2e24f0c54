/*
 * A lookup returns the process without a reference of its own; when the last owner lets go, it is
 * freed while its finder still works on it (an application server). Region: deliver.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct process {
	struct process *next;
	int pid, use_count;
	long messages;
};
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct process *processes;

static struct process *find(int pid)
{
	struct process *p;

	for (p = processes; p && p->pid != pid; p = p->next)
		;
	return p;
}

static void add(int pid)
{
	struct process *p = calloc(1, sizeof *p);

	p->pid = pid;
	p->use_count = 1;
	pthread_mutex_lock(&lock);
	p->next = processes;
	processes = p;
	pthread_mutex_unlock(&lock);
}

static void unuse(struct process *p)
{
	struct process **link;

	if (--p->use_count > 0)
		return;
	for (link = &processes; *link != p; link = &(*link)->next)
		;
	*link = p->next;
	free(p);
}

NOINLINE static void deliver(int pid)
{
	struct process *p;

	pthread_mutex_lock(&lock);
	p = find(pid);
	WHEN_WRONG(pthread_mutex_unlock(&lock);)
	POINT();
	if (p)
		p->messages++;
	WHEN_FIXED(pthread_mutex_unlock(&lock);)
}

NOINLINE static void died(int pid)
{
	pthread_mutex_lock(&lock);
	struct process *p = find(pid);
	if (p)
		unuse(p);
	pthread_mutex_unlock(&lock);
}

static void router(void)
{
	deliver(7);
}

static void reaper(void)
{
	died(7);
}

int main(int argc, char **argv)
{
	add(3);
	add(7);
	order_run(argc, argv, router, reaper);
	printf("%d left\n", (processes != NULL) + (processes && processes->next));
	return 0;
}
