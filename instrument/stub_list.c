/*
 * libatommon-stub.so: the links of std::list as watched code calls them; see stub_tree.c. The
 * layout is libstdc++'s (bits/stl_list.h): a ring, the list itself one of its nodes. Runs in
 * application threads; must never allocate, lock or keep state.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/containers.h"
#include "instrument/tell.h"

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

struct node {
	struct node *next, *previous;
};

#define GET(place) (reads(&(place), sizeof(place)), (place))
#define SET(place, value) (writes(&(place), sizeof(place)), (void)((place) = (value)))

/* `b` comes after `a`. */
HELPER void join(struct node *a, struct node *b)
{
	SET(a->next, b);
	SET(b->previous, a);
}

EXPORT void AM_LIST_HOOK(struct node *n, struct node *position)
{
	struct node *before = GET(position->previous);

	join(before, n);
	join(n, position);
}

EXPORT void AM_LIST_UNHOOK(struct node *n)
{
	struct node *next = GET(n->next), *before = GET(n->previous);

	join(before, next);
}

/* [first, last) goes before `position`, which is not among them. */
EXPORT void AM_LIST_TRANSFER(struct node *position, struct node *first, struct node *last)
{
	if (position == last)
		return;
	struct node *end = GET(last->previous), *before = GET(first->previous);
	struct node *front = GET(position->previous);
	join(before, last);
	join(front, first);
	join(end, position);
}

EXPORT void AM_LIST_REVERSE(struct node *list)
{
	struct node *n = list;

	do {
		struct node *next = GET(n->next);
		SET(n->next, GET(n->previous));
		SET(n->previous, next);
		n = next;
	} while (n != list);
}

/* The nodes of one ring to another that has none. */
HELPER void move(struct node *from, struct node *to)
{
	struct node *first = GET(from->next), *last = GET(from->previous);

	join(to, first);
	join(last, to);
	join(from, from);
}

EXPORT void AM_LIST_SWAP(struct node *a, struct node *b)
{
	struct node *first = GET(a->next), *last = GET(a->previous);

	if (first == a && GET(b->next) == b)
		return;
	if (first == a) {
		move(b, a);
	} else if (GET(b->next) == b) {
		move(a, b);
	} else {
		struct node *other = GET(b->next), *end = GET(b->previous);
		join(a, other);
		join(end, a);
		join(b, first);
		join(last, b);
	}
}
