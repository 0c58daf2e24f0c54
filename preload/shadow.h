/* SPDX-License-Identifier: MIT */
/*
 * What the process remembers of memory accesses: a shadow word per 8 bytes, and per thread where it
 * stands. Decides which accesses are logged (filter.h has the reasons) and logs them. Runs in
 * application threads, in compiler callbacks; no lock, no malloc, errno kept.
 *
 * Every access that is logged carries a number. One without would keep its thread's program order
 * only; a racing thread could then seem to come before it, and a cycle be seen that was not there.
 */
#ifndef ATOMMON_PRELOAD_SHADOW_H
#define ATOMMON_PRELOAD_SHADOW_H

#include "preload/filter.h"
#include "preload/log.h"

/* How accesses are treated. */
enum am_view_mode {
	AM_VIEW_UNSET = 0,
	AM_VIEW_NONE,	 /* accesses do not count: ATOMMON_CONFLICTS=locks */
	AM_VIEW_REGIONS, /* check: regions are announced to am_view_begin and am_view_end */
	AM_VIEW_STRETCH, /* check: lock operations conflict too, so edges come with them */
	AM_VIEW_RECORD,	 /* a trace is wanted: see am_record_wants */
};
extern uint32_t am_view_mode __attribute__((visibility("hidden")));

/* Regions open in the process, and how often that went from none to one. */
extern struct am_view_open {
	uint32_t open, generation;
	char rest[56];
} am_view_open __attribute__((visibility("hidden"), aligned(64)));

/* Where this thread stands. Thread-local, initial-exec, one cache line. */
struct am_view {
	uint64_t stretch;   /* in place (filter.h); 0: no block of numbers yet */
	uint64_t own_units; /* of this thread's ring, written here */
	uint64_t others; /* ring head - own_units when last looked: changes with any other record */
	uintptr_t region_cfa; /* stack pointer at the outermost region's begin */
	uint32_t reached;     /* generation */
	uint32_t depth;	      /* of regions */
	uint32_t held;	      /* locks, as far as sections are followed */
	uint32_t parked;      /* locks held while a thread was started: no section (regions.h) */
};
extern __thread struct am_view am_view
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Read by instrumented code at each function's start: which version of it is to run. */
extern volatile int __atommon_armed;

/* ---- shadow words ---------------------------------------------------------------------------- */

enum {
	AM_SHADOW_GIANT = 30, /* log2 of the bytes behind one entry of the first table */
	AM_SHADOW_CHUNK = 16, /* and of the second: a chunk of shadow words is as big */
	AM_SHADOW_USER = 47,
};
struct am_shadow_giant {
	uint64_t *chunk[1u << (AM_SHADOW_GIANT - AM_SHADOW_CHUNK)];
};
extern struct am_shadow_giant *am_shadow_giants[1u << (AM_SHADOW_USER - AM_SHADOW_GIANT)]
	__attribute__((visibility("hidden")));

/* The word of an address, NULL where there is none yet. */
static inline uint64_t *am_shadow_find(uintptr_t address)
{
	const struct am_shadow_giant *g;

	if (am_unlikely(address >> AM_SHADOW_USER))
		return NULL;
	g = __atomic_load_n(&am_shadow_giants[address >> AM_SHADOW_GIANT], __ATOMIC_ACQUIRE);
	if (am_unlikely(!g))
		return NULL;
	const uintptr_t in = address & ((UINT64_C(1) << AM_SHADOW_GIANT) - 1);
	/* partner: am_shadow_make */
	uint64_t *c = __atomic_load_n(&g->chunk[in >> AM_SHADOW_CHUNK], __ATOMIC_ACQUIRE);
	return am_likely(c) ? c + ((in & ((1u << AM_SHADOW_CHUNK) - 1)) >> 3) : NULL;
}

/* The same, made if need be; NULL at the memory ceiling. */
uint64_t *am_shadow_make(uintptr_t address);

/* A block of memory is new or gone: was any of it ever logged? Its words are clean afterwards. */
bool am_shadow_clear(uintptr_t address, size_t size);

/* After fork, in the child. */
void am_shadow_forget(void);

/* ---- accesses -------------------------------------------------------------------------------- */

/* Not known to be redundant: decide, log. One access of 1, 2, 4, 8 or 16 bytes. */
void am_view_access(enum am_kind kind, uintptr_t address, unsigned size, unsigned detail,
		    struct am_here here);
/* Any number of bytes. */
void am_view_range(enum am_kind kind, uintptr_t address, size_t size, struct am_here here);
/* Is it to be logged? Remembers it as logged. For callers that log by themselves. */
bool am_view_wants(enum am_kind kind, uintptr_t address, unsigned size, struct am_here here);
/* Somebody else logged an access of this thread (annotations, free). */
void am_view_touched(uintptr_t address, size_t size);

/* This thread logged an event that may be the end of an edge, and no access of ours. */
void am_view_counted(void);

/* hook_alloc.c: a thread begins to show accesses, on a stack that others may have had before. */
void am_alloc_stack(uintptr_t top);

/* The outermost region of this thread began or ended; nested ones are counted here. */
void am_view_begin(uintptr_t cfa);
void am_view_end(void);

/* In init: do sections matter? */
void am_view_prepare(void);
/* view_sections.c: this thread logged something else since: did a section begin or end? */
void am_view_follow(struct am_view *v);

/* Is there nothing to do for this thread? A few loads. */
static inline bool am_view_sleeps(void)
{
	if (am_unlikely(am_state() != AM_ON))
		return true;
	if (am_after.has_sections && am_tls.head - am_view.own_units != am_view.others)
		am_view_follow(&am_view);
	return am_view_mode == AM_VIEW_REGIONS && am_view.depth == 0 &&
	       __atomic_load_n(&am_view_open.open, __ATOMIC_RELAXED) == 0;
}

static inline bool am_view_is_known(uintptr_t address, uint64_t bits)
{
	const uint64_t *s = am_shadow_find(address);

	return am_likely(s != NULL) && am_view_mode == AM_VIEW_REGIONS &&
	       am_filter_known(__atomic_load_n(s, __ATOMIC_RELAXED), am_view.stretch, bits);
}

/* The whole of a callback for one access that does not cross a word. */
static inline void am_view_word(enum am_kind kind, uintptr_t address, unsigned size,
				unsigned detail, struct am_here here)
{
	if (am_view_sleeps() ||
	    am_view_is_known(address, am_filter_bits(address & 7, size, kind != AM_READ)))
		return;
	am_view_access(kind, address, size, detail, here);
}

#endif
