/*
 * A snapshot of a database is the next transaction and the list of those that run. Read one after
 * the other, each with its lock, a transaction that begins in between is in neither. Region:
 * take_snapshot.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>

enum { SLOTS = 8 };
struct snapshot {
	unsigned xmax;
	int n;
	unsigned running[SLOTS];
};
static pthread_mutex_t xid_lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t proc_array = PTHREAD_RWLOCK_INITIALIZER;
static unsigned next_xid = 100, running[SLOTS];
static struct snapshot taken;

NOINLINE static void take_snapshot(struct snapshot *s)
{
	WHEN_FIXED(pthread_rwlock_rdlock(&proc_array));
	pthread_mutex_lock(&xid_lock);
	s->xmax = next_xid;
	pthread_mutex_unlock(&xid_lock);
	POINT();
	WHEN_WRONG(pthread_rwlock_rdlock(&proc_array);)
	s->n = 0;
	for (int i = 0; i < SLOTS; i++)
		if (running[i])
			s->running[s->n++] = running[i];
	pthread_rwlock_unlock(&proc_array);
}

NOINLINE static unsigned begin_transaction(int slot)
{
	unsigned xid;

	pthread_rwlock_wrlock(&proc_array);
	pthread_mutex_lock(&xid_lock);
	xid = next_xid++;
	pthread_mutex_unlock(&xid_lock);
	running[slot] = xid;
	pthread_rwlock_unlock(&proc_array);
	return xid;
}

static void reader(void)
{
	take_snapshot(&taken);
}

static void writer(void)
{
	begin_transaction(3);
}

int main(int argc, char **argv)
{
	order_run(argc, argv, reader, writer);
	for (int i = 0; i < taken.n; i++)
		if (taken.running[i] >= taken.xmax)
			puts("a running transaction of the future");
	return 0;
}
