/* Lock-free code whose operations are atomic: counters, stacks, objects made once, versions, marks. All are right. */
/* SPDX-License-Identifier: MIT */
#include "team.h"

#include <stdatomic.h>
#include <stdint.h>

/* ---- counters ---- */
static atomic_long counter, highest;

NOINLINE static void op_add_loop(unsigned who, unsigned round)
{
	long old;

	(void)who, (void)round;
	do
		old = atomic_load(&counter);
	while (!atomic_compare_exchange_strong(&counter, &old, old + 1));
}

NOINLINE static void op_add_again(unsigned who, unsigned round)
{
	long old = atomic_load_explicit(&counter, memory_order_relaxed);

	(void)who, (void)round;
	while (!atomic_compare_exchange_weak(&counter, &old, old + 1))
		;
}

NOINLINE static void op_fetch_add(unsigned who, unsigned round)
{
	(void)who, (void)round;
	atomic_fetch_add_explicit(&counter, 1, memory_order_relaxed);
}

static int is_counted(unsigned threads, unsigned rounds)
{
	return counter == (long)threads * rounds;
}

NOINLINE static void op_raise(unsigned who, unsigned round)
{
	const long mine = (long)round * 10 + who;
	long seen = atomic_load(&highest);

	while (seen < mine && !atomic_compare_exchange_weak(&highest, &seen, mine))
		;
}

static int is_highest(unsigned threads, unsigned rounds)
{
	return highest == (long)(rounds - 1) * 10 + threads - 1;
}

/* ---- a stack whose nodes are used again: index and version in one word ---- */
enum { NODES = 256 };
static struct node {
	_Atomic uint32_t next;
	long value;
} nodes[NODES];
static _Atomic uint64_t top, spare;
static atomic_long pushed, popped;

NOINLINE static void op_push(_Atomic uint64_t *stack, uint32_t node)
{
	uint64_t old = atomic_load(stack);

	do
		atomic_store_explicit(&nodes[node].next, (uint32_t)old, memory_order_relaxed);
	while (!atomic_compare_exchange_weak(stack, &old, ((old >> 32) + 1) << 32 | node));
}

NOINLINE static uint32_t op_pop(_Atomic uint64_t *stack)
{
	uint64_t old = atomic_load(stack), next;

	do {
		if ((uint32_t)old == 0)
			return 0;
		next = atomic_load_explicit(&nodes[(uint32_t)old].next, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak(stack, &old, ((old >> 32) + 1) << 32 | next));
	return (uint32_t)old;
}

static void make_nodes(unsigned threads)
{
	(void)threads;
	for (uint32_t i = 1; i < NODES; i++)
		op_push(&spare, i);
}

static void push_and_pop(unsigned who, unsigned round)
{
	const uint32_t node = op_pop(&spare);

	if (node) {
		nodes[node].value = (long)who * 1000 + round;
		atomic_fetch_add(&pushed, nodes[node].value);
		op_push(&top, node);
	}
	const uint32_t got = op_pop(&top);
	if (got) {
		atomic_fetch_add(&popped, nodes[got].value);
		op_push(&spare, got);
	}
}

static int is_balanced(unsigned threads, unsigned rounds)
{
	(void)threads, (void)rounds;
	return pushed == popped && (uint32_t)top == 0;
}

/* ---- a list that is only pushed to ---- */
struct item {
	struct item *next;
};
static _Atomic(struct item *) items;

NOINLINE static void op_insert(unsigned who, unsigned round)
{
	struct item *new = malloc(sizeof *new);

	(void)who, (void)round;
	new->next = atomic_load(&items);
	while (!atomic_compare_exchange_weak(&items, &new->next, new))
		;
}

static int is_all_there(unsigned threads, unsigned rounds)
{
	unsigned n = 0;

	for (struct item *i = items; i; i = i->next)
		n++;
	return n == threads * rounds;
}

/* ---- made once, by whoever comes first ---- */
static atomic_int state;
static int made;

NOINLINE static int op_once(void)
{
	int none = 0;

	if (atomic_compare_exchange_strong(&state, &none, 1)) {
		made += 42;
		atomic_store(&state, 2);
	} else {
		while (atomic_load(&state) != 2)
			sched_yield();
	}
	return made;
}

NOINLINE static int op_once_checked(void)
{
	int none = 0;

	if (atomic_load_explicit(&state, memory_order_acquire) == 2)
		return made;
	if (atomic_compare_exchange_strong(&state, &none, 1)) {
		made += 42;
		atomic_store_explicit(&state, 2, memory_order_release);
	}
	while (atomic_load_explicit(&state, memory_order_acquire) != 2)
		;
	return made;
}

static void use_once(unsigned who, unsigned round)
{
	(void)who, (void)round;
	if (op_once() != 42)
		abort();
}

static void use_once_checked(unsigned who, unsigned round)
{
	(void)who, (void)round;
	if (op_once_checked() != 42)
		abort();
}

static int is_made(unsigned threads, unsigned rounds)
{
	(void)threads, (void)rounds;
	return made == 42;
}

struct config {
	int a, b;
};
static _Atomic(struct config *) config;
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

/* Looked at, and once more under the lock. */
NOINLINE static int op_double_checked(void)
{
	struct config *c = atomic_load_explicit(&config, memory_order_acquire);

	if (!c) {
		pthread_mutex_lock(&mutex);
		c = atomic_load_explicit(&config, memory_order_relaxed);
		if (!c) {
			c = malloc(sizeof *c);
			c->a = c->b = 21;
			made = 42;
			atomic_store_explicit(&config, c, memory_order_release);
		}
		pthread_mutex_unlock(&mutex);
	}
	return c->a + c->b;
}

/* Made beside the others, and thrown away if somebody was faster. */
NOINLINE static int op_first_wins(void)
{
	struct config *c = atomic_load(&config);

	if (!c) {
		struct config *new = malloc(sizeof *new);
		new->a = new->b = 21;
		if (atomic_compare_exchange_strong(&config, &c, new))
			c = new;
		else
			free(new);
	}
	return c->a + c->b;
}

static void use_double_checked(unsigned who, unsigned round)
{
	(void)who, (void)round;
	if (op_double_checked() != 42)
		abort();
}

static void use_first_wins(unsigned who, unsigned round)
{
	(void)who, (void)round;
	if (op_first_wins() != 42)
		abort();
}

static int is_configured(unsigned threads, unsigned rounds)
{
	(void)threads, (void)rounds;
	return config && config->a == 21;
}

/* ---- versions: readers take the newest, a writer makes the next and publishes it ---- */
static struct config versions[4096];
static unsigned n_versions;

static void make_version(unsigned threads)
{
	(void)threads;
	atomic_store(&config, &versions[n_versions++]);
}

NOINLINE static void op_replace(void)
{
	pthread_mutex_lock(&mutex);
	struct config *old = atomic_load_explicit(&config, memory_order_relaxed), *new = &versions[n_versions++];
	new->a = old->a + 1;
	new->b = old->b - 1;
	atomic_store_explicit(&config, new, memory_order_release);
	pthread_mutex_unlock(&mutex);
}

NOINLINE static int op_read_version(void)
{
	const struct config *c = atomic_load_explicit(&config, memory_order_acquire);

	return c->a + c->b;
}

static void replace_or_read(unsigned who, unsigned round)
{
	if (who == 0 && round < 4000)
		op_replace();
	else if (op_read_version() != 0)
		abort();
}

static int is_version(unsigned threads, unsigned rounds)
{
	(void)threads, (void)rounds;
	return config->a + config->b == 0;
}

/* ---- a reference count; the last one frees ---- */
static struct shared {
	atomic_int count;
	int value;
} * shared;
static atomic_int freed;

static void make_shared(unsigned threads)
{
	shared = malloc(sizeof *shared);
	shared->value = 7;
	atomic_init(&shared->count, (int)threads);
}

NOINLINE static void op_get(struct shared *s)
{
	atomic_fetch_add_explicit(&s->count, 1, memory_order_relaxed);
}

NOINLINE static void op_put(struct shared *s)
{
	if (atomic_fetch_sub_explicit(&s->count, 1, memory_order_acq_rel) == 1) {
		free(s);
		atomic_fetch_add(&freed, 1);
	}
}

static void get_and_put(unsigned who, unsigned round)
{
	struct shared *own;

	(void)who, (void)round;
	if (shared->value != 7)
		abort();
	op_get(shared);
	op_put(shared);
	own = malloc(sizeof *own);
	atomic_init(&own->count, 1);
	op_get(own);
	op_put(own);
	op_put(own);
}

static int is_freed(unsigned threads, unsigned rounds)
{
	return freed == (int)(threads * rounds) && shared->count == (int)threads;
}

/* ---- bits claimed in a word ---- */
static atomic_uint bits;
static atomic_uint claimed[32];

NOINLINE static int op_claim(void)
{
	for (;;) {
		unsigned all = atomic_load(&bits);
		if (all == ~0u)
			return -1;
		const int bit = __builtin_ctz(~all);
		if (atomic_compare_exchange_strong(&bits, &all, all | 1u << bit))
			return bit;
	}
}

static void claim_and_give_back(unsigned who, unsigned round)
{
	const int bit = op_claim();

	(void)who, (void)round;
	if (bit < 0)
		return;
	if (atomic_exchange(&claimed[bit], 1))
		abort();
	atomic_store(&claimed[bit], 0);
	atomic_fetch_and(&bits, ~(1u << bit));
}

static int is_unclaimed(unsigned threads, unsigned rounds)
{
	(void)threads, (void)rounds;
	return bits == 0;
}

int main(int argc, char **argv)
{
	static const struct job jobs[] = {
		{"add_loop", op_add_loop, is_counted, NULL},
		{"add_again", op_add_again, is_counted, NULL},
		{"fetch_add", op_fetch_add, is_counted, NULL},
		{"raise", op_raise, is_highest, NULL},
		{"stack", push_and_pop, is_balanced, make_nodes},
		{"insert", op_insert, is_all_there, NULL},
		{"once", use_once, is_made, NULL},
		{"once_checked", use_once_checked, is_made, NULL},
		{"double_checked", use_double_checked, is_configured, NULL},
		{"first_wins", use_first_wins, is_configured, NULL},
		{"versions", replace_or_read, is_version, make_version},
		{"count", get_and_put, is_freed, make_shared},
		{"claim", claim_and_give_back, is_unclaimed, NULL},
	};

	return team_main(argc, argv, jobs, sizeof jobs / sizeof *jobs);
}
