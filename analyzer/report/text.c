/*
 * The report for people: what, where, steps in thread columns, why, objects and threads, how to
 * fix, suppression, next command. A pure function over the violation; at most 100 columns. Runs in
 * the drain thread and in tools; no stdio, no malloc.
 */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "arena.h"
#include "line.h"
#include "places.h"

enum { LABEL = 2, BODY = 12, MAX_LANES = 8, PLACE_MAX = 40, TEXT = 300 };

struct page {
	const struct am_violation *v;
	struct am_line l;
	const char *rule, *top, *bar, *bottom, *mark, *arrow, *caller; /* the character set */
	/* steps */
	unsigned lane[MAX_LANES]; /* column of each thread's lane */
	uint32_t lane_thread[MAX_LANES];
	unsigned n_lanes; /* 0: too many threads for columns */
	unsigned place_column;
	uint32_t region_first, region_last; /* numbers of the steps the bar spans */
};

static void label(struct page *p, const char *text)
{
	if (*text) {
		am_line_to(&p->l, LABEL);
		am_line_ink(&p->l, AM_INK_LABEL);
		am_line_text(&p->l, text);
		am_line_ink(&p->l, AM_INK_PLAIN);
	}
	am_line_to(&p->l, BODY);
}

static void thread_text(const struct am_vthread *t, char *buf, size_t size)
{
	if (*t->name)
		am_text_into(buf, size, "T%u \"%s\"", t->id, t->name);
	else
		am_text_into(buf, size, "T%u%s", t->id, t->id ? "" : " (main)");
}

static void value_text(const struct am_vstep *s, char *buf, size_t size)
{
	const unsigned bits = s->size && s->size < 8 ? (unsigned)s->size * 8 : 64;
	const uint64_t sign = UINT64_C(1) << (bits - 1);
	const uint64_t mask = sign | (sign - 1), v = s->value & mask, negated = -v & mask;

	if (v & sign && negated < UINT64_C(1) << 40)
		am_text_into(buf, size, " = -%l", negated);
	else if (v < UINT64_C(1) << 40)
		am_text_into(buf, size, " = %l", v);
	else
		am_text_into(buf, size, " = 0x%x", v);
}

/* "read balance = 100", "acquire lock (shared)", "begin withdraw" */
static void operation_text(const struct am_violation *v, const struct am_vstep *s, char *buf,
			   size_t size)
{
	char offset[24], value[32] = "";
	const char *name = *s->region ? s->region : v->region, *part = "";

	if (s->object != AM_NO_OBJECT) {
		name = v->object[s->object].name;
		part = am_step_part(s, offset, sizeof offset);
	}
	if (s->flags & AM_HAS_VALUE && s->size <= 8)
		value_text(s, value, sizeof value);
	const bool is_shared = s->mode == AM_SHARED && (s->kind == AM_ACQUIRE || s->kind == AM_RELEASE);
	am_text_into(buf, size, "%s %s%s%s%s", am_kind_name(s->kind), name, part, value,
		  is_shared ? " (shared)" : "");
}

static void heading(struct page *p)
{
	const struct am_violation *v = p->v;
	char text[TEXT];

	am_line_ink(&p->l, AM_INK_ALARM);
	am_line_fill(&p->l, 2, p->rule);
	am_text_into(text, sizeof text, " atommon: atomicity violation %s, %s", v->id,
		  am_status_name(v->status));
	am_line_text(&p->l, text);
	if (*v->model) {
		am_text_into(text, sizeof text, " (model %s)", v->model);
		am_line_text(&p->l, text);
	} else if (v->is_guess) {
		am_line_text(&p->l, v->is_lock_level ? " (locks only)" : " (nested sections)");
	}
	am_line_text(&p->l, " ");
	am_line_fill(&p->l, p->l.width, p->rule);
	am_line_ink(&p->l, AM_INK_PLAIN);
	am_line_end(&p->l);
	am_line_end(&p->l);

	am_line_to(&p->l, LABEL);
	am_line_ink(&p->l, AM_INK_STRONG);
	const bool happened = v->status == AM_OBSERVED || v->status == AM_CONFIRMED || !*v->model;
	am_text_into(text, sizeof text, "Region \"%s\" %s: %s.", v->region,
		  happened ? "was not atomic" : "is not atomic", am_pattern_name(v->pattern));
	am_line_text(&p->l, text);
	am_line_ink(&p->l, AM_INK_PLAIN);
	am_line_end(&p->l);
	am_line_to(&p->l, LABEL);
	am_line_wrap(&p->l, v->summary);
	if (v->is_guess) {
		am_line_to(&p->l, LABEL);
		am_line_wrap(&p->l,
			     v->is_lock_level
				     ? "Only locks are seen here, and that this section is meant to be atomic is a guess: "
				       "whether it matters depends on the data. A build with 'atommon cc' shows it."
				     : "That this section is meant to be atomic is a guess, and it comes back in a critical "
				       "section of its own: whether the two steps belong together is for you to say.");
	}
	am_line_end(&p->l);
}

static void where(struct page *p)
{
	const struct am_violation *v = p->v;
	const struct am_vframe *f = am_place_frame(v->region_place);
	char text[TEXT], thread[120];

	thread_text(&v->thread[v->region_thread], thread, sizeof thread);
	label(p, "where");
	am_place_into(v->region_place, text, sizeof text);
	if (f && *f->file) {
		char function[200];
		am_function_short(f->function, function, sizeof function);
		am_text_into(text, sizeof text, f->line ? "%s%s%s:%u" : "%s%s%s", function,
			     *function ? "() " : "", f->file, f->line);
	}
	am_line_text(&p->l, *text ? text : "at an unknown place");
	am_line_text(&p->l, ", in ");
	am_line_text(&p->l, thread);
	am_line_end(&p->l);
	for (uint32_t i = 0; i < v->n_inner; i++) {
		am_line_to(&p->l, BODY);
		am_text_into(text, sizeof text, "inside it, nested: \"%s\"", v->inner[i]);
		am_line_text(&p->l, text);
		am_line_end(&p->l);
	}
	if (*v->command) {
		am_line_to(&p->l, BODY);
		am_text_into(text, sizeof text, "pid %u, %s", v->pid, v->command);
		am_line_text(&p->l, text);
		am_line_end(&p->l);
	}
	am_line_end(&p->l);
}

/* Threads get lanes in the order of their first step, the blamed one first. */
static void lay_out(struct page *p)
{
	const struct am_violation *v = p->v;
	unsigned operation = 0, place = 0;
	char text[TEXT];

	p->n_lanes = 1;
	p->lane_thread[0] = v->region_thread;
	for (uint32_t i = 0; i < v->n_steps; i++) {
		const struct am_vstep *s = &v->step[i];
		unsigned k = 0;
		while (k < p->n_lanes && p->lane_thread[k] != s->thread)
			k++;
		if (k == p->n_lanes && k < MAX_LANES)
			p->lane_thread[p->n_lanes++] = s->thread;
		else if (k == MAX_LANES)
			p->n_lanes = 0;
		operation_text(v, s, text, sizeof text);
		operation = am_columns(text) > operation ? am_columns(text) : operation;
		am_place_into(s->place, text, sizeof text);
		place = am_columns(text) > place ? am_columns(text) : place;
		if (s->in_region) {
			if (!p->region_first)
				p->region_first = s->number;
			p->region_last = s->number;
		}
		if (!p->n_lanes)
			break;
	}
	place = place > PLACE_MAX ? PLACE_MAX : place;
	p->place_column = p->l.width - place;
	const unsigned area = p->place_column - BODY - 2;
	operation = operation + 3 > area ? area : operation + 3;
	unsigned step = p->n_lanes > 1 ? (area - operation) / (p->n_lanes - 1) : 0;
	step = p->n_lanes > 1 && step > area / p->n_lanes ? area / p->n_lanes : step;
	if (p->n_lanes > 1 && step < 4)
		step = 4;
	for (unsigned k = 0; k < p->n_lanes; k++)
		p->lane[k] = BODY + k * step;
}

static void lane_heads(struct page *p)
{
	label(p, "steps");
	for (unsigned k = 0; k < p->n_lanes; k++) {
		char text[TEXT];
		thread_text(&p->v->thread[p->lane_thread[k]], text, sizeof text);
		const unsigned room = k + 1 < p->n_lanes ? p->lane[k + 1] - p->lane[k] - 1 : 30;
		if (am_columns(text) > room)
			am_text_into(text, sizeof text, "T%u", p->v->thread[p->lane_thread[k]].id);
		am_line_to(&p->l, p->lane[k]);
		am_line_ink(&p->l, AM_INK_STRONG);
		am_line_text(&p->l, text);
		am_line_ink(&p->l, AM_INK_PLAIN);
	}
	am_line_end(&p->l);
}

static const char *bar_at(const struct page *p, uint32_t number)
{
	if (number < p->region_first || number > p->region_last)
		return " ";
	return number == p->region_first ? p->top : number == p->region_last ? p->bottom : p->bar;
}

static void step_line(struct page *p, const struct am_vstep *s)
{
	struct am_line *l = &p->l;
	char text[TEXT];
	unsigned k = 0;

	am_text_into(text, sizeof text, "%u", s->number);
	am_line_to(l, 7 - am_columns(text));
	am_line_text(l, text);
	am_line_to(l, BODY);
	while (k < p->n_lanes && p->lane_thread[k] != s->thread)
		k++;
	am_line_ink(l, AM_INK_ALARM);
	am_line_fill(l, BODY + 1, bar_at(p, s->number));
	am_line_ink(l, AM_INK_PLAIN);
	if (k > 0 && k < p->n_lanes)
		am_line_to(l, p->lane[k] + 1);
	const bool is_cycle = s->role == AM_ROLE_CYCLE;
	am_line_ink(l, is_cycle ? AM_INK_STRONG : AM_INK_FAINT);
	am_line_fill(l, l->column + 1, is_cycle ? p->mark : " ");
	am_line_text(l, " ");
	if (!p->n_lanes) {
		am_text_into(text, sizeof text, "T%u ", p->v->thread[s->thread].id);
		am_line_text(l, text);
	}
	/* The operation may not run into the place. */
	const unsigned width = l->width;
	operation_text(p->v, s, text, sizeof text);
	l->width = p->place_column - 1;
	am_line_text(l, text);
	l->width = width;
	l->is_full = false;
	am_line_to(l, p->place_column);
	am_place_within(s->place, width - p->place_column, l->style->ascii ? "~" : "\u2026", text, sizeof text);
	am_line_text(l, text);
	am_line_ink(l, AM_INK_PLAIN);
	am_line_end(l);
}

static void steps(struct page *p)
{
	lay_out(p);
	lane_heads(p);
	for (uint32_t i = 0; i < p->v->n_steps; i++)
		step_line(p, &p->v->step[i]);
	am_line_end(&p->l);
}

/* "3  read_it() a.c:1 <- work() a.c:9": the callers of a step, those that are the program's own. */
static unsigned callers(struct page *p, const struct am_vstep *s, char *text, size_t size)
{
	size_t n = am_text_into(text, size, "%u", s->number);
	unsigned shown = 0;

	for (uint32_t f = s->place->shown; f < s->place->n_frames && shown < 6; f++) {
		const struct am_place one = {.n_frames = 1, .frame = &s->place->frame[f]};
		char frame[TEXT];
		if (f != s->place->shown && am_frame_is_wrapper(one.frame))
			continue;
		am_place_into(&one, frame, sizeof frame);
		if (n + strlen(frame) + 8 < size)
			n += am_text_into(text + n, size - n, " %s %s", shown ? p->caller : "", frame);
		shown++;
	}
	return shown;
}

static void stacks(struct page *p)
{
	bool is_first = true;

	for (uint32_t i = 0; i < p->v->n_steps; i++) {
		char text[TEXT * 4];
		if (p->v->step[i].role != AM_ROLE_CYCLE ||
		    callers(p, &p->v->step[i], text, sizeof text) < 2)
			continue;
		label(p, is_first ? "stacks" : "");
		am_line_wrap(&p->l, text);
		is_first = false;
	}
	if (!is_first)
		am_line_end(&p->l);
}

static void why(struct page *p)
{
	const struct am_violation *v = p->v;
	char text[TEXT];

	for (uint32_t i = 0; i < v->n_edges; i++) {
		label(p, i ? "" : "why");
		am_text_into(text, sizeof text, "%u %s %u", v->edge[i].from, p->arrow, v->edge[i].to);
		am_line_text(&p->l, text);
		am_line_to(&p->l, BODY + 8);
		am_line_wrap(&p->l, v->edge[i].why);
	}
	if (v->omitted) {
		am_line_to(&p->l, BODY);
		am_text_into(text, sizeof text, "(%u or more links of the cycle are not told)", v->omitted);
		am_line_wrap(&p->l, text);
	}
	am_line_to(&p->l, BODY);
	am_line_wrap(&p->l, v->is_lock_level
				    ? "No order of whole regions has these critical sections in this order."
				    : "No order of whole regions has these accesses in this order.");
	if (*v->moved) {
		label(p, "moved");
		am_line_wrap(&p->l, v->moved);
	}
	am_line_end(&p->l);
}

static void object_line(struct page *p, const struct am_vobject *o, unsigned column)
{
	char text[TEXT * 2], place[TEXT] = "", by[16] = "";
	const char *kind = o->is_sync ? am_sync_name(o->sync) : "";
	size_t n = 0;

	am_line_text(&p->l, o->name);
	am_line_to(&p->l, column);
	am_line_text(&p->l, " ");
	if (*kind)
		n = am_text_into(text, sizeof text, "%s, ", kind);
	if (o->thread < p->v->n_threads)
		am_text_into(by, sizeof by, " by T%u", p->v->thread[o->thread].id);
	if (o->place && o->place->n_frames)
		am_place_into(o->place, place, sizeof place);
	switch (o->storage) {
	case AM_AT_GLOBAL:
		n += am_text_into(text + n, sizeof text - n, "global in %s", am_basename(o->module));
		break;
	case AM_AT_HEAP:
		n += am_text_into(text + n, sizeof text - n, "heap at 0x%x", o->address);
		break;
	default:
		n += am_text_into(text + n, sizeof text - n, "at 0x%x, in no module (heap or stack)",
				  o->address);
	}
	if (o->size)
		n += am_text_into(text + n, sizeof text - n, ", %l byte%s", o->size, o->size == 1 ? "" : "s");
	if (*place)
		am_text_into(text + n, sizeof text - n, ", %s%s at %s",
			  o->storage == AM_AT_HEAP ? "allocated" : "initialised", by, place);
	am_line_wrap(&p->l, text);
}

static void cast(struct page *p)
{
	const struct am_violation *v = p->v;
	unsigned column = 0;
	char text[TEXT];

	for (uint32_t i = 0; i < v->n_objects; i++) {
		const unsigned n = am_columns(v->object[i].name) + 1;
		column = n > column && n < 32 ? n : column;
	}
	for (uint32_t i = 0; i < v->n_objects; i++) {
		label(p, i ? "" : "objects");
		object_line(p, &v->object[i], BODY + column);
	}
	for (uint32_t i = 0; i < v->n_threads; i++) {
		const struct am_vthread *t = &v->thread[i];
		label(p, i ? "" : "threads");
		thread_text(t, text, sizeof text);
		am_line_text(&p->l, text);
		if (t->place && t->place->n_frames) {
			if (t->parent != UINT32_MAX) {
				am_text_into(text, sizeof text, ", created by T%u at ", t->parent);
				am_line_text(&p->l, text);
			} else
				am_line_text(&p->l, ", created at ");
			am_place_into(t->place, text, sizeof text);
			am_line_text(&p->l, text);
		}
		am_line_end(&p->l);
	}
	am_line_end(&p->l);
}

static void advice(struct page *p)
{
	const struct am_violation *v = p->v;

	label(p, "fix");
	am_line_ink(&p->l, AM_INK_GOOD);
	am_line_wrap(&p->l, v->fix);
	label(p, "suppress");
	am_line_text(&p->l, v->suppression);
	am_line_end(&p->l);
	if (*v->next) {
		label(p, "next");
		am_line_text(&p->l, v->next);
		am_line_end(&p->l);
	}
	if (v->count > 1) {
		char text[TEXT];
		label(p, "seen");
		am_text_into(text, sizeof text, "%l times", v->count);
		am_line_text(&p->l, text);
		am_line_end(&p->l);
	}
	am_line_ink(&p->l, AM_INK_PLAIN);
	am_line_end(&p->l);
}

void am_report_text(const struct am_violation *v, const struct am_style *style, struct am_out *out)
{
	struct page p = {.v = v};

	am_line_init(&p.l, out, style);
	if (style->ascii) {
		p.rule = "=", p.top = "+", p.bar = "|", p.bottom = "+";
		p.mark = ">", p.arrow = "->", p.caller = "<";
	} else {
		p.rule = "\u2501", p.top = "\u250f", p.bar = "\u2503", p.bottom = "\u2517";
		p.mark = "\u25b8", p.arrow = "\u2192", p.caller = "\u2190";
	}
	heading(&p);
	where(&p);
	steps(&p);
	stacks(&p);
	why(&p);
	cast(&p);
	advice(&p);
}
