#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Critical sections as regions, accesses seen: steps in inner sections of their own are potential, a value that is
# written back after it changed is observed, and so is data that no inner lock guards.
. "$(dirname "$0")/../lib.sh"

cat >nested.c <<'END'
#include <pthread.h>
#include <semaphore.h>
#include <string.h>
static pthread_mutex_t outer = PTHREAD_MUTEX_INITIALIZER, inner = PTHREAD_MUTEX_INITIALIZER;
static sem_t go, done;
int queued, bare;
static void put(void)
{
	pthread_mutex_lock(&inner);
	queued++;
	pthread_mutex_unlock(&inner);
}
static void let_other_in(void)
{
	sem_post(&go);
	sem_wait(&done);
}
static void two_puts(void)
{
	put();
	let_other_in();
	put();
}
static void lost_update(void)
{
	pthread_mutex_lock(&inner);
	const int seen = queued;
	pthread_mutex_unlock(&inner);
	let_other_in();
	pthread_mutex_lock(&inner);
	queued = seen + 1;
	pthread_mutex_unlock(&inner);
}
static int look(const int *p)
{
	pthread_mutex_lock(&inner);
	const int seen = *p;
	pthread_mutex_unlock(&inner);
	return seen;
}
static int two_looks(void)
{
	const int first = look(&queued);
	let_other_in();
	return first + look(&queued);
}
static void unguarded(void)
{
	bare++;
	let_other_in();
	bare++;
}
static void *other(void *p)
{
	sem_wait(&go);
	if (p)
		bare += 2;
	else
		put();
	sem_post(&done);
	return NULL;
}
int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";
	pthread_t t;
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	pthread_create(&t, NULL, other, strcmp(what, "unguarded") == 0 ? &bare : NULL);
	pthread_mutex_lock(&outer);
	if (strcmp(what, "puts") == 0)
		two_puts();
	else if (strcmp(what, "lost") == 0)
		lost_update();
	else if (strcmp(what, "looks") == 0)
		two_looks();
	else
		unguarded();
	pthread_mutex_unlock(&outer);
	pthread_join(t, NULL);
	return 0;
}
END
verdicts() { ATOMMON_ATOMIC=sections LD_PRELOAD=$B/lib/libatommon.so ./nested "$1" 2>&1 | grep -oE ', (observed|potential)( \([a-z ]*\))?' | sort -u | tr -d '\n'; }

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	check "$cc: builds" env ATOMMON_CC=$cc atommon-cc -g -O1 nested.c -o nested -pthread
	same "$cc: two puts into a queue" ", potential (nested sections)" "$(verdicts puts)"
	same "$cc: two looks at a queue" ", potential (nested sections)" "$(verdicts looks)"
	check "$cc: a lost update" grep -q observed <(verdicts lost)
	same "$cc: data that only the outer lock guards" ", observed" "$(verdicts unguarded)"
done
finish
