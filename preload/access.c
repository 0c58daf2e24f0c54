/*
 * The annotations of atommon.h. Runs in application threads.
 *
 * A load or store is performed here, together with taking its number, under a tiny lock of the
 * object's slot: so even accesses that race are ordered as they happened. A signal handler that
 * finds the lock held by the very thread it interrupted cannot wait for it; it makes its access
 * without the lock, at the number it gets.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "atommon.h"
#include "preload/defer.h"
#include "preload/functions.h"
#include "preload/export.h"
#include "preload/lane.h"
#include "preload/log.h"
#include "preload/runtime.h"
#include "preload/shadow.h"
#include "preload/slot.h"

/* ---- regions --------------------------------------------------------------------------------- */

static void region_begin(const char *name, struct am_here here)
{
	if (!am_watching())
		return;
	am_arm();
	if (!am_tls.lane && am_thread_self() == AM_NO_THREAD)
		return;
	struct am_lane *lane = am_tls.lane;
	const uint32_t id = am_intern(name);
	if (lane->depth < sizeof lane->open / sizeof lane->open[0])
		lane->open[lane->depth] = id;
	lane->depth++;
	if (am_defer_begin(AM_BEGIN, id, 0, here))
		return;
	am_log_plain(AM_BEGIN, 0, id, here);
	am_view_begin();
}

static void region_end(struct am_here here)
{
	struct am_lane *lane = am_tls.lane;

	if (!am_watching() || !lane || lane->depth == 0)
		return; /* began before we watched, or never */
	lane->depth--;
	const bool is_kept = lane->depth < sizeof lane->open / sizeof lane->open[0];
	const uint32_t id = is_kept ? lane->open[lane->depth] : 0;
	if (am_defer_end(AM_END, id, 0, here))
		return;
	am_log_plain(AM_END, 0, id, here);
	am_view_end();
}

AM_EXPORT void atommon_begin_(const char *name)
{
	region_begin(name, AM_HERE);
}

AM_EXPORT void atommon_end_(void)
{
	region_end(AM_HERE);
}

/* ---- accesses -------------------------------------------------------------------------------- */

AM_EXPORT void atommon_read_(const volatile void *p, size_t n)
{
	if (!am_on())
		return;
	am_view_touched((uintptr_t)p, n);
	am_log_access(AM_READ, (uintptr_t)p, n, AM_HERE);
}

AM_EXPORT void atommon_write_(const volatile void *p, size_t n)
{
	if (!am_on())
		return;
	am_view_touched((uintptr_t)p, n);
	am_log_access(AM_WRITE, (uintptr_t)p, n, AM_HERE);
}

AM_EXPORT void atommon_name_(const volatile void *p, size_t n, const char *name)
{
	if (!am_watching())
		return;
	struct am_record r = {.kind = AM_NAME, .n_ext = 2, .object = (uintptr_t)p};
	r.ext[0] = (struct am_unit){AM_EXT | (uint64_t)AM_X_SIZE << AM_R_DETAIL_SHIFT, n};
	r.ext[1] =
		(struct am_unit){AM_EXT | (uint64_t)AM_X_AUX << AM_R_DETAIL_SHIFT, am_intern(name)};
	am_log_record(&r, AM_HERE);
}

static void copy(volatile void *to, const volatile void *from, size_t n)
{
	switch (n) {
	case 1:
		*(volatile uint8_t *)to = *(const volatile uint8_t *)from;
		break;
	case 2:
		*(volatile uint16_t *)to = *(const volatile uint16_t *)from;
		break;
	case 4:
		*(volatile uint32_t *)to = *(const volatile uint32_t *)from;
		break;
	case 8:
		*(volatile uint64_t *)to = *(const volatile uint64_t *)from;
		break;
	default:
		memcpy((void *)(uintptr_t)to, (const void *)(uintptr_t)from, n);
	}
}

/* Does the log path have room and a lane, so that nothing can stop us while the lock is held? */
static bool is_ready(void)
{
	return am_tls.lane || am_thread_self() != AM_NO_THREAD;
}

static void access_one(enum am_kind kind, uint64_t object, volatile void *to,
		       const volatile void *from, size_t n, struct am_here here)
{
	struct am_slot *slot = &am_slots[am_slot_of(object)];
	struct am_record r = {.kind = (uint8_t)kind,
			      .n_ext = 1,
			      .has_seq = true,
			      .object = object,
			      .ordered = object,
			      .has_number = true};
	uint64_t value = 0;

	am_view_touched(object, n);
	/* Room first: a dropped record must not take a number. */
	if (!am_log_prepare(4, here)) {
		copy(to, from, n);
		return;
	}
	const bool is_locked = am_slot_lock(slot);
	copy(to, from, n);
	r.number = am_number(object);
	if (is_locked)
		am_slot_unlock(slot);
	memcpy(&value, kind == AM_READ ? (void *)(uintptr_t)to : (void *)(uintptr_t)from, n);
	r.detail = (uint8_t)__builtin_ctzll(n);
	r.ext[0] = (struct am_unit){AM_EXT | (uint64_t)AM_X_VALUE << AM_R_DETAIL_SHIFT, value};
	am_log_record(&r, here);
}

/* An access that is no power of two up to 8 bytes, or crosses a line, has no one number. */
static bool is_simple(uint64_t object, size_t n)
{
	return (n == 1 || n == 2 || n == 4 || n == 8) && (object & 63) + n <= 64;
}

AM_EXPORT void atommon_load_(const volatile void *p, void *value, size_t n)
{
	if (!am_on() || !is_ready()) {
		copy(value, p, n);
	} else if (is_simple((uintptr_t)p, n)) {
		access_one(AM_READ, (uintptr_t)p, value, p, n, AM_HERE);
	} else {
		am_view_touched((uintptr_t)p, n);
		copy(value, p, n);
		am_log_access(AM_READ, (uintptr_t)p, n, AM_HERE);
	}
}

AM_EXPORT void atommon_store_(volatile void *p, const void *value, size_t n)
{
	if (!am_on() || !is_ready()) {
		copy(p, value, n);
	} else if (is_simple((uintptr_t)p, n)) {
		access_one(AM_WRITE, (uintptr_t)p, p, value, n, AM_HERE);
	} else {
		am_view_touched((uintptr_t)p, n);
		am_log_access(AM_WRITE, (uintptr_t)p, n, AM_HERE);
		copy(p, value, n);
	}
}

/* ---- -finstrument-functions -------------------------------------------------------------------
 */

void am_function_event(enum am_kind kind, uintptr_t function, uint32_t name, struct am_here here)
{
	am_arm();
	if (kind == AM_ENTER ? am_defer_begin(kind, function, name, here)
			     : am_defer_end(kind, function, name, here))
		return;
	struct am_record r = {.kind = (uint8_t)kind, .n_ext = 1, .object = function};
	r.ext[0] = (struct am_unit){AM_EXT | (uint64_t)AM_X_AUX << AM_R_DETAIL_SHIFT, name};
	am_log_record(&r, here);
	if (kind == AM_ENTER)
		am_view_begin();
	else
		am_view_end();
}

static void function_event(enum am_kind kind, void *function, struct am_here here)
{
	const uint32_t name =
		am_has_functions && am_watching() ? am_function_region((uintptr_t)function) : 0;
	if (name)
		am_function_event(kind, (uintptr_t)function, name, here);
}

AM_EXPORT void __cyg_profile_func_enter(void *function, void *caller);
AM_EXPORT void __cyg_profile_func_exit(void *function, void *caller);

AM_EXPORT void __cyg_profile_func_enter(void *function, void *caller)
{
	(void)caller;
	function_event(AM_ENTER, function, AM_HERE);
}

AM_EXPORT void __cyg_profile_func_exit(void *function, void *caller)
{
	(void)caller;
	function_event(AM_LEAVE_FN, function, AM_HERE);
}
