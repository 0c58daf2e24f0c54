/*
 * libatommon-stub.so: the trees below std::map and std::set as watched code calls them. libstdc++
 * links, unlinks and balances nodes in functions of its library, whose accesses nobody sees; these
 * do the same, node for node (tests/unit/instrument_containers.cc), and tell each access as their
 * caller's. Nothing is asked of libstdc++: it may be linked statically, or come late with a plugin.
 *
 * Layout and interface are libstdc++'s (bits/stl_tree.h); the algorithms are those of Cormen,
 * Leiserson, Rivest and Stein, "Introduction to Algorithms", sections 13.3 and 13.4, both
 * directions in one. Runs in application threads; must never allocate, lock or keep state.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/containers.h"
#include "instrument/tell.h"

#include <stdbool.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes"

enum { RED, BLACK };
enum { LEFT, RIGHT };

/* Of the header: parent is the root, the links are the first and the last node. */
struct node {
	int color;
	struct node *parent;
	struct node *link[2];
};

/* Every access goes through these. */
#define GET(place) (reads(&(place), sizeof(place)), (place))
#define SET(place, value) (writes(&(place), sizeof(place)), (void)((place) = (value)))

HELPER bool is_red(struct node *n)
{
	return n && GET(n->color) == RED;
}

/* Which child of its parent, which is not the header. */
HELPER int side_of(struct node *n, struct node *parent)
{
	return GET(parent->link[LEFT]) == n ? LEFT : RIGHT;
}

/* What points to `old`, from above, points to `new`. */
HELPER void replace(struct node *old, struct node *new, struct node *header)
{
	struct node *parent = GET(old->parent);

	if (GET(header->parent) == old) {
		SET(header->parent, new);
	} else {
		const int side = side_of(old, parent);
		SET(parent->link[side], new);
	}
}

/* `n` goes down to that side, and its other child comes up. */
HELPER void rotate(struct node *n, int side, struct node *header)
{
	struct node *up = GET(n->link[!side]), *between = GET(up->link[side]);

	SET(n->link[!side], between);
	if (between)
		SET(between->parent, n);
	SET(up->parent, GET(n->parent));
	replace(n, up, header);
	SET(up->link[side], n);
	SET(n->parent, up);
}

/* The last node that way. */
HELPER struct node *end_of(struct node *n, int side)
{
	struct node *next;

	while ((next = GET(n->link[side])))
		n = next;
	return n;
}

/* ---- one in
 * --------------------------------------------------------------------------------------- */

HELPER void balance_insert(struct node *x, struct node *header)
{
	struct node *parent, *above;

	while (x != GET(header->parent) && is_red(parent = GET(x->parent))) {
		above = GET(parent->parent);
		const int side = side_of(parent, above);
		struct node *uncle = GET(above->link[!side]);
		if (is_red(uncle)) {
			SET(parent->color, BLACK);
			SET(uncle->color, BLACK);
			SET(above->color, RED);
			x = above;
			continue;
		}
		if (x == GET(parent->link[!side])) {
			rotate(parent, side, header);
			x = parent;
			parent = GET(x->parent);
		}
		SET(parent->color, BLACK);
		SET(above->color, RED);
		rotate(above, !side, header);
	}
	struct node *root = GET(header->parent);
	SET(root->color, BLACK);
}

EXPORT void AM_TREE_INSERT(bool left, struct node *x, struct node *parent, struct node *header)
{
	const int side = left ? LEFT : RIGHT;

	SET(x->parent, parent);
	SET(x->link[LEFT], NULL);
	SET(x->link[RIGHT], NULL);
	SET(x->color, RED);
	if (parent == header) { /* the first of all */
		SET(header->link[LEFT], x);
		SET(header->parent, x);
		SET(header->link[RIGHT], x);
	} else {
		SET(parent->link[side], x);
		if (parent == GET(header->link[side]))
			SET(header->link[side], x);
	}
	balance_insert(x, header);
}

/* ---- one out
 * -------------------------------------------------------------------------------------- */

/* One black is missing on the way down to x, which may be NULL, below `parent`. */
HELPER void balance_erase(struct node *x, struct node *parent, struct node *header)
{
	while (x != GET(header->parent) && !is_red(x)) {
		const int side = x == GET(parent->link[LEFT]) ? LEFT : RIGHT;
		struct node *other = GET(parent->link[!side]);
		if (is_red(other)) {
			SET(other->color, BLACK);
			SET(parent->color, RED);
			rotate(parent, side, header);
			other = GET(parent->link[!side]);
		}
		struct node *outer = GET(other->link[!side]), *inner = GET(other->link[side]);
		if (!is_red(inner) && !is_red(outer)) {
			SET(other->color, RED);
			x = parent;
			parent = GET(x->parent);
			continue;
		}
		if (!is_red(outer)) {
			SET(inner->color, BLACK);
			SET(other->color, RED);
			rotate(other, !side, header);
			other = inner;
			outer = GET(other->link[!side]);
		}
		SET(other->color, GET(parent->color));
		SET(parent->color, BLACK);
		if (outer)
			SET(outer->color, BLACK);
		rotate(parent, side, header);
		break;
	}
	if (x)
		SET(x->color, BLACK);
}

/* If z is the header's first or last, the next one inwards is, which is below it or above it. */
HELPER void pass_end_on(struct node *z, struct node *only_child, int side, struct node *header)
{
	if (GET(header->link[side]) != z)
		return;
	if (only_child)
		SET(header->link[side], end_of(only_child, side));
	else
		SET(header->link[side], GET(z->parent));
}

EXPORT struct node *AM_TREE_ERASE(struct node *z, struct node *header)
{
	struct node *left = GET(z->link[LEFT]), *right = GET(z->link[RIGHT]), *child, *below;
	int color = GET(z->color);

	if (!left || !right) {
		child = left ? left : right;
		below = GET(z->parent);
		if (child)
			SET(child->parent, below);
		replace(z, child, header);
		pass_end_on(z, child, LEFT, header);
		pass_end_on(z, child, RIGHT, header);
	} else { /* the next node takes its place, with its color */
		struct node *next = end_of(right, LEFT);
		child = GET(next->link[RIGHT]);
		SET(left->parent, next);
		SET(next->link[LEFT], left);
		below = next;
		if (next != right) {
			below = GET(next->parent);
			if (child)
				SET(child->parent, below);
			SET(below->link[LEFT], child);
			SET(next->link[RIGHT], right);
			SET(right->parent, next);
		}
		replace(z, next, header);
		SET(next->parent, GET(z->parent));
		color = GET(next->color);
		SET(next->color, GET(z->color));
		SET(z->color, color);
	}
	if (color == BLACK)
		balance_erase(child, below, header);
	return z;
}

/* ---- from one to the next
 * ------------------------------------------------------------------------- */

HELPER struct node *step(struct node *n, int side)
{
	struct node *next = GET(n->link[side]), *parent;

	if (next)
		return end_of(next, !side);
	parent = GET(n->parent);
	while (n == GET(parent->link[side])) {
		n = parent;
		parent = GET(n->parent);
	}
	/* The header is above the root, and the root's parent: the last one of a tree without a
	 * right side. */
	return GET(n->link[side]) != parent ? parent : n;
}

HELPER struct node *step_back(struct node *n)
{
	struct node *parent = GET(n->parent);

	/* The header: red, and its parent's parent. From there to the last. */
	if (GET(n->color) == RED && GET(parent->parent) == n)
		return GET(n->link[RIGHT]);
	return step(n, LEFT);
}

EXPORT struct node *AM_TREE_NEXT(struct node *n)
{
	return step(n, RIGHT);
}

EXPORT struct node *AM_TREE_NEXT_CONST(struct node *n)
{
	return step(n, RIGHT);
}

EXPORT struct node *AM_TREE_PREVIOUS(struct node *n)
{
	return step_back(n);
}

EXPORT struct node *AM_TREE_PREVIOUS_CONST(struct node *n)
{
	return step_back(n);
}
