/*
 * atommon-symbolize: names of addresses, asked line by line on standard input (the protocol is in
 * include/atommon/symbolize.h). Started by the preload library, so that debug information is never
 * read inside the watched program. Ends at end of file.
 */
/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/trace/symbols.h"
#include "atommon/symbolize.h"

enum { MAX_INLINED = 8 };

struct question {
	uint64_t seq, offset;
	char what;
	struct am_module module;
};

static int hex_digit(char c)
{
	return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

static bool parse_build_id(const char *text, size_t n, struct am_module *m)
{
	if (n == 1 && text[0] == '-')
		return true;
	if (n % 2 || n / 2 > AM_BUILD_ID_MAX)
		return false;
	for (size_t i = 0; i < n; i += 2) {
		const int high = hex_digit(text[i]), low = hex_digit(text[i + 1]);
		if (high < 0 || low < 0)
			return false;
		m->build_id[i / 2] = (uint8_t)(high << 4 | low);
	}
	m->build_id_len = (uint32_t)(n / 2);
	return true;
}

/* SEQ WHAT OFFSET BUILDID PATH */
static bool parse(char *line, struct question *q)
{
	char *p, *id;

	memset(q, 0, sizeof *q);
	line[strcspn(line, "\n")] = 0;
	q->seq = strtoull(line, &p, 10);
	if (p == line || p[0] != ' ' || !p[1] || p[2] != ' ')
		return false;
	q->what = p[1];
	q->offset = strtoull(p + 3, &id, 16);
	if (id == p + 3 || *id != ' ')
		return false;
	id++;
	const size_t n = strcspn(id, " ");
	if (id[n] != ' ' || !id[n + 1] || !parse_build_id(id, n, &q->module))
		return false;
	q->module.path = id + n + 1;
	q->module.end = UINT64_MAX;
	return true;
}

/* A name may hold anything; a line may not. */
static void put_name(const char *text, size_t max)
{
	for (; text && *text && max; text++, max--)
		putchar((unsigned char)*text < ' ' ? '?' : *text);
}

static void answer(struct am_symbols *symbols, const struct question *q)
{
	const struct am_tables tables = {.module = &q->module, .n_modules = 1};
	struct am_frame frame[MAX_INLINED];
	struct am_variable v;

	if (q->what == 'c') {
		const size_t n = am_symbols_frames(symbols, &tables, q->offset, false, frame, MAX_INLINED);
		for (size_t i = 0; i < n && (frame[0].function || frame[0].file); i++) {
			printf("%" PRIu64 " f %" PRIu32 " ", q->seq, frame[i].line);
			put_name(frame[i].function, AM_SYMBOLIZE_LINE / 2);
			putchar('\t');
			put_name(frame[i].file, AM_SYMBOLIZE_LINE / 4);
			putchar('\n');
		}
	} else if (q->what == 'd' && am_symbols_variable(symbols, &tables, q->offset, &v)) {
		printf("%" PRIu64 " s %" PRIx64 " %" PRIx64 " ", q->seq, v.start, v.size);
		put_name(v.name, AM_SYMBOLIZE_LINE / 2);
		putchar('\t');
		put_name(v.part, AM_SYMBOLIZE_LINE / 4);
		putchar('\n');
	}
	printf("%" PRIu64 " .\n", q->seq);
}

int main(int argc, char **argv)
{
	char line[AM_SYMBOLIZE_LINE];
	struct question q;

	if (argc > 1) {
		const bool is_help = !strcmp(argv[1], "--help") || !strcmp(argv[1], "-h");
		if (strcmp(argv[1], "--version") == 0)
			return puts("atommon " ATOMMON_VERSION) < 0;
		fputs("usage: atommon-symbolize\n"
		      "Answers questions on standard input, one a line: SEQ c|d OFFSET BUILDID|- FILE\n"
		      "(c: functions and lines of code, d: variable). The preload library starts it.\n",
		      is_help ? stdout : stderr);
		return is_help ? 0 : 2;
	}
	struct am_symbols *symbols = am_symbols_new();
	if (!symbols)
		return 1;
	while (fgets(line, sizeof line, stdin)) {
		if (parse(line, &q))
			answer(symbols, &q);
		else
			printf("%" PRIu64 " .\n", q.seq);
		if (fflush(stdout) != 0)
			break;
	}
	am_symbols_free(symbols);
	return 0;
}
