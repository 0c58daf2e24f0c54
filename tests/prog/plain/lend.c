/*
 * Regions of several threads read the same memory while all of them are open. The order is forced by a variable that the
 * monitor does not see. usage: lend MODE READER
 *   shared  nobody writes: there is nothing to tell
 *   again   a word is written, and the reader that the number names reads it again
 *   other   a word is written, and then another, which that reader reads
 *   freed   the same, with the block given back instead of written
 *   filled  a buffer that another thread's region filled is read; that thread met one of the other regions before
 *   patched and then a byte of it is changed, and with it another word, which the reader reads
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"

#ifndef WORDS
#define WORDS 512
#endif
enum { READERS = 4, BYTES = 20000 };
/* Of the order: all have read twice, and so on. */
enum { READ = 2 * READERS, MET, FILLED, COUNTED, CHANGED };

static long *table, note, met;
static unsigned char buffer[BYTES];
static const char *mode;
static int chosen;

/* Or the compiler leaves out what leads to it. */
UNSEEN static void use(long n)
{
	static volatile long last;

	last = n;
}

UNSEEN static int is(const char *name)
{
	return strcmp(mode, name) == 0;
}

UNSEEN static int is_chosen(int reader)
{
	return reader == chosen;
}

static __attribute__((noinline)) long sum(void)
{
	long n = 0;

	for (int i = 0; i < WORDS; i++)
		n += table[i];
	return n;
}

static __attribute__((noinline)) long count(void)
{
	long n = 0;

	for (int i = 0; i < BYTES; i++)
		n += buffer[i];
	return n;
}

/* The regions. */
__attribute__((noinline)) long look(int reader);
__attribute__((noinline)) long change(void);
__attribute__((noinline)) long fill(void);

/* All read, one after the other and then once more; then the writer comes, then one of them goes on. */
long look(int reader)
{
	const int fills = is("filled") || is("patched");
	long n = 0;

	for (int round = 0; round < 2; round++) {
		await(round * READERS + reader);
		n += sum();
		reach(round * READERS + reader + 1);
	}
	if (fills && is_chosen((reader + 1) % READERS)) {
		await(READ);
		met = 1;
		reach(MET);
	}
	if (fills && is_chosen(reader)) {
		await(FILLED);
		n += count();
		reach(COUNTED);
	}
	await(CHANGED);
	if (is_chosen(reader) && is("again"))
		n += table[WORDS / 2];
	if (is_chosen(reader) && !is("again") && !is("shared") && !is("filled"))
		n += note;
	await(CHANGED + reader);
	reach(CHANGED + reader + 1);
	return n;
}

long fill(void)
{
	memset(buffer, 1, sizeof buffer / 2);
	for (int i = BYTES / 2; i < BYTES; i++)
		buffer[i] = (unsigned char)i;
	return buffer[BYTES - 1];
}

long change(void)
{
	if (is("again") || is("other"))
		table[WORDS / 2] = 3;
	if (is("freed")) {
		free(table);
		table = NULL;
	}
	if (is("patched"))
		buffer[BYTES / 2 + 3] = 9;
	if (!is("shared") && !is("filled") && !is("again"))
		note = 1;
	return 0;
}

static void *reader(void *number)
{
	use(look((int)(long)number));
	return NULL;
}

/* Behind this, the thread is behind an open region, and what it does matters. Main itself began before anything was watched. */
static __attribute__((noinline)) long meet(void)
{
	return met;
}

int main(int argc, char **argv)
{
	pthread_t t[READERS];

	if (argc != 3)
		return 2;
	mode = argv[1];
	chosen = atoi(argv[2]);
	table = calloc(WORDS, sizeof *table);
	for (long i = 0; i < READERS; i++)
		if (pthread_create(&t[i], NULL, reader, (void *)i))
			return 1;
	await(READ);
	if (is("filled") || is("patched")) {
		await(MET);
		use(meet());
		fill();
		reach(FILLED);
		await(COUNTED);
	}
	change();
	reach(CHANGED);
	for (int i = 0; i < READERS; i++)
		pthread_join(t[i], NULL);
	free(table);
	return 0;
}
