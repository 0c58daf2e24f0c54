/*
 * Regions that read first and ask afterwards whether what they read is still so; if not they go round again.
 * usage: validate KIND: seqlock, optimistic; and wrong: unasked (the sequence is not read again), late (the writer
 * counts only when all is written), blind (nobody asks under the second lock), other (it asks for something else).
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static atomic_uint sequence;
static atomic_long one, two;
static pthread_mutex_t first = PTHREAD_MUTEX_INITIALIZER, second = PTHREAD_MUTEX_INITIALIZER;
static int version, edition, stock, sold;
static const char *kind;

static bool is_kind(const char *name)
{
	return strcmp(kind, name) == 0;
}

/* ---- sequence locks ---- */

NOINLINE static void publish(void)
{
	const unsigned s = atomic_load(&sequence);

	atomic_store(&sequence, s + 1);
	atomic_store(&one, 1);
	atomic_store(&two, 1);
	atomic_store(&sequence, s + 2);
}

NOINLINE static void publish_late(void)
{
	atomic_store(&one, 1);
	atomic_store(&two, 1);
	atomic_store(&sequence, 2);
}

NOINLINE static long snapshot(void)
{
	unsigned before, after;
	long sum;

	do {
		while ((before = atomic_load(&sequence)) & 1)
			;
		sum = atomic_load(&one);
		sum -= atomic_load(&two);
		after = atomic_load(&sequence);
	} while (before != after);
	return sum;
}

NOINLINE static long snapshot_unasked(void)
{
	while (atomic_load(&sequence) & 1)
		;
	const long a = atomic_load(&one);
	return a - atomic_load(&two);
}

/* ---- two locks: stock and version change under both ---- */

NOINLINE static void change(void)
{
	pthread_mutex_lock(&first);
	pthread_mutex_lock(&second);
	stock += 10;
	version++;
	pthread_mutex_unlock(&second);
	pthread_mutex_unlock(&first);
}

NOINLINE static void sell(void)
{
	for (;;) {
		pthread_mutex_lock(&first);
		const int seen = version, have = stock;
		pthread_mutex_unlock(&first);
		pthread_mutex_lock(&second);
		const bool is_same = seen == version;
		if (is_same)
			sold += have;
		pthread_mutex_unlock(&second);
		if (is_same)
			return;
	}
}

NOINLINE static void sell_blind(void)
{
	pthread_mutex_lock(&first);
	const int have = stock;
	pthread_mutex_unlock(&first);
	pthread_mutex_lock(&second);
	sold += have + version;
	pthread_mutex_unlock(&second);
}

/* Nobody but a correction, which changes no stock, counts editions. */
NOINLINE static void sell_other(void)
{
	for (;;) {
		pthread_mutex_lock(&first);
		const int seen = edition, have = stock;
		pthread_mutex_unlock(&first);
		pthread_mutex_lock(&second);
		const bool is_same = seen == edition;
		if (is_same)
			sold += have + version;
		pthread_mutex_unlock(&second);
		if (is_same)
			return;
	}
}

NOINLINE static void correct(void)
{
	pthread_mutex_lock(&first);
	pthread_mutex_lock(&second);
	edition++;
	pthread_mutex_unlock(&second);
	pthread_mutex_unlock(&first);
}

static void *reader(void *arg)
{
	if (is_kind("seqlock") || is_kind("late"))
		snapshot();
	else if (is_kind("unasked"))
		snapshot_unasked();
	else if (is_kind("optimistic"))
		sell();
	else if (is_kind("blind"))
		sell_blind();
	else
		sell_other();
	return arg;
}

static void *writer(void *arg)
{
	if (is_kind("late"))
		publish_late();
	else if (is_kind("seqlock") || is_kind("unasked"))
		publish();
	else
		change();
	if (is_kind("other"))
		correct();
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	kind = argc > 1 ? argv[1] : "";
	pthread_create(&a, NULL, reader, NULL);
	pthread_create(&b, NULL, writer, NULL);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	return 0;
}
