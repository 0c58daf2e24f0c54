/* SPDX-License-Identifier: MIT */
/* Small inputs that use every part of each form, from which the fuzzers and the quick regression
 * start. Each fills buf (SEED_MAX bytes) and returns its size. */
#ifndef ATOMMON_TESTS_FUZZ_SEEDS_H
#define ATOMMON_TESTS_FUZZ_SEEDS_H

#include "analyzer/core/decode.h"
#include "analyzer/trace/source.h"
#include "analyzer/trace/text.h"
#include "analyzer/trace/writer.h"
#include "atommon/expr.h"
#include "atommon/ringfile.h"
#include "atommon/trace.h"

#include <stdlib.h>
#include <string.h>

enum { SEED_MAX = 64 * 1024, SEEDS = 8 };

static inline size_t seed_tables(uint8_t *buf)
{
	struct am_atm_table t;
	const uint64_t frames[2] = {0x401234, 0x401000};
	const struct am_module m = {.path = "/bin/x",
				    .base = 0x400000,
				    .start = 0x400000,
				    .end = 0x500000,
				    .build_id = {1, 2, 3},
				    .build_id_len = 3};
	const struct am_thread th = {
		.id = 1, .parent = 0, .os_tid = 77, .create_site = 1, .name = "w"};

	am_atm_table_begin(&t, buf, 4096);
	am_atm_table_command(&t, "./x -v", 6);
	am_atm_table_string(&t, 1, "withdraw", 8);
	am_atm_table_string(&t, 2, "balance", 7);
	am_atm_table_module(&t, 0, &m);
	am_atm_table_site(&t, 1, frames, 2);
	am_atm_table_thread(&t, &th);
	return am_atm_table_end(&t);
}

/* Records of two threads, with numbers that order them. */
static inline size_t seed_units(unsigned thread, struct am_unit *u)
{
	const uint64_t lock = 0x404040, cond = 0x404080, var = 0x4040c0;
	const struct am_event e[2][12] = {
		{
			{.kind = AM_THREAD_BEGIN},
			{.kind = AM_FORK, .object = 1, .site = 1},
			{.kind = AM_BEGIN, .object = 1, .site = 1},
			{.kind = AM_ACQUIRE, .object = lock},
			{.kind = AM_READ,
			 .object = var,
			 .size = 4,
			 .value = 7,
			 .flags = AM_HAS_VALUE,
			 .expr = 1},
			{.kind = AM_EXPR, .object = AM_OP_CONST | 32 << 8, .value = 5},
			{.kind = AM_EXPR,
			 .object = AM_OP_SGT | 1 << 8,
			 .value = UINT64_C(2) << 32 | 1},
			{.kind = AM_BRANCH,
			 .value = 1,
			 .flags = AM_HAS_VALUE,
			 .expr = 3,
			 .site = 1},
			{.kind = AM_WAIT, .object = cond, .aux = lock},
			{.kind = AM_WAKE, .object = cond, .aux = lock, .flags = AM_TIMED_OUT},
			{.kind = AM_RELEASE, .object = lock},
			{.kind = AM_END, .object = 1},
		},
		{
			{.kind = AM_THREAD_BEGIN, .object = 1},
			{.kind = AM_NAME, .object = var, .size = 4, .aux = 2},
			{.kind = AM_UPDATE, .object = var, .size = 3, .order = 6},
			{.kind = AM_SIGNAL, .object = cond},
			{.kind = AM_LOST, .aux = 3, .mode = AM_LOST_FULL},
			{.kind = AM_ALLOC, .object = 0x700000, .aux = 100},
			{.kind = AM_PIN, .expr = 1, .value = 9, .flags = AM_HAS_VALUE},
			{.kind = AM_INIT, .object = lock, .mode = AM_OBJ_MUTEX, .aux = 1},
			{.kind = AM_LEAVE, .object = 0x404100, .mode = 1, .flags = AM_NESTED},
			{.kind = AM_ACQUIRE, .object = 0x404140, .mode = AM_SHARED},
			{.kind = AM_FREE, .object = 0x700000, .aux = 100},
			{.kind = AM_THREAD_END, .object = 1},
		},
	};
	size_t n = 0;

	for (unsigned i = 0; i < 12; i++) {
		const size_t at = n;
		n += am_record_encode(&e[thread][i], u + n);
		if (e[thread][i].kind == AM_ACQUIRE || e[thread][i].kind == AM_WAIT) {
			u[at].w0 |= AM_R_SEQ;
			u[at].w1 |= i == 8;
		}
	}
	return n;
}

static inline size_t seed_atm(uint8_t *buf)
{
	struct am_chunk_coder *coder =
		aligned_alloc(64, (am_chunk_coder_bytes() + 63) & ~(size_t)63);
	uint8_t *chunk = malloc(AM_ATM_UNITS_BYTES_MAX);
	const struct am_atm_info info = {.pid = 42, .start_ns = 1};
	const struct am_atm_footer footer = {.units = 40};
	struct am_unit u[64];
	size_t at = am_atm_put_header(buf, &info);

	at += seed_tables(buf + at);
	for (unsigned t = 0; t < 2; t++) {
		const size_t n = seed_units(t, u);
		const size_t bytes = am_atm_put_units(coder, chunk, t, 0, u, n);
		memcpy(buf + at, chunk, bytes);
		at += bytes;
	}
	at += am_atm_put_footer(buf + at, &footer);
	free(coder);
	free(chunk);
	return at;
}

/* Read `from`, write it as text or as ordered chunks. */
static inline size_t seed_convert(uint8_t *buf, const uint8_t *from, size_t size, bool to_text)
{
	char why[AM_SOURCE_ERROR_MAX];
	struct am_source *s = am_source_open_stream(fmemopen((void *)(uintptr_t)from, size, "rb"),
						    NULL, "seed", NULL, why);
	FILE *out = fmemopen(buf, SEED_MAX, "wb");
	struct am_writer *w = to_text ? NULL : am_writer_new(out, s);
	struct am_text t;
	struct am_event e;

	am_text_begin(&t, out, s, NULL, NULL);
	while (am_source_next(s, &e) > 0) {
		if (to_text)
			am_text_event(&t, &e);
		else
			am_writer_event(w, &e);
	}
	if (w)
		am_writer_end(w, true);
	fflush(out);
	const long bytes = ftell(out);
	fclose(out);
	am_source_close(s);
	return (size_t)bytes;
}

static inline size_t seed_ring(uint8_t *buf)
{
	struct am_ringfile h = {.version = AM_RINGFILE_VERSION,
				.endian = AM_RINGFILE_ENDIAN,
				.pid = 42,
				.state = 1,
				.command = "./x"};
	const struct am_ringstring strings[3] = {{0, 0}, {0, 9}, {9, 8}};
	const uint64_t sites[2][5] = {{0}, {2, 0x401234, 0x401000}};
	const struct am_ringthread threads[2] = {{.state = 1, .parent = UINT32_MAX, .name = "main"},
						 {.state = 2, .os_tid = 9}};
	const struct am_ringmodule module = {
		.base = 1, .start = 1, .end = 9, .state = 1, .path = "/x"};
	struct am_ringdir dirs[2] = {{0}};
	size_t at = AM_RINGFILE_HEADER;

	memset(buf, 0, SEED_MAX);
	memcpy(h.magic, AM_RINGFILE_MAGIC, sizeof h.magic);
#define TABLE(field, data, bytes_each, n)                                                          \
	do {                                                                                       \
		h.field = (struct am_ringtable){at, (n), (uint32_t)(bytes_each), (n), 0};          \
		memcpy(buf + at, data, (size_t)(bytes_each) * (n));                                \
		at += ((size_t)(bytes_each) * (n) + 63) & ~(size_t)63;                             \
	} while (0)
	TABLE(strings, strings, sizeof *strings, 3);
	TABLE(bytes, "withdraw\0balance", 1, 17);
	TABLE(sites, sites, sizeof *sites, 2);
	TABLE(threads, threads, sizeof *threads, 2);
	TABLE(modules, &module, sizeof module, 1);
	const size_t units_at = (at + sizeof dirs + 63) & ~(size_t)63;
	for (unsigned t = 0; t < 2; t++) {
		struct am_unit u[64];
		const uint64_t first = t ? 250 : 0; /* the second ring wraps */
		const size_t n = seed_units(t, u), offset = units_at + (size_t)t * 256 * sizeof *u;
		dirs[t] = (struct am_ringdir){.offset = offset,
					      .first = first,
					      .tail = first,
					      .n_units = 256,
					      .thread = t,
					      .state = AM_RING_LIVE};
		for (size_t i = 0; i < n - t; i++) {
			const uint64_t index = first + i;
			u[i].w0 |= (index & 256) == 0 ? AM_R_PHASE : 0;
			memcpy(buf + offset + (index & 255) * sizeof *u, &u[i], sizeof *u);
		}
	}
	TABLE(rings, dirs, sizeof *dirs, 2);
#undef TABLE
	memcpy(buf, &h, sizeof h);
	return units_at + 2 * 256 * sizeof(struct am_unit);
}

static const char *const seed_names[SEEDS] = {"atm/threads", "atm/ordered", "ring/ring",
					      "text/text",   "text/hand",   "std/std",
					      "std/words",   "text/std"};

static inline size_t seed_make(unsigned which, uint8_t *buf)
{
	static const char std[] = "T0|fork(T1)|1\nT0|acq(m)|2\nT0|w(x)|3\nT0|rel(m)\nT1|r(x)|5\n"
				  "T0|join(T1)|6\n";
	static const char words[] =
		" main thread | begin(a b) | 17 \nmain thread|end(a b)|x\n# note\n"
		"w|lock(l)\nw|unlock(l)\nw|read(v)\nw|write(v)\n";
	static const char hand[] =
		"0 T0 begin \"withdraw\" @0\n1 T0 acquire 0x10 shared @0\n"
		"2 T0 branch true @0\n3 T0 assert !(r1 >s 2) #1 @0\n"
		"4 T1 expr e1 = ?::32 e1 e2 e3\n5 T1 lost - count=3 torn @0\n"
		"6 T1 read 0x10 size=4 value=3 r1 order=acquire volatile @0 f g.c:1\n";
	static uint8_t tmp[SEED_MAX];

	switch (which) {
	case 0:
		return seed_atm(buf);
	case 1:
		return seed_convert(buf, tmp, seed_atm(tmp), false);
	case 2:
		return seed_ring(buf);
	case 3:
		return seed_convert(buf, tmp, seed_atm(tmp), true);
	case 4:
		memcpy(buf, hand, sizeof hand - 1);
		return sizeof hand - 1;
	case 5:
	case 7:
		memcpy(buf, std, sizeof std - 1);
		return sizeof std - 1;
	default:
		memcpy(buf, words, sizeof words - 1);
		return sizeof words - 1;
	}
}

#endif
