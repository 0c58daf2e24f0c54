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

#include "preload/log.h"

/* How accesses are treated. */
enum am_view_mode {
	AM_VIEW_UNSET = 0,
	AM_VIEW_NONE,	 /* accesses do not count: ATOMMON_CONFLICTS=locks */
	AM_VIEW_REGIONS, /* check: regions are announced to am_view_begin and am_view_end */
	AM_VIEW_STRETCH, /* check: lock operations conflict too, so edges come with them */
	AM_VIEW_RECORD,	 /* a trace is wanted: see view_record.c */
};
extern uint32_t am_view_mode __attribute__((visibility("hidden")));

/* Exposed regions that are open in the process (filter.h), and how often that went from none to one. */
struct am_open {
	uint32_t open, generation;
} __attribute__((aligned(8)));
extern struct am_view_open {
	union {
		struct am_open now;
		uint64_t word;
	};
	/* The block of the only thread that ever began a region, in place (filter.h); 0: none did; AM_STRETCH_OTHER: several. Outside its
	 * regions nobody else has one, and what it accesses concerns nobody (filter.h, 2). */
	uint64_t only;
	char rest[48];
} am_view_open __attribute__((visibility("hidden"), aligned(64)));

/* Read by instrumented code at each function's start: which version of it is to run. */
extern volatile int __atommon_armed;

/* ---- cells ----------------------------------------------------------------------------------- */

extern uintptr_t am_shadow_giants[1u << (AM_SHADOW_USER - AM_SHADOW_GIANT)] __attribute__((visibility("hidden")));
#define AM_SHADOW_GIANTS (sizeof am_shadow_giants / sizeof *am_shadow_giants)

static inline __attribute__((always_inline)) uintptr_t am_shadow_chunk(uintptr_t address)
{
	return am_fast_chunk(am_shadow_giants, AM_SHADOW_GIANTS, address);
}

/* A thread that has done nothing yet. */
#define AM_VIEW_NEW                                                                                        \
	{                                                                                                  \
		.shown = {.fast = AM_STRETCH_NONE,                                                         \
			  .idle = ~UINT64_C(0),                                                            \
			  .giants = am_shadow_giants,                                                      \
			  .n_giants = AM_SHADOW_GIANTS,                                                    \
			  .open = &am_view_open.word},                                                     \
		.calm = ~UINT64_C(0),                                                                      \
	}

/* The cell of an address, NULL where there is none (yet). */
static inline struct am_cell *am_shadow_find(uintptr_t address)
{
	const uintptr_t chunk = am_shadow_chunk(address);

	return am_likely(chunk) ? am_shadow_cell(chunk, address & ~(uintptr_t)7) : NULL;
}

/* The same, made if need be; NULL at the memory ceiling, from then on always. */
struct am_cell *am_shadow_make(uintptr_t address);

/* A block of memory is new or gone. Its cells are clean afterwards; each that was not is shown
 * before, unless it belongs to the thread whose stretch `own` is. Was any of it ever logged? */
typedef void am_shadow_fn(void *ctx, uintptr_t address, struct am_cell cell);
bool am_shadow_clear(uintptr_t address, size_t size, uint64_t own, am_shadow_fn *fn, void *ctx);
/* Is all of it nobody's, or of the thread whose stretch `own` is and not logged? */
bool am_shadow_is_own(uintptr_t address, size_t size, uint64_t own);
/* What of the whole words there is still that thread's is clean afterwards. */
void am_shadow_leave(uintptr_t address, size_t size, uint64_t own);

/* After fork, in the child. */
void am_shadow_forget(void);

/* Memory of a thread; NULL at the ceiling. */
void *am_shadow_memory(size_t bytes);

static inline __attribute__((always_inline)) struct am_cell am_cell_load(const struct am_cell *c)
{
	return (struct am_cell){__atomic_load_n(&c->w, __ATOMIC_RELAXED),
				__atomic_load_n(&c->r, __ATOMIC_RELAXED)};
}

/* Do four cells have the same in their first word? */
static inline bool am_cell_are_four(const struct am_cell *c, uint64_t w)
{
	return ((__atomic_load_n(&c[0].w, __ATOMIC_RELAXED) ^ w) | (__atomic_load_n(&c[1].w, __ATOMIC_RELAXED) ^ w) |
		(__atomic_load_n(&c[2].w, __ATOMIC_RELAXED) ^ w) | (__atomic_load_n(&c[3].w, __ATOMIC_RELAXED) ^ w)) == 0;
}

static inline bool am_cell_is(const struct am_cell *c, struct am_cell what)
{
	return __atomic_load_n(&c->w, __ATOMIC_RELAXED) == what.w && __atomic_load_n(&c->r, __ATOMIC_RELAXED) == what.r;
}

/* ---- accesses -------------------------------------------------------------------------------- */

/* Not known to be redundant: decide, log. One access of 1, 2, 4, 8 or 16 bytes. `detail`: of the record, beside
 * the size. */
enum { AM_VIEW_VOLATILE = 1 << 3 };
void am_view_access(enum am_kind kind, uintptr_t address, unsigned size, unsigned detail,
		    struct am_here here);
/* What am_view_is_done() does not do: `what` is the size, and bits of these. No register is kept, or all but %r11 and
 * those for floating-point numbers and vectors (ask.S). */
enum { AM_ASK_READS = 1 << 8, AM_ASK_WRITES = 1 << 9, AM_ASK_VOLATILE = 1 << 10 };
void am_tsan_ask(void *p, unsigned what, uintptr_t pc, uintptr_t cfa);
void am_tsan_ask_kept(void *p, unsigned what, uintptr_t pc, uintptr_t cfa) __attribute__((no_caller_saved_registers, visibility("hidden")));
/* As am_view_access, for one that stands for another before it: true if nothing had to be logged. */
bool am_view_settles(uintptr_t address, unsigned size, bool writes, struct am_here here);
/* Within a line of 64 bytes. */
void am_view_line(enum am_kind kind, uintptr_t address, unsigned size, struct am_here here);
/* Any number of bytes. */
void am_view_range(enum am_kind kind, uintptr_t address, size_t size, struct am_here here);
/* From there to there, which may overlap. */
void am_view_move(uintptr_t to, uintptr_t from, size_t size, struct am_here here);
/* Is it to be logged, at once? Remembers it as logged. For callers that log by themselves. */
bool am_view_wants(enum am_kind kind, uintptr_t address, unsigned size, struct am_here here);
/* The same for one of one word that covers no other access, so that everybody's next one is logged. */
bool am_view_wants_apart(uintptr_t address, unsigned size, struct am_here here);
/* Is what it remembered still there: has nobody come since this stretch? */
bool am_view_has(uintptr_t address, unsigned size, uint64_t owner);
/* Everybody's next access is logged. What the cells held is forgotten. */
void am_view_estrange(uintptr_t address, unsigned size);
/* view_record.c. Is it to be logged? Remembers it. `is_exact`: atomic or volatile. */
bool am_view_record_wants(struct am_view *v, struct am_cell *cell, uintptr_t word, uint64_t bytes,
			  bool writes, bool is_exact, uintptr_t pc);
/* Would an atomic read of these bytes of one word be left out? Asks only. */
bool am_view_is_recorded(uintptr_t address, uint64_t bytes, uintptr_t pc);
/* Somebody else is about to log an access of this thread (annotations). */
void am_view_touched(uintptr_t address, size_t size);
/* A large block is gone, its cells are cleaned: is that to be logged? A small one is told as a range. */
bool am_view_gone(uintptr_t address, size_t size, struct am_here here);
/* view_exact.c: the same of what waits. Before the two. */
void am_exact_gone(uintptr_t address, size_t size);
/* A block is new. */
void am_view_came(uintptr_t address, size_t size, struct am_here here);

/* This thread logged an event that may be the end of an edge, and no access of ours. */
void am_view_counted(void);

/* hook_alloc.c: a thread begins, on a stack that others may have had before. */
void am_alloc_stack(uintptr_t top);
/* This thread begins; or shows its first access, if that was not seen. Later, others may have come to what it has on its stack. */
void am_view_born(void);

/* The outermost region of this thread began or ended, and its record is there; nested ones are counted
 * here. */
void am_view_begin(void);
void am_view_end(void);
void am_view_wait(void);
void am_view_wake(void);
/* One more region is exposed. */
void am_view_count_open(void);
/* This thread ends. */
void am_view_quit(void);
/* A signal handler left what it interrupted by a jump: nothing of this thread is open any more, and nothing waits. */
void am_view_torn(void);

/* A lane, a block of numbers, the mode. False: this thread can log no access. */
bool am_view_is_ready(void);
void am_view_choose_mode(void);

/* Without numbers of its own a thread logs everything, and leaves the mark of a stranger. */
static inline bool am_view_has_numbers(const struct am_view *v)
{
	return am_likely(v->stretch >> AM_BLOCK_SHIFT != AM_BLOCK_OTHER);
}

/* The stretch behind this one; 0: there is no block, or its numbers are used up. */
static inline uint64_t am_view_next_stretch(const struct am_view *v)
{
	const uint64_t next = v->stretch + (UINT64_C(1) << AM_STRETCH_SHIFT);

	return am_likely(next >> AM_BLOCK_SHIFT != 0 && next << (64 - AM_BLOCK_SHIFT) != 0) ? next : 0;
}

/* A new stretch. */
void am_view_new_block(struct am_view *v);
static inline void am_view_new_stretch(struct am_view *v)
{
	const uint64_t next = am_view_next_stretch(v);

	am_view_doubt();
	v->past_is_over = 0;
	if (am_likely(next != 0))
		v->stretch = next;
	else
		am_view_new_block(v);
}

/* In init: do sections matter? */
void am_view_prepare(void);
/* view_sections.c: this thread logged something else since: did a section begin or end? */
void am_view_follow(struct am_view *v);

/* Units of this thread's ring that are not ours: they change with any other record. */
static inline uint64_t am_view_others(const struct am_view *v)
{
	return am_tls.head - v->own_units;
}

/* What was logged since the others were so many is ours; some of it may have been counted already. */
static inline void am_view_count_own(struct am_view *v, uint64_t others)
{
	v->own_units = am_tls.head - others;
}

static inline struct am_open am_view_now(void)
{
	union {
		uint64_t word;
		struct am_open now;
	} u = {__atomic_load_n(&am_view_open.word, __ATOMIC_RELAXED)};
	return u.now;
}

/* Has this thread logged anything in this generation that matters? If not, nothing that it did so far will matter again: who matters
 * in a generation does from the first stretch on that logs something in it. */
static inline bool am_view_counts(const struct am_view *v)
{
	const struct am_open now = am_view_now();

	return now.open != 0 && v->counted == now.generation;
}

/* Outside regions: may an edge have come to this thread since the last cut? */
static inline bool am_view_is_reached(const struct am_view *v)
{
	const struct am_open now = am_view_now();

	return now.open != 0 && v->reached == now.generation;
}

/* This thread begins a region. */
void am_view_enroll(const struct am_view *v);
static inline bool am_view_is_enrolled(const struct am_view *v)
{
	const uint64_t only = __atomic_load_n(&am_view_open.only, __ATOMIC_RELAXED);

	return am_likely(only == AM_STRETCH_OTHER || am_filter_same_block(only, v->stretch));
}

static inline void am_view_note_begin(const struct am_view *v)
{
	if (!am_view_is_enrolled(v))
		am_view_enroll(v);
}

/* Is there nothing to do for this thread, whatever it accesses? */
static inline bool am_view_sleeps(void)
{
	if (am_unlikely(am_state() < AM_ON))
		return true;
	if (am_after.has_sections && am_view_others(&am_view) != am_view.others)
		am_view_follow(&am_view);
	return false;
}

/* Nor for an access to what has no cell, or one that is nobody's or ours? */
static inline bool am_view_is_idle(void)
{
	return __atomic_load_n(&am_view_open.word, __ATOMIC_RELAXED) == am_view.idle;
}

/* Nor for any other, wherever: did nobody else ever begin a region? */
static inline bool am_view_is_alone(void)
{
	return am_filter_same_block(__atomic_load_n(&am_view_open.only, __ATOMIC_RELAXED), am_view.stretch);
}

static inline bool am_view_is_ours(const struct am_cell *c)
{
	return am_fast_is_ours(c, am_view.stretch);
}

/* view_late.c: does what this cell holds matter to a thread that comes to it? */
bool am_late_matters(const struct am_view *v, struct am_cell c);

/* Is there nothing to do for an access of up to 8 bytes, of any kind? If not, ask further. */
static inline bool am_view_passes(uintptr_t address, unsigned size)
{
	if (!am_view_is_idle())
		return false;
	if (am_view_is_alone())
		return true;
	if ((address & 7) + size > 8)
		return false;
	const struct am_cell *c = am_shadow_find(address);
	return !c || am_view_is_ours(c) || !am_late_matters(&am_view, am_cell_load(c));
}

/* Outside regions, and sections are followed up to here: what `idle` is to be. */
static inline uint64_t am_view_idle(const struct am_view *v)
{
	const uint64_t word = __atomic_load_n(&am_view_open.word, __ATOMIC_RELAXED);
	/* as in am_view_is_reached: none is open, or not in a generation in which an edge came here */
	const bool is_idle = (uint32_t)word == 0 || word >> 32 != v->reached;

	return is_idle ? word : ~UINT64_C(0);
}

/* Before the first region of the process, or once it is watched no more: what is nobody's concerns nobody. In this order, so that who is roused asks again. */
static inline void am_view_doze(void)
{
	const uint64_t word = __atomic_load_n(&am_view_open.word, __ATOMIC_ACQUIRE); /* partner: am_view_rouse */
	const uint32_t state = am_state();

	if (state == AM_IDLE || state == AM_PASS)
		am_view.idle = word;
}
/* The first region is about to begin, and the state says so. A generation without a region is one in which nothing matters. */
static inline void am_view_rouse(void)
{
	__atomic_fetch_add(&am_view_open.now.generation, 1, __ATOMIC_SEQ_CST); /* partner: am_view_doze */
}

/* Behind an access that took the slow path. */
static inline void am_view_rest(void)
{
	const bool may_idle = am_state() == AM_DEFER && am_view.depth == 0 &&
			      (!am_after.has_sections || am_view_others(&am_view) == am_view.others);

	am_view.idle = may_idle ? am_view_idle(&am_view) : ~UINT64_C(0);
}

/* ---- the fast path --------------------------------------------------------------------------- */

/* Behind the places (fast.h): long ranges (view_place.c). */
enum { AM_RANGES = 8 };
struct am_ranges {
	struct am_range {
		uint64_t key; /* stretch, and whether it was written; 0: empty */
		uintptr_t start, end, pc;
	} at[AM_RANGES];
	uint64_t next;
};
enum { AM_PLACES_BYTES = 2 * AM_PLACES_HALF + 8 + sizeof(struct am_ranges) };

static inline struct am_ranges *am_view_ranges(uint64_t *places)
{
	return (struct am_ranges *)(places + AM_PLACES_OWNER + 1);
}

/* The return address, 0 if this is not the place of that address any more. */
static inline uintptr_t am_view_read_place(const uint64_t *place, uintptr_t address)
{
	const uint64_t seen = __atomic_load_n(place, __ATOMIC_RELAXED);

	return seen >> 48 != 0 && (uint16_t)(seen >> 48) == am_view_place_tag(address) ? seen << 16 >> 16 : 0;
}

/*
 * The whole of a callback for one access that does not cross a word, if it is known or can be
 * remembered in its cell; `fast` tells whether that may be asked at all.
 */
static inline __attribute__((always_inline)) bool am_view_fast(struct am_cell *c, uintptr_t address,
							       uint64_t bytes, bool writes,
							       uintptr_t pc)
{
	const struct am_view *v = &am_view;
	uint64_t next;

	switch (am_filter_short(c, v->fast, bytes, writes, v->past_is_over, &next)) {
	case AM_SHORT_ASK:
		return false;
	case AM_SHORT_KNOWN:
		return true;
	case AM_SHORT_LAZY:
		break;
	}
	am_fast_keep(c, next, writes, v->places, address, pc);
	return true;
}

/* Is there nothing to do for a plain access but what is done here? */
static inline __attribute__((always_inline)) bool am_view_is_done(uintptr_t at, unsigned size,
								  bool writes, uintptr_t pc)
{
	if (am_unlikely(!am_fast_is_in_word(at, size)))
		return false;
	const uintptr_t chunk = am_shadow_chunk(at);
	if (!chunk) /* nobody was near: the usual thing outside regions */
		return am_likely(am_view_is_idle());
	struct am_cell *c = am_shadow_cell(chunk, size == 8 ? at : at & ~(uintptr_t)7);
	return am_view_fast(c, at, am_fast_bytes(at, size), writes, pc) || (am_view_is_idle() && (am_view_is_alone() || am_view_is_ours(c)));
}

#endif
