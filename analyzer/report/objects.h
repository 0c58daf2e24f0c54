/* SPDX-License-Identifier: MIT */
/*
 * What is at an address: heap blocks, names given by the program, synchronisation objects. Fed with
 * every merged event; asked only when a violation is told, so feeding is cheap (one hash insert per
 * alloc) and asking may take its time.
 *
 * Invariant: a live heap block is in the table exactly from its alloc to its free; the last few
 * thousand freed ones are remembered with the span of event indices in which they lived, since a
 * cycle may speak of an access to a block that is gone by now.
 */
#ifndef AM_REPORT_OBJECTS_H
#define AM_REPORT_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

#include "atommon/event.h"
#include "atommon/report.h"

struct am_mem;
struct am_objects;

struct am_extent {
	uint64_t start, size;
	uint64_t born;	 /* index of the event that made it */
	uint32_t site;	 /* where */
	uint32_t thread; /* by whom */
	uint32_t string; /* name: string id */
	uint8_t sync;	 /* sync: enum am_object */
};

/* `block` as in the reporter's configuration; may be NULL. */
struct am_objects *am_objects_new(struct am_mem *mem, bool (*block)(uint64_t address, struct am_block *out));
void am_objects_free(struct am_objects *o);
void am_objects_event(struct am_objects *o, const struct am_event *e);

/* What covered the address at event `index`. False: nothing known. */
bool am_objects_block(const struct am_objects *o, uint64_t address, uint64_t index,
		      struct am_extent *out);
/* Its two halves: by `block`, which may take long; else by the events, the only ones that tell when. */
bool am_objects_live(const struct am_objects *o, uint64_t address, struct am_extent *out);
bool am_objects_told(const struct am_objects *o, uint64_t address, uint64_t index, struct am_extent *out);
bool am_objects_name(const struct am_objects *o, uint64_t address, uint64_t index,
		     struct am_extent *out);
bool am_objects_sync(const struct am_objects *o, uint64_t address, struct am_extent *out);

#endif
