/*
 * Writing to a private mapping: the first pass makes a copy and drops the wish to write, the
 * second looks the page up again, and by then the copy may have been thrown away, so that the
 * shared page is written (a kernel's long-lived mistake). Region: write_page.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct page {
	char data[16];
};
static pthread_mutex_t table_lock = PTHREAD_MUTEX_INITIALIZER;
static struct page file_page = {"read only"};
static struct page *entry, spare;

static struct page *lookup(void)
{
	if (!entry)
		entry = &file_page;
	return entry;
}

NOINLINE static void write_page(const char *text)
{
	struct page *p;

	pthread_mutex_lock(&table_lock);
	p = lookup();
	if (p == &file_page) {
		spare = file_page;
		entry = &spare;
	}
	WHEN_WRONG(pthread_mutex_unlock(&table_lock);)
	POINT();
	WHEN_WRONG(pthread_mutex_lock(&table_lock);)
	p = lookup();
	strncpy(p->data, text, sizeof p->data - 1);
	pthread_mutex_unlock(&table_lock);
}

NOINLINE static void dont_need(void)
{
	pthread_mutex_lock(&table_lock);
	entry = NULL;
	pthread_mutex_unlock(&table_lock);
}

static void writer(void)
{
	write_page("mine");
}

int main(int argc, char **argv)
{
	order_run(argc, argv, writer, dont_need);
	printf("the file says %s\n", file_page.data);
	return 0;
}
