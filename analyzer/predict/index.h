/* SPDX-License-Identifier: MIT */
/*
 * Who touches what: for each cell and each synchronisation object, the events of each thread that
 * touch it, in program order. Answers "the first event of thread t from eid on that touches x".
 */
#ifndef ATOMMON_PREDICT_INDEX_H
#define ATOMMON_PREDICT_INDEX_H

#include "run.h"

struct am_index_entry {
	uint32_t thread, eid;
	uint32_t next_write; /* entry of the same key and thread, this one or later; AM_NONE */
	uint32_t last_write; /* this one or earlier; AM_NONE */
	int32_t sum;	     /* up to and with this one: locks held, posts less takes, arrivals */
};

/* Keys: a cell c is c, a synchronisation object o is n_cells + o. */
struct am_index {
	const struct am_run *run;
	uint32_t *start; /* of each key; start[n_keys] is the end */
	struct am_index_entry *entry;
	uint32_t n_keys;
};

void am_index_build(struct am_index *index, const struct am_run *run);
void am_index_free(struct am_index *index);

/* The first event of `thread` with eid >= `eid` that touches the key (only writes if `writes`: for
 * objects every operation counts as a write); AM_NONE if there is none. Returns its eid. */
uint32_t am_index_first(const struct am_index *index, uint32_t key, uint32_t thread, uint32_t eid,
			bool writes);

/* The last entry of `thread` with eid < `eid` that touches the key, or NULL. */
const struct am_index_entry *am_index_last(const struct am_index *index, uint32_t key, uint32_t thread,
					   uint32_t eid);

/* Call fn for each key an event touches: (key, does it write). */
typedef void am_key_fn(void *ctx, uint32_t key, bool writes);
void am_index_keys(const struct am_run *run, uint32_t event, am_key_fn *fn, void *ctx);

#endif
