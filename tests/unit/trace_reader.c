/* The reader on small traces made by hand: recovery, limits, refusals. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/decode.h"
#include "analyzer/trace/source.h"
#include "analyzer/trace/text.h"
#include "atommon/expr.h"
#include "atommon/ringfile.h"
#include "atommon/trace.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

/* ---- a trace and its ring, in memory ------------------------------------------------------- */

struct file {
	uint8_t bytes[512 * 1024];
	size_t n;
};

static struct file trace, ring;
static struct am_event got[4096];
static size_t n_got;
static char why[AM_SOURCE_ERROR_MAX];
static struct am_source_info info;

static struct am_unit acquire(uint32_t number, bool nested)
{
	return (struct am_unit){AM_ACQUIRE | AM_R_SEQ | (nested ? AM_R_NESTED : 0) |
					UINT64_C(0x404040) << AM_R_OBJECT_SHIFT,
				number};
}

static void begin_trace(uint64_t features)
{
	const struct am_atm_info header = {.pid = 42, .features = features};
	trace.n = am_atm_put_header(trace.bytes, &header);
}

static void add_units(uint32_t thread, uint64_t position, const struct am_unit *u, size_t n)
{
	static uint8_t buf[AM_ATM_UNITS_BYTES_MAX];
	struct am_chunk_coder *coder =
		aligned_alloc(64, (am_chunk_coder_bytes() + 63) & ~(size_t)63);
	const size_t bytes = am_atm_put_units(coder, buf, thread, position, u, n);

	memcpy(trace.bytes + trace.n, buf, bytes);
	trace.n += bytes;
	free(coder);
}

enum { RING_UNITS = 256, DIR_AT = AM_RINGFILE_HEADER, UNITS_AT = AM_RINGFILE_HEADER + 4096 };

static void begin_ring(uint32_t pid)
{
	struct am_ringfile h = {.version = AM_RINGFILE_VERSION,
				.endian = AM_RINGFILE_ENDIAN,
				.pid = pid,
				.state = 1,
				.rings = {DIR_AT, 8, sizeof(struct am_ringdir), 0, 0}};
	memset(&ring, 0, sizeof ring);
	memcpy(h.magic, AM_RINGFILE_MAGIC, sizeof h.magic);
	memcpy(ring.bytes, &h, sizeof h);
	ring.n = UNITS_AT;
}

static void add_ring(uint32_t thread, uint64_t first, uint64_t base, uint64_t tail)
{
	struct am_ringfile *h = (struct am_ringfile *)ring.bytes;
	struct am_ringdir *d = (struct am_ringdir *)(ring.bytes + DIR_AT) + h->rings.count++;

	*d = (struct am_ringdir){.offset = ring.n,
				 .first = first,
				 .base = base,
				 .n_units = RING_UNITS,
				 .thread = thread,
				 .state = AM_RING_LIVE,
				 .tail = tail};
	ring.n += RING_UNITS * sizeof(struct am_unit);
}

/* Into the newest ring. */
static void put_unit(uint64_t index, struct am_unit u)
{
	struct am_unit *units =
		(struct am_unit *)(ring.bytes + ring.n - RING_UNITS * sizeof(struct am_unit));
	if ((index & RING_UNITS) == 0)
		u.w0 |= AM_R_PHASE;
	units[index & (RING_UNITS - 1)] = u;
}

static int read_all(bool with_ring, const struct am_source_config *config)
{
	FILE *r = with_ring ? fmemopen(ring.bytes, ring.n, "rb") : NULL;
	struct am_source *s = am_source_open_stream(fmemopen(trace.bytes, trace.n, "rb"), r,
						    "t.atm", config, why);
	int status = -1;

	n_got = 0;
	if (!s)
		return -1;
	while (n_got < 4096 && (status = am_source_next(s, &got[n_got])) > 0)
		n_got++;
	if (status < 0)
		strcpy(why, am_source_error(s));
	info = *am_source_info(s);
	am_source_close(s);
	return status;
}

/* ---- recovery ------------------------------------------------------------------------------ */

Test(ring_recovery, what_the_trace_has_is_not_read_twice)
{
	const struct am_unit u[3] = {acquire(0, false), acquire(1, false), acquire(2, false)};

	begin_trace(0);
	add_units(0, 0, u, 3);
	begin_ring(42);
	add_ring(0, 250, 0, 252); /* tail stands before the third */
	for (uint32_t i = 0; i < 250; i++)
		put_unit(i, acquire(i, false)); /* of the thread that had this ring before */
	for (uint32_t i = 0; i < 8; i++)
		put_unit(250 + i, acquire(i, false)); /* across the end of the ring */
	cr_assert_eq(read_all(true, NULL), 0);
	cr_assert_eq(n_got, 8);
	for (uint32_t i = 0; i < 8; i++)
		cr_assert_eq(got[i].kind, AM_ACQUIRE);
	cr_assert_eq(info.recovered, 5);
	cr_assert_eq(info.holes, 0);
}

Test(ring_recovery, a_torn_record_is_marked_and_its_number_is_a_hole)
{
	begin_trace(0);
	begin_ring(42);
	add_ring(0, 0, 0, 0);
	put_unit(0, acquire(0, false));
	/* in progress: number 1 taken, the second unit of two is not there */
	struct am_unit torn = acquire(1, false);
	torn.w0 |= UINT64_C(1) << AM_R_EXT_SHIFT;
	put_unit(1, torn);
	add_ring(1, 0, 0, 0);
	put_unit(0, acquire(2, false));
	put_unit(1, acquire(3, false));
	cr_assert_eq(read_all(true, NULL), 0);
	cr_assert_eq(n_got, 4);
	cr_assert_eq(got[1].kind, AM_LOST);
	cr_assert_eq(got[1].mode, AM_LOST_TORN);
	cr_assert_eq(got[1].thread, 0);
	cr_assert_eq(got[3].thread, 1);
	cr_assert_eq(info.holes, 1);
}

Test(ring_recovery, a_signal_handler_behind_the_torn_record_is_kept)
{
	begin_trace(0);
	begin_ring(42);
	add_ring(0, 0, 0, 0);
	put_unit(0, acquire(0, false)); /* the unit at 1 was reserved and never written */
	put_unit(2, acquire(2, true));
	put_unit(3, acquire(3, true));
	cr_assert_eq(read_all(true, NULL), 0);
	cr_assert_eq(n_got, 4);
	cr_assert_eq(got[1].kind, AM_ACQUIRE);
	cr_assert_eq(got[2].kind, AM_ACQUIRE);
	cr_assert_eq(got[3].kind, AM_LOST);
	cr_assert_eq(info.holes, 1);
}

Test(ring_recovery, a_ring_of_another_process_is_ignored_and_said)
{
	const struct am_unit u = acquire(0, false);

	begin_trace(0);
	add_units(0, 0, &u, 1);
	begin_ring(43);
	add_ring(0, 0, 0, 0);
	put_unit(0, u);
	put_unit(1, acquire(1, false));
	cr_assert_eq(read_all(true, NULL), 0);
	cr_assert_eq(n_got, 1);
	cr_assert_not_null(strstr(info.note, "process 43"));
}

Test(ring_recovery, after_a_footer_the_rings_do_not_count)
{
	const struct am_atm_footer footer = {0};
	const struct am_unit u = acquire(0, false);

	begin_trace(0);
	add_units(0, 0, &u, 1);
	trace.n += am_atm_put_footer(trace.bytes + trace.n, &footer);
	begin_ring(42);
	add_ring(0, 0, 0, 0);
	put_unit(0, u);
	put_unit(1, acquire(1, false));
	cr_assert_eq(read_all(true, NULL), 0);
	cr_assert_eq(n_got, 1);
	cr_assert(info.has_footer);
}

Test(ring_recovery, what_follows_a_gap_is_left_out)
{
	const struct am_unit u = acquire(0, false);

	begin_trace(0);
	add_units(0, 0, &u, 1);
	begin_ring(42);
	add_ring(0, 0, 0, 5); /* the recording had stopped: units 1 to 4 are nowhere */
	for (uint32_t i = 0; i < 8; i++)
		put_unit(i, acquire(i, false));
	add_ring(1, 0, 0, 0);
	put_unit(0, acquire(9, false));
	cr_assert_eq(read_all(true, NULL), 0);
	cr_assert_eq(n_got, 2);
	cr_assert_eq(got[0].kind, AM_ACQUIRE);
	cr_assert_eq(got[1].kind, AM_LOST);
	cr_assert_eq(got[1].thread, 1);
	cr_assert_eq(got[1].aux, 1);
	cr_assert_eq(info.dropped, 1);
	cr_assert_eq(info.holes, 0);
}

/* ---- order and refusals -------------------------------------------------------------------- */

Test(reader, threads_are_merged_by_number_not_by_place_in_the_file)
{
	const struct am_unit late[2] = {acquire(1, false), acquire(3, false)};
	const struct am_unit early[2] = {acquire(0, false), acquire(2, false)};

	begin_trace(0);
	add_units(1, 0, late, 2);
	add_units(0, 0, early, 2);
	cr_assert_eq(read_all(false, NULL), 0);
	cr_assert_eq(n_got, 4);
	for (uint32_t i = 0; i < 4; i++) {
		cr_assert_eq(got[i].thread, i % 2);
		cr_assert_eq(got[i].index, i);
	}
}

Test(reader, behind_a_cut_nothing_is_made_up)
{
	const struct am_unit u[3] = {acquire(0, false), acquire(1, false), acquire(5, false)};

	begin_trace(0);
	add_units(0, 0, u, 3);
	cr_assert_eq(read_all(false, NULL), 0);
	cr_assert_eq(n_got, 3);
	cr_assert_eq(got[1].kind, AM_ACQUIRE);
	cr_assert_eq(got[2].kind, AM_LOST);
	cr_assert_eq(got[2].mode, AM_LOST_TORN);
	cr_assert_eq(info.dropped, 1);
	cr_assert_not_null(strstr(info.note, "the trace is cut; 1 records"));
}

Test(reader, a_recording_that_reached_its_limit_says_so_at_the_end)
{
	const struct am_unit u[3] = {acquire(0, false), acquire(1, false), acquire(5, false)};
	const struct am_atm_footer footer = {.lost = {[AM_LOST_LIMIT] = 77}};

	begin_trace(0);
	add_units(0, 0, u, 3);
	trace.n += am_atm_put_footer(trace.bytes + trace.n, &footer);
	cr_assert_eq(read_all(false, NULL), 0);
	cr_assert_eq(n_got, 4);
	cr_assert_eq(got[2].kind, AM_LOST);
	cr_assert_eq(got[2].mode, AM_LOST_LIMIT);
	cr_assert_eq(got[3].aux, 77);
	cr_assert_not_null(strstr(info.note, "reached its limit"));
}

Test(reader, losses_that_no_stream_told_are_told_at_the_end)
{
	/* Three of five were told where they happened; seven had no ring to be told in. */
	const struct am_unit u[4] = {
		acquire(0, false),
		{.w0 = AM_LOST | 1 << AM_R_EXT_SHIFT | (uint64_t)AM_LOST_FULL << AM_R_DETAIL_SHIFT},
		{.w0 = AM_EXT | (uint64_t)AM_X_AUX << AM_R_DETAIL_SHIFT, .w1 = 3},
		acquire(1, false),
	};
	const struct am_atm_footer footer = {.lost = {[AM_LOST_FULL] = 5, [AM_LOST_MEMORY] = 7}};

	begin_trace(0);
	add_units(0, 0, u, 4);
	trace.n += am_atm_put_footer(trace.bytes + trace.n, &footer);
	cr_assert_eq(read_all(false, NULL), 0);
	cr_assert_eq(n_got, 5);
	cr_assert_eq(got[1].kind, AM_LOST);
	cr_assert_eq(got[1].aux, 3);
	cr_assert_eq(got[3].kind, AM_LOST);
	cr_assert_eq(got[3].mode, AM_LOST_FULL);
	cr_assert_eq(got[3].aux, 2);
	cr_assert_eq(got[4].mode, AM_LOST_MEMORY);
	cr_assert_eq(got[4].aux, 7);
}

Test(reader, missing_units_are_refused_with_offset_and_reason)
{
	const struct am_unit u = acquire(0, false);

	begin_trace(0);
	add_units(0, 5, &u, 1);
	cr_assert_eq(read_all(false, NULL), -1);
	cr_assert_str_eq(why,
			 "t.atm: offset 64: units chunk: thread 0 continues at unit 5, expected 0");
}

Test(reader, unknown_features_are_refused)
{
	begin_trace(4);
	cr_assert_eq(read_all(false, NULL), -1);
	cr_assert_str_eq(why, "t.atm: offset 16: unknown features 0x4");
	begin_trace(UINT64_C(1) << 60); /* of the high half: only information */
	cr_assert_eq(read_all(false, NULL), 0);
}

Test(reader, a_record_without_its_extension_is_refused)
{
	struct am_unit u = acquire(0, false);

	u.w0 |= UINT64_C(1) << AM_R_EXT_SHIFT;
	begin_trace(0);
	add_units(0, 0, &u, 1);
	cr_assert_eq(read_all(false, NULL), -1);
	cr_assert_str_eq(why, "t.atm: offset 64: units chunk: record is cut");
}

/* 40 chunks of one thread that begins with the numbers a and b, then counts from 2 on. */
static void add_stream(uint32_t a, uint32_t b)
{
	static struct am_unit u[AM_ATM_UNITS_MAX];
	uint32_t next = 0;

	begin_trace(0);
	for (unsigned chunk = 0; chunk < 40; chunk++) {
		for (uint32_t i = 0; i < AM_ATM_UNITS_MAX; i++, next++)
			u[i] = acquire(next == 0 ? a : next == 1 ? b : next, false);
		add_units(0, chunk * AM_ATM_UNITS_MAX, u, AM_ATM_UNITS_MAX);
	}
}

Test(reader, records_that_wait_stay_within_the_limit)
{
	const struct am_source_config config = {.reorder_limit = 1 << 20};

	add_stream(1, 0); /* the second record should have been the first */
	cr_assert_eq(read_all(false, &config), -1);
	cr_assert_not_null(strstr(why, "records that wait for others need more than 1 MiB"));
}

Test(reader, at_the_limit_a_missing_number_is_a_hole)
{
	const struct am_source_config config = {.reorder_limit = 1 << 20};

	add_stream(UINT32_MAX, 1);		   /* number 0 is in no record */
	cr_assert_eq(read_all(false, &config), 1); /* stopped by the size of got[] */
	cr_assert_eq(n_got, 4096);
	cr_assert_eq(info.holes, 1);
}

Test(reader, space_that_was_never_written_is_the_end)
{
	const struct am_unit u = acquire(0, false);

	begin_trace(0);
	add_units(0, 0, &u, 1);
	memset(trace.bytes + trace.n, 0, 4096);
	trace.n += 4096;
	cr_assert_eq(read_all(false, NULL), 0);
	cr_assert_eq(n_got, 1);
	cr_assert(info.is_cut);
}

/* ---- expressions --------------------------------------------------------------------------- */

static const char symbolic[] = "0 T2 read 0x404040 size=4 value=7 r1 @0\n"
			       "1 T2 expr e2 = const:32 0x0\n"
			       "2 T2 expr e3 = >s:1 e1 e2\n"
			       "3 T2 assume (r1 >s 0) #3 @0\n"
			       "4 T2 assert !(r1 >s 0) #3 @0\n";

Test(expressions, are_numbered_by_their_order_and_printed_readably)
{
	FILE *in = fmemopen((void *)(uintptr_t)symbolic, sizeof symbolic - 1, "rb");
	struct am_source *s = am_source_open_stream(in, NULL, "text", NULL, why);
	struct am_event e;
	char *text = NULL;
	size_t n_text;
	FILE *out = open_memstream(&text, &n_text);
	struct am_text t;
	uint32_t n;

	cr_assert_not_null(s);
	am_text_begin(&t, out, s, NULL, NULL);
	while (am_source_next(s, &e) > 0)
		am_text_event(&t, &e);
	fclose(out);
	const struct am_expr *x = am_source_exprs(s, 2, &n);
	cr_assert_eq(n, 4);
	cr_assert_eq(x[1].op, AM_OP_READ);
	cr_assert_eq(x[1].width, 32);
	cr_assert_eq(x[1].value, 0);
	cr_assert_eq(x[2].op, AM_OP_CONST);
	cr_assert_eq(x[3].op, AM_OP_SGT);
	cr_assert_eq(x[3].a, 1);
	cr_assert_eq(x[3].b, 2);
	cr_assert_not_null(strstr(text, "3 T2 assume (r1 >s 0) #3 @0\n"));
	cr_assert_not_null(strstr(text, "4 T2 assert !(r1 >s 0) #3 @0\n"));
	free(text);
	am_source_close(s);
}

Test(expressions, after_a_hole_are_unknown_until_a_read_says_its_number)
{
	static const char text[] = "0 T0 expr e1 = const:8 0x1\n"
				   "1 T0 lost - count=5 full @0\n"
				   "2 T0 expr e7 = const:8 0x2\n"
				   "3 T0 read 0x10 size=1 r9 @0\n"
				   "4 T0 expr e10 = const:8 0x3\n";
	FILE *in = fmemopen((void *)(uintptr_t)text, sizeof text - 1, "rb");
	struct am_source *s = am_source_open_stream(in, NULL, "text", NULL, why);
	const uint32_t expected[5] = {1, 0, 0, 9, 10};
	struct am_event e;
	uint32_t n;

	for (unsigned i = 0; i < 5; i++) {
		cr_assert_eq(am_source_next(s, &e), 1);
		cr_assert_eq(e.expr, expected[i]);
	}
	const struct am_expr *x = am_source_exprs(s, 0, &n);
	cr_assert_eq(n, 11);
	cr_assert_eq(x[7].op, AM_OP_NONE);
	cr_assert_eq(x[10].value, 3);
	am_source_close(s);
}
