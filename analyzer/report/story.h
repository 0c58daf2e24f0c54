/* SPDX-License-Identifier: MIT */
/*
 * Inside the blame: a violation under construction, shared by blame.c (steps and edges), naming.c
 * (objects and threads) and words.c (sentences).
 */
#ifndef AM_REPORT_STORY_H
#define AM_REPORT_STORY_H

#include "blame.h"

enum { STORY_STEPS = 192, STORY_OBJECTS = 160, STORY_THREADS = 160 };

struct story {
	struct am_blame *b;
	struct am_arena *arena;
	const struct am_cycle *cycle;
	const struct am_witness *witness; /* NULL: the cycle happened */
	struct am_violation *v;
	struct am_vstep *step;
	uint64_t *order; /* of each step: index in the run, or position in the witness */
	uint32_t n_steps;
	struct am_vobject *object;
	const char **key; /* of each object, for the fingerprint */
	uint64_t *born;	  /* of each object: tells blocks at a reused address apart */
	uint32_t n_objects;
	struct am_vthread *thread;
	uint32_t n_threads;
	uint32_t from[AM_CYCLE_MAX], to[AM_CYCLE_MAX]; /* steps of each edge's ends */
};

/* naming.c: index of the object or thread, added when new. */
uint32_t am_story_object(struct story *s, uint64_t address, uint64_t size, uint64_t index,
			 bool is_sync, const char **part);
uint32_t am_story_thread(struct story *s, uint32_t id);
const char *am_story_string(const struct story *s, uint32_t id);
/* The name of a region: its string, else what stands for a section that begins at the site. */
const char *am_story_region(const struct story *s, uint32_t string, uint32_t site);

/* What stands for a place in names and keys: its function, else module+offset, else "". */
const char *am_story_function(const struct story *s, const struct am_place *place);

/* mend.c: of a cycle that happened, before the steps are numbered. */
void am_story_mend_order(struct story *s);

/* words.c: after the steps are numbered. */
void am_story_tell(struct story *s);
const struct am_vstep *am_story_at(const struct story *s, uint32_t number);
bool am_story_overlap(const struct am_vstep *a, const struct am_vstep *b);
/* "balance", "accounts[2].balance", "buffer+16" */
const char *am_story_object_text(const struct story *s, const struct am_vstep *step);
const char *am_story_thread_text(const struct story *s, const struct am_vstep *step);
/* The way leads to one other thread and back: by one of its accesses, or by two in program order. */
bool am_story_has_one_other(const struct story *s);

/* remedy.c */
struct am_hold {
	uint32_t acquired; /* step, 0: not held */
	uint8_t mode;
};
/* Is the lock held at the step, as far as the told steps show? */
struct am_hold am_story_held_at(const struct story *s, uint32_t lock, const struct am_vstep *step);
const char *am_story_remedy(const struct story *s);

bool am_kind_is_sync(uint8_t kind); /* operates on a synchronisation object */

#endif
