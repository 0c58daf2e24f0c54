/*
 * Names of regions and variables: text in, id out, kept in the mapped table. Runs in hooks and
 * signal handlers: lock-free, insert-only, no malloc. A thread remembers by pointer what it asked
 * for before, and compares the text, for a buffer may hold another name by now.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "preload/area.h"
#include "preload/lane.h"
#include "preload/log.h"
#include "preload/site.h"

enum { HASH_SIZE = 16384, NAME_MAX_BYTES = 255 };

static uint32_t table[HASH_SIZE];

static const char *text_of(uint32_t id, uint32_t *length)
{
	const struct am_ringstring *s = &am_area.strings[id];

	*length = __atomic_load_n(&s->length_plus_1, __ATOMIC_ACQUIRE); /* partner: add() */
	return am_area.bytes + s->offset;
}

static bool is_same(uint32_t id, const char *text, size_t n)
{
	uint32_t length;
	const char *known = text_of(id, &length);

	return length == n + 1 && memcmp(known, text, n) == 0;
}

static uint32_t add(const char *text, size_t n)
{
	const uint32_t at = am_ringtable_claim(&am_area.file->bytes, (uint32_t)n + 1);

	if (at == UINT32_MAX)
		return 0;
	memcpy(am_area.bytes + at, text, n);
	am_area.bytes[at + n] = 0;
	const uint32_t id = am_ringtable_claim(&am_area.file->strings, 1);
	if (id == UINT32_MAX)
		return 0;
	am_area.strings[id].offset = at;
	__atomic_store_n(&am_area.strings[id].length_plus_1, (uint32_t)n + 1, __ATOMIC_RELEASE);
	return id;
}

static uint32_t find(const char *text, size_t n)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);
	uint32_t mine = 0;

	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	h ^= h >> 32;
	for (uint32_t k = 0; k < 64; h++, k++) {
		uint32_t *slot = &table[h % HASH_SIZE];
		uint32_t id = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
		if (id == 0) {
			if (!mine)
				mine = add(text, n);
			if (!mine)
				return 0;
			if (__atomic_compare_exchange_n(slot, &id, mine, false, __ATOMIC_ACQ_REL,
							__ATOMIC_ACQUIRE))
				return mine;
		}
		if (is_same(id, text, n))
			return id;
	}
	return mine;
}

uint32_t am_intern(const char *text)
{
	struct am_lane *lane = am_tls.lane;

	if (!text || !am_area.file)
		return 0;
	if (!lane)
		return find(text, strnlen(text, NAME_MAX_BYTES));
	const unsigned at = ((uintptr_t)text ^ (uintptr_t)text >> 7) % AM_NAME_CACHE;
	/* One word pair: a handler in between can only cause a second look-up. */
	if (lane->names[at].text == text && lane->names[at].id) {
		uint32_t length;
		const uint32_t id = lane->names[at].id;
		const char *known = text_of(id, &length);
		if (strncmp(known, text, NAME_MAX_BYTES) == 0)
			return id;
	}
	const uint32_t id = find(text, strnlen(text, NAME_MAX_BYTES));
	lane->names[at].id = 0;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	lane->names[at].text = text;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	lane->names[at].id = id;
	return id;
}

void am_intern_forget(void)
{
	am_area_wipe(table, sizeof table);
}
