/*
 * The object registry: see objects.h. Runs in the drain thread and in tools; at the memory ceiling
 * it forgets (a report then shows a bare address), it never fails its caller.
 */
/* SPDX-License-Identifier: MIT */
#include "objects.h"

#include <assert.h>
#include <string.h>

#include "atommon/mem.h"

/*
 * An open-addressing table of extents, hashed by start >> 4; several may share a key. An address
 * inside a small extent is found by trying the keys below it, one granule at a time; extents larger
 * than SMALL_BYTES are in an array of their own and scanned.
 */
enum { SMALL_BYTES = 64 * 1024, GRANULE_SHIFT = 4, FREED = 4096, FIRST_SLOTS = 1024 };

#define TOMB UINT64_MAX /* start of a slot whose extent was removed */

struct table {
	struct am_extent *slot; /* start 0: empty */
	size_t n_slots;		/* a power of two */
	size_t used, live;	/* used counts tombs */
	uint64_t largest;	/* small extents: the largest ever put in */
	struct am_extent *large;
	size_t n_large, cap_large;
};

struct am_objects {
	struct am_mem *mem;
	bool (*block)(uint64_t address, struct am_block *out);
	struct table blocks, names, syncs;
	struct am_extent *gone; /* ring */
	uint64_t n_gone;
};

static size_t hash(uint64_t start)
{
	const uint64_t h = (start >> GRANULE_SHIFT) * UINT64_C(0x9e3779b97f4a7c15);
	return (size_t)(h ^ (h >> 29));
}

static void insert(struct table *t, const struct am_extent *e)
{
	size_t i = hash(e->start);

	while (t->slot[i &= t->n_slots - 1].start)
		i++;
	t->slot[i] = *e;
	t->used++;
	t->live++;
}

/* Room for one more, tombs swept; false at the ceiling. */
static bool make_room(struct table *t, struct am_mem *mem)
{
	if (t->n_slots && t->used * 4 < t->n_slots * 3)
		return true;
	const struct table old = *t;
	const size_t n = !old.n_slots	       ? FIRST_SLOTS
			 : old.live * 2 < old.n_slots ? old.n_slots
						      : old.n_slots * 2;
	struct am_extent *slot = am_mem_alloc(mem, n * sizeof *slot);
	if (!slot)
		return false;
	t->slot = slot;
	t->n_slots = n;
	t->used = t->live = 0;
	for (size_t i = 0; i < old.n_slots; i++)
		if (old.slot[i].start && old.slot[i].start != TOMB)
			insert(t, &old.slot[i]);
	am_mem_free(mem, old.slot, old.n_slots * sizeof *slot);
	assert(t->live == old.live);
	return true;
}

static void put_large(struct table *t, struct am_mem *mem, const struct am_extent *e)
{
	if (t->n_large == t->cap_large) {
		const size_t cap = t->cap_large ? t->cap_large * 2 : 64;
		struct am_extent *large = am_mem_resize(mem, t->large, t->cap_large * sizeof *e,
							cap * sizeof *e);
		if (!large)
			return;
		t->large = large;
		t->cap_large = cap;
	}
	t->large[t->n_large++] = *e;
}

static bool covers(const struct am_extent *e, uint64_t address)
{
	return address - e->start < (e->size ? e->size : 1);
}

/* The slot whose extent starts exactly here, or NULL. */
static struct am_extent *at_start(const struct table *t, uint64_t start)
{
	if (t->n_slots)
		for (size_t i = hash(start);; i++) {
			struct am_extent *e = &t->slot[i & (t->n_slots - 1)];
			if (!e->start)
				break;
			if (e->start == start)
				return e;
		}
	for (size_t i = t->n_large; i-- > 0;)
		if (t->large[i].start == start)
			return &t->large[i];
	return NULL;
}

static void drop(struct table *t, struct am_extent *e)
{
	if (t->n_large && e >= t->large && e < t->large + t->n_large) {
		*e = t->large[--t->n_large];
		return;
	}
	e->start = TOMB;
	t->live--;
}

static void put(struct table *t, struct am_mem *mem, const struct am_extent *e)
{
	if (!e->start || e->start == TOMB)
		return;
	struct am_extent *old = at_start(t, e->start);
	if (old)
		drop(t, old);
	if (e->size > SMALL_BYTES) {
		put_large(t, mem, e);
		return;
	}
	if (!make_room(t, mem))
		return;
	if (e->size > t->largest)
		t->largest = e->size;
	insert(t, e);
}

/* The smallest extent that covers the address. */
static const struct am_extent *find(const struct table *t, uint64_t address)
{
	const struct am_extent *best = NULL;

	if (t->live) {
		uint64_t key = address >> GRANULE_SHIFT;
		const uint64_t low = (address > t->largest ? address - t->largest : 0) >> GRANULE_SHIFT;
		for (; key >= low && key; key--)
			for (size_t i = hash(key << GRANULE_SHIFT);; i++) {
				const struct am_extent *e = &t->slot[i & (t->n_slots - 1)];
				if (!e->start)
					break;
				if (e->start != TOMB && e->start >> GRANULE_SHIFT == key &&
				    covers(e, address) && (!best || e->size < best->size))
					best = e;
			}
	}
	for (size_t i = 0; i < t->n_large && !best; i++)
		if (covers(&t->large[i], address))
			best = &t->large[i];
	return best;
}

static void free_table(struct table *t, struct am_mem *mem)
{
	am_mem_free(mem, t->slot, t->n_slots * sizeof *t->slot);
	am_mem_free(mem, t->large, t->cap_large * sizeof *t->large);
}

struct am_objects *am_objects_new(struct am_mem *mem, bool (*block)(uint64_t address, struct am_block *out))
{
	struct am_objects *o = am_mem_alloc(mem, sizeof *o);

	if (o) {
		o->mem = mem;
		o->block = block;
	}
	return o;
}

void am_objects_free(struct am_objects *o)
{
	if (!o)
		return;
	free_table(&o->blocks, o->mem);
	free_table(&o->names, o->mem);
	free_table(&o->syncs, o->mem);
	am_mem_free(o->mem, o->gone, FREED * sizeof *o->gone);
	am_mem_free(o->mem, o, sizeof *o);
}

static void freed(struct am_objects *o, const struct am_event *e)
{
	struct am_extent *block = at_start(&o->blocks, e->object);

	if (!block)
		return;
	if (!o->gone)
		o->gone = am_mem_alloc(o->mem, FREED * sizeof *o->gone);
	if (o->gone)
		o->gone[o->n_gone++ % FREED] = *block;
	drop(&o->blocks, block);
}

void am_objects_event(struct am_objects *o, const struct am_event *e)
{
	struct am_extent x = {.start = e->object, .born = e->index, .site = e->site,
			      .thread = e->thread};

	switch (e->kind) {
	case AM_ALLOC:
		x.size = e->aux;
		put(&o->blocks, o->mem, &x);
		break;
	case AM_FREE:
		freed(o, e);
		break;
	case AM_NAME:
		x.size = e->size;
		x.string = (uint32_t)e->aux;
		put(&o->names, o->mem, &x);
		break;
	case AM_INIT:
		if (e->mode >= AM_OBJ_FUTEX) /* a variable of the program */
			break;
		x.size = 1;
		x.sync = e->mode;
		put(&o->syncs, o->mem, &x);
		break;
	default:
		break;
	}
}

bool am_objects_told(const struct am_objects *o, uint64_t address, uint64_t index, struct am_extent *out)
{
	const struct am_extent *e = find(&o->blocks, address);

	if (e && e->born <= index) {
		*out = *e;
		return true;
	}
	const uint64_t n = o->n_gone < FREED ? o->n_gone : FREED;
	for (uint64_t i = 1; i <= n; i++) {
		const struct am_extent *g = &o->gone[(o->n_gone - i) % FREED];
		if (covers(g, address) && g->born <= index) { /* or used after its end */
			*out = *g;
			return true;
		}
	}
	return false;
}

bool am_objects_live(const struct am_objects *o, uint64_t address, struct am_extent *out)
{
	struct am_block b;

	if (!o->block || !o->block(address, &b))
		return false;
	*out = (struct am_extent){.start = b.start, .size = b.size, .site = b.site, .thread = b.thread};
	return true;
}

bool am_objects_block(const struct am_objects *o, uint64_t address, uint64_t index,
		      struct am_extent *out)
{
	return am_objects_live(o, address, out) || am_objects_told(o, address, index, out);
}

/* A name ends with the block it was given to. */
bool am_objects_name(const struct am_objects *o, uint64_t address, uint64_t index,
		     struct am_extent *out)
{
	const struct am_extent *e = find(&o->names, address);
	struct am_extent block;

	if (!e || (am_objects_told(o, address, index, &block) && block.born > e->born))
		return false;
	*out = *e;
	return true;
}

bool am_objects_sync(const struct am_objects *o, uint64_t address, struct am_extent *out)
{
	const struct am_extent *e = at_start(&o->syncs, address);

	if (!e)
		return false;
	*out = *e;
	return true;
}
