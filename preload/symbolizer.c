/*
 * Questions to the helper and its answers (include/atommon/symbolize.h). Drain thread only: hooks never come
 * here.
 *
 * 1. Nobody waits for a name unless he says so: a question is sent, and until the answer is there "unknown"
 *    is the answer, which is counted (struct am_symbolizer). Questions are answered in their order.
 * 2. Each place is asked for once (answers.h).
 * 3. Absence, death or slowness of the helper costs names, never the report: when nothing comes for too long
 *    the helper is given up for this process, and nobody waits any more. At the end of the process all answers
 *    together have so long.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/symbolizer.h"

#include <assert.h>
#include <errno.h>
#include <poll.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "atommon/symbolize.h"
#include "preload/answers.h"
#include "preload/helper.h"

enum { FIRST_MS = 4000, NEXT_MS = 1500, LAST_MS = 8000, MAX_INLINED = 8, MEANWHILE_MS = 1, OPEN_MAX = 1 << 10 };

static struct {
	void (*meanwhile)(void);
	int fd;
	uint64_t asked, answered, missed;
	uint64_t open[OPEN_MAX]; /* keys of the questions that are not answered, by number */
	int64_t heard_ms;	 /* when an answer, or the first question after all were answered */
	int64_t end_ms;		 /* nobody waits longer than until then; 0: the process does not end yet */
	bool has_answered;
	char out[AM_SYMBOLIZE_LINE]; /* the rest of a question that did not fit into the socket */
	size_t n_out;
	char in[2 * AM_SYMBOLIZE_LINE];
	size_t n_in;
	char text[MAX_INLINED * AM_SYMBOLIZE_LINE]; /* of the answer that is coming in */
	size_t n_text;
} talk;

void am_symbolizer_meanwhile(void (*fn)(void))
{
	talk.meanwhile = fn;
}

/* Whoever was asked answers no more. */
static void hang_up(void)
{
	talk.answered = talk.asked;
	talk.n_out = talk.n_in = talk.n_text = 0;
	talk.has_answered = false;
	am_answers_drop_asked();
}

void am_symbolizer_init(const char *path, struct am_mem *mem)
{
	am_answers_open(mem);
	hang_up();
	talk.end_ms = 0;
	am_helper_init(path);
}

void am_symbolizer_stop(void)
{
	am_helper_stop();
}

static void give_up(void)
{
	am_helper_give_up();
	hang_up();
}

/* A helper to talk to; the one that was asked so far, or another. */
static bool ready(void)
{
	bool is_new;

	talk.fd = am_helper_ready(&is_new);
	if (is_new || talk.fd < 0)
		hang_up();
	return talk.fd >= 0;
}

static int64_t now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

void am_symbolizer_last(void)
{
	__atomic_store_n(&talk.end_ms, now_ms() + LAST_MS, __ATOMIC_RELAXED);
}

/* Nothing came for too long. */
static bool is_too_late(void)
{
	const int64_t now = now_ms(), end = __atomic_load_n(&talk.end_ms, __ATOMIC_RELAXED);

	return now - talk.heard_ms > (talk.has_answered ? NEXT_MS : FIRST_MS) || (end && now > end);
}

/* ---- asking ---------------------------------------------------------------------------------- */

static size_t put_number(char *out, uint64_t v, unsigned base)
{
	char digits[24];
	size_t i = sizeof digits;

	do {
		digits[--i] = "0123456789abcdef"[v % base];
		v /= base;
	} while (v);
	memcpy(out, digits + i, sizeof digits - i);
	return sizeof digits - i;
}

/* False: the helper is dead. A full socket is not: the rest goes out later. */
static bool send_rest(void)
{
	while (talk.n_out) {
		const ssize_t sent = send(talk.fd, talk.out, talk.n_out, MSG_NOSIGNAL | MSG_DONTWAIT);
		if (sent < 0 && errno == EINTR)
			continue;
		if (sent < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return true;
		if (sent <= 0)
			return false;
		talk.n_out -= (size_t)sent;
		memmove(talk.out, talk.out + sent, talk.n_out);
	}
	return true;
}

/* The question, in talk.out. False: it cannot be put. */
static bool write_question(char what, const struct am_module *m, uint64_t offset)
{
	const size_t path = strlen(m->path);
	char *line = talk.out;

	if (!path || path > sizeof talk.out - 200 || strchr(m->path, '\n'))
		return false;
	size_t n = put_number(line, talk.asked + 1, 10);
	line[n++] = ' ';
	line[n++] = what;
	line[n++] = ' ';
	n += put_number(line + n, offset, 16);
	line[n++] = ' ';
	for (uint32_t i = 0; i < m->build_id_len && i < AM_BUILD_ID_MAX; i++) {
		line[n++] = "0123456789abcdef"[m->build_id[i] >> 4];
		line[n++] = "0123456789abcdef"[m->build_id[i] & 15];
	}
	if (!m->build_id_len)
		line[n++] = '-';
	line[n++] = ' ';
	memcpy(line + n, m->path, path);
	n += path;
	line[n++] = '\n';
	talk.n_out = n;
	return true;
}

/* True: the answer will come, now or when it is asked for again. */
static bool ask(uint64_t key, char what, const struct am_module *m, uint64_t offset)
{
	if (!ready())
		return false;
	if (!send_rest()) {
		give_up();
		return false;
	}
	if (talk.n_out || talk.asked - talk.answered == OPEN_MAX)
		return true;
	if (!write_question(what, m, offset) || !am_answers_add(key)) {
		talk.n_out = 0;
		return false;
	}
	if (talk.asked == talk.answered)
		talk.heard_ms = now_ms();
	talk.open[talk.asked++ % OPEN_MAX] = key;
	if (!send_rest()) {
		give_up();
		return false;
	}
	return true;
}

/* The answer, if it is there; else it is asked for. */
static const struct am_answer *look_up(char what, const struct am_module *m, uint64_t offset)
{
	const int saved = errno;
	const uint64_t key = am_answers_key(what, m, offset);
	const struct am_answer *a = am_answers_find(key);

	if (!a)
		talk.missed += ask(key, what, m, offset);
	else if (!a->is_there)
		talk.missed++;
	errno = saved;
	return a && a->is_there ? a : NULL;
}

/* ---- answers --------------------------------------------------------------------------------- */

static uint64_t get_number(const char **p, unsigned base)
{
	uint64_t v = 0;

	for (;; (*p)++) {
		const char c = **p;
		const unsigned digit = c >= '0' && c <= '9'   ? (unsigned)(c - '0')
				       : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a' + 10)
							      : 99;
		if (digit >= base)
			break;
		v = v * base + digit;
	}
	*p += **p == ' ';
	return v;
}

/* Numbers of an answer's line: f has one, s two. The names stay text, each with its end. */
struct numbers {
	uint64_t a, b;
};

/* One line of the answer, kept: its numbers, and two texts. */
static void take_line(char tag, const char *rest)
{
	struct numbers n = {0};

	if (tag == 'f') {
		n.a = get_number(&rest, 10);
	} else if (tag == 's') {
		n.a = get_number(&rest, 16);
		n.b = get_number(&rest, 16);
	} else {
		return;
	}
	const char *tab = strchr(rest, '\t');
	const size_t first = tab ? (size_t)(tab - rest) : strlen(rest), second = tab ? strlen(tab + 1) : 0;
	if (sizeof talk.text - talk.n_text < sizeof n + first + second + 2)
		return;
	char *out = talk.text + talk.n_text;
	memcpy(out, &n, sizeof n);
	out += sizeof n;
	memcpy(out, rest, first);
	out[first] = 0;
	memcpy(out + first + 1, tab ? tab + 1 : "", second);
	out[first + 1 + second] = 0;
	talk.n_text += sizeof n + first + second + 2;
}

static void take_answer(void)
{
	struct am_answer *a = am_answers_find(talk.open[talk.answered++ % OPEN_MAX]);

	if (a && !a->is_there)
		am_answers_put(a, talk.text, talk.n_text);
	talk.n_text = 0;
	talk.has_answered = true;
	talk.heard_ms = now_ms();
}

/* Whole lines of what came in. */
static void take_lines(void)
{
	char *line = talk.in, *end = talk.in + talk.n_in, *eol;

	for (; (eol = memchr(line, '\n', (size_t)(end - line))); line = eol + 1) {
		const char *p = line;
		*eol = 0;
		if (get_number(&p, 10) != talk.answered + 1 || talk.answered == talk.asked)
			continue;
		if (*p == '.')
			take_answer();
		else if (*p)
			take_line(*p, p + (p[1] == ' ' ? 2 : 1));
	}
	talk.n_in = (size_t)(end - line);
	memmove(talk.in, line, talk.n_in);
	if (talk.n_in == sizeof talk.in)
		talk.n_in = 0; /* no line is so long */
}

/* All that has come. False: the helper is dead. */
static bool hear(void)
{
	for (;;) {
		const ssize_t got = recv(talk.fd, talk.in + talk.n_in, sizeof talk.in - talk.n_in, MSG_DONTWAIT);
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK))
			return true;
		if (got <= 0)
			return false;
		talk.n_in += (size_t)got;
		take_lines();
	}
}

static uint64_t answered(void *ctx, uint64_t wanted)
{
	const int saved = errno;

	(void)ctx;
	while (talk.answered != talk.asked) {
		if (!am_helper_is_there()) { /* closed by the host; or the consumer is another thread */
			hang_up();
			break;
		}
		if (!send_rest() || !hear()) {
			give_up();
			break;
		}
		if (talk.answered == talk.asked)
			break;
		if (is_too_late()) {
			give_up();
			break;
		}
		if (talk.answered >= wanted)
			break;
		struct pollfd p = {.fd = talk.fd, .events = POLLIN};
		poll(&p, 1, MEANWHILE_MS);
		if (talk.meanwhile)
			talk.meanwhile();
	}
	errno = saved;
	return talk.answered;
}

static uint64_t asked(void *ctx)
{
	(void)ctx;
	return talk.asked;
}

static uint64_t missed(void *ctx)
{
	(void)ctx;
	return talk.missed;
}

/* The next line of an answer; NULL: no more. */
static const char *next_line(const struct am_answer *a, const char *at, struct numbers *n, const char **first,
			     const char **second)
{
	if (at >= a->text + a->bytes)
		return NULL;
	memcpy(n, at, sizeof *n);
	*first = at + sizeof *n;
	*second = *first + strlen(*first) + 1;
	return *second + strlen(*second) + 1;
}

static unsigned find_code(void *ctx, const struct am_module *m, uint64_t offset, struct am_vframe *frames,
			  unsigned max)
{
	const struct am_answer *a = look_up('c', m, offset);
	const char *at = a ? a->text : NULL, *function, *file;
	struct numbers line;
	unsigned n = 0;

	(void)ctx;
	while (at && n < max && (at = next_line(a, at, &line, &function, &file)))
		frames[n++] = (struct am_vframe){.function = function, .file = file, .line = (uint32_t)line.a};
	return n;
}

static bool find_data(void *ctx, const struct am_module *m, uint64_t offset, struct am_symbol *symbol)
{
	const struct am_answer *a = look_up('d', m, offset);
	const char *name, *part;
	struct numbers extent;

	(void)ctx;
	*symbol = (struct am_symbol){0};
	if (!a || !a->text || !next_line(a, a->text, &extent, &name, &part) || !*name)
		return false;
	*symbol = (struct am_symbol){name, extent.a, extent.b, part};
	return true;
}

struct am_symbolizer am_symbolizer_get(void)
{
	return (struct am_symbolizer){NULL, find_code, find_data, missed, asked, answered};
}
