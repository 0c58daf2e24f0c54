/* SPDX-License-Identifier: MIT */
/*
 * Writing a record into the ring of this thread: what every hook calls.
 *
 * Runs in hooks, in application threads and in signal handlers. Rules of the hot path: no lock, no
 * system call, no malloc, errno untouched. Everything unusual (no ring yet, ring full, a signal
 * handler inside a record, a muted vfork child) is one unlikely jump to log.c.
 *
 * The shape of a hook:
 *
 *	int pthread_thing_lock(pthread_thing_t *x)
 *	{
 *		if (!am_on())
 *			return am_real.pthread_thing_lock(x);
 *		const int r = am_real.pthread_thing_lock(x);
 *		if (r == 0)
 *			am_log(AM_ACQUIRE, AM_EXCLUSIVE, (uintptr_t)x, AM_HERE);
 *		return r;
 *	}
 *
 * acquire-like events are logged after the real call succeeded, release-like ones before it. AM_HERE
 * must be written in the hook itself, so that it names the hook's caller; to hand it on to a static
 * helper, pass `struct am_here`.
 */
#ifndef ATOMMON_PRELOAD_LOG_H
#define ATOMMON_PRELOAD_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "atommon/event.h"
#include "preload/view.h"

#define am_likely(x) __builtin_expect(!!(x), 1)
#define am_unlikely(x) __builtin_expect(!!(x), 0)

/* ---- state of the process -------------------------------------------------------------------- */

enum am_state {
	AM_COLD = 0, /* not initialised; also what a forked child finds (the page is wiped) */
	AM_PASS,     /* dormant, switched off or failed: hooks only call the real function */
	AM_IDLE,     /* check mode before the first region: only threads are followed */
	AM_ON,	     /* everything is logged */
	AM_DEFER,    /* check, at the level of accesses: what may turn out not to matter waits (defer.h) */
};

/* In a page of its own that fork gives to the child as zeros. */
extern struct am_wiped {
	uint32_t state;
	uint32_t is_checking; /* not only recording: am_after has to be looked at. Set before AM_ON */
	char rest[4088];
} am_wiped __attribute__((visibility("hidden")));

/* Initialise if cold. True if events are to be logged. Keeps errno. */
bool am_rouse(void);
/* The same for thread life: true also before the first region. */
bool am_rouse_watching(void);

static inline uint32_t am_state(void)
{
	return __atomic_load_n(&am_wiped.state, __ATOMIC_RELAXED);
}

/* Is this hook to log? Synchronisation objects, accesses. */
static inline bool am_on(void)
{
	const uint32_t state = am_state();
	if (am_likely(state >= AM_ON))
		return true;
	return am_unlikely(state == AM_COLD) && am_rouse();
}

/* Is this hook to do its work? Threads, processes, names. */
static inline bool am_watching(void)
{
	const uint32_t state = am_state();
	if (am_likely(state >= AM_IDLE))
		return true;
	return am_unlikely(state == AM_COLD) && am_rouse_watching();
}

/* ---- state of a thread ----------------------------------------------------------------------- */

/* Where a hook was called: return address, and the stack pointer before the call (the CFA). */
struct am_here {
	uintptr_t pc, cfa;
};
#define AM_HERE                                                                                    \
	((struct am_here){(uintptr_t)__builtin_return_address(0), (uintptr_t)__builtin_dwarf_cfa()})

/* One remembered call site: `key` mixes return address and stack pointer into 64 bits; it speaks of
 * this call if also the return addresses of the callers, which lie in the stack at slot[], mix into
 * `callers` as they did. Slots of callers that are not there point at a zero. */
struct am_site_cached {
	uint64_t key;
	const uintptr_t *slot[3];
	uint64_t callers;
	uint64_t pad[2];
	uint64_t site; /* id << 32, as in w1 */
} __attribute__((aligned(64)));
_Static_assert(sizeof(struct am_site_cached) == 64, "one cache line");

/* One remembered return address: for releases, which carry no callers. */
struct am_pc_cached {
	uintptr_t pc;
	uint64_t site; /* id << 32 */
};

enum {
	AM_SITE_CACHE_BITS = 7,
	AM_SITE_CACHE = 1 << AM_SITE_CACHE_BITS,
	AM_PC_CACHE_BITS = 7,
	AM_PC_CACHE = 1 << AM_PC_CACHE_BITS,
	AM_SITE_LOW_BITS = 4, /* of a key or hash that are left out: stack frames have them in common */
};
#define AM_SITE_HASH UINT64_C(0x61c88647) /* below 2^31: an operand of an instruction */

/* The start of a lane: what hooks need of it. */
struct am_caches {
	struct am_site_cached site[AM_SITE_CACHE];
	struct am_pc_cached pc[AM_PC_CACHE];
	struct am_unit *units; /* the lane's */
};

enum { AM_AHEAD = 32 }; /* units */

struct am_lane; /* lane.h: ring and memory of one thread at a time */

/* All thread-local storage of the library: at most one cache line, initial-exec. */
struct am_tls {
	struct am_unit *base;	      /* base[i] is unit i, if i is in the same lap as head */
	uint64_t head;		      /* ring index of the next unit */
	uint64_t limit;		      /* head may go up to here without asking; 0: ask first. Never
					 beyond the end of the lap that head is in */
	uint64_t mask;		      /* units in the ring - 1 */
	uint64_t phase;		      /* of head's lap: AM_R_PHASE or 0 */
	uintptr_t event;	      /* CFA of the hook whose record is being written; 0: none. The
					 records of own counters do without (am_log_own) */
	struct am_lane *lane;
	uint32_t id;	/* thread id + 1; 0: not attached yet */
	union {
		struct {
			uint8_t muted;	/* in the child of a vfork: this memory is the parent's */
			uint8_t inside; /* the library's own code is at work: hooks only call through */
			uint8_t ended;	/* thread-end was logged */
			uint8_t owned;	/* the drain thread: never logs */
		};
		uint32_t is_apart; /* any of them */
	};
};
_Static_assert(sizeof(struct am_tls) <= 64, "keep thread-local storage tiny");
extern __thread struct am_tls am_tls __attribute__((visibility("hidden"), tls_model("initial-exec")));

/* ---- order ----------------------------------------------------------------------------------- */

/* One counter per slot of event.h, on a cache line of its own; `lock` serialises accesses that are
 * made and numbered in one step (access.c). */
struct am_slot {
	uint32_t next;
	uint32_t lock;
	char pad[56];
};
extern struct am_slot am_slots[AM_SLOTS] __attribute__((visibility("hidden")));

/* The object's next number. Sequentially consistent: partner is the same add of any other thread. */
static inline uint32_t am_number(uint64_t object)
{
	return __atomic_fetch_add(&am_slots[am_slot_of(object)].next, 1, __ATOMIC_SEQ_CST);
}

/* Own counters of mutexes (event.h). Claimed by the first mutex that hashes here, for good. */
struct am_own {
	uint64_t owner; /* 0: free */
	uint32_t next;
	char pad[52];
};
extern struct am_own am_owns[AM_SLOTS] __attribute__((visibility("hidden")));

/* Does this mutex have a counter of its own? Claims it if it is free. */
static inline struct am_own *am_own_claim(uint64_t mutex)
{
	struct am_own *own = &am_owns[am_own_slot_of(mutex)];
	uint64_t owner = __atomic_load_n(&own->owner, __ATOMIC_RELAXED);

	if (am_unlikely(owner == 0) &&
	    __atomic_compare_exchange_n(&own->owner, &owner, mutex, false, __ATOMIC_RELAXED,
					__ATOMIC_RELAXED))
		return own;
	return owner == mutex ? own : NULL;
}

/* Only by the holder of the mutex: no other thread is here, nor a signal handler of this one. */
static inline uint32_t am_own_number(struct am_own *own)
{
	const uint32_t number = __atomic_load_n(&own->next, __ATOMIC_RELAXED);

	__atomic_store_n(&own->next, number + 1, __ATOMIC_RELAXED);
	return number;
}

/* ---- records --------------------------------------------------------------------------------- */

/* A record of any shape. `ext` holds complete extension units without the phase. */
struct am_record {
	uint8_t kind, detail, n_ext;
	bool has_seq;
	bool has_number;  /* `number` was already taken, together with the access */
	bool is_mutex;	  /* `ordered` is a mutex that the caller holds, or nobody uses */
	uint32_t number;
	uint32_t site;	  /* if the place that is given has no pc */
	uint64_t object;  /* what goes into w0 */
	uint64_t ordered; /* the object whose slot numbers this record; the same unless a thread */
	uint64_t cond;	  /* wait, wake: numbered first, into ext[0] */
	struct am_unit ext[AM_R_EXT_MAX];
};

/* The general path: attaches, makes room, nests. False: the event was dropped, and counted. */
bool am_log_record(struct am_record *record, struct am_here here);

/* Make room for n units now, so that a record whose number is taken elsewhere cannot be dropped, and
 * open the record, so that a signal handler from here on knows that it is inside one. False:
 * dropped, and counted. True: am_log_record with has_number and the same `here` must follow. */
bool am_log_prepare(unsigned n, struct am_here here);

/* The same for the usual record behind am_log_prepare: of an access, with one extension. */
void am_log_step(enum am_kind kind, unsigned detail, uint64_t object, uint32_t number, struct am_unit more, struct am_here here);

/* A record of one extension that needs no more of its place than the return address, if there is one: late. */
void am_log_late(unsigned detail, uint64_t object, struct am_unit more, struct am_here here);

/* The id of the call site, by unwinding; remembered unless a signal handler asks (is_nested). */
uint32_t am_site_miss(struct am_here here, bool is_nested);

/* The same for the return address alone. */
uint32_t am_site_miss_pc(struct am_here here, bool is_nested);

/* The bits that say where the entry is depend on the low bits of both: two calls that stand close
 * together, and one call from frames that differ a little, have entries of their own. */
static inline uint64_t am_site_key(struct am_here here)
{
	return here.pc * AM_SITE_HASH + here.cfa;
}

static inline struct am_caches *am_caches(const struct am_tls *t)
{
	return (struct am_caches *)t->lane;
}

static inline struct am_site_cached *am_site_entry(const struct am_tls *t, uint64_t key)
{
	return &am_caches(t)->site[key >> AM_SITE_LOW_BITS & (AM_SITE_CACHE - 1)];
}

/* Three addresses as one number: one comparison instead of three. Two that differ by less than 1.7 million bytes
 * at each of the three places never give the same one (the shortest vector of the lattice that this
 * multiplication makes); farther apart it takes a chance of 1 in 2^64. */
static inline uint64_t am_site_callers(const struct am_site_cached *e)
{
	return (*e->slot[0] * AM_SITE_HASH + *e->slot[1]) * AM_SITE_HASH + *e->slot[2];
}

/* Does this entry speak of this call? The words in the stack are looked at only if it does by its
 * key, so they are where they were. */
static inline bool am_site_is_hit(const struct am_site_cached *e, uint64_t key)
{
	return am_likely(e->key == key) && am_likely(am_site_callers(e) == e->callers);
}

static inline struct am_pc_cached *am_site_pc_entry(const struct am_tls *t, uintptr_t pc)
{
	return &am_caches(t)->pc[pc * AM_SITE_HASH >> AM_SITE_LOW_BITS & (AM_PC_CACHE - 1)];
}

/* Releases, ends and the like are told by where they are; the way there is that of the acquire. */
static inline bool am_site_is_pc_only(enum am_kind kind)
{
	return kind == AM_RELEASE || kind == AM_POST || kind == AM_END || kind == AM_LATE;
}

static inline uint32_t am_site_in(const struct am_tls *t, enum am_kind kind, struct am_here here, bool is_nested)
{
	if (am_site_is_pc_only(kind)) {
		const struct am_pc_cached *p = am_site_pc_entry(t, here.pc);
		return p->pc == here.pc ? (uint32_t)(p->site >> 32) : am_site_miss_pc(here, is_nested);
	}
	const uint64_t key = am_site_key(here);
	const struct am_site_cached *e = am_site_entry(t, key);
	return am_site_is_hit(e, key) ? (uint32_t)(e->site >> 32) : am_site_miss(here, is_nested);
}

static inline uint32_t am_site(const struct am_tls *t, enum am_kind kind, struct am_here here)
{
	return am_site_in(t, kind, here, t->event != 0);
}

/* Next ring index: atomic towards signal handlers of this thread, no lock prefix needed. */
static inline uint64_t am_reserve(struct am_tls *t, uint64_t n)
{
	__asm__ volatile("xaddq %0, %1" : "+r"(n), "+m"(t->head) : : "memory", "cc");
	return n;
}

static inline uint64_t am_phase(const struct am_tls *t, uint64_t index)
{
	return index & (t->mask + 1) ? 0 : AM_R_PHASE;
}


/* A record ends; `outer` is the one that it interrupted, or 0. One that takes more than a unit, or
 * is made near the end of a lap, may have gone into the next. */
void am_log_leave(struct am_tls *t, uintptr_t outer);

/* Rare things that may be to do behind a record: a hook looks at both at once. */
extern struct am_after {
	uint32_t drain_asleep; /* the drain thread sleeps without a timeout: whoever logs wakes it */
	/* Critical sections are regions: they are followed by looking at what this thread logged. */
	uint32_t has_sections;
} am_after __attribute__((visibility("hidden"), aligned(8)));
void am_drain_wake(void);

/* The same as am_log, whatever is unusual. */
void am_log_cold(uint64_t w0, uint64_t object, uintptr_t pc, uintptr_t cfa) __attribute__((cold));
/* The rest of am_log_now when the call site is not known yet. */
void am_log_rest(uint64_t w0, uint64_t index, uint32_t number, uintptr_t pc, uintptr_t cfa)
	__attribute__((cold));

/* Is a unit of this thread's ring reserved and not written, though this thread is in no record that
 * `event` knows of? Either a signal handler asks that interrupted am_log_own (below), or one left
 * it by a jump (mended: lost records stand there now). */
enum am_torn { AM_TORN_NOT, AM_TORN_BELOW, AM_TORN_MENDED };
enum am_torn am_log_mend(struct am_lane *lane);

/* May this thread log one unit at once? Stays true until it does, for a handler that comes in
 * between leaves a margin. */
static inline bool am_log_is_ready(void)
{
	const struct am_tls *t = &am_tls;
	return am_likely(t->event == 0 && t->head < t->limit);
}

static inline bool am_drain_is_asleep(void)
{
	/* No fence: the drain thread issues one on all cores (membarrier) after it set this. */
	return am_unlikely(__atomic_load_n(&am_after.drain_asleep, __ATOMIC_RELAXED));
}

static inline uint64_t am_log_w0(enum am_kind kind, unsigned detail, uint64_t object)
{
	return (uint64_t)kind | AM_R_SEQ | (uint64_t)detail << AM_R_DETAIL_SHIFT |
	       object << AM_R_OBJECT_SHIFT;
}

/* Is there anything of am_after? */
static inline bool am_after_has_work(void)
{
	_Static_assert(sizeof(struct am_after) == 8, "read as one word");
	uint64_t both;
	/* One load of the two; each is written alone. The same rule for fences as above. */
	__asm__ volatile("movq %1, %0" : "=r"(both) : "m"(am_after));
	return both != 0;
}

/*
 * One record of one unit, numbered by its object, when am_log_is_ready(). A locked instruction waits
 * for all that stands before it: so the number is taken first, and the rest overlaps with what the
 * caller does next. False: the site is unknown, finish with am_log_rest(w0, *index, *number, ...).
 * The caller then asks am_drain_is_asleep(). Nothing is called here, so nothing has to be saved; w0 is
 * made late for the same reason: there are just enough registers.
 */
static inline __attribute__((always_inline)) bool am_log_now(enum am_kind kind,
							     unsigned detail, uint64_t object,
							     struct am_here here,
							     uint64_t *index, uint32_t *number)
{
	struct am_tls *t = &am_tls;
	uint64_t site;

	t->event = here.cfa;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*number = am_number(object);
	const uint64_t i = *index = am_reserve(t, 1);
	if (am_site_is_pc_only(kind)) {
		const struct am_pc_cached *p = am_site_pc_entry(t, here.pc);
		if (am_unlikely(p->pc != here.pc))
			return false;
		site = p->site;
	} else {
		const uint64_t key = am_site_key(here);
		const struct am_site_cached *e = am_site_entry(t, key);
		if (am_unlikely(!am_site_is_hit(e, key)))
			return false;
		site = e->site;
	}
	struct am_unit *u = &am_caches(t)->units[i & t->mask];
	/* Order of the two stores: partner is the acquire load of w0 in am_ring_has. */
	__atomic_store_n(&u->w1, *number | site, __ATOMIC_RELAXED);
	__atomic_store_n(&u->w0, am_log_w0(kind, detail, object) | am_phase(t, i),
			 __ATOMIC_RELEASE);
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->event = 0;
	/* The line ahead was last read by the consumer, on another core: ask for it in time, or the
	 * next locked instruction waits for it. Beyond the end of the ring it does nothing. */
	__builtin_prefetch(u + AM_AHEAD, 1);
	return true;
}

/*
 * One record of one unit about a mutex that the calling thread holds, numbered by the mutex's own
 * counter. False: something is unusual and nothing was done; am_log_mutex does it.
 * pthread_mutex_lock and unlock have the same by hand (hook_mutex_hot.S).
 *
 * There is no `event` here. A signal handler that interrupts this cannot hold the mutex, so it
 * takes no number of this counter; its records stand behind this one's place in the ring, or, if
 * it came before the place was taken, before it. In neither case anything waits in a circle:
 * nobody has a later number of the mutex before this hook is through. What a handler that finds
 * the ring full has to know, am_log_mend tells it.
 */
static inline bool am_log_own(enum am_kind kind, uint64_t mutex, struct am_here here)
{
	struct am_tls *t = &am_tls;
	struct am_own *own = &am_owns[am_own_slot_of(mutex)];

	if (am_unlikely(!am_log_is_ready()) ||
	    am_unlikely(__atomic_load_n(&own->owner, __ATOMIC_RELAXED) != mutex))
		return false;
	const uint32_t site = am_site(t, kind, here);
	if (am_unlikely(!am_log_is_ready())) /* looking for it may have taken long */
		return false;
	const uint64_t i = am_reserve(t, 1);
	struct am_unit *u = &am_caches(t)->units[i & t->mask];
	/* Order of the two stores: partner is the acquire load of w0 in am_ring_has. */
	__atomic_store_n(&u->w1, am_own_number(own) | (uint64_t)site << 32, __ATOMIC_RELAXED);
	__atomic_store_n(&u->w0, am_log_w0(kind, 0, mutex) | AM_R_OWN | am_phase(t, i),
			 __ATOMIC_RELEASE);
	return true;
}

/* The same, whatever is unusual; also for an init or destroy that nobody else can come near. */
void am_log_mutex(enum am_kind kind, unsigned detail, uint64_t mutex, uint64_t aux, uintptr_t pc,
		  uintptr_t cfa) __attribute__((cold));

/* acquire, release of a mutex that this thread holds. */
static inline void am_log_held(enum am_kind kind, uint64_t mutex, struct am_here here)
{
	am_view_doubt();
	if (!am_log_own(kind, mutex, here))
		am_log_mutex(kind, AM_EXCLUSIVE, mutex, 0, here.pc, here.cfa);
	else if (am_drain_is_asleep())
		am_drain_wake();
}

/* One record of one unit, numbered by its object. */
static inline __attribute__((always_inline)) void am_log(enum am_kind kind, unsigned detail,
							 uint64_t object, struct am_here here)
{
	uint64_t index;
	uint32_t number;

	if (kind == AM_ACQUIRE || kind == AM_RELEASE)
		am_view_doubt(); /* a section may begin or end */
	if (!am_log_is_ready())
		am_log_cold(am_log_w0(kind, detail, object), object, here.pc, here.cfa);
	else if (!am_log_now(kind, detail, object, here, &index, &number))
		am_log_rest(am_log_w0(kind, detail, object), index, number, here.pc, here.cfa);
	else if (am_drain_is_asleep())
		am_drain_wake();
}

/*
 * The same for what neither is a conflict nor ends a region: semaphores, signals, barriers, once. With accesses in sight nobody asks
 * for them but who tells what was in vain (atommon/vain.h): behind a load that began a look, one of them ends it.
 */
static inline __attribute__((always_inline)) void am_log_note(enum am_kind kind, unsigned detail,
							      uint64_t object, struct am_here here)
{
	if (am_state() == AM_DEFER && !am_view.is_looking)
		return;
	am_view.is_looking = 0;
	am_log(kind, detail, object, here);
}

/* Before anything is changed that a record will be about: one that was left by a jump out of a signal handler is over, and so is all that this
 * thread was in (am_view_torn). */
void am_log_bury(struct am_here here);
/* The same for a jump that is about to leave it, to where the stack pointer is that. */
void am_log_jump(uintptr_t sp);

/* ---- records with more in them --------------------------------------------------------------- */

/* wait, wake: detail as in event.h. */
void am_log_wait(enum am_kind kind, unsigned detail, uint64_t cond, uint64_t mutex,
		 struct am_here here);
/* init, destroy of an object; aux: initial count of a semaphore or barrier, type of a mutex. */
void am_log_object(enum am_kind kind, enum am_object what, uint64_t object, uint64_t aux,
		   struct am_here here);
/* fork, join, thread-begin, thread-end. */
void am_log_thread(enum am_kind kind, uint32_t thread, struct am_here here);
/* thread-end of this thread, after what it lost and has not told yet. */
void am_log_end(uint32_t thread);
/* Without a number: begin, end, branch, modules ... `aux` only if has_aux. */
void am_log_plain(enum am_kind kind, unsigned detail, uint64_t object, struct am_here here);
/* alloc, free: numbered by the block's address. */
void am_log_block(enum am_kind kind, uint64_t address, uint64_t bytes, struct am_here here);
/* read, write of `size` bytes, numbered, split at 64-byte lines. */
void am_log_access(enum am_kind kind, uint64_t address, uint64_t size, struct am_here here);

/* String id of a name; 0 when the table is full. Safe in signal handlers. */
uint32_t am_intern(const char *text);

/* This process has (or will have) regions: leave AM_IDLE for good. */
void am_arm(void);

#endif
