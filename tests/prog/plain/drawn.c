/* Three threads that make random steps in a given order: plain accesses of all sizes, regions (function `region`), locks.
 * usage: drawn SEED STEPS. See drawn.h. */
/* SPDX-License-Identifier: MIT */
#include "drawn.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

/* Aligned, because an access of two lines is two events. */
static union {
	uint64_t word[WORDS + 1];
	char byte[8 * WORDS + 8];
} shared __attribute__((aligned(64)));
static pthread_mutex_t lock[LOCKS] = {PTHREAD_MUTEX_INITIALIZER, PTHREAD_MUTEX_INITIALIZER};

/* A line for each, so that a report tells them apart; here in a loop, which goes round once, below in a branch. Two are made in
 * functions that vanish in another that does. */
static inline uint64_t get(uint64_t *p)
{
	return *p;
}
static inline void set(uint64_t *p)
{
	*p = 8;
}
#define AS(type) (*(type *)p)
#define ACT(name) static inline __attribute__((always_inline)) uint64_t name(char *p)
static inline int is_again(void)
{
	int n;

	__asm__ volatile("xorl %0, %0" : "=r"(n) : : "memory");
	return n;
}
#define LOOP(name)                                                                                         \
	static __attribute__((noinline)) uint64_t name##_loop(char *p)                                     \
	{                                                                                                  \
		uint64_t sum = 0;                                                                          \
                                                                                                           \
		do                                                                                         \
			sum += name(p);                                                                    \
		while (is_again());                                                                        \
		return sum;                                                                                \
	}
ACT(read1)
{
	return AS(uint8_t);
}
ACT(write1)
{
	AS(uint8_t) = 1;
	return 0;
}
ACT(update1)
{
	AS(uint8_t) += 1;
	return 0;
}
ACT(read2)
{
	return AS(uint16_t);
}
ACT(write2)
{
	AS(uint16_t) = 2;
	return 0;
}
ACT(update2)
{
	AS(uint16_t) += 2;
	return 0;
}
ACT(read4)
{
	return AS(uint32_t);
}
ACT(write4)
{
	AS(uint32_t) = 4;
	return 0;
}
ACT(update4)
{
	AS(uint32_t) += 4;
	return 0;
}
ACT(read8)
{
	return get((uint64_t *)p);
}
ACT(write8)
{
	set((uint64_t *)p);
	return 0;
}
ACT(update8)
{
	AS(uint64_t) += 8;
	return 0;
}
LOOP(read1) LOOP(read2) LOOP(read4) LOOP(read8)
LOOP(write1) LOOP(write2) LOOP(write4) LOOP(write8)
LOOP(update1) LOOP(update2) LOOP(update4) LOOP(update8)
static uint64_t (*const act[3][4])(char *) = {
	{read1_loop, read2_loop, read4_loop, read8_loop},
	{write1_loop, write2_loop, write4_loop, write8_loop},
	{update1_loop, update2_loop, update4_loop, update8_loop},
};

static uint64_t choose(struct step s)
{
	char *p = shared.byte + s.at;
	uint64_t sum = 0;

	switch (s.what * 16 + s.size) {
	case READ * 16 + 1:
		sum = AS(uint8_t);
		break;
	case READ * 16 + 2:
		sum = AS(uint16_t);
		break;
	case READ * 16 + 4:
		sum = AS(uint32_t);
		break;
	case READ * 16 + 8:
		sum = AS(uint64_t);
		break;
	case WRITE * 16 + 1:
		AS(uint8_t) = 1;
		break;
	case WRITE * 16 + 2:
		AS(uint16_t) = 2;
		break;
	case WRITE * 16 + 4:
		AS(uint32_t) = 4;
		break;
	case WRITE * 16 + 8:
		AS(uint64_t) = 8;
		break;
	case UPDATE * 16 + 1:
		AS(uint8_t) += 1;
		break;
	case UPDATE * 16 + 2:
		AS(uint16_t) += 2;
		break;
	case UPDATE * 16 + 4:
		AS(uint32_t) += 4;
		break;
	case UPDATE * 16 + 8:
		AS(uint64_t) += 8;
		break;
	}
	return sum;
}

static void touch(struct step s)
{
	use(s.is_chosen ? choose(s) : act[s.what][__builtin_ctz(s.size)](shared.byte + s.at));
}

static int steps(unsigned me);

static __attribute__((noinline)) int region(unsigned me)
{
	return steps(me);
}

static int steps(unsigned me)
{
	for (;;) {
		const struct step s = next_step(me);
		switch (s.what) {
		case ENTER:
			region(me);
			break;
		case LEAVE:
		case STOP:
			return s.what;
		case LOCK:
			pthread_mutex_lock(&lock[s.at]);
			break;
		case UNLOCK:
			pthread_mutex_unlock(&lock[s.at]);
			break;
		default:
			touch(s);
		}
	}
}

static void *run(void *me)
{
	steps((unsigned)(uintptr_t)me);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	uint64_t sum = 0;

	if (argc != 3)
		return 2;
	draw((unsigned)atoi(argv[1]), (unsigned)atoi(argv[2]));
	for (unsigned i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, run, (void *)(uintptr_t)i);
	begin_steps();
	for (unsigned i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	for (unsigned i = 0; i < WORDS; i++)
		sum += shared.word[i] * (i + 1);
	printf("%llu\n", (unsigned long long)sum);
	return 0;
}
