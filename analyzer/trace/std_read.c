/*
 * Reading the STD form of the RAPID project: `thread|operation(operand)|location`, one event a
 * line. Runs in tools. Names are arbitrary: threads, locks, variables and regions are numbered in
 * the order of their appearance; each lock and variable gets an address of its own and a name event
 * before its first use. The location, if there is one, becomes a site with that one frame.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/source_state.h"
#include "analyzer/trace/std.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LINES_AT_ONCE = 512 };

enum name_class { NAME_THREAD = 1, NAME_LOCK, NAME_VAR, NAME_REGION, NAME_PLACE };

struct std_name {
	uint64_t hash;
	uint64_t id; /* thread id, address, string id or site id */
	uint32_t len;
	enum name_class class;
	char text[];
};

static int bad(struct am_source *s, const char *why)
{
	return source_fail(s, "line %llu: %s", (unsigned long long)s->lines.number, why);
}

static uint64_t hash_name(enum name_class class, const char *text, size_t len)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325) ^ (uint64_t) class;
	for (size_t i = 0; i < len; i++)
		h = (h ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
	return h ^ h >> 29;
}

static bool grow_names(struct line_reader *l)
{
	if (2 * (l->n_names + 1) <= l->name_cap)
		return true;
	const size_t cap = l->name_cap ? 2 * l->name_cap : 256;
	struct std_name **table = calloc(cap, sizeof *table);
	if (!table)
		return false;
	for (size_t i = 0; i < l->name_cap; i++) {
		if (!l->name[i])
			continue;
		size_t at = l->name[i]->hash & (cap - 1);
		while (table[at])
			at = (at + 1) & (cap - 1);
		table[at] = l->name[i];
	}
	free(l->name);
	l->name = table;
	l->name_cap = cap;
	return true;
}

/* The entry of a name; *is_new when it was made now, without an id. NULL: no memory. */
static struct std_name *find_name(struct am_source *s, enum name_class class, const char *text,
				  size_t len, bool *is_new)
{
	struct line_reader *l = &s->lines;
	const uint64_t hash = hash_name(class, text, len);

	if (!grow_names(l))
		return NULL;
	size_t at = hash & (l->name_cap - 1);
	for (; l->name[at]; at = (at + 1) & (l->name_cap - 1)) {
		struct std_name *n = l->name[at];
		if (n->hash == hash && n->class == class && n->len == len &&
		    memcmp(n->text, text, len) == 0) {
			*is_new = false;
			return n;
		}
	}
	struct std_name *n = malloc(sizeof *n + len);
	if (!n)
		return NULL;
	*n = (struct std_name){.hash = hash, .len = (uint32_t)len, .class = class};
	memcpy(n->text, text, len);
	l->name[at] = n;
	l->n_names++;
	*is_new = true;
	return n;
}

void std_close(struct am_source *s)
{
	for (size_t i = 0; i < s->lines.name_cap; i++)
		free(s->lines.name[i]);
	free(s->lines.name);
}

static const char *name_thread(struct am_source *s, struct std_name *n)
{
	const struct am_thread th = {.id = s->lines.n_threads++, .parent = UINT32_MAX};
	n->id = th.id;
	return tablebuild_thread(&s->tables, &th, n->text, n->len);
}

static const char *name_string(struct am_source *s, struct std_name *n)
{
	n->id = ++s->lines.n_strings;
	return tablebuild_string(&s->tables, (uint32_t)n->id, n->text, n->len);
}

/* A site whose one frame is the location's number; one that is no number gets a string. */
static const char *name_place(struct am_source *s, struct std_name *n)
{
	struct am_site site = {.n_frames = 1};
	uint64_t v = 0;

	for (uint32_t i = 0; i < n->len; i++) {
		if (n->text[i] < '0' || n->text[i] > '9' || v > UINT64_MAX / 10 - 1) {
			n->id = 0;
			return NULL; /* not a number: of no use to us */
		}
		v = v * 10 + (uint64_t)(n->text[i] - '0');
	}
	site.frame[0] = v;
	s->tables.t.sites_are_lines = true;
	n->id = ++s->lines.n_sites;
	return tablebuild_site(&s->tables, (uint32_t)n->id, &site);
}

/* Address of a lock or variable; the first time it is named, an event says so. */
static const char *name_object(struct am_source *s, struct std_name *n, uint32_t thread)
{
	const uint32_t string = ++s->lines.n_strings;
	const struct am_event e = {
		.kind = AM_NAME,
		.thread = thread,
		.object = AM_STD_ADDRESS + (uint64_t)s->lines.n_objects++ * 64,
		.size = AM_STD_SIZE,
		.aux = string,
	};
	n->id = e.object;
	const char *why = tablebuild_string(&s->tables, string, n->text, n->len);
	if (!why && !source_push(s, e))
		why = "out of memory";
	return why;
}

static int resolve(struct am_source *s, enum name_class class, const char *text, size_t len,
		   uint32_t thread, uint64_t *id)
{
	bool is_new;
	const char *why = NULL;
	struct std_name *n = find_name(s, class, text, len, &is_new);

	if (!n)
		return bad(s, "out of memory");
	if (is_new) {
		if (class == NAME_THREAD)
			why = name_thread(s, n);
		else if (class == NAME_REGION)
			why = name_string(s, n);
		else if (class == NAME_PLACE)
			why = name_place(s, n);
		else
			why = name_object(s, n, thread);
	}
	*id = n->id;
	return why ? bad(s, why) : 1;
}

static const struct operation {
	const char *word;
	uint8_t kind;
	enum name_class class;
} operations[] = {
	{"r", AM_READ, NAME_VAR},	  {"w", AM_WRITE, NAME_VAR},
	{"acq", AM_ACQUIRE, NAME_LOCK},	  {"rel", AM_RELEASE, NAME_LOCK},
	{"fork", AM_FORK, NAME_THREAD},	  {"join", AM_JOIN, NAME_THREAD},
	{"begin", AM_BEGIN, NAME_REGION}, {"end", AM_END, NAME_REGION},
	{"read", AM_READ, NAME_VAR},	  {"write", AM_WRITE, NAME_VAR},
	{"lock", AM_ACQUIRE, NAME_LOCK},  {"unlock", AM_RELEASE, NAME_LOCK},
};

static const struct operation *find_operation(const char *text, size_t len)
{
	for (size_t i = 0; i < sizeof operations / sizeof *operations; i++)
		if (strlen(operations[i].word) == len && memcmp(operations[i].word, text, len) == 0)
			return &operations[i];
	return NULL;
}

/* Without the blanks around it. */
static size_t trim(const char **text, size_t len)
{
	while (len && (**text == ' ' || **text == '\t')) {
		++*text;
		len--;
	}
	while (len && ((*text)[len - 1] == ' ' || (*text)[len - 1] == '\t'))
		len--;
	return len;
}

static int read_line(struct am_source *s, const char *line)
{
	struct am_event e = {0};
	uint64_t id = 0;
	const char *thread = line, *op = strchr(line, '|');

	if (!op)
		return bad(s, "expected thread|operation(operand)|location");
	const size_t thread_len = trim(&thread, (size_t)(op - line));
	op++;
	const char *place = strchr(op, '|');
	const char *end = place ? place : op + strlen(op);
	const char *open = memchr(op, '(', (size_t)(end - op));
	const char *close = memrchr(op, ')', (size_t)(end - op));
	const char *operand = open ? open + 1 : end;
	size_t operand_len = open && close && close > open ? (size_t)(close - operand) : 0;

	if (thread_len == 0)
		return bad(s, "the thread has no name");
	if (open && !operand_len && (!close || close < open))
		return bad(s, "the operand does not end");
	const size_t op_len = trim(&op, (size_t)((open ? open : end) - op));
	const struct operation *o = find_operation(op, op_len);
	if (!o)
		return bad(s, "unknown operation (known: r w acq rel fork join begin end)");
	operand_len = trim(&operand, operand_len);
	if (operand_len == 0 && o->class != NAME_REGION)
		return bad(s, "the operation has no operand");
	if (resolve(s, NAME_THREAD, thread, thread_len, 0, &id) < 0)
		return -1;
	e.thread = (uint32_t)id;
	if (resolve(s, o->class, operand, operand_len, e.thread, &e.object) < 0)
		return -1;
	if (place) {
		place++;
		const size_t len = trim(&place, strcspn(place, "|"));
		if (len && resolve(s, NAME_PLACE, place, len, 0, &id) < 0)
			return -1;
		e.site = len ? (uint32_t)id : 0;
	}
	e.kind = o->kind;
	e.size = o->class == NAME_VAR ? AM_STD_SIZE : 0;
	return source_push(s, e) ? 1 : -1;
}

int std_fill(struct am_source *s)
{
	for (unsigned i = 0; i < LINES_AT_ONCE; i++) {
		const int r = line_next(s);
		if (r <= 0)
			return r;
		const char *line = s->lines.line;
		line += strspn(line, " \t");
		if (*line == 0 || *line == '#')
			continue;
		if (read_line(s, line) < 0)
			return -1;
	}
	return 1;
}
