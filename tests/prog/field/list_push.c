/*
 * A linked list under a spin lock made of an atomic flag: the new node's successor is read in one section,
 * the head is set in another, and a node that came in between is lost. Region: push.
 */
/* SPDX-License-Identifier: MIT */
#include "order.h"

#include <sched.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

struct node {
	struct node *next;
	int value;
};
static atomic_flag busy = ATOMIC_FLAG_INIT;
static struct node *head;

static void take(void)
{
	while (atomic_flag_test_and_set_explicit(&busy, memory_order_acquire))
		sched_yield();
}

static void give(void)
{
	atomic_flag_clear_explicit(&busy, memory_order_release);
}

NOINLINE static void push(int value)
{
	struct node *n = malloc(sizeof *n);

	if (!n)
		exit(1);
	n->value = value;
	take();
	n->next = head;
	WHEN_WRONG(give();)
	POINT();
	WHEN_WRONG(take();)
	head = n;
	give();
}

static void one(void)
{
	push(1);
}

static void two(void)
{
	push(2);
}

int main(int argc, char **argv)
{
	int n = 0;

	order_run(argc, argv, one, two);
	for (struct node *p = head; p; p = p->next)
		n++;
	printf("%d nodes\n", n);
	return 0;
}
