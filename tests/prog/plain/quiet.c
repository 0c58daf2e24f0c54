/*
 * Programs that are serializable, and look otherwise to a checker that is careless about bytes,
 * reused memory or hand-overs; and some (byte, overlap, stack) that are not. Regions: functions named region_*. The
 * order is forced by semaphores. usage: quiet bytes|byte|heap|handover|stack|private|overlap
 */
/* SPDX-License-Identifier: MIT */
#include <malloc.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NOINLINE __attribute__((noinline))

static sem_t go, done;
static char pair[8];
static union {
	unsigned whole;
	unsigned char byte[4];
} word;
static int *shared;
enum { BLOCK = 300 * 1024 };

static void let_other_run(void)
{
	sem_post(&go);
	sem_wait(&done);
}

/* Each thread has its own byte of a word. */
NOINLINE static void region_bytes(void)
{
	pair[0]++;
	let_other_run();
	pair[0]++;
}

/* A block that is freed and allocated again by the other thread, and again by this one. */
NOINLINE static void use_block(void)
{
	char *block = malloc(BLOCK);
	volatile char *p = block; /* no compiler may leave these accesses out */

	if (!block)
		exit(1);
	for (int i = 0; i < 64; i++)
		p[i * 100] = (char)i;
	free(block);
}

NOINLINE static void region_heap(void)
{
	use_block();
	let_other_run();
	use_block();
}

/* Overlapping accesses of different sizes do conflict: a violation. */
NOINLINE static void region_overlap(void)
{
	const unsigned seen = word.whole;
	let_other_run();
	word.whole = seen + 1;
}

/* One byte, read and written by both: a violation. */
NOINLINE static void region_byte(void)
{
	const char seen = pair[0];
	let_other_run();
	pair[0] = (char)(seen + 1);
}

/* A local variable that another thread knows: a violation. */
NOINLINE static void region_stack(int *mine)
{
	const int seen = *mine;
	let_other_run();
	*mine = seen + 1;
}

static void *other(void *mode)
{
	sem_wait(&go);
	if (!strcmp(mode, "bytes"))
		pair[1]++;
	else if (!strcmp(mode, "byte"))
		pair[0]++;
	else if (!strcmp(mode, "heap"))
		use_block();
	else if (!strcmp(mode, "stack"))
		*shared += 10;
	else if (!strcmp(mode, "overlap"))
		word.byte[2] = 7;
	sem_post(&done);
	return NULL;
}

/* A buffer is filled by its owner alone and handed over through a queue under a lock. */
enum { ITEMS = 200, LENGTH = 64 };
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t changed = PTHREAD_COND_INITIALIZER;
static long *queue[ITEMS];
static int n_queued, n_taken;
static long total;

NOINLINE static long *region_fill(int i)
{
	long *p = malloc(LENGTH * sizeof *p);

	if (!p)
		exit(1);
	for (int k = 0; k < LENGTH; k++)
		p[k] = i + k;
	for (int k = 0; k < LENGTH; k++)
		p[k] *= 2;
	return p;
}

NOINLINE static void put(long *p)
{
	pthread_mutex_lock(&lock);
	queue[n_queued++] = p;
	pthread_cond_signal(&changed);
	pthread_mutex_unlock(&lock);
}

NOINLINE static long *take(void)
{
	pthread_mutex_lock(&lock);
	while (n_taken == n_queued)
		pthread_cond_wait(&changed, &lock);
	long *p = queue[n_taken++];
	pthread_mutex_unlock(&lock);
	return p;
}

NOINLINE static long region_sum(long *p)
{
	long sum = 0;

	for (int k = 0; k < LENGTH; k++)
		sum += p[k];
	for (int k = 0; k < LENGTH; k++)
		p[k] = 0;
	free(p);
	return sum;
}

static void *consumer(void *arg)
{
	for (int i = 0; i < ITEMS; i++)
		total += region_sum(take());
	return arg;
}

static void handover(void)
{
	pthread_t t;

	pthread_create(&t, NULL, consumer, NULL);
	for (int i = 0; i < ITEMS; i++)
		put(region_fill(i));
	pthread_join(t, NULL);
	printf("%ld\n", total);
}

/* Threads that share nothing, one after the other on the same stack. */
NOINLINE static void region_private(int *box)
{
	for (int i = 0; i < 8; i++)
		box[i] += i;
}

static void *lonely(void *arg)
{
	int box[8] = {0};

	region_private(box);
	return (void *)(long)(box[7] + (int)(long)arg);
}

static void private(void)
{
	pthread_t t;

	for (long i = 0; i < 20; i++) {
		pthread_create(&t, NULL, lonely, (void *)i);
		pthread_join(t, NULL);
	}
}

int main(int argc, char **argv)
{
	char *mode = argc > 1 ? argv[1] : "";
	int mine = 0;
	pthread_t t;

	mallopt(M_MMAP_THRESHOLD, 128 * 1024); /* a freed block's place is the next one's */
	sem_init(&go, 0, 0);
	sem_init(&done, 0, 0);
	shared = &mine;
	if (!strcmp(mode, "handover")) {
		handover();
		return 0;
	}
	if (!strcmp(mode, "private")) {
		private();
		return 0;
	}
	pthread_create(&t, NULL, other, mode);
	if (!strcmp(mode, "bytes"))
		region_bytes();
	else if (!strcmp(mode, "byte"))
		region_byte();
	else if (!strcmp(mode, "heap"))
		region_heap();
	else if (!strcmp(mode, "stack"))
		region_stack(&mine);
	else
		region_overlap();
	pthread_join(t, NULL);
	printf("%d %d %d\n", pair[0], pair[1], mine);
	return 0;
}
