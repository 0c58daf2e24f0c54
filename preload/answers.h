/* SPDX-License-Identifier: MIT */
/*
 * Answers of the helper, kept by address: each place of the program is asked for once. Drain thread only;
 * memory from am_mem. Bounded: when it is full all answers are forgotten, and asked for again if need be.
 */
#ifndef ATOMMON_PRELOAD_ANSWERS_H
#define ATOMMON_PRELOAD_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_mem;
struct am_module;

struct am_answer {
	uint64_t key;	/* 0: empty */
	uint32_t bytes; /* of text; 0: nothing is known of it */
	bool is_there;	/* false: it was asked for */
	char *text;	/* as the asker wants it */
};

void am_answers_open(struct am_mem *mem);
/* Which question this is: never 0. */
uint64_t am_answers_key(char what, const struct am_module *module, uint64_t offset);
/* NULL: nobody asked yet. */
struct am_answer *am_answers_find(uint64_t key);
/* It was asked for. NULL for want of memory. */
struct am_answer *am_answers_add(uint64_t key);
/* The answer: a copy of these bytes; without memory it is that nothing is known. */
void am_answers_put(struct am_answer *a, const char *text, size_t bytes);
/* What was asked for and did not come is as if it had not been asked. */
void am_answers_drop_asked(void);

#endif
