/*
 * A log is rotated by closing the old file and opening the new one; who writes in between finds it closed
 * and thinks that nobody wants the entry. Region: rotate.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>

enum kind { CLOSED, NORMAL, BINARY };
struct log {
	pthread_mutex_t lock;
	enum kind kind;
	int file;
};
static struct log binlog = {.lock = PTHREAD_MUTEX_INITIALIZER, .kind = BINARY, .file = 1};
static int written;

static void log_close(struct log *l)
{
	l->kind = CLOSED;
}

static void log_open(struct log *l, enum kind kind)
{
	l->file++;
	l->kind = kind;
}

NOINLINE static void rotate(struct log *l)
{
	pthread_mutex_lock(&l->lock);
	log_close(l);
	WHEN_WRONG(pthread_mutex_unlock(&l->lock);)
	POINT();
	WHEN_WRONG(pthread_mutex_lock(&l->lock);)
	log_open(l, BINARY);
	pthread_mutex_unlock(&l->lock);
}

static void rotator(void)
{
	rotate(&binlog);
}

static void writer(void)
{
	pthread_mutex_lock(&binlog.lock);
	const enum kind kind = binlog.kind;
	pthread_mutex_unlock(&binlog.lock);
	written = kind != CLOSED;
}

int main(int argc, char **argv)
{
	order_run(argc, argv, rotator, writer);
	printf("file %d, written %d\n", binlog.file, written);
	return 0;
}
