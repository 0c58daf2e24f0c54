/* SPDX-License-Identifier: MIT */
/* Random litmus programs, small enough to enumerate. The same seed gives the same text. */
#ifndef ATOMMON_LITMUS_GENERATE_H
#define ATOMMON_LITMUS_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct am_lit_generate {
	uint64_t seed;
	unsigned steps;	  /* of the whole program, about */
	bool no_pointers; /* constant addresses only */
	bool no_sync;	  /* accesses, fences and updates only */
};

/* Writes a program with a condition, blocks and assertions as chance has it; returns its length. */
size_t am_lit_generate(const struct am_lit_generate *how, char *text, size_t size);

#endif
