/* SPDX-License-Identifier: MIT */
/*
 * The page that `atommon run` shares with the library: the launcher makes a small file and names it
 * in ATOMMON_STATUS; every process that loads the library maps it and adds to it. So the launcher
 * knows that the library was really loaded and what it saw, however the program ended.
 */
#ifndef ATOMMON_STATUSPAGE_H
#define ATOMMON_STATUSPAGE_H

#include <stdint.h>

#define AM_STATUS_MAGIC "AMSTAT\r\n"
#define AM_STATUS_ENV "ATOMMON_STATUS"
enum { AM_STATUS_VERSION = 1, AM_STATUS_BYTES = 4096 };

/* Counters only grow; they are added to atomically, relaxed. */
struct am_statuspage {
	char magic[8];
	uint32_t version;
	uint32_t loaded;  /* processes that mapped the page */
	uint32_t checked; /* of them, those whose checker ran */
	uint32_t launcher; /* its pid: its stderr is of use when the program has closed its own */
	uint64_t events, regions, threads, lost;
	uint64_t violations; /* distinct, per process */
	uint64_t repeats, suppressed, disagreements;
	char trace[1024]; /* of the first process that records */
};
_Static_assert(sizeof(struct am_statuspage) <= AM_STATUS_BYTES, "one page");

#endif
