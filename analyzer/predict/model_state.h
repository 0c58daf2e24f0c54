/* SPDX-License-Identifier: MIT */
/*
 * What the parts of the model builder share: model.c (threads, locks), model_data.c (memory), model_cells.c
 * (sync, avp), model_blocks.c, model_expr.c, model_bytes.c (value, ctp).
 */
#ifndef ATOMMON_PREDICT_MODEL_STATE_H
#define ATOMMON_PREDICT_MODEL_STATE_H

#include "model.h"

/*
 * A class is a set of cells that some access covers together; it becomes one object in which each cell
 * has the same few bytes, so that an access of several cells is still one event. A cell holds the
 * number of its last writer within the class, 0 before the segment. A class whose accesses are too
 * wide for that (8 bytes) gives each cell 8 bytes, and a wide access comes apart.
 */
struct am_build_class {
	uint32_t object; /* AM_NONE until used */
	uint32_t first;	 /* cell */
	uint32_t cells, widest;
	uint32_t writes;
	uint32_t bytes; /* of a cell */
	uint32_t numbers;
};

/* A data object of value and ctp: neighbouring cells that some access covers together. */
struct am_build_block {
	uint32_t object; /* in the program */
	uint64_t base, end;
};

/* The last write to unshared memory: `start` is kept for each cell it covers, the rest for its first. */
struct am_build_private {
	uint32_t start; /* its first cell plus one, 0: none */
	uint32_t cells, node;
	uint64_t value;
};

struct am_build_data {
	uint32_t *parent;      /* union-find over cells */
	uint32_t *cell_object; /* of each root: its class (sync, avp) or block (value, ctp) */
	VEC(struct am_build_class) class;
	VEC(struct am_build_block) block;
	uint64_t *number; /* sync, avp: of each write of the span, within its class */
	uint32_t *first_write; /* value, ctp: by cell, its first write in the program plus 2; 0: what it
				  holds at first is known; 1: it is not, and no write so far */
	struct am_build_private *private; /* by cell: writes to memory of one thread */
	uint32_t *first_node;	 /* by thread: first expression of the span */
	VEC(uint32_t) *node;	 /* by thread: nodes of the program for expressions from there on */
	VEC(uint32_t) pending;	 /* value: reads whose assumption waits for a use; program events */
};

struct am_build {
	const struct am_run *run;
	const struct am_index *index;
	const struct am_segment *segment;
	enum am_predict_model kind;
	bool only_own;
	struct am_ctp *ctp;
	uint32_t low, high; /* events of the run that the segment spans */
	uint32_t *thread, *object, *region; /* ids in the program; objects: AM_NONE until used */
	uint32_t *event, *marker;	    /* by event of the run, from `low` on */
	uint8_t *touched;		    /* objects that the segment uses */
	VEC(uint32_t) held;		    /* acquires of locks held where the segment begins */
	struct am_build_data *data;
};

/* model_data.c */
void am_build_data_init(struct am_build *b);
/* Event e of the run, within the segment or only within its span. NULL, or why not. */
const char *am_build_data(struct am_build *b, uint32_t e, bool inside);
void am_build_data_free(struct am_build *b);
uint32_t am_build_assume(struct am_build *b, uint32_t thread, uint32_t cond);
uint32_t am_build_equals(struct am_build *b, uint32_t node, unsigned width, uint64_t value);
void am_build_note(struct am_build *b, uint32_t e, uint32_t x); /* x stands for event e of the run */
uint32_t am_build_root(struct am_build_data *d, uint32_t cell);
bool am_build_is_shared(const struct am_build *b, uint32_t e);
void am_build_unite(struct am_build *b, bool frees); /* cells that one access covers */

/* model_cells.c */
void am_build_cells_init(struct am_build *b);
void am_build_cells(struct am_build *b, uint32_t e);

/* model_blocks.c, model_bytes.c */
void am_build_blocks_init(struct am_build *b);
void am_build_bytes(struct am_build *b, uint32_t e);

/* model_expr.c */
uint32_t am_build_node(struct am_build *b, uint32_t thread, uint32_t id);
void am_build_set_node(struct am_build *b, uint32_t thread, uint32_t id, uint32_t node);
unsigned am_build_width(const struct am_build *b, uint32_t node);
void am_build_define(struct am_build *b, const struct am_event *raw, uint32_t thread);
/* What an update wrote in the recorded run; false if the trace does not tell. */
bool am_build_written(const struct am_build *b, const struct am_event *update, uint64_t *value);
void am_build_settle(struct am_build *b, uint32_t thread, uint32_t node);
uint32_t am_build_resize(struct am_build *b, uint32_t node, unsigned width);

#endif
