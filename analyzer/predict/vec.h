/* SPDX-License-Identifier: MIT */
/*
 * Growable arrays of tools. Out of memory ends the tool with a message and status 3 (undecided):
 * nothing has been reported wrongly by then. Never used inside a host process.
 */
#ifndef ATOMMON_PREDICT_VEC_H
#define ATOMMON_PREDICT_VEC_H

#include <stddef.h>
#include <stdint.h>

void *am_xalloc(size_t count, size_t bytes); /* zeroed */
void *am_xresize(void *old, size_t count, size_t bytes);

/* VEC(type): struct with data, count and room; push returns a pointer to the new, zeroed element. */
#define VEC(type)                                                                                  \
	struct {                                                                                   \
		type *at;                                                                          \
		uint32_t n, room;                                                                  \
	}
#define vec_push(v)                                                                                \
	(((v)->n == (v)->room                                                                      \
		  ? (void)((v)->at = am_vec_grow((v)->at, &(v)->room, sizeof *(v)->at))             \
		  : (void)0),                                                                       \
	 &(v)->at[(v)->n++])

void *am_vec_grow(void *old, uint32_t *room, size_t bytes); /* new elements are zeroed */

#endif
