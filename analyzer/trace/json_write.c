/* JSON lines, through json-c. Runs in tools. Addresses are strings ("0x..."), since 64 bits do not
 * survive every JSON reader. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/json.h"

#include "analyzer/trace/text.h"
#include "atommon/trace.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include <json-c/json.h>

void am_json_begin(struct am_json *j, FILE *out, const struct am_source *source,
		   struct am_symbols *symbols)
{
	*j = (struct am_json){.out = out, .source = source, .symbols = symbols};
}

/* Bytes of the UTF-8 sequence at p, 0 if it is none. */
static unsigned utf8(const unsigned char *p)
{
	const unsigned n = *p < 0x80		     ? 1
			   : *p >= 0xc2 && *p < 0xe0 ? 2
			   : *p >= 0xe0 && *p < 0xf0 ? 3
			   : *p >= 0xf0 && *p < 0xf5 ? 4
						     : 0;

	for (unsigned i = 1; i < n; i++)
		if ((p[i] & 0xc0) != 0x80)
			return 0;
	if (n == 3 && ((*p == 0xe0 && p[1] < 0xa0) || (*p == 0xed && p[1] >= 0xa0)))
		return 0; /* overlong, or half of a pair */
	if (n == 4 && ((*p == 0xf0 && p[1] < 0x90) || (*p == 0xf4 && p[1] >= 0x90)))
		return 0;
	return n;
}

/* JSON is UTF-8, names of a program need not be: a byte that is not becomes '?'. */
static void add_text(json_object *o, const char *key, const char *text)
{
	char *copy = strdup(text);

	for (unsigned char *p = (unsigned char *)copy; copy && *p;) {
		const unsigned n = utf8(p);
		if (n == 0)
			*p = '?';
		p += n ? n : 1;
	}
	json_object_object_add(o, key, json_object_new_string(copy ? copy : ""));
	free(copy);
}

static void add_number(json_object *o, const char *key, uint64_t v)
{
	json_object_object_add(o, key, json_object_new_uint64(v));
}

static void add_address(json_object *o, const char *key, uint64_t v)
{
	char text[24];
	snprintf(text, sizeof text, "0x%" PRIx64, v);
	add_text(o, key, text);
}

static void put(struct am_json *j, json_object *o)
{
	fputs(json_object_to_json_string_ext(o, JSON_C_TO_STRING_PLAIN |
							JSON_C_TO_STRING_NOSLASHESCAPE),
	      j->out);
	putc('\n', j->out);
	json_object_put(o);
}

static json_object *row(const char *type)
{
	json_object *o = json_object_new_object();
	add_text(o, "type", type);
	return o;
}

/* ---- tables -------------------------------------------------------------------------------- */

static void put_module(struct am_json *j, const struct am_module *m, uint32_t index)
{
	char id[2 * AM_BUILD_ID_MAX + 1] = "";
	json_object *o = row("module");

	for (uint32_t i = 0; i < m->build_id_len; i++)
		snprintf(id + 2 * i, 3, "%02x", m->build_id[i]);
	add_number(o, "id", index);
	add_text(o, "path", m->path);
	add_address(o, "base", m->base);
	add_address(o, "start", m->start);
	add_address(o, "end", m->end);
	add_text(o, "build_id", id);
	if (m->unloaded)
		json_object_object_add(o, "unloaded", json_object_new_boolean(true));
	put(j, o);
}

static void put_site(struct am_json *j, const struct am_tables *t, uint32_t id)
{
	json_object *o = row("site"), *frames = json_object_new_array();

	add_number(o, "id", id);
	for (uint32_t i = 0; i < t->site[id].n_frames; i++) {
		struct am_frame f[8];
		const uint64_t address = t->site[id].frame[i];
		const size_t n =
			j->symbols ? am_symbols_frames(j->symbols, t, address, true, f, 8) : 1;
		for (size_t k = 0; k < n; k++) {
			json_object *x = json_object_new_object();
			add_address(x, "address", address);
			if (j->symbols && f[k].module) {
				add_text(x, "module", f[k].module);
				add_address(x, "offset", f[k].offset);
			}
			if (j->symbols && f[k].function)
				add_text(x, "function", f[k].function);
			if (j->symbols && f[k].file) {
				add_text(x, "file", f[k].file);
				add_number(x, "line", f[k].line);
			}
			if (j->symbols && f[k].is_inlined)
				json_object_object_add(x, "inlined", json_object_new_boolean(true));
			json_object_array_add(frames, x);
		}
	}
	json_object_object_add(o, "frames", frames);
	put(j, o);
}

static void put_thread(struct am_json *j, const struct am_thread *th)
{
	json_object *o = row("thread");

	add_number(o, "id", th->id);
	if (th->parent != UINT32_MAX)
		add_number(o, "parent", th->parent);
	if (th->os_tid)
		add_number(o, "tid", th->os_tid);
	if (th->create_site)
		add_number(o, "site", th->create_site);
	add_text(o, "name", th->name);
	put(j, o);
}

static void put_change(struct am_json *j, const struct am_tables *t, struct am_change c)
{
	json_object *o;

	switch (c.what) {
	case AM_ATM_T_COMMAND:
		o = row("command");
		add_text(o, "command", t->command);
		put(j, o);
		break;
	case AM_ATM_T_STRING:
		o = row("string");
		add_number(o, "id", c.id);
		add_text(o, "text", t->string[c.id]);
		put(j, o);
		break;
	case AM_ATM_T_MODULE:
		put_module(j, &t->module[c.id], c.id);
		break;
	case AM_ATM_T_SITE:
		put_site(j, t, c.id);
		break;
	default:
		put_thread(j, &t->thread[c.id]);
		break;
	}
}

void am_json_end(struct am_json *j)
{
	const struct am_tables *t = am_source_tables(j->source);
	const struct am_source_info *info = am_source_info(j->source);
	size_t n;
	const struct am_change *log = am_source_changes(j->source, &n);

	if (!j->has_header) {
		json_object *o = row("trace");
		add_number(o, "version", 1);
		add_number(o, "pid", t->pid);
		add_number(o, "start_ns", info->start_ns);
		add_address(o, "features", info->features);
		put(j, o);
	}
	j->has_header = true;
	for (; j->changes < n; j->changes++)
		if (!log[j->changes].is_old)
			put_change(j, t, log[j->changes]);
}

/* ---- events -------------------------------------------------------------------------------- */

static void add_string(json_object *o, const char *key, const struct am_tables *t, uint64_t id)
{
	if (id && id < t->n_strings)
		add_text(o, key, t->string[id]);
	else
		add_number(o, key, id);
}

static void add_object(json_object *o, const struct am_tables *t, const struct am_event *e)
{
	switch (am_text_object_class((enum am_kind)e->kind)) {
	case 'a':
		add_address(o, "object", e->object);
		break;
	case 't':
		add_number(o, "object", e->object);
		break;
	case 's':
		add_string(o, "object", t, e->object);
		break;
	default:
		break;
	}
}

static void add_mode(json_object *o, const struct am_event *e)
{
	if ((e->kind == AM_ACQUIRE || e->kind == AM_RELEASE) && e->mode)
		add_text(o, "mode", "shared");
	else if (e->kind == AM_LOST && e->mode && e->mode < AM_TEXT_LOST)
		add_text(o, "cause", am_text_lost[e->mode]);
	else if ((e->kind == AM_INIT || e->kind == AM_DESTROY) && e->mode &&
		 e->mode < AM_TEXT_OBJECTS)
		add_text(o, "what", am_text_objects[e->mode]);
	else if (e->mode)
		add_number(o, "mode", e->mode);
}

static void add_expr(struct am_json *j, json_object *o, const struct am_event *e)
{
	char tree[512];
	uint32_t n;

	if (!e->expr)
		return;
	add_number(o, "node", e->expr);
	const struct am_expr *all = am_source_exprs(j->source, e->thread, &n);
	am_text_expr(all, n, e->expr, tree, sizeof tree);
	add_text(o, "expr", tree);
}

void am_json_event(struct am_json *j, const struct am_event *e)
{
	const struct am_tables *t = am_source_tables(j->source);
	json_object *o = row("event");
	size_t n;

	am_source_changes(j->source, &n);
	if (j->changes < n || !j->has_header)
		am_json_end(j);
	add_number(o, "index", e->index);
	add_number(o, "thread", e->thread);
	add_text(o, "event", am_kind_name((enum am_kind)e->kind));
	add_object(o, t, e);
	if (e->kind == AM_WAIT || e->kind == AM_WAKE)
		add_address(o, "mutex", e->aux);
	else if (e->kind == AM_NAME)
		add_string(o, "name", t, e->aux);
	else if (e->aux && e->kind == AM_WRITE)
		add_number(o, am_text_aux(AM_WRITE), ~e->aux);
	else if (e->aux)
		add_number(o, am_text_aux((enum am_kind)e->kind), e->aux);
	add_mode(o, e);
	if (e->size)
		add_number(o, "size", e->size);
	if (e->kind == AM_BRANCH || e->kind == AM_ASSERT)
		json_object_object_add(o, "outcome", json_object_new_boolean(e->value != 0));
	else if (e->flags & AM_HAS_VALUE)
		add_number(o, "value", e->value);
	add_expr(j, o, e);
	const unsigned order = e->order & AM_ORDER_MASK;
	if (order && order < AM_TEXT_ORDERS)
		add_text(o, "order", am_text_orders[order]);
	if (e->order & AM_ORDER_FAILED)
		json_object_object_add(o, "failed", json_object_new_boolean(true));
	if (e->order & AM_ORDER_AGAIN)
		json_object_object_add(o, "again", json_object_new_boolean(true));
	if (e->order & AM_ORDER_LAST)
		json_object_object_add(o, "last", json_object_new_boolean(true));
	if (e->order & AM_ORDER_COMMUTES)
		add_text(o, "commutes", am_text_commutes[(e->order & AM_ORDER_COMMUTES) / AM_ORDER_ADDS]);
	for (unsigned i = 0; i < AM_TEXT_FLAGS; i++)
		if (e->flags & am_text_flags[i].flag)
			json_object_object_add(o, am_text_flags[i].word,
					       json_object_new_boolean(true));
	if (e->site)
		add_number(o, "site", e->site);
	put(j, o);
}
