/*
 * Random traces through every form: chunks of threads -> events -> text -> ordered chunks -> text.
 * Events, text and files must come back the same; a file cut at any byte must give a prefix.
 * usage: trace_identity [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/core/decode.h"
#include "analyzer/trace/source.h"
#include "analyzer/trace/text.h"
#include "analyzer/trace/writer.h"
#include "atommon/expr.h"
#include "atommon/trace.h"
#include "tests/property/cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static uint64_t rng;
static const char *wrong;
static char detail[1024];

static uint64_t rnd(uint64_t n)
{
	rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (rng >> 20) % n;
}

static uint64_t any64(void)
{
	const uint64_t v = rnd(UINT64_C(1) << 40) << 24 ^ rnd(UINT64_C(1) << 40);
	return rnd(3) ? v & ((UINT64_C(1) << rnd(64)) - 1) : v;
}

/* ---- a random trace ------------------------------------------------------------------------ */

enum { THREADS = 5, UNITS = 4096 };

struct lane {
	struct am_unit units[UNITS];
	size_t n, written;
	uint32_t nodes;
};

static struct lane lane[THREADS];
static uint32_t number[AM_COUNTERS];
static unsigned n_strings, n_sites, n_modules;

static struct am_event any_event(struct lane *l)
{
	struct am_event e = {.kind = (uint8_t)(1 + rnd(AM_EXT - 1))};

	if (e.kind == AM_THREAD_END) /* nothing follows one; here anything follows anything */
		e.kind = AM_THREAD_BEGIN;
	e.object = (UINT64_C(0x7f0000000000) + rnd(64) * 8) & (UINT64_MAX >> 16);
	e.site = (uint32_t)rnd(n_sites + 1);
	switch (am_text_object_class((enum am_kind)e.kind)) {
	case 't':
		e.object = rnd(THREADS);
		break;
	case 's':
		e.object = 1 + rnd(n_strings);
		break;
	case '-':
		e.object = 0;
		break;
	default:
		break;
	}
	switch (e.kind) {
	case AM_ACQUIRE:
	case AM_RELEASE:
		e.mode = (uint8_t)rnd(2);
		e.flags = (rnd(9) ? 0 : AM_OWNERDEAD) | (rnd(9) ? 0 : AM_FREED_LOCK);
		break;
	case AM_WAKE:
		e.flags = (rnd(3) ? 0 : AM_TIMED_OUT) | (rnd(5) ? 0 : AM_CANCELLED);
		/* fallthrough */
	case AM_WAIT:
		e.aux = UINT64_C(0x600000) + rnd(8) * 64;
		break;
	case AM_LEAVE:
		e.mode = (uint8_t)rnd(2);
		break;
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
		e.size = rnd(4) ? 1u << rnd(7) : (uint32_t)(1 + rnd(1000));
		e.flags = rnd(8) ? 0 : AM_VOLATILE;
		if (rnd(2)) {
			e.value = any64();
			e.flags |= AM_HAS_VALUE;
		}
		if (rnd(2) && (e.size & (e.size - 1)) == 0)
			e.order = (uint8_t)rnd(8);
		if (rnd(2))
			e.expr = e.kind == AM_WRITE ? (uint32_t)rnd(l->nodes + 1) : ++l->nodes;
		if (e.kind == AM_WRITE && !e.order && (e.size & (e.size - 1)) == 0)
			e.aux = rnd(2) ? ~any64() : 0;
		break;
	case AM_ALLOC:
	case AM_FREE:
		e.aux = rnd(100000);
		break;
	case AM_BRANCH:
	case AM_ASSERT:
		e.flags = AM_HAS_VALUE;
		e.value = rnd(2);
		e.expr = (uint32_t)rnd(l->nodes + 1);
		break;
	case AM_LOST:
		e.kind = rnd(20) ? AM_SIGNAL : AM_LOST;
		e.object = e.kind == AM_LOST ? 0 : 64;
		e.mode = e.kind == AM_LOST ? (uint8_t)(1 + rnd(7)) : 0;
		e.aux = e.kind == AM_LOST ? rnd(50) : 0;
		break;
	case AM_INIT:
		e.aux = rnd(5);
		/* fallthrough */
	case AM_DESTROY:
		e.mode = (uint8_t)(1 + rnd(9));
		break;
	case AM_NAME:
		e.size = (uint32_t)rnd(64);
		e.aux = 1 + rnd(n_strings);
		break;
	case AM_UNTAKEN:
		e.size = (uint32_t)rnd(64);
		break;
	case AM_FENCE:
		e.order = (uint8_t)(1 + rnd(6));
		break;
	case AM_CLOCK:
		e.value = any64();
		e.flags = AM_HAS_VALUE;
		break;
	case AM_PIN:
		e.value = any64();
		e.flags = AM_HAS_VALUE;
		e.expr = (uint32_t)rnd(l->nodes + 1);
		break;
	case AM_EXPR: {
		const uint64_t op = rnd(AM_OP_COUNT + 1), width = rnd(8) ? 1 + rnd(64) : rnd(256);
		const unsigned arity = am_op_arity((enum am_op)op);
		e.site = 0;
		e.object = op | width << 8 | (arity > 2 || !rnd(20) ? rnd(l->nodes + 1) << 16 : 0);
		e.value = op == AM_OP_CONST
				  ? any64()
				  : rnd(l->nodes + 1) |
					    (arity > 1 || !rnd(20) ? rnd(l->nodes + 1) << 32 : 0);
		l->nodes++;
		break;
	}
	default:
		break;
	}
	if (!rnd(40))
		e.flags |= AM_NESTED;
	return e;
}

static bool is_ordered_kind(enum am_kind kind)
{
	return kind != AM_EXPR && kind != AM_LOST && kind != AM_BEGIN && kind != AM_END;
}

static void add_event(struct lane *l)
{
	const struct am_event e = any_event(l);
	struct am_unit *u = l->units + l->n;
	const size_t n = am_record_encode(&e, u);

	if (n == 0)
		return;
	if (is_ordered_kind((enum am_kind)e.kind) && !(e.flags & AM_NESTED)) {
		u[0].w0 |= AM_R_SEQ;
		if ((e.kind == AM_ACQUIRE || e.kind == AM_RELEASE) && e.object & 64)
			u[0].w0 |= AM_R_OWN;
		if (e.kind == AM_WAIT || e.kind == AM_WAKE)
			u[1].w1 = number[am_slot_of(e.object)]++;
		u[0].w1 |= number[am_record_slot(u)]++;
	}
	l->n += n;
}

static void any_text(char *to, size_t cap)
{
	const size_t n = rnd(cap - 1);
	for (size_t i = 0; i < n; i++)
		to[i] = (char)(rnd(6) ? 'a' + rnd(26) : 1 + rnd(255));
	to[n] = 0;
}

static void add_tables(FILE *out)
{
	uint8_t buf[64 * 1024];
	struct am_atm_table t;
	char text[40];

	am_atm_table_begin(&t, buf, sizeof buf);
	for (unsigned i = 0; i < 4; i++) {
		any_text(text, sizeof text);
		am_atm_table_string(&t, ++n_strings, text, strlen(text));
		struct am_site site = {.n_frames = 1 + (uint32_t)rnd(AM_FRAMES_MAX)};
		for (unsigned k = 0; k < site.n_frames; k++)
			site.frame[k] = any64();
		am_atm_table_site(&t, ++n_sites, site.frame, site.n_frames);
	}
	any_text(text, sizeof text);
	struct am_module m = {.path = text, .base = any64(), .start = any64(), .end = any64()};
	m.build_id_len = (uint32_t)rnd(AM_BUILD_ID_MAX + 1);
	for (unsigned i = 0; i < m.build_id_len; i++)
		m.build_id[i] = (uint8_t)rnd(256);
	m.unloaded = rnd(4) == 0;
	am_atm_table_module(&t, rnd(3) ? n_modules++ : (uint32_t)rnd(n_modules + 1), &m);
	if (n_modules == 0)
		n_modules = 1;
	struct am_thread th = {.id = (uint32_t)rnd(THREADS), .name = text};
	th.parent = rnd(2) ? UINT32_MAX : (uint32_t)rnd(THREADS);
	th.os_tid = (uint32_t)rnd(4) * 1000;
	th.create_site = (uint32_t)rnd(n_sites);
	am_atm_table_thread(&t, &th);
	if (rnd(2))
		am_atm_table_command(&t, text, strlen(text));
	fwrite(buf, 1, am_atm_table_end(&t), out);
}

static void write_lane(FILE *out, struct lane *l, struct am_chunk_coder *coder)
{
	static uint8_t buf[AM_ATM_UNITS_BYTES_MAX];
	size_t n = l->n - l->written;

	if (n == 0)
		return;
	fwrite(buf, 1,
	       am_atm_put_units(coder, buf, (uint32_t)(l - lane), l->written, l->units + l->written,
				n),
	       out);
	l->written = l->n;
}

static char *make_trace(size_t *bytes, unsigned n_events, unsigned every)
{
	char *file = NULL;
	FILE *out = open_memstream(&file, bytes);
	struct am_chunk_coder *coder =
		aligned_alloc(64, (am_chunk_coder_bytes() + 63) & ~(size_t)63);
	uint8_t header[sizeof(struct am_atm_header)];
	const struct am_atm_info info = {.features = rnd(4) << 32, .start_ns = any64(), .pid = 42};

	memset(lane, 0, sizeof lane);
	memset(number, 0, sizeof number);
	n_strings = n_sites = n_modules = 0;
	fwrite(header, 1, am_atm_put_header(header, &info), out);
	add_tables(out);
	for (unsigned i = 0; i < n_events; i++) {
		struct lane *l = &lane[rnd(THREADS)];
		if (l->n + AM_RECORD_UNITS_MAX <= UNITS)
			add_event(l);
		if (!rnd(every))
			write_lane(out, &lane[rnd(THREADS)], coder);
		if (!rnd(4 * every))
			add_tables(out);
	}
	for (unsigned t = 0; t < THREADS; t++)
		write_lane(out, &lane[t], coder);
	if (rnd(2)) {
		uint8_t foot[256];
		const struct am_atm_footer f = {.units = 1};
		fwrite(foot, 1, am_atm_put_footer(foot, &f), out);
	}
	fclose(out);
	free(coder);
	return file;
}

/* ---- conversions --------------------------------------------------------------------------- */

struct events {
	struct am_event *e;
	size_t n, cap;
};

static void fail(const char *what, const char *more)
{
	if (!wrong)
		snprintf(detail, sizeof detail, "%s", more);
	wrong = wrong ? wrong : what;
}

static const char *words(void *ctx, const struct am_tables *tables, uint32_t site)
{
	(void)ctx, (void)tables;
	return site % 2 ? "some_function file.c:12 (inlined)" : NULL;
}

/* Read a file; collect the events, and the other form if it is asked for. */
static void convert(const char *file, size_t bytes, struct events *all, char **text, size_t *n_text,
		    char **atm, size_t *n_atm)
{
	char why[AM_SOURCE_ERROR_MAX];
	struct am_source *s = am_source_open_stream(fmemopen((void *)(uintptr_t)file, bytes, "rb"),
						    NULL, "memory", NULL, why);
	FILE *text_out = text ? open_memstream(text, n_text) : NULL;
	FILE *atm_out = atm ? open_memstream(atm, n_atm) : NULL;
	struct am_text t;
	struct am_event e;
	int r = -1;

	if (s) {
		struct am_writer *w = atm ? am_writer_new(atm_out, s) : NULL;
		if (text)
			am_text_begin(&t, text_out, s, words, NULL);
		while ((r = am_source_next(s, &e)) > 0) {
			if (all && all->n == all->cap) {
				all->cap = all->cap ? 2 * all->cap : 256;
				all->e = realloc(all->e, all->cap * sizeof *all->e);
			}
			if (all)
				all->e[all->n++] = e;
			if (text)
				am_text_event(&t, &e);
			const char *bad = w ? am_writer_event(w, &e) : NULL;
			if (bad)
				fail("writer", bad);
		}
		if (text)
			am_text_end(&t);
		if (w && am_writer_end(w, false))
			fail("writer end", "");
	}
	if (!s || r < 0)
		fail("does not read", s ? am_source_error(s) : why);
	if (text_out)
		fclose(text_out);
	if (atm_out)
		fclose(atm_out);
	am_source_close(s);
}

static void compare(const char *what, const char *a, size_t n_a, const char *b, size_t n_b)
{
	size_t i = 0, line = 0;

	while (i < n_a && i < n_b && a[i] == b[i]) {
		i++;
		if (a[i - 1] == '\n')
			line = i;
	}
	if (i == n_a && i == n_b)
		return;
	char more[900];
	snprintf(more, sizeof more, "%.*s\n#   and %.*s", (int)strcspn(a + line, "\n"), a + line,
		 (int)strcspn(b + line, "\n"), b + line);
	fail(what, more);
}

static void round_trip(void)
{
	size_t n_file = 0, n_text = 0, n_atm = 0, n_text2 = 0, n_atm2 = 0;
	char *file = make_trace(&n_file, 20 + (unsigned)rnd(800), 1 + (unsigned)rnd(100));
	char *text = NULL, *atm = NULL, *text2 = NULL, *atm2 = NULL;
	struct events first = {0}, second = {0};

	convert(file, n_file, &first, &text, &n_text, NULL, NULL);
	if (!wrong)
		convert(text, n_text, &second, NULL, NULL, &atm, &n_atm);
	if (!wrong)
		convert(atm, n_atm, NULL, &text2, &n_text2, &atm2, &n_atm2);
	if (!wrong) {
		compare("text differs", text, n_text, text2, n_text2);
		if (n_atm != n_atm2 || memcmp(atm, atm2, n_atm) != 0)
			fail("file differs", "");
		if (first.n != second.n)
			fail("number of events differs", "");
		for (size_t i = 0; !wrong && i < first.n; i++)
			if (!am_event_same(&first.e[i], &second.e[i]) ||
			    first.e[i].index != second.e[i].index)
				fail("an event differs",
				     am_kind_name((enum am_kind)first.e[i].kind));
	}
	free(file);
	free(text);
	free(atm);
	free(text2);
	free(atm2);
	free(first.e);
	free(second.e);
}

/* Only lost events, which say what was left out? */
static bool is_rest(const struct events *part, size_t k)
{
	for (; k < part->n; k++)
		if (part->e[k].kind != AM_LOST || part->e[k].mode != AM_LOST_TORN)
			return false;
	return true;
}

/* How many events of `part` are the first ones of their threads in `whole`; then only lost events
 * may follow. SIZE_MAX: it is no prefix. */
static size_t prefix(const struct events *part, const struct events *whole, bool exact)
{
	size_t at[THREADS] = {0}, i = 0;

	for (size_t k = 0; k < part->n; k++) {
		const uint32_t t = part->e[k].thread;
		if (exact)
			i = k;
		else
			for (i = at[t]; i < whole->n && whole->e[i].thread != t; i++)
				;
		if (i >= whole->n || !am_event_same(&part->e[k], &whole->e[i]))
			return is_rest(part, k) ? k : SIZE_MAX;
		at[t] = i + 1;
	}
	return part->n;
}

static void cut_everywhere(void)
{
	size_t n_file = 0, n_atm = 0;
	char *file = make_trace(&n_file, 60, 8), *atm = NULL;
	struct events whole = {0};

	convert(file, n_file, &whole, NULL, NULL, &atm, &n_atm);
	for (unsigned form = 0; form < 2 && !wrong; form++) {
		const char *bytes = form ? atm : file;
		size_t most = 0;
		for (size_t cut = sizeof(struct am_atm_header);
		     cut <= (form ? n_atm : n_file) && !wrong; cut++) {
			struct events part = {0};
			convert(bytes, cut, &part, NULL, NULL, NULL, NULL);
			const size_t n = prefix(&part, &whole, form);
			if (n == SIZE_MAX || n < most)
				fail("a cut file gives no prefix", form ? "ordered" : "threads");
			most = n;
			free(part.e);
		}
		if (most != whole.n)
			fail("the whole file gives less", "");
	}
	free(file);
	free(atm);
	free(whole.e);
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 11;
	const unsigned count = (unsigned)cases_wanted(argc, argv, 400);
	static const char *const names[2] = {"every form gives back the same events, text and file",
					     "a file cut at any byte gives a prefix"};
	bool failed = false;

	printf("# seed %llu, %u traces\n", (unsigned long long)seed, count);
	for (unsigned part = 0; part < 2; part++) {
		bool bad = false;
		for (unsigned i = 0; i < (part ? count / 40 : count) && !bad; i++) {
			rng = seed + i;
			wrong = NULL;
			(part ? cut_everywhere : round_trip)();
			bad = wrong != NULL;
			if (bad)
				printf("# seed %llu: %s: %s\n", (unsigned long long)(seed + i),
				       wrong, detail);
		}
		printf("%sok %u - %s\n", bad ? "not " : "", part + 1, names[part]);
		failed |= bad;
	}
	printf("1..2\n");
	return failed;
}
