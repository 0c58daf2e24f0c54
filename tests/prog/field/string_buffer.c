/*
 * append() asks the other buffer for its length and then for its characters; both calls take the lock, and
 * in between somebody shortens it (the string class of a well-known library). Region: append.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

struct buffer {
	pthread_mutex_t lock;
	size_t length;
	char text[32];
};
static struct buffer source = {.length = 5, .text = "abcde"}, target;
static int too_long;

static size_t length_of(struct buffer *b)
{
	WHEN_WRONG(pthread_mutex_lock(&b->lock);)
	const size_t n = b->length;
	WHEN_WRONG(pthread_mutex_unlock(&b->lock);)
	return n;
}

static void get_chars(struct buffer *b, char *to, size_t n)
{
	WHEN_WRONG(pthread_mutex_lock(&b->lock);)
	if (n > b->length) {
		too_long++;
		n = b->length;
	}
	memcpy(to, b->text, n);
	WHEN_WRONG(pthread_mutex_unlock(&b->lock);)
}

NOINLINE static void append(struct buffer *to, struct buffer *from)
{
	pthread_mutex_lock(&to->lock);
#ifdef FIXED
	pthread_mutex_lock(&from->lock);
#endif
	const size_t n = length_of(from);
	POINT();
	get_chars(from, to->text + to->length, n);
	to->length += n;
#ifdef FIXED
	pthread_mutex_unlock(&from->lock);
#endif
	pthread_mutex_unlock(&to->lock);
}

static void appender(void)
{
	append(&target, &source);
}

static void shortener(void)
{
	pthread_mutex_lock(&source.lock);
	source.length = 0;
	pthread_mutex_unlock(&source.lock);
}

int main(int argc, char **argv)
{
	pthread_mutex_init(&source.lock, NULL);
	pthread_mutex_init(&target.lock, NULL);
	order_run(argc, argv, appender, shortener);
	printf("length %zu, too long %d\n", target.length, too_long);
	return 0;
}
