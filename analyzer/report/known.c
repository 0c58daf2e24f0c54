/* What was told already: see known.h. Runs in the drain thread and in tools; no malloc. */
/* SPDX-License-Identifier: MIT */
#include "known.h"

#include <string.h>

#include "atommon/mem.h"

enum { KNOWN_MAX = 1 << 16, RAW_FIRST = 1 << 10, RAW_MAX = 1 << 17 };

bool am_knowns_init(struct am_knowns *ks, struct am_mem *mem)
{
	memset(ks, 0, sizeof *ks);
	ks->mem = mem;
	am_arena_init(&ks->names, mem);
	ks->raw = am_mem_alloc(mem, RAW_FIRST * sizeof *ks->raw);
	ks->cap_raw = ks->raw ? RAW_FIRST : 0;
	return ks->raw;
}

void am_knowns_free(struct am_knowns *ks)
{
	am_arena_destroy(&ks->names);
	am_mem_free(ks->mem, ks->at, ks->cap * sizeof *ks->at);
	am_mem_free(ks->mem, ks->raw, ks->cap_raw * sizeof *ks->raw);
}

/* ---- by id ----------------------------------------------------------------------------------- */

/* A cycle through several others is taken for a direct one of the same region and accesses; one
 * whose functions are not all known for one that is equal in all else; and one whose last access is
 * another of the same line. */
struct am_known *am_knowns_find(struct am_knowns *ks, const struct am_violation *v)
{
	for (uint32_t i = 0; i < ks->n; i++)
		if (strcmp(ks->at[i].id, v->id) == 0)
			return &ks->at[i];
	const bool is_chain = v->n_edges != 2;
	for (uint32_t i = 0; i < ks->n; i++) {
		const struct am_known *k = &ks->at[i];
		if ((v->statement && k->statement == v->statement) ||
		    (v->statement && is_chain && k->statement_core == v->statement_core) ||
		    (is_chain && k->core == v->core) || (v->is_vague && k->coarse == v->coarse) ||
		    (is_chain && v->is_vague && k->coarse_core == v->coarse_core))
			return &ks->at[i];
	}
	return NULL;
}

struct am_known *am_knowns_add(struct am_knowns *ks, const struct am_violation *v)
{
	if (ks->n == ks->cap) {
		const uint32_t cap = ks->cap ? ks->cap * 2 : 64;
		struct am_known *grown = cap > KNOWN_MAX ? NULL
							 : am_mem_resize(ks->mem, ks->at, ks->cap * sizeof *grown,
									 cap * sizeof *grown);
		if (!grown)
			return NULL;
		ks->at = grown;
		ks->cap = cap;
	}
	struct am_known *k = &ks->at[ks->n++];
	memset(k, 0, sizeof *k);
	memcpy(k->id, v->id, sizeof k->id);
	k->coarse = v->coarse;
	k->core = v->core;
	k->coarse_core = v->coarse_core;
	k->statement = v->statement;
	k->statement_core = v->statement_core;
	k->region = am_arena_copy(&ks->names, v->region);
	return k;
}

/* ---- by raw key ------------------------------------------------------------------------------ */

/* The key's entry, or the empty one where it would be. */
static struct am_raw *slot(struct am_raw *raw, uint32_t cap, uint64_t key)
{
	for (uint64_t i = key;; i++) {
		struct am_raw *s = &raw[i & (cap - 1)];
		if (!s->key || s->key == key)
			return s;
	}
}

struct am_raw *am_knowns_raw(const struct am_knowns *ks, uint64_t key)
{
	struct am_raw *s = slot(ks->raw, ks->cap_raw, key);

	return s->key ? s : NULL;
}

/* Twice the room. False: as many as there may be, or no memory. */
static bool widen(struct am_knowns *ks)
{
	const uint32_t cap = ks->cap_raw * 2;
	struct am_raw *raw = cap <= RAW_MAX ? am_mem_alloc(ks->mem, cap * sizeof *raw) : NULL;

	if (!raw)
		return false;
	for (uint32_t i = 0; i < ks->cap_raw; i++)
		if (ks->raw[i].key)
			*slot(raw, cap, ks->raw[i].key) = ks->raw[i];
	am_mem_free(ks->mem, ks->raw, ks->cap_raw * sizeof *raw);
	ks->raw = raw;
	ks->cap_raw = cap;
	return true;
}

struct am_raw *am_knowns_put(struct am_knowns *ks, uint64_t key, uint32_t known)
{
	struct am_raw *s = slot(ks->raw, ks->cap_raw, key);

	if (!s->key) {
		if (ks->n_raw >= ks->cap_raw / 2 && !widen(ks))
			return NULL;
		s = slot(ks->raw, ks->cap_raw, key);
		s->key = key;
		ks->n_raw++;
	}
	s->known = known;
	return s;
}
