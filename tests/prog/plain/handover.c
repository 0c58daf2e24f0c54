/*
 * Memory that belongs to one thread at a time: built in private, handed over through a queue, given
 * back, used again, and words that neighbours share. usage: handover SEED THREADS STEPS [open]
 * Every step() and every access to what others may see holds one lock from its first access to its
 * last, so whatever the schedule is, no step is interrupted. With `open` the lock is let go in the
 * middle of a step, and taken again.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { QUEUE = 16, SHARED = 24, OWN = 512, THREADS_MAX = 16 };

struct block {
	size_t n;
	unsigned char byte[];
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct block *queue[QUEUE];
static uint32_t shared[SHARED]; /* two to a word */
static unsigned char small[64];
static int is_open, steps;
static unsigned done;

struct worker {
	uint64_t random;
	uint16_t own[OWN];
	struct block *mine;
	unsigned long sum;
};

static unsigned pick(struct worker *w, unsigned n)
{
	w->random = w->random * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(w->random >> 33) % n;
}

static struct block *build(struct worker *w)
{
	const size_t n = 8 + pick(w, 200);
	struct block *b = malloc(sizeof *b + n);

	if (!b)
		abort();
	b->n = n;
	memset(b->byte, (int)pick(w, 256), n);
	for (unsigned i = 0; i < 8; i++)
		b->byte[pick(w, (unsigned)n)] ^= (unsigned char)i;
	return b;
}

static void use(struct worker *w, struct block *b)
{
	for (size_t i = 0; i < b->n; i += 3)
		w->sum += b->byte[i]++;
}

/* Swap what is mine with what lies in the queue. */
static void trade(struct worker *w)
{
	const unsigned at = pick(w, QUEUE);
	struct block *b = queue[at];

	queue[at] = w->mine;
	w->mine = b;
	if (!b)
		return;
	use(w, b);
	if (pick(w, 3) == 0) {
		free(b);
		w->mine = NULL;
	} else if (pick(w, 3) == 0) {
		w->mine = realloc(b, sizeof *b + b->n + 64);
		memset(w->mine->byte + w->mine->n, 0, 64);
		w->mine->n += 64;
	}
}

static void touch_shared(struct worker *w)
{
	shared[pick(w, SHARED)] += 1;
	w->sum += shared[pick(w, SHARED)];
	small[pick(w, sizeof small)]++;
	memcpy(&shared[pick(w, SHARED - 4)], &shared[pick(w, SHARED - 4)], 12);
}

#ifdef __clang__
#define UNSEEN __attribute__((noinline, disable_sanitizer_instrumentation))
#else
#define UNSEEN __attribute__((noinline, no_sanitize("thread")))
#endif

/* Until another thread came to a step's end, or none does. */
UNSEEN static void let_others(void)
{
	enum { TURNS = 2000 };
	const unsigned before = __atomic_load_n(&done, __ATOMIC_RELAXED);

	for (int i = 0; i < TURNS && __atomic_load_n(&done, __ATOMIC_RELAXED) == before; i++)
		sched_yield();
}

UNSEEN static void count_step(void)
{
	__atomic_fetch_add(&done, 1, __ATOMIC_RELAXED);
}

__attribute__((noinline)) static void step(struct worker *w)
{
	pthread_mutex_lock(&lock);
	if (!w->mine)
		w->mine = build(w);
	for (unsigned i = 0; i < 20; i++)
		w->own[pick(w, OWN)] += (uint16_t)i;
	touch_shared(w);
	if (is_open) {
		pthread_mutex_unlock(&lock);
		let_others();
		pthread_mutex_lock(&lock);
	}
	trade(w);
	touch_shared(w);
	pthread_mutex_unlock(&lock);
	count_step();
}

static void outside(struct worker *w)
{
	for (unsigned i = 0; i < 20; i++)
		w->own[pick(w, OWN)] ^= (uint16_t)i;
	if (w->mine)
		use(w, w->mine);
	pthread_mutex_lock(&lock);
	shared[pick(w, SHARED)]--;
	pthread_mutex_unlock(&lock);
}

static void *run(void *arg)
{
	struct worker *w = arg;

	for (int i = 0; i < steps; i++) {
		if (pick(w, 4) == 0)
			outside(w);
		else
			step(w);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static struct worker worker[THREADS_MAX];
	pthread_t thread[THREADS_MAX];
	const int n = argc > 2 ? atoi(argv[2]) : 0;

	if (n < 1 || n > THREADS_MAX || argc < 4)
		return 2;
	steps = atoi(argv[3]);
	is_open = argc > 4;
	for (int i = 0; i < n; i++)
		worker[i].random = strtoull(argv[1], NULL, 0) + (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15);
	for (int round = 0; round < 2; round++) { /* the second time on used stacks */
		for (int i = 0; i < n; i++)
			pthread_create(&thread[i], NULL, run, &worker[i]);
		for (int i = 0; i < n; i++)
			pthread_join(thread[i], NULL);
	}
	return 0;
}
