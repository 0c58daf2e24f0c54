/* SPDX-License-Identifier: MIT */
/*
 * Concurrent trace programs (Wang et al. 2010, section 2): the one form in which recorded traces and
 * litmus programs reach the symbolic core, its twins and the witness validator.
 *
 * A program is a set of threads. A thread is a straight line of guarded events; events are numbered
 * through the whole program in the order in which they were added (for a trace: the recorded order).
 * All expressions live in one DAG whose leaves are constants and the values read by events.
 *
 * Meaning (sequential consistency; other models below). A run is a sequence of steps; each step
 * executes the next event of one thread:
 *
 *  guard       a node of width 1, 0 stands for true. An event whose guard is false is skipped: it has
 *              no effect, it is never disabled, its READ leaf is 0, and its thread goes on.
 *  read        leaf `read` becomes the `size` bytes at `offset` of `object`, little endian. A
 *              `cond` (optional, over any leaves of this thread, its own included) makes it an atomic
 *              check: the step is possible only if the condition holds.
 *  write       stores node `value`.   update: read, then write of `value`, in one step (the value
 *              may use the event's own READ leaf); `cond` as for read.
 *  branch      assume(cond): possible only if `cond` holds. A thread whose branch does not hold has
 *              left the program: nothing after it happens in that thread.
 *  assert      always possible. If `cond` is false the assertion has failed, and nothing after it
 *              happens in that thread.
 *  acquire     mode exclusive: nobody holds the lock; shared: nobody holds it exclusively. A thread
 *              that holds the lock itself is a holder like any other (self-deadlock).
 *  release     possible only if this thread holds the lock in that mode; gives it up.
 *  wait        gives up mutex `aux` (must be held exclusively), begins to wait on condition `object`.
 *  wake        ends the thread's last wait: the mutex is free, and the wait was notified: by a signal
 *              after the wait that no other wake used, or by a broadcast after the wait. A signal
 *              while nobody waits is lost. Flag AM_TIMED_OUT, or `spurious` of the program: needs no
 *              notification. Signals are not bound to a waiter before its wake; that is the same set
 *              of runs, because waking the thread that wakes first is always a choice.
 *  post, take  semaphore count up; down, possible only if positive.
 *  arrive      counts at barrier `object`. Arrivals form generations of `count` in their order.
 *  leave       of the thread's last arrival: its generation is full.
 *  fork        thread `object` may start. A thread that no fork names may start at any time.
 *  join        possible only if every event of thread `object` was executed or skipped.
 *  begin, end  of region `object` (an index of `regions`); thread-begin, thread-end, fence, others:
 *              no effect on the state.
 *  orders      am_ctp_order(a, b): b is possible only after a was executed or skipped.
 *
 * A run may stop anywhere (erroneous prefixes, section 5 of the paper); a query may ask for a complete
 * one. Outcomes are asked with an observer: a thread that joins all others, reads the final values
 * and branches on the condition; the outcome is reachable iff that branch is.
 *
 * Memory models. The linearisation is the memory order. Which program order it keeps:
 *  sc         all.
 *  tso        all but write -> later read (a store buffer per thread). A read takes the value of the
 *             thread's own latest program-earlier write that is still in the buffer (forwarding),
 *             else memory; in terms of the order: of the last among the writes before it in memory
 *             order and its own program-earlier ones.
 *  pso        as tso, and not write -> later write of another location (a buffer per location;
 *             writes that may touch the same bytes share one).
 *  coherence  only between accesses that may touch the same bytes; from a read to each event whose
 *             value, address, guard or condition needs it (also through branches: all that follows a
 *             branch or assertion needs it); and around fences. No value comes out of thin air.
 * Full fences in every model, in both directions: updates, sequentially consistent writes
 * (towards what follows), fences of order acq_rel or seq_cst, all events on synchronisation
 * objects, fork, join, thread-begin, thread-end; region begin and end are transparent. A write
 * with release order, and a release fence, keep the accesses before them before (it, later
 * writes); an acquire read or acquire fence keeps what follows behind (it, earlier reads).
 */
#ifndef ATOMMON_PREDICT_CTP_H
#define ATOMMON_PREDICT_CTP_H

#include "atommon/event.h"
#include "atommon/expr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define AM_CTP_NONE UINT32_MAX

enum am_ctp_class { AM_CTP_DATA, AM_CTP_LOCK, AM_CTP_COND, AM_CTP_SEM, AM_CTP_BARRIER };

/* A data object is an array of bytes; objects never overlap. What a symbolic pointer may reach must
 * lie in one object, with the address as offset. */
struct am_ctp_object {
	char *name;
	enum am_ctp_class class;
	uint32_t size;	/* bytes of a data object */
	uint32_t count; /* semaphore: initial count; barrier: threads per generation */
	uint8_t *init;	/* data: `size` initial bytes, NULL: zero */
	bool aligned;	/* data: every access lies at a multiple of its own size */
};

/* Of a read: an exchange of its thread expects what it reads (unused.h); no cycle of conflicts runs over it. */
enum { AM_CTP_VOUCHED = 0x80 };

struct am_ctp_event {
	uint8_t kind;  /* enum am_kind */
	uint8_t mode;  /* enum am_mode of acquire, release */
	uint8_t order; /* 1 + C11 memory order, 0 plain */
	uint8_t flags; /* AM_TIMED_OUT; AM_CTP_VOUCHED */
	uint32_t thread, pos; /* position within its thread, from 0 */
	uint32_t object; /* object; thread of fork and join; region of begin and end */
	uint32_t aux;	 /* mutex of wait and wake */
	uint32_t guard, cond, offset, value, read; /* nodes, 0 none (offset: 0 is the constant 0) */
	uint32_t size;	 /* bytes of an access, 1 to 8 */
	uint64_t origin; /* the caller's own: index in the trace, line of the source */
	/* filled by am_ctp_finish: */
	uint32_t match;	 /* acquire-release, wait-wake, arrive-leave, begin-end; AM_CTP_NONE */
	uint32_t region; /* outermost region around it, an index of `regions`; AM_CTP_NONE */
	uint32_t loc;	 /* accesses: location class; different classes never share a byte */
};

struct am_ctp_thread {
	char *name;
	uint32_t *events; /* in program order */
	uint32_t length, room;
	uint32_t fork; /* event that forks it, AM_CTP_NONE: starts at any time */
};

/* One dynamic instance of a region. */
struct am_ctp_region {
	char *name;
	uint32_t begin, end; /* events, AM_CTP_NONE if missing */
	uint32_t thread;
	bool outermost;
};

struct am_ctp_edge {
	uint32_t before, after;
};

/* Location class of accesses. exact: all its accesses have the same constant place. */
struct am_ctp_loc {
	uint32_t object;
	bool exact;
	bool same_size; /* one size, aligned: two accesses overlap iff their offsets are equal */
};

struct am_ctp {
	struct am_expr *nodes; /* [0] unused; READ: value = event; widths 1..64 */
	struct am_ctp_event *events;
	struct am_ctp_object *objects;
	struct am_ctp_thread *threads;
	struct am_ctp_region *regions;
	struct am_ctp_edge *orders;
	struct am_ctp_loc *locs;
	uint32_t node_count, event_count, object_count, thread_count, region_count, order_count,
		loc_count;
	bool spurious; /* POSIX allows wake-ups without a notification; off unless asked for */
	bool finished;
	struct am_ctp_private *priv;
};

/* ---- builder: calls abort on memory exhaustion, assert on misuse ----------------------------- */

struct am_ctp *am_ctp_new(void);
void am_ctp_free(struct am_ctp *ctp);

uint32_t am_ctp_thread(struct am_ctp *ctp, const char *name);
uint32_t am_ctp_object(struct am_ctp *ctp, enum am_ctp_class class, const char *name);
/* A data object of `size` bytes, zero, aligned. */
uint32_t am_ctp_data(struct am_ctp *ctp, const char *name, uint32_t size);
void am_ctp_init(struct am_ctp *ctp, uint32_t object, uint32_t offset, uint32_t size,
		 uint64_t value);

/* Nodes: hash-consed, constants folded. Comparisons have width 1. */
uint32_t am_ctp_const(struct am_ctp *ctp, unsigned width, uint64_t value);
uint32_t am_ctp_op(struct am_ctp *ctp, enum am_op op, unsigned width, uint32_t a, uint32_t b,
		   uint32_t c);
uint32_t am_ctp_bool(struct am_ctp *ctp, uint32_t node); /* node != 0, width 1 */
uint32_t am_ctp_and(struct am_ctp *ctp, uint32_t a, uint32_t b); /* width 1; 0 is true */
uint32_t am_ctp_not(struct am_ctp *ctp, uint32_t a);		 /* width 1 */
bool am_ctp_is_const(const struct am_ctp *ctp, uint32_t node, uint64_t *value);

/* Each returns the event. Further fields (guard, order, flags, origin, cond of a read) may be set
 * through am_ctp_at until am_ctp_finish. Reads and updates make their leaf: am_ctp_at(...)->read. */
uint32_t am_ctp_event(struct am_ctp *ctp, uint32_t thread, enum am_kind kind, uint32_t object);
uint32_t am_ctp_read(struct am_ctp *ctp, uint32_t thread, uint32_t object, uint32_t offset_node,
		     uint32_t size);
uint32_t am_ctp_write(struct am_ctp *ctp, uint32_t thread, uint32_t object, uint32_t offset_node,
		      uint32_t size, uint32_t value);
uint32_t am_ctp_update(struct am_ctp *ctp, uint32_t thread, uint32_t object,
		       uint32_t offset_node, uint32_t size); /* then set ->value */
uint32_t am_ctp_assume(struct am_ctp *ctp, uint32_t thread, uint32_t cond);
uint32_t am_ctp_assert(struct am_ctp *ctp, uint32_t thread, uint32_t cond);
uint32_t am_ctp_wait(struct am_ctp *ctp, uint32_t thread, uint32_t cond, uint32_t mutex);
uint32_t am_ctp_wake(struct am_ctp *ctp, uint32_t thread, uint32_t cond, uint32_t mutex);
uint32_t am_ctp_region(struct am_ctp *ctp, const char *name); /* instance for begin/end events */
void am_ctp_order(struct am_ctp *ctp, uint32_t before, uint32_t after);

static inline struct am_ctp_event *am_ctp_at(struct am_ctp *ctp, uint32_t event)
{
	return &ctp->events[event];
}

/*
 * Checks the program and computes what is derived. Returns NULL if fine, else what is wrong (static
 * storage): a leaf used before its event in the same thread, an access of a wrong size or beyond its
 * object, an object of the wrong class. Must be called once before any analysis.
 */
const char *am_ctp_finish(struct am_ctp *ctp);

/* ---- questions ------------------------------------------------------------------------------- */

static inline bool am_ctp_is_access(const struct am_ctp_event *e)
{
	return e->kind == AM_READ || e->kind == AM_WRITE || e->kind == AM_UPDATE;
}

static inline bool am_ctp_is_store(const struct am_ctp_event *e)
{
	return e->kind == AM_WRITE || e->kind == AM_UPDATE;
}

/* Do two accesses share a byte? A node of width 1, constant where it can be told. */
uint32_t am_ctp_overlap(struct am_ctp *ctp, uint32_t a, uint32_t b);
/* Does the node use the value read by the event? */
bool am_ctp_needs(const struct am_ctp *ctp, uint32_t node, uint32_t event);
/* Evaluates a node, given the value of each READ leaf by event. */
uint64_t am_ctp_eval(const struct am_ctp *ctp, uint32_t node, const uint64_t *read_values);

/* Text in the manner of Fig. 3 of the paper: t1: <1, (assume(c), { x := e })>. */
void am_ctp_dump(const struct am_ctp *ctp, FILE *out);
void am_ctp_print_event(const struct am_ctp *ctp, uint32_t event, FILE *out);
void am_ctp_print_node(const struct am_ctp *ctp, uint32_t node, FILE *out);
/* The CSSA form (section 4.1, Fig. 4): with the pi-functions of each use of a shared variable. */
void am_ctp_dump_cssa(struct am_ctp *ctp, FILE *out);

#endif
