/* SPDX-License-Identifier: MIT */
/* What the two halves of the model builder share: model.c (threads, locks), model_data.c (memory). */
#ifndef ATOMMON_PREDICT_MODEL_STATE_H
#define ATOMMON_PREDICT_MODEL_STATE_H

#include "model.h"

struct am_build_data;

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

void am_build_data_init(struct am_build *b);
/* Event e of the run, within the segment or only within its span. NULL, or why not. */
const char *am_build_data(struct am_build *b, uint32_t e, bool inside);
void am_build_data_free(struct am_build *b);

#endif
