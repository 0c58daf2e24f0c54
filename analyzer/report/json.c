/*
 * The report for programs: one JSON object on one line, as doc/report-format.md says. A pure
 * function over the violation. Runs in the drain thread and in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "jsonw.h"

static void frames(struct am_jsonw *w, const char *key, const struct am_place *place)
{
	am_jsonw_open(w, key, '[');
	for (uint32_t i = place->n_frames ? place->shown : 0; i < place->n_frames; i++) {
		const struct am_vframe *f = &place->frame[i];
		am_jsonw_open(w, NULL, '{');
		if (*f->function)
			am_jsonw_text(w, "function", f->function);
		if (*f->file) {
			am_jsonw_text(w, "file", f->file);
			am_jsonw_number(w, "line", f->line);
		}
		if (*f->module)
			am_jsonw_text(w, "module", f->module);
		am_jsonw_hex(w, "offset", f->offset);
		am_jsonw_close(w, '}');
	}
	am_jsonw_close(w, ']');
}

static void region(struct am_jsonw *w, const struct am_violation *v)
{
	am_jsonw_open(w, "region", '{');
	am_jsonw_text(w, "name", v->region);
	am_jsonw_number(w, "thread", v->thread[v->region_thread].id);
	if (v->n_inner) {
		am_jsonw_open(w, "inner", '[');
		for (uint32_t i = 0; i < v->n_inner; i++)
			am_jsonw_text(w, NULL, v->inner[i]);
		am_jsonw_close(w, ']');
	}
	frames(w, "frames", v->region_place);
	am_jsonw_close(w, '}');
}

static void step(struct am_jsonw *w, const struct am_violation *v, const struct am_vstep *s)
{
	am_jsonw_open(w, NULL, '{');
	am_jsonw_number(w, "number", s->number);
	am_jsonw_number(w, "thread", v->thread[s->thread].id);
	am_jsonw_text(w, "operation", am_kind_name(s->kind));
	if (s->kind == AM_ACQUIRE || s->kind == AM_RELEASE)
		am_jsonw_text(w, "mode", s->mode == AM_SHARED ? "shared" : "exclusive");
	if (s->object != AM_NO_OBJECT) {
		am_jsonw_number(w, "object", s->object);
		am_jsonw_number(w, "offset", s->offset);
		if (s->part && *s->part)
			am_jsonw_text(w, "part", s->part);
	}
	if (s->size)
		am_jsonw_number(w, "size", s->size);
	if (s->flags & AM_HAS_VALUE)
		am_jsonw_hex(w, "value", s->value);
	am_jsonw_bool(w, "in_cycle", s->role == AM_ROLE_CYCLE);
	am_jsonw_bool(w, "in_region", s->in_region);
	if (*s->region)
		am_jsonw_text(w, "region", s->region);
	am_jsonw_number(w, "index", s->index);
	frames(w, "frames", s->place);
	am_jsonw_close(w, '}');
}

static void object(struct am_jsonw *w, const struct am_violation *v, const struct am_vobject *o)
{
	static const char *const storages[] = {"unknown", "global", "heap", "stack"};

	am_jsonw_open(w, NULL, '{');
	am_jsonw_text(w, "name", o->name);
	am_jsonw_bool(w, "named", o->is_named);
	am_jsonw_text(w, "storage", storages[o->storage]);
	if (o->is_sync)
		am_jsonw_text(w, "sync", am_sync_name(o->sync));
	am_jsonw_hex(w, "address", o->address);
	if (o->size)
		am_jsonw_number(w, "size", o->size);
	if (*o->module) {
		am_jsonw_text(w, "module", o->module);
		am_jsonw_hex(w, "offset", o->offset);
	}
	if (o->place) {
		am_jsonw_open(w, "made", '{');
		if (o->thread < v->n_threads)
			am_jsonw_number(w, "thread", v->thread[o->thread].id);
		frames(w, "frames", o->place);
		am_jsonw_close(w, '}');
	}
	am_jsonw_close(w, '}');
}

static void thread(struct am_jsonw *w, const struct am_vthread *t)
{
	am_jsonw_open(w, NULL, '{');
	am_jsonw_number(w, "id", t->id);
	if (t->os_tid)
		am_jsonw_number(w, "os_tid", t->os_tid);
	if (*t->name)
		am_jsonw_text(w, "name", t->name);
	if (t->parent != UINT32_MAX)
		am_jsonw_number(w, "parent", t->parent);
	if (t->place)
		frames(w, "created", t->place);
	am_jsonw_close(w, '}');
}

static void edge(struct am_jsonw *w, const struct am_vedge *e)
{
	am_jsonw_open(w, NULL, '{');
	am_jsonw_number(w, "from", e->from);
	am_jsonw_number(w, "to", e->to);
	am_jsonw_text(w, "kind", e->is_program ? "program" : "conflict");
	am_jsonw_text(w, "why", e->why);
	am_jsonw_close(w, '}');
}

void am_report_json(const struct am_violation *v, struct am_out *out)
{
	struct am_jsonw w;

	am_jsonw_init(&w, out);
	am_jsonw_open(&w, NULL, '{');
	am_jsonw_text(&w, "schema", "atommon-report/1");
	am_jsonw_text(&w, "type", "violation");
	am_jsonw_text(&w, "id", v->id);
	am_jsonw_text(&w, "status", am_status_name(v->status));
	if (*v->model)
		am_jsonw_text(&w, "model", v->model);
	am_jsonw_text(&w, "pattern", am_pattern_name(v->pattern));
	am_jsonw_text(&w, "level", v->is_lock_level ? "locks" : "data");
	am_jsonw_number(&w, "count", v->count);
	am_jsonw_text(&w, "summary", v->summary);
	region(&w, v);
	am_jsonw_open(&w, "steps", '[');
	for (uint32_t i = 0; i < v->n_steps; i++)
		step(&w, v, &v->step[i]);
	am_jsonw_close(&w, ']');
	am_jsonw_open(&w, "edges", '[');
	for (uint32_t i = 0; i < v->n_edges; i++)
		edge(&w, &v->edge[i]);
	am_jsonw_close(&w, ']');
	if (v->omitted)
		am_jsonw_number(&w, "omitted_edges", v->omitted);
	am_jsonw_open(&w, "objects", '[');
	for (uint32_t i = 0; i < v->n_objects; i++)
		object(&w, v, &v->object[i]);
	am_jsonw_close(&w, ']');
	am_jsonw_open(&w, "threads", '[');
	for (uint32_t i = 0; i < v->n_threads; i++)
		thread(&w, &v->thread[i]);
	am_jsonw_close(&w, ']');
	if (*v->moved)
		am_jsonw_text(&w, "moved", v->moved);
	am_jsonw_text(&w, "fix", v->fix);
	am_jsonw_text(&w, "suppression", v->suppression);
	if (*v->next)
		am_jsonw_text(&w, "next", v->next);
	am_jsonw_text(&w, "command", v->command);
	am_jsonw_number(&w, "pid", v->pid);
	am_jsonw_close(&w, '}');
	out->write(out->ctx, "\n", 1);
}
