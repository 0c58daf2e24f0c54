/* SPDX-License-Identifier: MIT */
/*
 * The inside of the stage for what is in vain, shared by vain.c (reads, attempts, the queue) and vain_cycle.c (cycles that rest on them).
 */
#ifndef ATOMMON_CORE_VAIN_STATE_H
#define ATOMMON_CORE_VAIN_STATE_H

#include "atommon/vain.h"
#include "map.h"
#include "vain_look.h"
#include "vain_plain.h"

/* AM_VAIN_HELD: cycles that wait. AM_VAIN_VOIDS: reads that went on in doubt and were in vain, the newest. */
enum { AM_VAIN_HELD = 8, AM_VAIN_VOIDS = 1024 };

struct am_vain_thread {
	struct am_look look; /* the open one */
	struct am_plain plain;
	uint32_t acquired, waited;
	uint32_t depth; /* of regions */
};

enum am_vain_fate { AM_VAIN_COUNTS, AM_VAIN_IN_VAIN, AM_VAIN_OPEN };

struct am_vain_entry {
	struct am_event event;
	uint8_t fate;
};

struct am_vain {
	struct am_vain_config config;
	struct am_mem *mem;
	struct am_map threads; /* id + 1 -> struct am_vain_thread * */
	struct am_vain_thread *recent;
	uint32_t recent_id;
	uint32_t n_reads; /* of all looks */
	/* Positions [first, next) modulo the room are held back. */
	struct am_vain_entry *queue;
	uint32_t room;
	uint64_t first, next;
	struct am_cycle *held;
	uint32_t n_held;
	bool is_news; /* something was decided since they were judged */
	uint64_t voids[AM_VAIN_VOIDS], n_voids;
	struct am_vain_stats stats;
};

/* Something was decided: cycles that wait are judged anew. */
void am_vain_judge_again(struct am_vain *v);

#endif
