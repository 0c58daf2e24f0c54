/* SPDX-License-Identifier: MIT */
/*
 * Growing arrays of the tool-side code. Memory exhaustion ends the tool (never used in preload/).
 */
#ifndef ATOMMON_PREDICT_GROW_H
#define ATOMMON_PREDICT_GROW_H

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static inline void *am_grow(void *old, uint32_t *room, uint32_t need, size_t size)
{
	if (need <= *room)
		return old;
	uint64_t now = *room ? (uint64_t)*room * 2 : 8;
	if (now < need)
		now = need;
	void *block = now <= UINT32_MAX ? realloc(old, now * size) : NULL;
	if (!block) {
		fputs("atommon: out of memory\n", stderr);
		exit(2);
	}
	memset((char *)block + (size_t)*room * size, 0, (now - *room) * size);
	*room = (uint32_t)now;
	return block;
}

static inline void *am_zalloc(size_t count, size_t size)
{
	void *block = calloc(count ? count : 1, size ? size : 1);
	if (!block) {
		fputs("atommon: out of memory\n", stderr);
		exit(2);
	}
	return block;
}

/* AM_PUSH(array, count, room) = value: appends; all three are lvalues, count and room uint32_t. */
#define AM_PUSH(array, count, room)                                                                \
	(*({                                                                                       \
		(array) = am_grow((array), &(room), (count) + 1, sizeof *(array));                 \
		&(array)[(count)++];                                                               \
	}))

#endif
