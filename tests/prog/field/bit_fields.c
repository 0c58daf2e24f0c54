/*
 * Two flags of one object, each with a lock of its own, share a word: setting the one writes the
 * other back as it was before (kernels and file systems). Region: set_dirty.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

struct inode {
	pthread_mutex_t dirty_lock, map_lock;
#ifdef FIXED
	int is_dirty, is_mapped;
#else
	volatile unsigned is_dirty : 1, is_mapped : 1;
#endif
	long size;
};
static struct inode *inode;

NOINLINE static void set_dirty(struct inode *i)
{
	pthread_mutex_lock(&i->dirty_lock);
	i->is_dirty = 1;
	pthread_mutex_unlock(&i->dirty_lock);
}

NOINLINE static void set_mapped(struct inode *i)
{
	pthread_mutex_lock(&i->map_lock);
	i->is_mapped = 1;
	pthread_mutex_unlock(&i->map_lock);
}

static void writer(void)
{
	set_dirty(inode);
}

static void mapper(void)
{
	set_mapped(inode);
}

int main(int argc, char **argv)
{
	inode = calloc(1, sizeof *inode);
	pthread_mutex_init(&inode->dirty_lock, NULL);
	pthread_mutex_init(&inode->map_lock, NULL);
	order_run(argc, argv, writer, mapper);
	printf("%d %d\n", (int)inode->is_dirty, (int)inode->is_mapped);
	return 0;
}
