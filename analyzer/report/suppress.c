/*
 * Suppressions: a line names what not to report, by region, variable, lock, library, stack or id,
 * with a reason and a last day. A bad line is told once with its place and skipped. Runs in the
 * drain thread and in tools; no stdio, no malloc.
 *
 *   kind:pattern [until=YYYY-MM-DD] [reason]       # comment lines and empty lines are skipped
 */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "arena.h"
#include "atommon/mem.h"
#include "atommon/options.h"
#include "atommon/report.h"
#include "places.h"

enum what { BY_REGION, BY_VAR, BY_LOCK, BY_LIB, BY_STACK, BY_ID, WHATS };

static const char *const what_names[WHATS] = {"region", "var", "lock", "lib", "stack", "id"};

struct rule {
	struct rule *next;
	enum what what;
	uint32_t line;
	uint64_t used;
	const char *file;
	const char *pattern; /* stack: ends with an empty text after the frames */
	const char *shown;   /* as written */
};

struct am_suppressions {
	struct am_mem *mem;
	struct am_arena arena;
	struct rule *first, **last;
};

struct am_suppressions *am_suppressions_new(struct am_mem *mem)
{
	struct am_suppressions *s = am_mem_alloc(mem, sizeof *s);

	if (!s)
		return NULL;
	s->mem = mem;
	am_arena_init(&s->arena, mem);
	s->last = &s->first;
	return s;
}

void am_suppressions_free(struct am_suppressions *s)
{
	if (!s)
		return;
	am_arena_destroy(&s->arena);
	am_mem_free(s->mem, s, sizeof *s);
}

/* ---- parsing -------------------------------------------------------------------------------- */

struct input {
	struct am_suppressions *s;
	const char *file;
	uint32_t line, today;
	am_message_fn *complain;
	void *ctx;
};

static bool complain(const struct input *in, const char *what, const char *text, size_t n)
{
	char buf[600];

	am_text_into(buf, sizeof buf, "%s:%u: %s%.*s%s; the line is ignored", in->file, in->line, what,
		  (int)(n < 80 ? n : 80), text, n ? "'" : "");
	if (in->complain)
		in->complain(in->ctx, buf);
	return false;
}

static bool is_space(char c)
{
	return c == ' ' || c == '\t' || c == '\r';
}

static const char *skip_space(const char *p, const char *end)
{
	while (p < end && is_space(*p))
		p++;
	return p;
}

/* YYYY-MM-DD as a number YYYYMMDD, 0 if it is none. */
static uint32_t parse_date(const char *p, size_t n)
{
	static const char days[] = {31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
	uint32_t v = 0;

	if (n != 10 || p[4] != '-' || p[7] != '-')
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (i == 4 || i == 7)
			continue;
		if (p[i] < '0' || p[i] > '9')
			return 0;
		v = v * 10 + (uint32_t)(p[i] - '0');
	}
	const uint32_t month = v / 100 % 100, day = v % 100;
	return month >= 1 && month <= 12 && day >= 1 && day <= (uint32_t)days[month - 1] ? v : 0;
}

/* Frames "a;b;c" become "a\0b\0c\0\0". */
static const char *split_frames(struct am_arena *a, const char *p, size_t n)
{
	char *out = am_arena_get(a, n + 2);
	size_t at = 0;

	if (!out)
		return NULL;
	for (size_t i = 0; i < n; i++) {
		if (p[i] != ';')
			out[at++] = p[i];
		else if (at && out[at - 1])
			out[at++] = 0;
	}
	if (at && out[at - 1])
		out[at++] = 0;
	out[at] = 0;
	return at ? out : NULL;
}

static bool valid_id(const char *p, size_t n)
{
	if (n != AM_ID_SIZE - 1 || memcmp(p, "AV-", 3) != 0)
		return false;
	for (size_t i = 3; i < n; i++)
		if (!((p[i] >= '0' && p[i] <= '9') || (p[i] >= 'a' && p[i] <= 'f')))
			return false;
	return true;
}

static bool add_rule(const struct input *in, enum what what, const char *p, size_t n)
{
	struct am_arena *a = &in->s->arena;
	struct rule *r = am_arena_get(a, sizeof *r);

	if (!r)
		return complain(in, "no memory left for '", p, n);
	r->what = what;
	r->line = in->line;
	r->file = am_arena_copy(a, in->file);
	r->pattern = what == BY_STACK ? split_frames(a, p, n) : am_textf(a, "%.*s", (int)n, p);
	r->shown = am_textf(a, "%s:%.*s", what_names[what], (int)n, p);
	if (!r->pattern)
		return complain(in, "no frames in '", p, n);
	*in->s->last = r;
	in->s->last = &r->next;
	return true;
}

static bool parse_line(const struct input *in, const char *p, const char *end)
{
	const char *colon = memchr(p, ':', (size_t)(end - p));
	unsigned what = 0;

	if (!colon)
		return complain(in, "expected region:, var:, lock:, lib:, stack: or id: in '", p,
				(size_t)(end - p));
	while (what < WHATS && (strlen(what_names[what]) != (size_t)(colon - p) ||
				memcmp(what_names[what], p, (size_t)(colon - p)) != 0))
		what++;
	if (what == WHATS)
		return complain(in, "expected region:, var:, lock:, lib:, stack: or id:, not '", p,
				(size_t)(colon - p));
	const char *from = skip_space(colon + 1, end), *to = from;
	if (from < end && *from == '"') {
		from++;
		to = memchr(from, '"', (size_t)(end - from));
		if (!to)
			return complain(in, "no closing quote after '", from, (size_t)(end - from));
		p = to + 1;
	} else {
		while (to < end && !is_space(*to))
			to++;
		p = to;
	}
	const size_t n = (size_t)(to - from);
	if (!n)
		return complain(in, "no pattern after '", what_names[what], strlen(what_names[what]));
	if (what == BY_ID && !valid_id(from, n))
		return complain(in, "an id is AV- and eight hex digits, not '", from, n);
	p = skip_space(p, end);
	if (end - p >= 6 && memcmp(p, "until=", 6) == 0) {
		const char *date = p += 6;
		while (p < end && !is_space(*p))
			p++;
		const uint32_t until = parse_date(date, (size_t)(p - date));
		if (!until)
			return complain(in, "until= needs a date YYYY-MM-DD, not '", date,
					(size_t)(p - date));
		if (in->today && in->today > until)
			return complain(in, "expired after '", date, (size_t)(p - date));
	}
	return add_rule(in, what, from, n);
}

unsigned am_suppressions_parse(struct am_suppressions *s, const char *file, const char *text, size_t n,
			       uint32_t today, am_message_fn *complain_fn, void *ctx)
{
	struct input in = {s, file, 0, today, complain_fn, ctx};
	const char *end = text + n;
	unsigned taken = 0;

	while (text < end) {
		const char *eol = memchr(text, '\n', (size_t)(end - text));
		eol = eol ? eol : end;
		in.line++;
		const char *p = skip_space(text, eol), *q = eol;
		while (q > p && is_space(q[-1]))
			q--;
		if (memchr(p, 0, (size_t)(q - p)))
			complain(&in, "a zero byte", "", 0);
		else if (p < q && *p != '#')
			taken += parse_line(&in, p, q);
		text = eol + 1;
	}
	return taken;
}

/* ---- matching ------------------------------------------------------------------------------- */

static bool frame_matches(const char *glob, const struct am_vframe *f)
{
	if (*f->function && am_glob(glob, f->function))
		return true;
	/* C++: the name without its arguments, too. */
	const char *paren = strchr(f->function, '(');
	char bare[256];
	if (!paren || (size_t)(paren - f->function) >= sizeof bare)
		return false;
	memcpy(bare, f->function, (size_t)(paren - f->function));
	bare[paren - f->function] = 0;
	return am_glob(glob, bare);
}

/* All frames of the pattern, in this order, innermost first; others may lie between. */
static bool stack_matches(const char *pattern, const struct am_place *place)
{
	for (uint32_t i = 0; i < place->n_frames && *pattern; i++)
		if (frame_matches(pattern, &place->frame[i]))
			pattern += strlen(pattern) + 1;
	return !*pattern;
}

static bool lib_matches(const char *glob, const struct am_place *place)
{
	const struct am_vframe *f = am_place_frame(place);

	return f && *f->module && (am_glob(glob, am_basename(f->module)) || am_glob(glob, f->module));
}

static bool object_matches(const struct rule *r, const struct am_violation *v, const struct am_vstep *s)
{
	if (s->object == AM_NO_OBJECT)
		return false;
	const struct am_vobject *o = &v->object[s->object];
	char name[300];

	if (o->is_sync != (r->what == BY_LOCK))
		return false;
	am_text_into(name, sizeof name, "%s%s", o->name, s->part ? s->part : "");
	if (am_glob(r->pattern, o->name) || am_glob(r->pattern, name))
		return true;
	am_text_into(name, sizeof name, "%s+%l", o->name, s->offset);
	return s->offset && am_glob(r->pattern, name);
}

static bool rule_matches(const struct rule *r, const struct am_violation *v)
{
	if (r->what == BY_ID)
		return strcmp(r->pattern, v->id) == 0;
	if (r->what == BY_REGION) {
		for (uint32_t i = 0; i < v->n_inner; i++)
			if (am_glob(r->pattern, v->inner[i]))
				return true;
		return am_glob(r->pattern, v->region);
	}
	for (uint32_t i = 0; i < v->n_steps; i++) {
		const struct am_vstep *s = &v->step[i];
		if (s->role != AM_ROLE_CYCLE)
			continue;
		const bool hit = r->what == BY_LIB     ? lib_matches(r->pattern, s->place)
				 : r->what == BY_STACK ? stack_matches(r->pattern, s->place)
						       : object_matches(r, v, s);
		if (hit)
			return true;
	}
	return false;
}

bool am_suppressions_match(struct am_suppressions *s, const struct am_violation *v)
{
	for (struct rule *r = s->first; r; r = r->next)
		if (rule_matches(r, v)) {
			r->used++;
			return true;
		}
	return false;
}

void am_suppressions_usage(const struct am_suppressions *s, bool only_unused, am_message_fn *tell,
			   void *ctx)
{
	for (const struct rule *r = s->first; r; r = r->next) {
		char buf[600];
		if (only_unused && r->used)
			continue;
		if (r->used)
			am_text_into(buf, sizeof buf, "%s:%u: %s: matched %l violation%s", r->file, r->line,
				  r->shown, r->used, r->used == 1 ? "" : "s");
		else
			am_text_into(buf, sizeof buf, "%s:%u: %s: never matched", r->file, r->line, r->shown);
		tell(ctx, buf);
	}
}
