/*
 * Chunks of a trace file into a caller's buffer. Runs in the drain thread and in tools: no I/O, no
 * memory, no stdio. See include/atommon/trace.h and doc/trace-format.md.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/chunk.h"

#include <assert.h>
#include <string.h>

/* ---- tables -------------------------------------------------------------------------------- */

enum { BODY_FIXED_MAX = 256 }; /* bytes of a body without its text, at most */

void am_atm_table_begin(struct am_atm_table *t, uint8_t *buf, size_t cap)
{
	assert(cap >= 4096 && cap <= AM_ATM_RAW_MAX);
	*t = (struct am_atm_table){buf, cap, sizeof(struct am_atm_chunk), 0};
}

/* One entry: `fixed`, then `text` to the end of the body. */
static bool put_entry(struct am_atm_table *t, enum am_atm_tag tag, const uint8_t *fixed,
		      size_t n_fixed, const char *text, size_t n_text)
{
	const size_t most = t->cap - sizeof(struct am_atm_chunk) - n_fixed - 8;

	assert(n_fixed <= BODY_FIXED_MAX);
	if (n_text > most)
		n_text = most;
	if (t->cap - t->len < n_fixed + n_text + 8)
		return false;
	uint8_t *p = t->buf + t->len;
	*p++ = (uint8_t)tag;
	p = chunk_put_varint(p, n_fixed + n_text);
	memcpy(p, fixed, n_fixed);
	p += n_fixed;
	if (n_text)
		memcpy(p, text, n_text);
	t->len = (size_t)(p + n_text - t->buf);
	t->count++;
	return true;
}

bool am_atm_table_command(struct am_atm_table *t, const char *text, size_t len)
{
	return put_entry(t, AM_ATM_T_COMMAND, (const uint8_t *)"", 0, text, len);
}

bool am_atm_table_string(struct am_atm_table *t, uint32_t id, const char *text, size_t len)
{
	uint8_t fixed[BODY_FIXED_MAX];
	return put_entry(t, AM_ATM_T_STRING, fixed, (size_t)(chunk_put_varint(fixed, id) - fixed),
			 text, len);
}

bool am_atm_table_module(struct am_atm_table *t, uint32_t index, const struct am_module *m)
{
	uint8_t fixed[BODY_FIXED_MAX], *p = fixed;

	assert(m->build_id_len <= AM_BUILD_ID_MAX);
	p = chunk_put_varint(p, index);
	p = chunk_put_varint(p, m->base);
	p = chunk_put_varint(p, m->start);
	p = chunk_put_varint(p, m->end);
	p = chunk_put_varint(p, m->unloaded);
	p = chunk_put_varint(p, m->build_id_len);
	memcpy(p, m->build_id, m->build_id_len);
	p += m->build_id_len;
	return put_entry(t, AM_ATM_T_MODULE, fixed, (size_t)(p - fixed), m->path, strlen(m->path));
}

bool am_atm_table_site(struct am_atm_table *t, uint32_t id, const uint64_t *frames, uint32_t n)
{
	uint8_t fixed[BODY_FIXED_MAX], *p = fixed;
	uint64_t last = 0;

	assert(n <= AM_FRAMES_MAX);
	p = chunk_put_varint(p, id);
	p = chunk_put_varint(p, n);
	for (uint32_t i = 0; i < n; i++) {
		p = chunk_put_varint(p, chunk_zigzag(frames[i] - last));
		last = frames[i];
	}
	return put_entry(t, AM_ATM_T_SITE, fixed, (size_t)(p - fixed), "", 0);
}

bool am_atm_table_thread(struct am_atm_table *t, const struct am_thread *thread)
{
	uint8_t fixed[BODY_FIXED_MAX], *p = fixed;

	p = chunk_put_varint(p, thread->id);
	p = chunk_put_varint(p, (uint32_t)(thread->parent + 1));
	p = chunk_put_varint(p, thread->os_tid);
	p = chunk_put_varint(p, thread->create_site);
	return put_entry(t, AM_ATM_T_THREAD, fixed, (size_t)(p - fixed), thread->name,
			 strlen(thread->name));
}

bool am_atm_table_leaving(struct am_atm_table *t, bool is_leaving)
{
	const uint8_t fixed[] = {is_leaving};
	return put_entry(t, AM_ATM_T_LEAVING, fixed, sizeof fixed, "", 0);
}

size_t am_atm_table_end(struct am_atm_table *t)
{
	if (t->count == 0)
		return 0;
	const struct am_atm_chunk h = {
		.type = AM_ATM_TABLE,
		.count = t->count,
		.raw_bytes = (uint32_t)(t->len - sizeof h),
	};
	return am_chunk_seal(NULL, t->buf, h, t->buf + sizeof h);
}

/* ---- units --------------------------------------------------------------------------------- */

size_t am_chunk_coder_bytes(void)
{
	return sizeof(struct am_chunk_coder);
}

size_t am_atm_put_units(struct am_chunk_coder *coder, uint8_t *buf, uint32_t thread,
			uint64_t position, const struct am_unit *units, size_t n)
{
	assert(n > 0 && n <= AM_ATM_UNITS_MAX);
	const struct am_atm_chunk h = {
		.type = AM_ATM_UNITS,
		.thread = thread,
		.count = (uint32_t)n,
		.position = position,
		.raw_bytes = (uint32_t)am_chunk_pack(&coder->model, coder->scratch, units, n),
	};
	return am_chunk_seal(coder->lz4, buf, h, coder->scratch);
}

/* Ordered: bytes of the runs (32 bits), the runs (thread as a difference, units), the columns. */
size_t am_atm_put_ordered(struct am_chunk_coder *coder, uint8_t *buf, uint64_t position,
			  const struct am_unit *units, const uint32_t *thread, size_t n)
{
	enum { LENGTH = 4 };
	uint8_t *const runs = coder->scratch + LENGTH, *p = runs;
	uint32_t last = 0;

	assert(n > 0 && n <= AM_ATM_UNITS_MAX);
	for (size_t i = 0; i < n;) {
		size_t end = i + 1;
		while (end < n && thread[end] == thread[i])
			end++;
		p = chunk_put_varint(p, chunk_zigzag((uint64_t)thread[i] - last));
		p = chunk_put_varint(p, end - i);
		last = thread[i];
		i = end;
	}
	const uint32_t runs_bytes = (uint32_t)(p - runs);
	memcpy(coder->scratch, &runs_bytes, LENGTH);
	p += am_chunk_pack(&coder->model, p, units, n);
	const struct am_atm_chunk h = {
		.type = AM_ATM_ORDERED,
		.count = (uint32_t)n,
		.position = position,
		.raw_bytes = (uint32_t)(p - coder->scratch),
	};
	return am_chunk_seal(coder->lz4, buf, h, coder->scratch);
}

size_t am_atm_put_footer(uint8_t *buf, const struct am_atm_footer *footer)
{
	const struct am_atm_chunk h = {.type = AM_ATM_FOOTER, .raw_bytes = sizeof *footer};
	return am_chunk_seal(NULL, buf, h, (const uint8_t *)footer);
}
