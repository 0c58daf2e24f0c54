/*
 * The rings of a process that was killed: what they hold beyond the trace, and all tables. Runs in
 * tools. Nothing in the file is trusted: each offset and count is checked against the file.
 * include/atommon/ringfile.h has the layout and the rules.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/source_state.h"

#include "atommon/ringfile.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct ring_reader {
	struct am_source *s;
	struct am_ringfile h;
	uint64_t size; /* of the file */
	struct am_unit *units, *out;
};

static int bad(struct ring_reader *r, uint64_t offset, const char *why)
{
	return source_fail(r->s, "ring file: offset %llu: %s", (unsigned long long)offset, why);
}

static bool read_at(struct ring_reader *r, uint64_t offset, void *to, size_t n)
{
	if (offset > r->size || n > r->size - offset)
		return false;
	return fseeko(r->s->ring, (off_t)offset, SEEK_SET) == 0 && fread(to, 1, n, r->s->ring) == n;
}

/* A whole table in memory; *n entries. NULL when it is empty or (after source_fail) bad. */
static void *read_table(struct ring_reader *r, const struct am_ringtable *t, size_t entry,
			size_t *n)
{
	*n = t->count < t->capacity ? t->count : t->capacity;
	if (*n == 0)
		return NULL;
	if (t->entry_bytes != entry) {
		bad(r, t->offset, "entries of an unexpected size");
		return NULL;
	}
	if (t->offset > r->size || *n > (r->size - t->offset) / entry) {
		bad(r, t->offset, "table lies outside the file");
		return NULL;
	}
	void *p = malloc(*n * entry);
	if (!p || !read_at(r, t->offset, p, *n * entry)) {
		free(p);
		bad(r, t->offset, p ? "cannot be read" : "out of memory");
		return NULL;
	}
	return p;
}

static bool failed(const struct ring_reader *r)
{
	return r->s->has_failed;
}

static void check(struct ring_reader *r, const struct am_ringtable *t, const char *why)
{
	if (why)
		bad(r, t->offset, why);
}

static void read_strings(struct ring_reader *r)
{
	size_t n, n_bytes;
	struct am_ringstring *e = read_table(r, &r->h.strings, sizeof *e, &n);
	char *bytes = failed(r) ? NULL : read_table(r, &r->h.bytes, 1, &n_bytes);

	for (size_t i = 1; e && bytes && i < n && !failed(r); i++) {
		const uint32_t len = e[i].length_plus_1 - 1;
		if (e[i].length_plus_1 == 0)
			continue;
		if (e[i].offset > n_bytes || len > n_bytes - e[i].offset)
			bad(r, r->h.strings.offset, "string lies outside its table");
		else
			check(r, &r->h.strings,
			      tablebuild_string(&r->s->tables, (uint32_t)i, bytes + e[i].offset,
						len));
	}
	free(e);
	free(bytes);
}

static void read_modules(struct ring_reader *r)
{
	size_t n;
	struct am_ringmodule *e = read_table(r, &r->h.modules, sizeof *e, &n);

	for (size_t i = 0; e && i < n && !failed(r); i++) {
		struct am_module m = {
			.base = e[i].base,
			.start = e[i].start,
			.end = e[i].end,
			.build_id_len = e[i].build_id_len,
			.unloaded = e[i].state == 2,
		};
		if (e[i].state == 0)
			continue;
		memcpy(m.build_id, e[i].build_id, sizeof m.build_id);
		check(r, &r->h.modules,
		      tablebuild_module(&r->s->tables, (uint32_t)i, &m, e[i].path,
					sizeof e[i].path));
	}
	free(e);
}

static void read_sites(struct ring_reader *r)
{
	const struct am_ringtable *t = &r->h.sites;
	const uint32_t words = t->entry_bytes / 8;
	size_t n;

	if (t->entry_bytes % 8 || words < 2 || words > 1 + AM_FRAMES_MAX) {
		if (t->count)
			bad(r, t->offset, "entries of an unexpected size");
		return;
	}
	uint64_t *e = read_table(r, t, t->entry_bytes, &n);
	for (size_t i = 1; e && i < n && !failed(r); i++) {
		const uint64_t *row = e + i * words;
		struct am_site site = {.n_frames = (uint32_t)row[0]};
		if (row[0] == 0 || row[0] >= words)
			continue; /* not complete */
		memcpy(site.frame, row + 1, site.n_frames * sizeof *site.frame);
		check(r, t, tablebuild_site(&r->s->tables, (uint32_t)i, &site));
	}
	free(e);
}

static void read_threads(struct ring_reader *r)
{
	size_t n;
	struct am_ringthread *e = read_table(r, &r->h.threads, sizeof *e, &n);

	for (size_t i = 0; e && i < n && !failed(r); i++) {
		const struct am_thread t = {
			.id = (uint32_t)i,
			.parent = e[i].parent,
			.os_tid = e[i].os_tid,
			.create_site = e[i].create_site,
		};
		if (e[i].state)
			check(r, &r->h.threads,
			      tablebuild_thread(&r->s->tables, &t, e[i].name, sizeof e[i].name));
	}
	free(e);
}

/* ---- units --------------------------------------------------------------------------------- */

struct window {
	const struct am_unit *units;
	uint64_t mask; /* n_units - 1 */
	uint64_t end;  /* ring index behind the last unit that can be there */
};

static const struct am_unit *unit_at(const struct window *w, uint64_t i)
{
	return &w->units[i & w->mask];
}

static bool is_written(const struct window *w, uint64_t i)
{
	return i < w->end && !!(unit_at(w, i)->w0 & AM_R_PHASE) == ((i & (w->mask + 1)) == 0);
}

/* Units of the complete, sensible record at i; 0 if there is none. */
static size_t record_at(const struct window *w, uint64_t i,
			struct am_unit record[AM_RECORD_UNITS_MAX])
{
	size_t bad_at;

	if (!is_written(w, i))
		return 0;
	const size_t n = am_record_units(unit_at(w, i));
	for (size_t k = 0; k < n; k++) {
		if (!is_written(w, i + k))
			return 0;
		record[k] = *unit_at(w, i + k);
	}
	return am_units_check(record, n, &bad_at) ? 0 : n;
}

static size_t put_lost(struct am_unit *out, uint64_t count)
{
	const struct am_event e = {.kind = AM_LOST, .mode = AM_LOST_TORN, .aux = count};
	return am_record_encode(&e, out);
}

/* What lies behind the record in progress: the rest of it, then records of signal handlers. */
static size_t read_behind(const struct window *w, uint64_t i, struct am_unit *out)
{
	struct am_unit record[AM_RECORD_UNITS_MAX];
	size_t n_out = 0, n;
	bool torn = false;

	for (unsigned k = 0; k < AM_RECORD_UNITS_MAX; k++, i++) {
		if (record_at(w, i, record) && record[0].w0 & AM_R_NESTED)
			break;
		torn |= is_written(w, i);
	}
	while ((n = record_at(w, i, record)) && record[0].w0 & AM_R_NESTED) {
		memcpy(out + n_out, record, n * sizeof *record);
		n_out += n;
		i += n;
		torn = true;
	}
	return torn ? n_out + put_lost(out + n_out, 1) : n_out;
}

static int read_units(struct ring_reader *r, const struct am_ringdir *d)
{
	struct source_thread *t = source_thread(r->s, d->thread);
	struct window w = {r->units, d->n_units - 1, d->tail + d->n_units};
	struct am_unit record[AM_RECORD_UNITS_MAX];
	size_t n_out = 0, n;

	if (!t)
		return -1;
	if (d->tail < d->first || d->tail > UINT64_MAX / 2 || d->base > UINT64_MAX / 2)
		return bad(r, d->offset, "ring indices make no sense");
	if (!read_at(r, d->offset, r->units, d->n_units * sizeof *r->units))
		return bad(r, d->offset, "units lie outside the file");
	uint64_t i = d->tail, position = d->tail - d->first + d->base;
	if (position > t->position && r->s->info.format == AM_SOURCE_RING) {
		n_out += put_lost(r->out,
				  position - t->position); /* there is no trace: it begins here */
	} else if (position > t->position) {
		r->s->has_gap = true; /* the recording had stopped before: this is after a hole */
		return 1;
	} else {
		i += t->position - position; /* the trace has these */
		if (i > w.end)
			i = w.end;
	}
	while ((n = record_at(&w, i, record))) {
		memcpy(r->out + n_out, record, n * sizeof *record);
		n_out += n;
		i += n;
	}
	t->position = i - d->first + d->base;
	n_out += read_behind(&w, i, r->out + n_out);
	for (size_t k = 0; k < n_out; k++)
		r->out[k].w0 &= ~(uint64_t)AM_R_PHASE;
	r->s->info.recovered += n_out;
	return n_out ? source_feed(r->s, d->thread, r->out, n_out) : 1;
}

static void read_ring(struct ring_reader *r, const struct am_ringdir *d)
{
	r->units = malloc(d->n_units * sizeof *r->units);
	r->out = malloc((d->n_units + 4 * AM_RECORD_UNITS_MAX) * sizeof *r->out);
	if (!r->units || !r->out)
		source_fail(r->s, "out of memory");
	else
		read_units(r, d);
	free(r->units);
	free(r->out);
}

/* Rings of one thread in the order of their positions. */
static int by_thread(const void *x, const void *y)
{
	const struct am_ringdir *a = x, *b = y;

	if (a->thread != b->thread)
		return a->thread < b->thread ? -1 : 1;
	return a->base < b->base ? -1 : a->base > b->base;
}

static void read_rings(struct ring_reader *r)
{
	size_t n;
	struct am_ringdir *d = read_table(r, &r->h.rings, sizeof *d, &n);

	if (!d)
		return;
	qsort(d, n, sizeof *d, by_thread);
	for (size_t i = 0; i < n && !failed(r); i++) {
		if ((d[i].state != AM_RING_LIVE && d[i].state != AM_RING_CLOSING) || !d[i].offset)
			continue;
		if (d[i].n_units < AM_RING_UNITS_MIN || d[i].n_units > AM_RING_UNITS_MAX ||
		    d[i].n_units & (d[i].n_units - 1))
			bad(r, d[i].offset, "ring of an impossible size");
		else
			read_ring(r, &d[i]);
	}
	free(d);
}

static int read_all(struct am_source *s, struct ring_reader *r)
{
	read_strings(r);
	if (!failed(r))
		read_modules(r);
	if (!failed(r))
		read_sites(r);
	if (!failed(r))
		read_threads(r);
	if (!failed(r) && r->h.command[0])
		check(r, &r->h.strings,
		      tablebuild_command(&s->tables, r->h.command, sizeof r->h.command));
	if (!failed(r))
		read_rings(r);
	memcpy(s->info.lost, r->h.lost, sizeof s->info.lost);
	return failed(r) ? -1 : 1;
}

static int read_header(struct am_source *s, struct ring_reader *r)
{
	*r = (struct ring_reader){.s = s};
	if (fseeko(s->ring, 0, SEEK_END) != 0)
		return source_fail(s, "ring file: cannot seek");
	const off_t size = ftello(s->ring);
	r->size = size < 0 ? 0 : (uint64_t)size;
	if (!read_at(r, 0, &r->h, sizeof r->h) || memcmp(r->h.magic, AM_RINGFILE_MAGIC, 8) != 0)
		return bad(r, 0, "not a ring file");
	if (r->h.endian != AM_RINGFILE_ENDIAN)
		return bad(r, 12, "byte order is not little endian");
	if (r->h.version != AM_RINGFILE_VERSION)
		return bad(r, 8, "unknown version");
	return 1;
}

int ring_recover(struct am_source *s)
{
	struct ring_reader r;

	if (fseeko(s->ring, 0, SEEK_END) == 0 && ftello(s->ring) < (off_t)sizeof r.h) {
		snprintf(s->info.note, sizeof s->info.note,
			 "the ring file was never set up; ignored");
		return 1;
	}
	if (read_header(s, &r) < 0)
		return -1;
	if (r.h.pid != s->tables.t.pid) {
		snprintf(s->info.note, sizeof s->info.note,
			 "the ring file is of process %u, the trace of process %u; ignored",
			 r.h.pid, s->tables.t.pid);
		return 1;
	}
	return read_all(s, &r);
}

int ring_fill(struct am_source *s)
{
	struct ring_reader r;

	if (read_header(s, &r) < 0)
		return -1;
	s->info.start_ns = r.h.start_ns;
	s->tables.t.pid = r.h.pid;
	if (read_all(s, &r) < 0)
		return -1;
	source_finish(s, true);
	return s->has_failed ? -1 : 0;
}
