/* SPDX-License-Identifier: MIT */
/*
 * What the process remembers of memory accesses: a cell per 8 bytes, and per thread where it stands.
 * Decides which accesses are logged, now or late (filter.h has the reasons), and logs them. Runs in
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
	AM_VIEW_RECORD,	 /* a trace is wanted: see record_wants in view.c */
};
extern uint32_t am_view_mode __attribute__((visibility("hidden")));

/* Regions open in the process, and how often that went from none to one. */
struct am_open {
	uint32_t open, generation;
} __attribute__((aligned(8)));
extern struct am_view_open {
	struct am_open now;
	char rest[56];
} am_view_open __attribute__((visibility("hidden"), aligned(64)));

/* Where this thread stands. Thread-local, initial-exec. */
struct am_view {
	uint64_t stretch;   /* in place (filter.h); 0: no block of numbers yet */
	uint64_t fast_head; /* while the ring's head + 1 is this, lazy accesses need no questions */
	uint64_t idle_head; /* while it is this, there is nothing to do unless a region is open */
	uint64_t *places;   /* where they were made, newest by address: see am_view_place */
	uint64_t own_units; /* of this thread's ring, written here */
	uint64_t others; /* ring head - own_units when last looked: changes with any other record */
	uint64_t marked;      /* stretch whose mark was logged */
	uint64_t synced;      /* stretch of another thread behind whose mark this thread came last */
	uint32_t reached;     /* generation */
	uint32_t depth;	      /* of regions */
	uint32_t waiting;     /* regions that a condition wait ended, to begin again */
	uint32_t held;	      /* locks, as far as sections are followed */
	uint32_t parked;      /* locks held while a thread was started: no section (regions.h) */
	uint32_t has_stack;   /* what others did on its stack before was forgotten */
};
extern __thread struct am_view am_view
	__attribute__((visibility("hidden"), tls_model("initial-exec")));

/* Read by instrumented code at each function's start: which version of it is to run. */
extern volatile int __atommon_armed;

/* ---- cells ----------------------------------------------------------------------------------- */

enum {
	AM_SHADOW_GIANT = 30, /* log2 of the bytes behind one entry of the first table */
	AM_SHADOW_CHUNK = 16, /* and of the second: a chunk of cells is twice as big */
	AM_SHADOW_USER = 47,
};
struct am_shadow_giant {
	struct am_cell *chunk[1u << (AM_SHADOW_GIANT - AM_SHADOW_CHUNK)];
};
extern struct am_shadow_giant *am_shadow_giants[1u << (AM_SHADOW_USER - AM_SHADOW_GIANT)]
	__attribute__((visibility("hidden")));

/* The cell of an address, NULL where there is none yet. */
static inline struct am_cell *am_shadow_find(uintptr_t address)
{
	const struct am_shadow_giant *g;

	if (am_unlikely(address >> AM_SHADOW_USER))
		return NULL;
	g = __atomic_load_n(&am_shadow_giants[address >> AM_SHADOW_GIANT], __ATOMIC_ACQUIRE);
	if (am_unlikely(!g))
		return NULL;
	const uintptr_t in = address & ((UINT64_C(1) << AM_SHADOW_GIANT) - 1);
	/* partner: am_shadow_make */
	struct am_cell *c = __atomic_load_n(&g->chunk[in >> AM_SHADOW_CHUNK], __ATOMIC_ACQUIRE);
	return am_likely(c) ? c + ((in & ((1u << AM_SHADOW_CHUNK) - 1)) >> 3) : NULL;
}

/* The same, made if need be; NULL at the memory ceiling, from then on always. */
struct am_cell *am_shadow_make(uintptr_t address);

/* A block of memory is new or gone. Its cells are clean afterwards; each that was not is shown
 * before. Was any of it ever logged? */
typedef void am_shadow_fn(void *ctx, uintptr_t address, struct am_cell cell);
bool am_shadow_clear(uintptr_t address, size_t size, am_shadow_fn *fn, void *ctx);

/* After fork, in the child. */
void am_shadow_forget(void);

/* Memory for a thread's places; NULL at the ceiling. */
void *am_shadow_memory(size_t bytes);

static inline struct am_cell am_cell_load(const struct am_cell *c)
{
	return (struct am_cell){__atomic_load_n(&c->w, __ATOMIC_RELAXED),
				__atomic_load_n(&c->r, __ATOMIC_RELAXED)};
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* Not known to be redundant: decide, log. One access of 1, 2, 4, 8 or 16 bytes. */
void am_view_access(enum am_kind kind, uintptr_t address, unsigned size, unsigned detail,
		    struct am_here here);
/* The same for one that stands for another before it: true if nothing had to be logged. */
bool am_view_settles(uintptr_t address, unsigned size, bool writes, struct am_here here);
/* Any number of bytes. */
void am_view_range(enum am_kind kind, uintptr_t address, size_t size, struct am_here here);
/* Is it to be logged, at once? Remembers it as logged. For callers that log by themselves. */
bool am_view_wants(enum am_kind kind, uintptr_t address, unsigned size, struct am_here here);
/* Somebody else is about to log an access of this thread (annotations). */
void am_view_touched(uintptr_t address, size_t size);
/* A block is gone: is that to be logged? */
bool am_view_gone(uintptr_t address, size_t size, struct am_here here);

/* This thread logged an event that may be the end of an edge, and no access of ours. */
void am_view_counted(void);

/* hook_alloc.c: a thread begins to show accesses, on a stack that others may have had before. */
void am_alloc_stack(uintptr_t top);

/* The outermost region of this thread began or ended; nested ones are counted here. */
void am_view_begin(void);
void am_view_end(void);
void am_view_wait(void);
void am_view_wake(void);

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
	       __atomic_load_n(&am_view_open.now.open, __ATOMIC_RELAXED) == 0;
}

/* The same in two loads, if am_view_rest found it so. `head` is that of the ring + 1. */
static inline bool am_view_is_idle(uint64_t head)
{
	if (am_unlikely(am_state() != AM_ON))
		return true;
	return head == am_view.idle_head &&
	       __atomic_load_n(&am_view_open.now.open, __ATOMIC_RELAXED) == 0;
}

/* Behind an access that took the slow path. */
static inline void am_view_rest(void)
{
	const bool is_idle = am_view_mode == AM_VIEW_REGIONS && am_view.depth == 0 &&
			     (!am_after.has_sections ||
			      am_tls.head - am_view.own_units == am_view.others);

	am_view.idle_head = is_idle ? am_tls.head + 1 : 0;
}

static inline bool am_view_is_known(uintptr_t address, uint64_t bytes, bool writes)
{
	const struct am_cell *c = am_shadow_find(address);

	return am_likely(c != NULL) && am_view_mode == AM_VIEW_REGIONS &&
	       am_filter_known(am_cell_load(c), am_view.stretch, bytes, writes);
}

/* ---- the fast path --------------------------------------------------------------------------- */

/* Where a lazy access was made, for the one who may have to tell it late: the return address << 16,
 * below it what tells addresses of one place apart. */
enum { AM_PLACES = 1024 };

static inline uint64_t *am_view_place(uint64_t *places, uintptr_t address, bool writes)
{
	/* Half for mappings and stacks, half for the program's own data, which large arrays spare. */
	const uintptr_t low = address >> 3 & (AM_PLACES / 4 - 1);

	return &places[(low | (address >> 45 & 1) * (AM_PLACES / 4)) * 2 + writes];
}

static inline uint64_t am_view_place_key(uintptr_t address)
{
	return address >> 12 & 0xffff;
}

/*
 * The whole of a callback for one access that does not cross a word, if it is known or can be
 * remembered in its cell. Only while fast_head tells that this thread is where it was when last asked.
 * The cell is not changed in one step: an access of another thread in the same few nanoseconds would
 * be a race, whose order the callbacks, which come before the accesses, cannot tell either.
 */
static inline __attribute__((always_inline)) bool am_view_fast(struct am_cell *c, uintptr_t address,
							       uint64_t bytes, bool writes,
							       uintptr_t pc)
{
	const struct am_view *v = &am_view;

	if (am_unlikely(!c))
		return false;
	const uint64_t stretch = v->stretch, w = __atomic_load_n(&c->w, __ATOMIC_RELAXED);
	if (am_filter_has(w, stretch, bytes))
		return true;
	if (am_unlikely(!am_filter_same_block(w, stretch)))
		return false;
	const uint64_t old = writes ? w : __atomic_load_n(&c->r, __ATOMIC_RELAXED);
	if (!writes && am_filter_has(old, stretch, bytes))
		return true;
	const uint64_t hidden = (w & AM_CELL_MORE) >> AM_MORE_SHIFT & bytes;
	const bool is_same = am_filter_same_stretch(old, stretch);
	if (am_unlikely(writes ? hidden != 0
			       : !am_filter_same_block(old, stretch) ||
					 (hidden & ~(old >> AM_MORE_SHIFT)) != 0))
		return false;
	if (am_unlikely(!is_same && (old & AM_CELL_BYTES & ~bytes) != 0))
		return false;
	__atomic_store_n(writes ? &c->w : &c->r,
			 (is_same ? old : stretch | (old & (AM_CELL_MORE | AM_CELL_LOGGED))) |
				 bytes | AM_CELL_LAZY,
			 __ATOMIC_RELAXED);
	__atomic_store_n(am_view_place(v->places, address, writes),
			 (uint64_t)pc << 16 | am_view_place_key(address), __ATOMIC_RELAXED);
	return true;
}

#endif
