/*
 * Random insertions, erasures and walks on two trees and two rings: one through the functions that
 * code made from templates calls, which are the wrapper's if it was built by it, one through
 * libstdc++'s own, found by name. After each step both must have the same shape. containers [SEED
 * [STEPS]]
 */
/* SPDX-License-Identifier: MIT */
#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <list>
#include <map>
#include <random>
#include <vector>

#include "atommon/containers.h"

namespace
{

using Node = std::_Rb_tree_node_base;
using Link = std::__detail::_List_node_base;

#define NAME_OF(name) #name,
const char *const names[] = {AM_CONTAINER_FUNCTIONS(NAME_OF)};
enum {
	INSERT,
	ERASE,
	NEXT,
	NEXT_CONST,
	PREVIOUS,
	PREVIOUS_CONST,
	HOOK,
	UNHOOK,
	TRANSFER,
	REVERSE,
	SWAP
};

template <class F> F real(int which)
{
	void *f = dlsym(RTLD_DEFAULT, names[which]);

	if (!f) {
		std::printf("no %s\n", names[which]);
		std::exit(2);
	}
	return reinterpret_cast<F>(f);
}

[[noreturn]] void differ(const char *what, long step)
{
	std::printf("%s differ after step %ld\n", what, step);
	std::exit(1);
}

/* ---- trees: node i of the one corresponds to node i of the other, and 0 is the header
 * --------------- */

struct Tree {
	std::vector<Node> node;
	explicit Tree(std::size_t n) : node(n + 1)
	{
		node[0]._M_color = std::_S_red;
		node[0]._M_parent = nullptr;
		node[0]._M_left = node[0]._M_right = &node[0];
	}
	long at(const Node *p) const
	{
		return p ? p - node.data() : -1;
	}
	bool operator==(const Tree &o) const
	{
		for (std::size_t i = 0; i < node.size(); i++)
			if (node[i]._M_color != o.node[i]._M_color ||
			    at(node[i]._M_parent) != o.at(o.node[i]._M_parent) ||
			    at(node[i]._M_left) != o.at(o.node[i]._M_left) ||
			    at(node[i]._M_right) != o.at(o.node[i]._M_right))
				return false;
		return true;
	}
};

/* Nodes are in order of their numbers. */
void place(const Tree &t, long n, long &parent, bool &left)
{
	const Node *x = t.node[0]._M_parent;

	parent = 0;
	left = true;
	while (x) {
		parent = t.at(x);
		left = n < parent;
		x = left ? x->_M_left : x->_M_right;
	}
}

void trees(std::mt19937 &random, long steps)
{
	const std::size_t size = 1 + random() % 60;
	Tree a(size), b(size);
	std::vector<bool> is_in(size + 1);
	const auto insert = real<void (*)(bool, Node *, Node *, Node &)>(INSERT);
	const auto erase = real<Node *(*)(Node *, Node &)>(ERASE);
	const auto next = real<Node *(*)(Node *)>(NEXT),
		   previous = real<Node *(*)(Node *)>(PREVIOUS);

	for (long step = 0; step < steps; step++) {
		const long n = 1 + static_cast<long>(random() % size);
		if (is_in[n]) {
			Node *x = std::_Rb_tree_rebalance_for_erase(&a.node[n], a.node[0]);
			Node *y = erase(&b.node[n], b.node[0]);
			if (a.at(x) != n || b.at(y) != n)
				differ("erased nodes", step);
		} else {
			long parent;
			bool left;
			place(b, n, parent, left);
			std::_Rb_tree_insert_and_rebalance(left, &a.node[n], &a.node[parent],
							   a.node[0]);
			insert(left, &b.node[n], &b.node[parent], b.node[0]);
		}
		is_in[n] = !is_in[n];
		if (!(a == b))
			differ("trees", step);
		for (Node *x = a.node[0]._M_left, *y = b.node[0]._M_left; x != &a.node[0];
		     y = next(y)) {
			const Node *cx = x, *cy = y;
			if (a.at(std::_Rb_tree_increment(cx)) != b.at(next(y)) ||
			    a.at(x) != b.at(y))
				differ("walks", step);
			if (a.at(std::_Rb_tree_decrement(std::_Rb_tree_increment(x))) !=
				    b.at(previous(next(y))) ||
			    a.at(std::_Rb_tree_decrement(std::_Rb_tree_increment(cx))) != a.at(x) ||
			    cy != y)
				differ("walks back", step);
			x = std::_Rb_tree_increment(x);
		}
	}
}

/* ---- rings: nodes 0 and 1 are lists, the others go to and fro
 * --------------------------------------- */

struct Rings {
	std::vector<Link> node;
	explicit Rings(std::size_t n) : node(n)
	{
		for (auto &l : node)
			l._M_next = l._M_prev = &l;
	}
	long at(const Link *p) const
	{
		return p - node.data();
	}
	bool operator==(const Rings &o) const
	{
		for (std::size_t i = 0; i < node.size(); i++)
			if (at(node[i]._M_next) != o.at(o.node[i]._M_next) ||
			    at(node[i]._M_prev) != o.at(o.node[i]._M_prev))
				return false;
		return true;
	}
	/* A node of that list, or the list, by a random number. */
	long pick(long list, unsigned far) const
	{
		const Link *l = &node[list];
		for (far %= 8; far; far--)
			l = l->_M_next;
		return at(l);
	}
};

void rings(std::mt19937 &random, long steps)
{
	const std::size_t size = 3 + random() % 20;
	Rings a(size), b(size);
	std::vector<bool> is_in(size);
	const auto hook = real<void (*)(Link *, Link *)>(HOOK);
	const auto unhook = real<void (*)(Link *)>(UNHOOK),
		   reverse = real<void (*)(Link *)>(REVERSE);
	const auto transfer = real<void (*)(Link *, Link *, Link *)>(TRANSFER);
	const auto swap = real<void (*)(Link &, Link &)>(SWAP);

	for (long step = 0; step < steps; step++) {
		const long n = 2 + static_cast<long>(random() % (size - 2)),
			   list = static_cast<long>(random() % 2);
		switch (random() % 5) {
		case 0:
		case 1:
			if (is_in[n]) {
				a.node[n]._M_unhook();
				unhook(&b.node[n]);
				a.node[n]._M_next = a.node[n]._M_prev = &a.node[n];
				b.node[n]._M_next = b.node[n]._M_prev = &b.node[n];
			} else {
				const long at = a.pick(list, random());
				a.node[n]._M_hook(&a.node[at]);
				hook(&b.node[n], &b.node[at]);
			}
			is_in[n] = !is_in[n];
			break;
		case 2:
			a.node[list]._M_reverse();
			reverse(&b.node[list]);
			break;
		case 3:
			Link::swap(a.node[0], a.node[1]);
			swap(b.node[0], b.node[1]);
			break;
		default: { /* the front of one list, up to somewhere, into the other */
			const long to = a.pick(list, random()), other = 1 - list;
			const long first = a.at(a.node[other]._M_next),
				   last = a.pick(other, random());
			if (last == first || first == other)
				break;
			a.node[to]._M_transfer(&a.node[first], &a.node[last]);
			transfer(&b.node[to], &b.node[first], &b.node[last]);
		}
		}
		if (!(a == b))
			differ("rings", step);
	}
}

} // namespace

int main(int argc, char **argv)
{
	const unsigned seed = argc > 1 ? static_cast<unsigned>(std::atoi(argv[1])) : 1;
	const long steps = argc > 2 ? std::atol(argv[2]) : 300;

	for (unsigned i = 0; i < 20; i++) {
		std::mt19937 random(seed * 1000 + i);
		trees(random, steps);
		rings(random, steps);
	}
	std::printf("the same, seed %u\n", seed);
}
