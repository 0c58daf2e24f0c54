/*
 * Call sites: stacks of return addresses, each with an id, in the mapped table. Runs on the slow
 * path of a hook, also in signal handlers: lock-free, insert-only, no malloc. The per-thread cache
 * in front of it is described in log.h.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "preload/area.h"
#include "preload/lane.h"
#include "preload/log.h"
#include "preload/runtime.h"
#include "preload/site.h"
#include "preload/thread.h"
#include "preload/unwind.h"

enum { HASH_SIZE = 65536, MISSES_MAX = 20000 };

static const uintptr_t nothing; /* where slots of callers point that are not there */

/* Open addressing; 0 is empty. Entries are never moved or removed. */
static uint32_t table[HASH_SIZE];

static uint64_t hash_frames(const struct am_frame *f, size_t n)
{
	uint64_t h = n;

	for (size_t i = 0; i < n; i++)
		h = (h ^ f[i].pc) * UINT64_C(0x9e3779b97f4a7c15), h ^= h >> 29;
	return h;
}

static uint64_t *entry(uint32_t id)
{
	return am_area.sites + (size_t)id * am_area.site_words;
}

static bool is_same(uint32_t id, const struct am_frame *f, size_t n)
{
	const uint64_t *e = entry(id);

	if (__atomic_load_n(e, __ATOMIC_ACQUIRE) != n) /* partner: add() */
		return false;
	for (size_t i = 0; i < n; i++)
		if (e[1 + i] != f[i].pc)
			return false;
	return true;
}

static uint32_t add(const struct am_frame *f, size_t n)
{
	const uint32_t id = am_ringtable_claim(&am_area.file->sites, 1);

	if (id == UINT32_MAX)
		return 0;
	uint64_t *e = entry(id);
	for (size_t i = 0; i < n; i++) {
		e[1 + i] = f[i].pc;
		am_modules_know(f[i].pc);
	}
	__atomic_store_n(e, n, __ATOMIC_RELEASE); /* partner: is_same, and readers of a dead file */
	return id;
}

uint32_t am_site_intern(const struct am_frame *f, size_t n)
{
	uint32_t mine = 0;

	if (n == 0)
		return 0;
	for (uint64_t at = hash_frames(f, n), k = 0; k < 64; at++, k++) {
		uint32_t *slot = &table[at % HASH_SIZE];
		uint32_t id = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		if (id == 0) {
			if (!mine)
				mine = add(f, n);
			if (!mine)
				return 0;
			if (__atomic_compare_exchange_n(slot, &id, mine, false, __ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
				return mine;
		}
		if (is_same(id, f, n))
			return id; /* somebody was faster; ours, if any, stays unused */
	}
	return mine;
}

void am_site_forget(void)
{
	am_area_wipe(table, sizeof table);
}

/* Stacks of more frames than an entry of the fast cache can check. */
struct am_site_deep {
	uint64_t key;
	uint32_t n, site;
	struct am_frame frame[AM_FRAMES_MAX];
};

static uint32_t find_deep(const struct am_lane *lane, uint64_t key)
{
	const struct am_site_deep *d = lane->deep ? &lane->deep[key % AM_SITE_CACHE] : NULL;

	if (!d || d->key != key)
		return 0;
	for (uint32_t i = 1; i < d->n; i++)
		if (*(const uintptr_t *)d->frame[i].slot != d->frame[i].pc)
			return 0;
	return d->site;
}

static void keep_deep(struct am_lane *lane, uint64_t key, uint32_t site, const struct am_frame *f,
		      size_t n)
{
	if (!lane->deep)
		lane->deep = am_area_map(AM_SITE_CACHE * sizeof *lane->deep);
	if (!lane->deep)
		return;
	struct am_site_deep *d = &lane->deep[key % AM_SITE_CACHE];
	d->key = 0;
	d->n = (uint32_t)n;
	d->site = site;
	memcpy(d->frame, f, n * sizeof *f);
	for (size_t i = 1; i < n; i++)
		if (!f[i].slot)
			return;
	d->key = key;
}

/*
 * Programs that show every access have thousands of sites, and functions with many callers: a larger
 * cache behind the fast one, with the same entries, several for a key. A thread gets it when the fast
 * one turned out to be too small.
 */
enum { WIDE_BITS = 11, WIDE_WAYS = 8, WIDE_AFTER = 512 };

void am_site_clear(struct am_lane *lane)
{
	struct am_caches *caches = &lane->caches;

	memset(caches->site, 0, sizeof caches->site);
	memset(caches->pc, 0, sizeof caches->pc);
	for (unsigned i = 0; i < AM_SITE_CACHE; i++)
		for (unsigned k = 0; k < 3; k++)
			caches->site[i].slot[k] = &nothing;
	if (lane->deep)
		memset(lane->deep, 0, AM_SITE_CACHE * sizeof *lane->deep);
	if (lane->wide)
		memset(lane->wide, 0, sizeof *lane->wide << WIDE_BITS);
}

static struct am_site_cached *wide_set(const struct am_lane *lane, uint64_t key)
{
	const uint64_t mixed = (key ^ key >> 32) * UINT64_C(0x9e3779b97f4a7c15);

	return &lane->wide[(mixed >> (64 - WIDE_BITS)) & ~(uint64_t)(WIDE_WAYS - 1)];
}

static uint32_t find_wide(const struct am_lane *lane, uint64_t key)
{
	const struct am_site_cached *e = wide_set(lane, key);

	for (unsigned i = 0; i < WIDE_WAYS; i++)
		if (e[i].key == key && am_site_is_hit(&e[i], key))
			return (uint32_t)(e[i].site >> 32);
	return 0;
}

/* What the fast cache just learnt. */
static void keep_wide(struct am_lane *lane, uint64_t key, const struct am_site_cached *from)
{
	if (!lane->wide && lane->site_misses > WIDE_AFTER)
		lane->wide = am_area_map(sizeof *lane->wide << WIDE_BITS);
	if (!lane->wide)
		return;
	struct am_site_cached *e = wide_set(lane, key) + lane->site_misses % WIDE_WAYS;
	e->key = 0;
	memcpy(e->slot, from->slot, sizeof e->slot);
	e->callers = from->callers;
	e->site = from->site;
	e->key = from->key;
}

uint32_t am_site_miss(struct am_here here, bool is_nested)
{
	struct am_tls *t = &am_tls;
	struct am_lane *lane = t->lane;
	struct am_frame f[AM_FRAMES_MAX];
	const uint32_t wanted = am_opt.stack < AM_FRAMES_MAX ? am_opt.stack : AM_FRAMES_MAX;
	const uintptr_t outer = t->event;
	const uint64_t key = am_site_key(here);
	size_t n = 0;

	if (wanted > 4 && !lane->is_pc_only) {
		const uint32_t known = find_deep(lane, key);
		if (known)
			return known;
	}
	if (wanted <= 4 && lane->wide) {
		const uint32_t known = find_wide(lane, key);
		if (known)
			return known;
	}
	/* A handler that comes now must not fill the entry that we fill. */
	t->event = outer ? outer : here.cfa;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	if (!lane->is_pc_only && wanted > 1) {
		n = am_unwind(here.cfa, lane->stack_top, f, wanted);
		if (++lane->site_misses > MISSES_MAX)
			lane->is_pc_only = 1;
	}
	size_t kept = 0;
	for (size_t i = 0; i < n; i++) /* not the frame that starts a thread for us */
		if (i == 0 || !am_start_is_at(f[i].pc))
			f[kept++] = f[i];
	n = kept;
	if (n == 0 || f[0].pc != here.pc) {
		f[0] = (struct am_frame){here.pc, here.cfa - 8};
		n = 1;
	}
	const uint32_t id = am_site_intern(f, n);
	if (!is_nested && n > 4) {
		keep_deep(lane, key, id, f, n);
	} else if (!is_nested) {
		struct am_site_cached *e = am_site_entry(t, key);
		bool is_cacheable = true;
		e->key = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		for (unsigned i = 0; i < 3; i++) {
			const bool is_used = i + 1 < n;
			is_cacheable &= !is_used || f[i + 1].slot != 0;
			e->slot[i] = is_used && f[i + 1].slot ? (const uintptr_t *)f[i + 1].slot :
								&nothing;
		}
		e->callers = am_site_callers(e);
		e->site = (uint64_t)id << 32;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		e->key = is_cacheable ? key : 0;
		if (is_cacheable && !lane->is_pc_only)
			keep_wide(lane, key, e);
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	t->event = outer;
	return id;
}

uint32_t am_site_miss_pc(struct am_here here, bool is_nested)
{
	struct am_tls *t = &am_tls;
	const struct am_frame f = {here.pc, 0};
	const uint32_t id = am_site_intern(&f, 1);

	if (!is_nested) {
		struct am_pc_cached *p = am_site_pc_entry(t, here.pc);
		/* A handler that comes now writes its own pair whole, or sees pc 0. */
		p->pc = 0;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		p->site = (uint64_t)id << 32;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		p->pc = here.pc;
	}
	return id;
}
