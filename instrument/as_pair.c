/*
 * Finds the callbacks of read-modify-writes (as_pair.h) in one walk over the file. Runs in the
 * assembler of the compiler wrapper. What it does not know ends the straight line.
 */
/* SPDX-License-Identifier: MIT */
#include "instrument/as_pair.h"
#include "instrument/as_value.h"

#include <stdlib.h>
#include <string.h>

/* A callback that could be half of a pair. */
struct half {
	const char *line;
	bool reads;
	struct am_as_text form; /* all of the name behind read or write: bytes, and how it is called */
	bool is_indirect;
	unsigned address;
};

struct walk {
	struct am_as_values values;
	bool is_users; /* between #APP and #NO_APP */
	struct half read; /* the last one, if its line goes on */
	struct am_as_pairs *found;
	size_t room;
};

static bool begins(struct am_as_text t, const char *with)
{
	return t.n >= strlen(with) && memcmp(t.at, with, strlen(with)) == 0;
}

static bool skip(struct am_as_text *t, const char *what)
{
	if (!begins(*t, what))
		return false;
	t->at += strlen(what);
	t->n -= strlen(what);
	return true;
}

static bool is_plain(struct am_as_text call, struct half *h)
{
	*h = (struct half){.is_indirect = skip(&call, "*")};
	if (!skip(&call, "__tsan_"))
		return false;
	h->reads = skip(&call, "read");
	if (!h->reads && !skip(&call, "write"))
		return false;
	h->form = call;
	const size_t digits = call.n ? strspn(call.at, "0123456789") : 0;
	/* not __tsan_read_range */
	return digits > 0 && digits <= call.n && (digits == call.n || call.at[digits] == '@');
}

static void end_line(struct walk *w)
{
	am_as_values_begin(&w->values);
	w->read.line = NULL;
}

static bool add(struct walk *w, const char *read, const char *write)
{
	if (w->found->n == w->room) {
		w->room = w->room ? 2 * w->room : 64;
		void *v = realloc(w->found->v, w->room * sizeof *w->found->v);
		if (!v)
			return false;
		w->found->v = v;
	}
	w->found->v[w->found->n++] = (struct am_as_pair){read, write};
	return true;
}

static bool call(struct walk *w, const char *line, struct am_as_text callee)
{
	const struct half r = w->read;
	struct half h;

	if (!is_plain(callee, &h)) {
		end_line(w);
		return true;
	}
	h.line = line;
	h.address = w->values.of[AM_AS_RDI];
	if (h.reads) {
		w->read = h;
		am_as_values_call(&w->values);
		return true;
	}
	end_line(w);
	const bool is_pair = r.line && r.address == h.address && r.is_indirect == h.is_indirect && r.form.n == h.form.n &&
			     memcmp(r.form.at, h.form.at, h.form.n) == 0;
	return !is_pair || add(w, r.line, line);
}

static void directive(struct walk *w, struct am_as_text t)
{
	if (begins(t, ".cfi_startproc") || begins(t, ".cfi_endproc"))
		w->values.has_frame = false;
	else if (begins(t, ".cfi_def_cfa_register 6"))
		w->values.has_frame = true; /* gcc then uses %rbp for nothing else */
	else if (begins(t, ".cfi_") || begins(t, ".loc "))
		return;
	end_line(w);
}

/* Labels that only debug information knows: where a variable or a block begins. */
static bool is_for_debuggers(struct am_as_text t)
{
	if (!skip(&t, ".LVL") && !skip(&t, ".LBB") && !skip(&t, ".LBE") && !skip(&t, ".LBI"))
		return false;
	const size_t digits = t.n ? strspn(t.at, "0123456789") : 0;
	return digits > 0 && digits + 1 == t.n && t.at[digits] == ':';
}

static struct am_as_text without_comment(const char *line, size_t n)
{
	const char *mark = memchr(line, '#', n);
	struct am_as_text t = {line, mark ? (size_t)(mark - line) : n};

	while (t.n && (t.at[t.n - 1] == ' ' || t.at[t.n - 1] == '\t'))
		t.n--;
	return t;
}

static bool step(struct walk *w, const char *line, size_t n)
{
	struct am_as_text t = without_comment(line, n);

	if (begins((struct am_as_text){line, n}, "#APP"))
		w->is_users = true;
	else if (begins((struct am_as_text){line, n}, "#NO_APP"))
		w->is_users = false;
	if (w->is_users) {
		end_line(w);
		return true;
	}
	if (t.n == 0 || is_for_debuggers(t))
		return true;
	if (skip(&t, "\tcall\t"))
		return call(w, line, t);
	if (begins(t, "\t."))
		directive(w, (struct am_as_text){t.at + 1, t.n - 1});
	else if (!skip(&t, "\t") || !am_as_values_step(&w->values, t))
		end_line(w);
	return true;
}

bool am_as_pairs_find(const char *text, struct am_as_pairs *pairs)
{
	struct walk w = {.found = pairs};

	*pairs = (struct am_as_pairs){0};
	/* As gcc begins; assembler written by hand may be entered anywhere. */
	if (strncmp(text, "\t.file\t", strlen("\t.file\t")) != 0)
		return true;
	end_line(&w);
	for (const char *line = text, *end; *line; line = *end ? end + 1 : end) {
		end = strchr(line, '\n');
		if (!end)
			end = line + strlen(line);
		if (!step(&w, line, (size_t)(end - line))) {
			free(pairs->v);
			return false;
		}
	}
	return true;
}
