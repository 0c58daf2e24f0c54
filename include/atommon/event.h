/* SPDX-License-Identifier: MIT */
/*
 * The event: the one vocabulary of hooks, rings, trace, checker, predictor and reports.
 *
 * Two forms. A *record* is what a thread writes into its ring and what a trace chunk holds: one or
 * more units of 16 bytes, per thread, not yet merged. An *event* (struct am_event) is the decoded
 * form in the merged order; every stage behind the merge sees only events.
 *
 * Order. A record whose AM_R_SEQ bit is set carries the next number of the slot of its object
 * (am_slot_of), or of its own counter (AM_R_OWN). Numbers of one slot are dense, modulo 2^32,
 * starting at 0: the merge may pass a record on exactly when its number is the slot's next. Records
 * without a number go as soon as their thread's earlier records went.
 */
#ifndef ATOMMON_EVENT_H
#define ATOMMON_EVENT_H

#include <stdbool.h>
#include <stdint.h>

/*
 * name in text form, constant, what `object` holds (addr: address, thread: thread id, string:
 * string id, none), one line of meaning. `aux` and `mode` are explained beside struct am_event.
 * The numbers are part of the trace format: append only.
 */
#define AM_EVENTS(X)                                                                               \
	X(none, NONE, none, "no event")                                                            \
	X(thread-begin, THREAD_BEGIN, thread, "first event of a thread")                           \
	X(thread-end, THREAD_END, thread, "last event of a thread")                                \
	X(fork, FORK, thread, "about to create thread `object`")                                   \
	X(join, JOIN, thread, "thread `object` has ended and was joined")                          \
	X(acquire, ACQUIRE, addr, "holds the lock now (mode: exclusive or shared)")                \
	X(release, RELEASE, addr, "about to release the lock")                                     \
	X(wait, WAIT, addr, "about to wait on a condition; releases mutex `aux`")                  \
	X(wake, WAKE, addr, "back from the wait; holds mutex `aux` again")                         \
	X(signal, SIGNAL, addr, "about to signal a condition")                                     \
	X(broadcast, BROADCAST, addr, "about to broadcast a condition")                            \
	X(post, POST, addr, "about to post a semaphore")                                           \
	X(take, TAKE, addr, "took a semaphore (sem_wait succeeded)")                               \
	X(arrive, ARRIVE, addr, "about to wait at a barrier")                                      \
	X(leave, LEAVE, addr, "left a barrier (mode 1: the serial thread)")                        \
	X(once-begin, ONCE_BEGIN, addr, "runs the once routine now")                               \
	X(once-end, ONCE_END, addr, "once routine done, or seen done by a later caller")           \
	X(begin, BEGIN, string, "region begins")                                                   \
	X(end, END, string, "region ends")                                                         \
	X(read, READ, addr, "reads `size` bytes")                                                  \
	X(write, WRITE, addr, "writes `size` bytes")                                               \
	X(update, UPDATE, addr, "atomic read-modify-write of `size` bytes")                        \
	X(alloc, ALLOC, addr, "block of `aux` bytes is new")                                       \
	X(free, FREE, addr, "block of `aux` bytes is gone: a write of it")                         \
	X(branch, BRANCH, none, "condition `expr` evaluated to `value`")                           \
	X(assert, ASSERT, none, "asserted condition `expr` evaluated to `value`")                  \
	X(lost, LOST, none, "`aux` events of this thread are missing here (mode: cause)")          \
	X(init, INIT, addr, "synchronisation object made (mode: am_object, aux: count or type)")   \
	X(destroy, DESTROY, addr, "synchronisation object unmade (mode: am_object)")               \
	X(name, NAME, addr, "`size` bytes here are called string `aux`")                           \
	X(enter, ENTER, addr, "function entered (object: its address)")                            \
	X(leave-fn, LEAVE_FN, addr, "function left")                                               \
	X(fence, FENCE, none, "memory fence of `order`")                                           \
	X(expr, EXPR, none, "defines an expression node of this thread (see expr.h)")              \
	X(pin, PIN, none, "expression `expr` is fixed to its concrete `value` from here on")       \
	X(call, CALL, addr, "calls a function that is not instrumented")                           \
	X(untaken, UNTAKEN, addr, "the side not taken of the last branch may write `size` bytes")  \
	X(clock, CLOCK, none, "coarse wall clock, ns since the epoch in `value`")                  \
	X(modules, MODULES, none, "the module table changed (dlopen, dlclose)")                    \
	X(ext, EXT, none, "raw only: continues the record before it")                              \
	X(mark, MARK, addr, "live only: accesses told late may name this moment, by number `aux`")  \
	X(late, LATE, addr, "live only: `size` bytes were accessed at mark `aux` (mode 1: written)") \
	X(told, TOLD, addr, "live only: an event of another thread, or of earlier, see below")

enum am_kind {
#define X(text, name, object, meaning) AM_##name,
	AM_EVENTS(X)
#undef X
		AM_KINDS
};

/* `mode` of acquire, release. */
enum am_mode { AM_EXCLUSIVE = 0, AM_SHARED = 1 };

/* `mode` of init, destroy: what kind of object. */
enum am_object {
	AM_OBJ_MUTEX = 1,
	AM_OBJ_RWLOCK,
	AM_OBJ_SPIN,
	AM_OBJ_COND,
	AM_OBJ_SEM,
	AM_OBJ_BARRIER,
	AM_OBJ_ONCE,
	AM_OBJ_FUTEX,	/* a word handed to futex(2): it was one before (aux 1: this thread waits on it now) */
	AM_OBJ_WAITERS, /* a word of `aux` bytes in which those who wait on a futex are counted, now and before */
};

/* `mode` of once-end: the routine was left by cancellation or an exception; it may run again. */
enum { AM_ONCE_ABANDONED = 1 };

/* `mode` of lost. */
enum am_lost {
	AM_LOST_FULL = 1,  /* the ring was full (ATOMMON_OVERFLOW=drop) */
	AM_LOST_MEMORY,	   /* no memory for a ring */
	AM_LOST_LIMIT,	   /* ATOMMON_TRACE_MAX or a full disk ended the recording */
	AM_LOST_TORN,	   /* a record was in progress when the process died */
	AM_LOST_BUSY,	   /* a signal handler ran inside a record and could not nest */
};

/* `flags` of an event. */
enum {
	AM_HAS_VALUE = 1 << 0, /* `value` is known */
	AM_TIMED_OUT = 1 << 1, /* wake: the wait timed out */
	AM_CANCELLED = 1 << 2, /* wake: the thread is being cancelled */
	AM_NESTED = 1 << 3,    /* logged by a signal handler that interrupted a record */
	AM_VOLATILE = 1 << 4,  /* volatile access */
	AM_OWNERDEAD = 1 << 5, /* acquire: EOWNERDEAD */
	AM_FREED_LOCK = 1 << 6, /* release: found held at destroy or free, not released by a call */
	AM_ATOMIC = 1 << 7	/* only of an am_access: its event had an order */
};

/*
 * Bits of `order` of a read or update, beside the memory order itself (see vain.h). An update whose result nobody
 * uses commutes with others of the same kind on the same bytes: such two do not conflict, in whatever order they came. So does one that takes one off and
 * whose result tells no more than that it was not the last (preload/owners.h).
 */
enum {
	AM_ORDER_MASK = 0x07,
	AM_ORDER_LAST = 0x08,	 /* update: one was taken off, nothing is left (0, or less), and the result is looked at */
	AM_ORDER_ADDS = 0x10,	 /* update: an addition or subtraction, its result does not matter */
	AM_ORDER_ORS = 0x20,
	AM_ORDER_ANDS = 0x30,
	AM_ORDER_COMMUTES = 0x30, /* the mask of these */
	AM_ORDER_FAILED = 0x40, /* an attempt that failed, or left all as it was */
	AM_ORDER_AGAIN = 0x80,	/* read: of a loop, and the read of the same before it is a copy in front of
				   the loop; update: found what the read before it found */
};

/* A decoded event, in merged order. */
struct am_event {
	uint64_t index;	 /* position in the merged order, from 0 */
	uint64_t object; /* by kind: address, thread id or string id */
	uint64_t aux;	 /* mutex of wait/wake (0: a recursive mutex held more than once, which stays
			    held); bytes of alloc/free; count of lost; initial count of a semaphore
			    or barrier, pthread type of a mutex; string of name; update with an
			    expression: node of what it wrote (`value`, `expr`: what it read);
			    write: ones' complement of what was there before, 0 if not told */
	uint64_t value;	 /* value read or written (up to 8 bytes), outcome of a branch */
	uint32_t thread; /* own thread id, never reused; 0 is the main thread */
	uint32_t site;	 /* where: index into the site table, 0 unknown */
	uint32_t size;	 /* bytes of an access */
	uint32_t expr;	 /* expression node of this thread, 0 none (see expr.h) */
	uint8_t kind;	 /* enum am_kind */
	uint8_t mode;	 /* enum am_mode, am_object, am_lost; 1 for the serial thread */
	uint8_t order;	 /* atomics and fences: 1 + C11 memory order; 0: plain; and the bits above */
	uint8_t flags;
};

/* What an update commutes with: those of the same number; 0: with nothing. */
static inline uint32_t am_commutes(const struct am_event *e)
{
	const bool is_in_word = e->size && (e->object & 7) + e->size <= 8;

	return e->kind == AM_UPDATE && e->order & AM_ORDER_COMMUTES && is_in_word
		       ? (uint32_t)(e->order & AM_ORDER_COMMUTES) | e->size << 8 | (uint32_t)(e->object & 7) << 12
		       : 0;
}

/* ---- raw form ------------------------------------------------------------------------------ */

/* One unit of a ring or of a trace chunk. */
struct am_unit {
	uint64_t w0;
	uint64_t w1;
};

/*
 * w0 of the first unit of a record:
 *   0..5   kind          6      phase: parity of the ring lap; differs from what was there before
 *   7      has a sequence number        8      nested in a signal handler (AM_NESTED)
 *   9..10  extension units that follow  11..14 detail, by kind
 *   15     the number is of the object's own counter (AM_R_OWN)
 *   16..63 object
 * w1: sequence number in the low half, site in the high half.
 *
 * Extension units: w0 has kind AM_EXT, the phase, the tag in bits 11..14 and 48 bits of payload in
 * 16..63; w1 is 64 bits of payload. A record is complete when all its units have their phase.
 */
enum {
	AM_R_PHASE = 1 << 6,
	AM_R_SEQ = 1 << 7,
	AM_R_NESTED = 1 << 8,
	AM_R_EXT_SHIFT = 9,
	AM_R_EXT_MAX = 3,
	AM_R_DETAIL_SHIFT = 11,
	AM_R_DETAIL_MASK = 15,
	AM_R_OWN = 1 << 15,
	AM_R_OBJECT_SHIFT = 16,
};
#define AM_R_KIND_MASK UINT64_C(0x3f)

/*
 * detail (4 bits): late: bits 0..2 bytes - 1, bit 3 written. read, write, update: bits 0..2 size
 * code (0..6: 1 << code bytes, 7: in AM_X_SIZE),
 * bit 3 volatile. acquire, release: bit 0 shared, bit 1 owner dead, bit 2 AM_FREED_LOCK. wake: bit 0
 * timed out, bit 1 cancelled. leave: bit 0 serial. once-end: bit 0 abandoned. lost: cause. init,
 * destroy: enum am_object. branch, assert: bit 0 outcome. All others 0.
 */

/*
 * Accesses told late (live checking only; never in a trace). A thread leaves accesses unlogged
 * that concern nobody else; they are of numbered stretches (preload/filter.h). Behind what it did log
 * it logs a mark: object AM_THREAD_OBJECT of itself, numbered there; the stretch's number takes the
 * place of the site, or is `aux`. Accesses of a stretch lie at the newest mark that covers it. Whoever
 * comes to be concerned logs a mark on that object too, so as to come behind, and then late: object and
 * size are the bytes, `aux` is the thread << 32 | the stretch's number, the record's number is that of
 * the bytes.
 *
 * Nor does a region leave records as long as nothing in it must be logged. What began it is then
 * told by its thread, or before that by another that comes to be concerned: `told` carries an event of
 * the thread aux >> 32, in its stretch (uint32_t)aux; `value` is its kind, | its place among those
 * of the stretch << 8, | its aux << 32; without `value` it is the thread's own, and kind and place are
 * in aux >> 32. They may be told twice (analyzer/core/told.c). A kind of 0 only carries a number.
 */
/* Does a mark of `mark` stand for the accesses of stretch `number`? Numbers rise within a block of
 * 2^30, and a thread that gets a new block logs a mark. */
static inline bool am_mark_covers(uint32_t mark, uint32_t number)
{
	return (mark ^ number) >> 30 == 0 && mark <= number;
}

/* Extension tags and what they carry. */
enum am_ext {
	AM_X_VALUE = 1, /* w1: value of the access */
	AM_X_EXPR,	/* w1: expression node */
	AM_X_SIZE,	/* w1: size of the access or block (alloc, free, name) */
	AM_X_AUX,	/* w1: aux */
	AM_X_ORDER,	/* w1: 1 + memory order, and its bits */
	AM_X_COND,	/* wait, wake: payload48: condition, w1 low half: its own sequence number.
			   The record's object and number are the mutex's; the decoder swaps them
			   into am_event.object = condition, aux = mutex. */
};
/*
 * A wait or wake carries two numbers, taken in this order: the condition's, then the mutex's. The
 * merge consumes the first when it is next, and passes the event on when the second is. (Waiting for
 * both at once could deadlock when slots are shared.)
 */

/*
 * Slots: 2^14 counters, one per 64-byte line of address space, hashed. The merge of a reader must
 * use the same function; it is part of the trace format. Thread ids are put above user space.
 */
#define AM_SLOT_BITS 14
#define AM_SLOTS (1u << AM_SLOT_BITS)
#define AM_THREAD_OBJECT(id) (UINT64_C(0x800000000000) | ((uint64_t)(id) << 6))

static inline uint32_t am_slot_of(uint64_t object)
{
	return (uint32_t)(((object >> 6) * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - AM_SLOT_BITS));
}

/* fork, join, thread-begin, thread-end: the slot is that of AM_THREAD_OBJECT(object). */

/*
 * Own counters (AM_R_OWN): as many again, each of one mutex only, the first that asked for it.
 * Whoever holds the mutex is alone with its counter and adds to it without a locked instruction. A
 * mutex whose counter is another's has numbers of its slot, like everything else; which of the two
 * never changes while it lives. A merge keeps them behind the slots, at AM_SLOTS + am_own_slot_of.
 */
#define AM_COUNTERS (2 * AM_SLOTS)

static inline uint32_t am_own_slot_of(uint64_t object)
{
	return (uint32_t)object * UINT32_C(0x9e3779b1) >> (32 - AM_SLOT_BITS);
}

const char *am_kind_name(enum am_kind kind);
bool am_kind_from_name(const char *text, unsigned len, enum am_kind *kind);

#endif
