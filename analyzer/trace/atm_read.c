/*
 * Reading .atm files, chunk by chunk. Runs in tools. Every number of the file is checked before it
 * is used; a file cut at any byte ends quietly after its last whole chunk.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/chunk.h"
#include "analyzer/trace/source_state.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char *const chunk_names[] = {"?", "units", "table", "ordered", "footer"};

int atm_open(struct am_source *s, const uint8_t magic[8])
{
	struct am_atm_header h;
	struct atm_reader *a = &s->atm;

	memcpy(&h, magic, sizeof h.magic);
	const size_t rest = sizeof h - sizeof h.magic;
	if (fread((char *)&h + sizeof h.magic, 1, rest, s->in) != rest)
		return source_fail(s, "offset 8: the header is cut");
	if (h.endian != AM_ATM_ENDIAN)
		return source_fail(s, "offset 12: byte order is not little endian");
	if (h.version != AM_ATM_VERSION)
		return source_fail(s, "offset 8: version %u, expected %u", h.version,
				   AM_ATM_VERSION);
	if (h.checksum != am_atm_header_checksum(&h))
		return source_fail(s, "offset 60: checksum of the header does not match");
	const uint64_t unknown = (h.features & UINT32_MAX) & ~AM_ATM_F_KNOWN_LOW;
	if (unknown)
		return source_fail(s, "offset 16: unknown features 0x%llx",
				   (unsigned long long)unknown);
	if (h.slot_bits != AM_SLOT_BITS || h.unit_bytes != sizeof(struct am_unit))
		return source_fail(
			s, "offset 40: %u slot bits and %u bytes per unit, expected %u and %zu",
			h.slot_bits, h.unit_bytes, AM_SLOT_BITS, sizeof(struct am_unit));
	a->model = malloc(sizeof *a->model);
	a->units = malloc(AM_ATM_UNITS_MAX * sizeof *a->units);
	if (!a->model || !a->units)
		return source_fail(s, "out of memory");
	a->offset = sizeof h;
	s->info.format = AM_SOURCE_ATM;
	s->info.features = h.features & ~AM_ATM_F_OWN; /* of the coding, not of the events */
	s->info.start_ns = h.start_ns;
	s->info.clock = h.clock;
	s->tables.t.pid = h.pid;
	s->info.file_bytes = sizeof h;
	s->fill = atm_fill;
	return 1;
}

void atm_close(struct am_source *s)
{
	free(s->atm.payload);
	free(s->atm.raw);
	free(s->atm.model);
	free(s->atm.units);
}

static int bad(struct am_source *s, const struct am_atm_chunk *h, const char *why)
{
	return source_fail(s, "offset %llu: %s chunk: %s", (unsigned long long)s->atm.offset,
			   chunk_names[h->type], why);
}

/* ---- tables -------------------------------------------------------------------------------- */

struct body {
	const uint8_t *at, *end;
	bool is_cut;
};

static uint64_t take(struct body *b)
{
	uint64_t v = 0;
	const uint8_t *p = b->is_cut ? NULL : chunk_get_varint(b->at, b->end, &v);

	if (!p) {
		b->is_cut = true;
		return 0;
	}
	b->at = p;
	return v;
}

static uint32_t take32(struct body *b)
{
	const uint64_t v = take(b);
	if (v > UINT32_MAX)
		b->is_cut = true;
	return (uint32_t)v;
}

static const char *take_module(struct am_source *s, struct body *b)
{
	struct am_module m = {0};
	const uint32_t index = take32(b);

	m.base = take(b);
	m.start = take(b);
	m.end = take(b);
	m.unloaded = take32(b);
	m.build_id_len = take32(b);
	if (b->is_cut || m.build_id_len > AM_BUILD_ID_MAX ||
	    m.build_id_len > (size_t)(b->end - b->at))
		return "module is cut";
	memcpy(m.build_id, b->at, m.build_id_len);
	b->at += m.build_id_len;
	return tablebuild_module(&s->tables, index, &m, (const char *)b->at,
				 (size_t)(b->end - b->at));
}

static const char *take_site(struct am_source *s, struct body *b)
{
	struct am_site site = {0};
	const uint32_t id = take32(b);
	uint64_t last = 0;

	site.n_frames = take32(b);
	if (site.n_frames > AM_FRAMES_MAX)
		return "site has too many frames";
	for (uint32_t i = 0; i < site.n_frames; i++)
		site.frame[i] = last += chunk_unzigzag(take(b));
	return b->is_cut ? "site is cut" : tablebuild_site(&s->tables, id, &site);
}

static const char *take_thread(struct am_source *s, struct body *b)
{
	struct am_thread t = {.id = take32(b)};

	t.parent = take32(b) - 1;
	t.os_tid = take32(b);
	t.create_site = take32(b);
	if (b->is_cut)
		return "thread is cut";
	return tablebuild_thread(&s->tables, &t, (const char *)b->at, (size_t)(b->end - b->at));
}

static const char *take_entry(struct am_source *s, unsigned tag, struct body b)
{
	switch (tag) {
	case AM_ATM_T_COMMAND:
		return tablebuild_command(&s->tables, (const char *)b.at, (size_t)(b.end - b.at));
	case AM_ATM_T_STRING: {
		const uint32_t id = take32(&b);
		if (b.is_cut)
			return "string is cut";
		return tablebuild_string(&s->tables, id, (const char *)b.at,
					 (size_t)(b.end - b.at));
	}
	case AM_ATM_T_MODULE:
		return take_module(s, &b);
	case AM_ATM_T_SITE:
		return take_site(s, &b);
	case AM_ATM_T_THREAD:
		return take_thread(s, &b);
	case AM_ATM_T_LEAVING:
		am_merge_leaving(s->merge, take32(&b) != 0);
		return b.is_cut ? "leaving is cut" : NULL;
	default:
		return NULL; /* of a later minor version: its length lets us step over it */
	}
}

static int read_table(struct am_source *s, const struct am_atm_chunk *h)
{
	struct body all = {s->atm.raw, s->atm.raw + h->raw_bytes, false};

	while (all.at < all.end) {
		const unsigned tag = *all.at++;
		const uint64_t len = take(&all);
		if (all.is_cut || len > (uint64_t)(all.end - all.at))
			return bad(s, h, "an entry is cut");
		const char *why = take_entry(s, tag, (struct body){all.at, all.at + len, false});
		if (why)
			return bad(s, h, why);
		all.at += len;
	}
	return 1;
}

/* ---- units --------------------------------------------------------------------------------- */

static int unpack(struct am_source *s, const struct am_atm_chunk *h, const uint8_t *columns,
		  size_t bytes)
{
	struct atm_reader *a = &s->atm;
	size_t at;

	if (h->count == 0 || h->count > AM_ATM_UNITS_MAX)
		return bad(s, h, "number of units is out of range");
	if (!am_chunk_unpack(a->model, columns, bytes, a->units, h->count))
		return bad(s, h, "units do not decode");
	const char *why = am_units_check(a->units, h->count, &at);
	return why ? bad(s, h, why) : 1;
}

static int read_units(struct am_source *s, const struct am_atm_chunk *h)
{
	if (s->info.features & AM_ATM_F_ORDERED)
		return bad(s, h, "not allowed in a file of ordered chunks");
	struct source_thread *t = source_thread(s, h->thread);
	if (!t)
		return -1;
	if (h->position != t->position)
		return source_fail(s,
				   "offset %llu: units chunk: thread %u continues at unit %llu, "
				   "expected %llu",
				   (unsigned long long)s->atm.offset, h->thread,
				   (unsigned long long)h->position,
				   (unsigned long long)t->position);
	if (unpack(s, h, s->atm.raw, h->raw_bytes) < 0)
		return -1;
	t->position += h->count;
	return source_feed(s, h->thread, s->atm.units, h->count);
}

/* Records of one run, already in their order. */
static const char *push_run(struct am_source *s, uint32_t thread, const struct am_unit *u, size_t n)
{
	struct source_thread *t = source_thread(s, thread);

	if (!t)
		return "thread id is out of range";
	for (size_t i = 0; i < n;) {
		struct am_event e;
		if (i + am_record_units(u + i) > n)
			return "a record crosses the end of its run";
		i += am_record_decode(u + i, &e);
		if (e.kind == AM_NONE)
			continue;
		e.thread = thread;
		am_expr_follow(&t->count, &e);
		if (!source_push(s, e))
			return "out of memory";
	}
	t->position += n;
	s->info.units += n;
	return NULL;
}

static int read_ordered(struct am_source *s, const struct am_atm_chunk *h)
{
	const uint8_t *raw = s->atm.raw;
	uint32_t runs_bytes, thread = 0;
	size_t done = 0;

	if (!(s->info.features & AM_ATM_F_ORDERED))
		return bad(s, h, "not announced by the header");
	if (h->position != s->atm.ordered)
		return bad(s, h, "units are missing before it");
	if (h->raw_bytes < sizeof runs_bytes)
		return bad(s, h, "runs are cut");
	memcpy(&runs_bytes, raw, sizeof runs_bytes);
	raw += sizeof runs_bytes;
	if (runs_bytes > h->raw_bytes - sizeof runs_bytes)
		return bad(s, h, "runs are cut");
	if (unpack(s, h, raw + runs_bytes, h->raw_bytes - sizeof runs_bytes - runs_bytes) < 0)
		return -1;
	struct body b = {raw, raw + runs_bytes, false};
	while (b.at < b.end) {
		thread += (uint32_t)chunk_unzigzag(take(&b));
		const uint64_t n = take(&b);
		if (b.is_cut || n == 0 || n > h->count - done)
			return bad(s, h, "runs do not fit the units");
		const char *why = push_run(s, thread, s->atm.units + done, (size_t)n);
		if (why)
			return bad(s, h, why);
		done += (size_t)n;
	}
	if (done != h->count)
		return bad(s, h, "runs do not cover the units");
	s->atm.ordered += h->count;
	return 1;
}

/* ---- chunks -------------------------------------------------------------------------------- */

static const char *check_chunk(const struct am_atm_chunk *h)
{
	if (h->magic != AM_ATM_CHUNK_MAGIC)
		return "no chunk begins here";
	if (h->type < AM_ATM_UNITS || h->type > AM_ATM_FOOTER)
		return "unknown type of chunk";
	if (h->raw_bytes > AM_ATM_RAW_MAX || h->bytes > AM_ATM_RAW_MAX)
		return "chunk is too large";
	return NULL;
}

static bool all_zero(const void *p, size_t n)
{
	const uint8_t *b = p;
	while (n-- > 0)
		if (*b++)
			return false;
	return true;
}

static bool has_room(uint8_t **buf, size_t *cap, size_t need)
{
	size_t n = *cap ? *cap : 1024;

	while (n < need)
		n *= 2;
	if (n == *cap)
		return true;
	free(*buf);
	*buf = malloc(n);
	*cap = *buf ? n : 0;
	return *buf != NULL;
}

/* 1: a whole chunk is in h, a->raw; 0: the file ends here; -1. */
static int read_chunk(struct am_source *s, struct am_atm_chunk *h)
{
	struct atm_reader *a = &s->atm;
	const size_t n = fread(h, 1, sizeof *h, s->in);

	if (n < sizeof *h) {
		s->info.is_cut = n > 0;
		return 0;
	}
	if (all_zero(h, sizeof *h)) { /* space that was allocated and never written */
		s->info.is_cut = true;
		return 0;
	}
	const char *why = check_chunk(h);
	if (why)
		return source_fail(s, "offset %llu: %s", (unsigned long long)a->offset, why);
	if (!has_room(&a->payload, &a->payload_cap, h->bytes) ||
	    !has_room(&a->raw, &a->raw_cap, h->raw_bytes))
		return source_fail(s, "out of memory");
	if (fread(a->payload, 1, h->bytes, s->in) < h->bytes) {
		s->info.is_cut = true;
		return 0;
	}
	if (am_chunk_checksum(h, a->payload) != h->checksum)
		return bad(s, h, "checksum does not match");
	if (!am_chunk_expand(h, a->payload, a->raw))
		return bad(s, h, "payload does not expand");
	return 1;
}

static int finish(struct am_source *s)
{
	bool is_whole = s->info.has_footer && s->info.lost[AM_LOST_LIMIT] == 0;

	if (!s->info.has_footer && s->ring) {
		const int r = ring_recover(s);
		if (r < 0)
			return -1;
		is_whole = r > 0;
	}
	source_finish(s, is_whole);
	return s->has_failed ? -1 : 0;
}

static int read_footer(struct am_source *s, const struct am_atm_chunk *h)
{
	struct am_atm_footer f;

	if (h->raw_bytes < sizeof f)
		return bad(s, h, "is cut");
	memcpy(&f, s->atm.raw, sizeof f);
	memcpy(s->info.lost, f.lost, sizeof f.lost);
	s->info.has_footer = true;
	return 1;
}

int atm_fill(struct am_source *s)
{
	struct atm_reader *a = &s->atm;
	struct am_atm_chunk h;
	int r = read_chunk(s, &h);

	if (r <= 0)
		return r < 0 ? r : finish(s);
	if (s->info.has_footer)
		return bad(s, &h, "follows the footer");
	if (h.type == AM_ATM_UNITS)
		r = read_units(s, &h);
	else if (h.type == AM_ATM_TABLE)
		r = read_table(s, &h);
	else if (h.type == AM_ATM_ORDERED)
		r = read_ordered(s, &h);
	else
		r = read_footer(s, &h);
	a->offset += sizeof h + h.bytes;
	s->info.file_bytes = a->offset;
	return r;
}
