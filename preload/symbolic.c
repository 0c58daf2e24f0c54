/*
 * Accesses of code built with --symbolic: performed here, together with taking their number, so
 * that the value and the order agree. Recording: each access with its value, reads with a fresh
 * symbol, writes with their expression, none left out. Checking: like any other compiled access,
 * through the filter. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "atommon/perform.h"
#include "preload/futex.h"
#include "preload/lane.h"
#include "preload/retry.h"
#include "preload/export.h"
#include "preload/shadow.h"
#include "preload/slot.h"
#include "preload/step.h"
#include "preload/symbolic.h"

/* Larger copies are recorded as ranges without values. */
enum { COPY_MAX = 64 * 1024 };

static unsigned width_of(uint32_t meta)
{
	return 8u << (meta & 3);
}

/* ---- words that threads wait on (futex.h) ------------------------------------------------------
 */

static void note_access(void *p, uint32_t meta, bool writes)
{
	if (am_meta_order(meta) < 0)
		return;
	if (writes)
		am_futex_change((uintptr_t)p);
	else
		am_futex_read((uintptr_t)p);
}

static void note_update(void *p, uint64_t value, uint32_t meta, uint32_t op, struct am_here here)
{
	const bool is_less = op == AM_SYM_SUB;

	if ((op == AM_SYM_ADD || is_less) && width_of(meta) >= 32)
		am_futex_add((uintptr_t)p, width_of(meta) / 8, am_futex_delta(value, width_of(meta), is_less), here);
	else
		am_futex_change((uintptr_t)p);
}

/* ---- checking ---------------------------------------------------------------------------------
 */

static struct am_step check_begin(enum am_kind kind, void *p, uint32_t meta, struct am_here here)
{
	const unsigned size = 1u << (meta & 3);
	struct am_step none = {0};

	if (am_meta_order(meta) >= 0)
		return am_step_begin(kind, p, size, here);
	if (am_view_sleeps())
		return none;
	am_view_access(kind, (uintptr_t)p, size, meta & AM_SYM_VOLATILE ? AM_VIEW_VOLATILE : 0, here);
	return none;
}

static void check_end(struct am_step *step, enum am_kind kind, void *p, uint32_t meta, uint64_t value,
		      bool is_vain, struct am_here here)
{
	if (am_meta_order(meta) >= 0 && kind == AM_READ && !step->is_logged && !step->waits)
		am_retry_dropped((uintptr_t)p, 1u << (meta & 3), here);
	if (am_meta_order(meta) >= 0)
		am_step_end(step, kind, p, 1u << (meta & 3), am_meta_order(meta), value, is_vain, here);
}

/* ---- recording --------------------------------------------------------------------------------
 */

struct recording {
	struct am_record r;
	struct am_slot *slot;
	bool is_locked;
};

/* Everything that can fail comes before the lock. False: not to be recorded. */
static bool record_begin(struct recording *x, struct am_sym *s, void *p, uint32_t meta, uint32_t at,
			 struct am_here here)
{
	am_sym_pin_node(s, at, (uintptr_t)p, here);
	if (!am_log_prepare(1 + AM_R_EXT_MAX, here))
		return false;
	x->r = (struct am_record){.has_seq = true,
				  .has_number = true,
				  .object = (uintptr_t)p,
				  .ordered = (uintptr_t)p};
	x->r.detail = (uint8_t)((meta & 3) | (meta & AM_SYM_VOLATILE ? 8 : 0));
	x->slot = &am_slots[am_slot_of((uintptr_t)p)];
	x->is_locked = am_slot_lock(x->slot);
	return true;
}

static void number(struct recording *x)
{
	x->r.number = am_number(x->r.object);
	if (x->is_locked)
		am_slot_unlock(x->slot);
}

static void attach(struct recording *x, enum am_ext tag, uint64_t payload)
{
	x->r.ext[x->r.n_ext++] = am_sym_ext(tag, payload);
}

static void finish(struct recording *x, enum am_kind kind, struct am_here here)
{
	x->r.kind = (uint8_t)kind;
	am_log_record(&x->r, here);
}

/* `flags`: of the order, see retry.h. */
static uint32_t record_read(struct recording *x, struct am_sym *s, uint64_t value, uint32_t meta,
			    uint64_t flags, struct am_here here)
{
	const uint32_t node = meta & AM_SYM_PLAIN ? 0 : ++s->last;
	const uint64_t order = flags | (am_meta_order(meta) >= 0 ? 1 + (uint64_t)am_meta_order(meta) : 0);

	attach(x, AM_X_VALUE, value);
	if (node)
		attach(x, AM_X_EXPR, node);
	if (order)
		attach(x, AM_X_ORDER, order);
	finish(x, AM_READ, here);
	return node;
}

/* Of this thread, as far as it remembers. */
static bool is_first_write(struct am_sym *s, uintptr_t address)
{
	uintptr_t *last = &s->written[(address >> 2) % AM_SYM_WRITTEN];

	if (*last == address)
		return false;
	*last = address;
	return true;
}

static void record_write(struct am_sym *s, void *p, uint64_t value, uint32_t meta, uint32_t node,
			 uint32_t at, struct am_here here)
{
	struct recording x;
	const bool is_recorded = record_begin(&x, s, p, meta, at, here);
	/* The predictor must know what a read before the first write would see. Not of atomics, for
	 * which the record has no room, nor of volatiles, which may be no memory. */
	const bool is_first = is_recorded && am_meta_order(meta) < 0 && !(meta & AM_SYM_VOLATILE) &&
			      is_first_write(s, (uintptr_t)p);
	const uint64_t before = is_first ? am_perform_load(p, meta) : 0;

	am_perform_store(p, value, meta);
	if (!is_recorded)
		return;
	number(&x);
	if (is_first && ~before)
		attach(&x, AM_X_AUX, ~before);
	attach(&x, AM_X_VALUE, value);
	if (node)
		attach(&x, AM_X_EXPR, node);
	if (am_meta_order(meta) >= 0)
		attach(&x, AM_X_ORDER, 1 + (uint64_t)am_meta_order(meta));
	finish(&x, AM_WRITE, here);
}

static struct am_sym_value record_load(struct am_sym *s, void *p, uint32_t meta, uint32_t at,
				       struct am_here here)
{
	struct recording x;
	const bool is_recorded = record_begin(&x, s, p, meta, at, here);
	const uint64_t value = am_perform_load(p, meta);

	if (!is_recorded)
		return (struct am_sym_value){value, 0};
	number(&x);
	const bool may_repeat = am_meta_order(meta) >= 0 || meta & AM_SYM_VOLATILE;
	const uint8_t again = may_repeat ? am_retry_load((uintptr_t)p, here.pc, value) : 0;
	return (struct am_sym_value){value, record_read(&x, s, value, meta, again, here)};
}

/* ---- loads and stores -------------------------------------------------------------------------
 */

AM_EXPORT struct am_sym_value __atommon_sym_load(void *p, uint32_t meta, uint32_t at)
{
	struct am_sym *s = am_sym_self();

	note_access(p, meta, false);
	if (s)
		return record_load(s, p, meta, at, AM_HERE);
	struct am_step step = check_begin(AM_READ, p, meta, AM_HERE);
	const uint64_t value = am_perform_load(p, meta);
	check_end(&step, AM_READ, p, meta, value, false, AM_HERE);
	return (struct am_sym_value){value, 0};
}

AM_EXPORT void __atommon_sym_store(void *p, uint64_t value, uint32_t meta, uint32_t node,
				   uint32_t at)
{
	struct am_sym *s = am_sym_self();

	note_access(p, meta, true);
	if (s) {
		record_write(s, p, value, meta, node, at, AM_HERE);
		return;
	}
	struct am_step step = check_begin(AM_WRITE, p, meta, AM_HERE);
	am_perform_store(p, value, meta);
	check_end(&step, AM_WRITE, p, meta, value, false, AM_HERE);
}

AM_EXPORT void __atommon_sym_range(void *p, uint64_t size, uint32_t writes, uint32_t at)
{
	const enum am_kind kind = writes == 2 ? AM_UPDATE : writes ? AM_WRITE : AM_READ;
	struct am_sym *s = am_sym_self();

	if (!s) {
		am_view_range(writes ? AM_WRITE : AM_READ, (uintptr_t)p, size, AM_HERE);
		return;
	}
	am_sym_pin_node(s, at, (uintptr_t)p, AM_HERE);
	am_log_access(kind, (uintptr_t)p, size, AM_HERE);
}

/* ---- copies -----------------------------------------------------------------------------------
 */

/* The largest piece at p that ends within n bytes and does not cross its own alignment. */
static uint32_t piece(const char *to, const char *from, uint64_t n)
{
	uint32_t code = 3;

	while (code > 0 && ((1u << code) > n || ((uintptr_t)to & ((1u << code) - 1)) ||
			    ((uintptr_t)from & ((1u << code) - 1))))
		code--;
	return code;
}

static void record_copy(struct am_sym *s, char *to, char *from, uint64_t n, struct am_here here)
{
	/* Backwards where the end of the source would be overwritten first. */
	const bool is_back = to > from && to < from + n;

	while (n > 0) {
		const uint32_t code = is_back ? 0 : piece(to, from, n), bytes = 1u << code;
		char *const source = is_back ? from + n - 1 : from;
		char *const target = is_back ? to + n - 1 : to;
		const struct am_sym_value v = record_load(s, source, code, 0, here);
		record_write(s, target, v.value, code, v.node, 0, here);
		n -= bytes;
		if (!is_back) {
			to += bytes;
			from += bytes;
		}
	}
}

bool am_sym_reads(const void *p, uint64_t n, struct am_here here)
{
	struct am_sym *s = am_tls.lane && am_tls.lane->symbolic ? am_sym_self() : NULL;
	char *at = (char *)(uintptr_t)p;

	if (!s || n > COPY_MAX)
		return false;
	while (n > 0) {
		const uint32_t code = piece(at, at, n);
		const struct am_sym_value v = record_load(s, at, code, 0, here);
		am_sym_pin_node(s, v.node, v.value, here);
		at += 1u << code;
		n -= 1u << code;
	}
	return true;
}

AM_EXPORT void __atommon_sym_copy(void *to, const void *from, uint64_t n)
{
	struct am_sym *s = am_sym_self();

	if (s && n <= COPY_MAX) {
		record_copy(s, to, (char *)(uintptr_t)from, n, AM_HERE);
		return;
	}
	if (s) {
		am_log_access(AM_READ, (uintptr_t)from, n, AM_HERE);
		am_log_access(AM_WRITE, (uintptr_t)to, n, AM_HERE);
	} else {
		am_view_range(AM_READ, (uintptr_t)from, n, AM_HERE);
		am_view_range(AM_WRITE, (uintptr_t)to, n, AM_HERE);
	}
	memmove(to, from, n);
}

AM_EXPORT void __atommon_sym_set(void *to, uint32_t byte, uint64_t n, uint32_t node)
{
	struct am_sym *s = am_sym_self();
	char *p = to;

	if (s)
		am_sym_pin_node(s, node, byte & 0xff, AM_HERE);
	if (!s || n > COPY_MAX) {
		if (s)
			am_log_access(AM_WRITE, (uintptr_t)to, n, AM_HERE);
		else
			am_view_range(AM_WRITE, (uintptr_t)to, n, AM_HERE);
		memset(to, (int)byte, n);
		return;
	}
	while (n > 0) {
		const uint32_t code = piece(p, p, n), bytes = 1u << code;
		const uint64_t all = (byte & 0xff) * UINT64_C(0x0101010101010101);
		record_write(s, p, bytes == 8 ? all : all & ((UINT64_C(1) << 8 * bytes) - 1), code,
			     0, 0, AM_HERE);
		p += bytes;
		n -= bytes;
	}
}

/* ---- read-modify-writes -----------------------------------------------------------------------
 */

/* The nodes that an update makes after the one of the value it read; the last is what it wrote. */
static uint32_t written(struct am_sym *s, uint32_t op, unsigned width, uint32_t old, uint32_t v)
{
	static const uint8_t direct[] = {[AM_SYM_ADD] = AM_OP_ADD,
					 [AM_SYM_SUB] = AM_OP_SUB,
					 [AM_SYM_AND] = AM_OP_AND,
					 [AM_SYM_OR] = AM_OP_OR,
					 [AM_SYM_XOR] = AM_OP_XOR};
	static const uint8_t keeps_old[] = {[AM_SYM_MAX] = AM_OP_SGT,
					    [AM_SYM_MIN] = AM_OP_SLT,
					    [AM_SYM_UMAX] = AM_OP_UGT,
					    [AM_SYM_UMIN] = AM_OP_ULT};
	switch (op) {
	case AM_SYM_XCHG:
		return v;
	case AM_SYM_NAND:
		return am_sym_node(s, AM_OP_NOT, width, am_sym_node(s, AM_OP_AND, width, old, v, 0),
				   0, 0);
	case AM_SYM_MAX:
	case AM_SYM_MIN:
	case AM_SYM_UMAX:
	case AM_SYM_UMIN:
		return am_sym_node(s, AM_OP_ITE, width,
				   am_sym_node(s, (enum am_op)keeps_old[op], 1, old, v, 0), old, v);
	default:
		return am_sym_node(s, (enum am_op)direct[op], width, old, v, 0);
	}
}

static unsigned nodes_of(uint32_t op)
{
	return op == AM_SYM_XCHG ? 0 : op == AM_SYM_NAND || op >= AM_SYM_MAX ? 2 : 1;
}

/* An update carries no order of its own: there is room for three things, and it is atomic anyway.
 */
static uint32_t record_update(struct recording *x, struct am_sym *s, uint64_t old, uint32_t meta,
			      uint32_t op, uint32_t v, struct am_here here)
{
	const uint32_t node = ++s->last;
	const unsigned n = nodes_of(op);

	attach(x, AM_X_VALUE, old);
	attach(x, AM_X_EXPR, node);
	attach(x, AM_X_AUX, n ? node + n : v);
	finish(x, AM_UPDATE, here);
	if (n)
		written(s, op, width_of(meta), node, v);
	return node;
}

AM_EXPORT struct am_sym_value __atommon_sym_update(void *p, uint64_t value, uint32_t meta,
						   uint32_t op, uint32_t node, uint32_t at)
{
	struct am_sym *s = am_sym_self();
	struct recording x;

	note_update(p, value, meta, op, AM_HERE);
	if (s) {
		const uint32_t v = node ? node : am_sym_const(s, width_of(meta), value);
		const bool is_recorded = v && record_begin(&x, s, p, meta, at, AM_HERE);
		const uint64_t old = am_perform_update(p, value, meta, op);
		if (!is_recorded)
			return (struct am_sym_value){old, 0};
		number(&x);
		if (am_perform_changed(old, value, meta, op) != old)
			return (struct am_sym_value){old, record_update(&x, s, old, meta, op, v, AM_HERE)};
		/* It left all as it was, like an attempt that failed; with another value it might not have. */
		const uint32_t read = record_read(&x, s, old, meta, AM_ORDER_FAILED, AM_HERE);
		am_sym_pin_node(s, read, old, AM_HERE);
		return (struct am_sym_value){old, read};
	}
	struct am_step step = check_begin(AM_UPDATE, p, meta, AM_HERE);
	const uint64_t old = am_perform_update(p, value, meta, op);
	check_end(&step, AM_UPDATE, p, meta, old, am_perform_changed(old, value, meta, op) == old,
		  AM_HERE);
	return (struct am_sym_value){old, 0};
}

AM_EXPORT struct am_sym_value __atommon_sym_cas(void *p, uint64_t expected, uint64_t desired,
						uint32_t meta, uint32_t expected_node,
						uint32_t desired_node, uint32_t at)
{
	struct am_sym *s = am_sym_self();
	struct recording x;

	if (s) {
		const unsigned width = width_of(meta);
		const uint32_t e = expected_node ? expected_node : am_sym_const(s, width, expected);
		const uint32_t d = desired_node ? desired_node : am_sym_const(s, width, desired);
		const bool is_recorded = e && d && record_begin(&x, s, p, meta, at, AM_HERE);
		const uint64_t old = am_perform_cas(p, expected, desired, meta);
		if (old == expected)
			am_futex_change((uintptr_t)p);
		if (!is_recorded)
			return (struct am_sym_value){old, 0};
		number(&x);
		const uint32_t node =
			old == expected ? record_update(&x, s, old, meta, AM_SYM_XCHG, d, AM_HERE)
					: record_read(&x, s, old, meta, AM_ORDER_FAILED, AM_HERE);
		const uint32_t eq = am_sym_node(s, AM_OP_EQ, 1, node, e, 0);
		if (eq)
			am_sym_condition(AM_BRANCH, eq, old == expected, AM_HERE);
		return (struct am_sym_value){old, node};
	}
	struct am_step step = check_begin(AM_UPDATE, p, meta, AM_HERE);
	const uint64_t old = am_perform_cas(p, expected, desired, meta);
	if (old == expected)
		am_futex_change((uintptr_t)p);
	check_end(&step, old == expected ? AM_UPDATE : AM_READ, p, meta, old, old != expected, AM_HERE);
	return (struct am_sym_value){old, 0};
}

AM_EXPORT void __atommon_sym_fence(uint32_t order)
{
	struct am_record r = {.kind = AM_FENCE, .n_ext = 1};

	if (!am_sym_self())
		return;
	r.ext[0] = am_sym_ext(AM_X_ORDER, order);
	am_log_record(&r, AM_HERE);
}
