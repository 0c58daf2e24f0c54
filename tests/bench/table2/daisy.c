/* SPDX-License-Identifier: MIT */
/* In the manner of `daisy` (Sinha et al., Table I): a tiny file system, an allocation bitmap under one
 * lock, a lock per inode; creating a file looks for a free block in one section and marks it in another. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include "atommon.h"

#define BLOCKS 32
#define INODES 8

static pthread_mutex_t bitmap_lock = PTHREAD_MUTEX_INITIALIZER;
static char is_allocated[BLOCKS];
static struct {
	pthread_mutex_t lock;
	int size, block;
} inode[INODES];

static int find_free(void)
{
	int found = -1;

	pthread_mutex_lock(&bitmap_lock);
	for (int i = 0; i < BLOCKS && found < 0; i++)
		if (!is_allocated[i])
			found = i;
	pthread_mutex_unlock(&bitmap_lock);
	return found;
}

static void create(int n)
{
	atommon_begin("create");
	const int block = find_free();
	pthread_mutex_lock(&bitmap_lock);
	is_allocated[block] = 1;
	pthread_mutex_unlock(&bitmap_lock);
	pthread_mutex_lock(&inode[n].lock);
	inode[n].block = block;
	inode[n].size = 0;
	pthread_mutex_unlock(&inode[n].lock);
	atommon_end();
}

static void append(int n, int bytes)
{
	atommon_begin("append");
	pthread_mutex_lock(&inode[n].lock);
	inode[n].size += bytes;
	pthread_mutex_unlock(&inode[n].lock);
	atommon_end();
}

static void *user(void *arg)
{
	const int id = (int)(long)arg;

	create(id);
	for (int i = 0; i < 60; i++)
		append((id + i) % 3, i);
	return NULL;
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 2;
	pthread_t t[INODES];

	for (int i = 0; i < INODES; i++)
		pthread_mutex_init(&inode[i].lock, NULL);
	for (long i = 0; i < threads && i < INODES; i++)
		pthread_create(&t[i], NULL, user, (void *)i);
	for (int i = 0; i < threads && i < INODES; i++)
		pthread_join(t[i], NULL);
	printf("%d\n", inode[0].size);
	return 0;
}
