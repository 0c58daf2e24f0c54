/*
 * The fields of a struct that share a word are accessed by one region of a thread after the other, while another region is open,
 * so that all of it may matter. The order is forced by a variable that the monitor does not see. usage: kept MODE
 *   quiet   nobody else comes: there is nothing to tell
 *   reads   a region reads one field, the next one the other; then rival(), which the first of them came behind, writes the first field
 *   writes  the same the other way round: what the first region wrote is read
 *   both    the first region wrote what the second one read, and a third one wrote the other field
 *   bytes   eight regions write a byte each, then the first one is read
 *   freed   the same as writes, and rival() gives the block back
 *   before  rival() reads what the first region wrote before rival() began; the second region came behind it. No region is broken.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "order.h"

#ifndef STRUCTS
#define STRUCTS 200
#endif
enum { ROUNDS = 20, BYTES = 8 };
enum { OPEN = 1, MET, FIRST, BEGUN, DONE, CHECKED };

static struct pair {
	union {
		struct {
			uint32_t first, second;
		};
		uint8_t byte[BYTES];
	};
} *all;
static long opened, begun;
static const char *mode;

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

/* The regions. */
__attribute__((noinline)) long hold(void);
__attribute__((noinline)) long meet(const long *from);
__attribute__((noinline)) long rival(void);
__attribute__((noinline)) long read_first(void);
__attribute__((noinline)) long read_second(void);
__attribute__((noinline)) void write_first(void);
__attribute__((noinline)) void write_second(const long *from);
__attribute__((noinline)) void write_byte(int which);

long hold(void)
{
	opened = 1;
	reach(OPEN);
	await(CHECKED);
	return 0;
}

long meet(const long *from)
{
	return *from;
}

long read_first(void)
{
	long n = begun;

	for (int i = 0; i < STRUCTS; i++)
		n += all[i].first;
	return n;
}

long read_second(void)
{
	long n = 0;

	for (int i = 0; i < STRUCTS; i++)
		n += all[i].second;
	return n;
}

void write_first(void)
{
	const uint32_t n = (uint32_t)begun;

	for (int i = 0; i < STRUCTS; i++)
		all[i].first = n;
}

void write_second(const long *from)
{
	const uint32_t n = from ? (uint32_t)*from : 3;

	for (int i = 0; i < STRUCTS; i++)
		all[i].second = n;
}

void write_byte(int which)
{
	const uint8_t n = (uint8_t)begun;

	for (int i = 0; i < STRUCTS; i++)
		all[i].byte[which] = n;
}

long rival(void)
{
	long n = 0;

	begun = 1;
	reach(BEGUN);
	await(DONE);
	if (is("reads"))
		all[STRUCTS / 2].first = 7;
	if (is("writes") || is("both") || is("before"))
		n = all[STRUCTS / 2].first;
	if (is("bytes"))
		n = all[STRUCTS / 2].byte[0];
	if (is("freed"))
		free(all);
	return n;
}

static void *fields(void *none)
{
	await(OPEN);
	use(meet(&opened)); /* from here on, what this thread does matters */
	if (is("before"))
		write_first();
	reach(FIRST);
	await(BEGUN);
	if (is("reads")) {
		use(read_first());
		use(read_second());
	} else if (is("before")) {
		write_second(&begun);
	} else if (is("bytes")) {
		for (int i = 0; i < BYTES; i++)
			write_byte(i);
	} else {
		write_first();
		if (is("both"))
			use(read_first());
		write_second(NULL);
	}
	for (int i = 0; is("quiet") && i < ROUNDS; i++) {
		write_first();
		write_second(NULL);
		use(read_first());
		use(read_second());
	}
	reach(DONE);
	return none;
}

static void *rivals(void *none)
{
	await(FIRST);
	use(rival());
	reach(CHECKED);
	return none;
}

static void *holder(void *none)
{
	use(hold());
	return none;
}

int main(int argc, char **argv)
{
	static void *(*const run[])(void *) = {holder, fields, rivals};
	pthread_t thread[3];

	if (argc != 2)
		return 2;
	mode = argv[1];
	all = calloc(STRUCTS, sizeof *all);
	for (int i = 0; i < 3; i++)
		pthread_create(&thread[i], NULL, run[i], NULL);
	for (int i = 0; i < 3; i++)
		pthread_join(thread[i], NULL);
	puts("done");
	return 0;
}
