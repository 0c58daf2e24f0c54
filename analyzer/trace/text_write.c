/*
 * Writing the text form. Runs in tools; the only state is which table entries were printed.
 * Everything an event holds is printed, so that reading it back gives the same event.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/text.h"

#include "atommon/trace.h"

#include <inttypes.h>
#include <string.h>

enum { TREE = 512 };

void am_text_quote(FILE *out, const char *text)
{
	putc('"', out);
	for (const unsigned char *p = (const unsigned char *)text; *p; p++) {
		if (*p == '"' || *p == '\\')
			fprintf(out, "\\%c", *p);
		else if (*p < 0x20 || *p == 0x7f)
			fprintf(out, "\\x%02x", *p);
		else
			putc(*p, out);
	}
	putc('"', out);
}

void am_text_begin(struct am_text *t, FILE *out, const struct am_source *source,
		   am_text_site_fn *site, void *ctx)
{
	*t = (struct am_text){.out = out, .source = source, .site = site, .ctx = ctx};
}

/* ---- tables -------------------------------------------------------------------------------- */

static void put_module(FILE *out, const struct am_module *m, uint32_t index)
{
	fprintf(out, "!module %u base=0x%" PRIx64 " start=0x%" PRIx64 " end=0x%" PRIx64, index,
		m->base, m->start, m->end);
	if (m->build_id_len) {
		fputs(" id=", out);
		for (uint32_t i = 0; i < m->build_id_len; i++)
			fprintf(out, "%02x", m->build_id[i]);
	}
	if (m->unloaded)
		fprintf(out, " unloaded=%u", m->unloaded);
	putc(' ', out);
	am_text_quote(out, m->path);
}

static void put_thread(FILE *out, const struct am_thread *th)
{
	fprintf(out, "!thread %u", th->id);
	if (th->parent != UINT32_MAX)
		fprintf(out, " parent=%u", th->parent);
	if (th->os_tid)
		fprintf(out, " tid=%u", th->os_tid);
	if (th->create_site)
		fprintf(out, " site=%u", th->create_site);
	putc(' ', out);
	am_text_quote(out, th->name);
}

static void put_site_row(struct am_text *t, const struct am_tables *tables, uint32_t id)
{
	const struct am_site *site = &tables->site[id];

	fprintf(t->out, "!site %u", id);
	for (uint32_t i = 0; i < site->n_frames; i++)
		fprintf(t->out, " 0x%" PRIx64, site->frame[i]);
	const char *words = t->site ? t->site(t->ctx, tables, id) : NULL;
	if (words && *words)
		fprintf(t->out, " ; %s", words);
}

static void put_change(struct am_text *t, const struct am_tables *tables, struct am_change c)
{
	switch (c.what) {
	case AM_ATM_T_COMMAND:
		fputs("!command ", t->out);
		am_text_quote(t->out, tables->command);
		break;
	case AM_ATM_T_STRING:
		fprintf(t->out, "!string %u ", c.id);
		am_text_quote(t->out, tables->string[c.id]);
		break;
	case AM_ATM_T_MODULE:
		put_module(t->out, &tables->module[c.id], c.id);
		break;
	case AM_ATM_T_SITE:
		put_site_row(t, tables, c.id);
		break;
	default:
		put_thread(t->out, &tables->thread[c.id]);
		break;
	}
	putc('\n', t->out);
}

void am_text_end(struct am_text *t)
{
	const struct am_tables *tables = am_source_tables(t->source);
	const struct am_source_info *info = am_source_info(t->source);
	size_t n;
	const struct am_change *log = am_source_changes(t->source, &n);

	if (!t->has_header)
		fprintf(t->out,
			"!atommon-trace 1 features=0x%" PRIx64 " clock=%u start=%" PRIu64
			" pid=%u\n",
			info->features & ~AM_ATM_F_ORDERED, info->clock, info->start_ns,
			tables->pid);
	t->has_header = true;
	for (; t->changes < n; t->changes++)
		if (!log[t->changes].is_old)
			put_change(t, tables, log[t->changes]);
}

/* ---- events -------------------------------------------------------------------------------- */

static void put_string(FILE *out, const struct am_tables *tables, uint64_t id)
{
	if (id < tables->n_strings && id)
		am_text_quote(out, tables->string[id]);
	fprintf(out, "$%" PRIu64, id);
}

static void put_object(FILE *out, const struct am_tables *tables, const struct am_event *e)
{
	switch (am_text_object_class((enum am_kind)e->kind)) {
	case 'a':
		fprintf(out, " 0x%" PRIx64, e->object);
		break;
	case 't':
		fprintf(out, " T%" PRIu64, e->object);
		break;
	case 's':
		putc(' ', out);
		put_string(out, tables, e->object);
		break;
	default:
		if (e->object)
			fprintf(out, " object=0x%" PRIx64, e->object);
		else
			fputs(" -", out);
		break;
	}
}

static void put_mode(FILE *out, const struct am_event *e)
{
	const unsigned mode = e->mode;

	if (mode == 0)
		return;
	if ((e->kind == AM_ACQUIRE || e->kind == AM_RELEASE) && mode == AM_SHARED)
		fputs(" shared", out);
	else if (e->kind == AM_LEAVE && mode == 1)
		fputs(" serial", out);
	else if (e->kind == AM_LOST && mode < AM_TEXT_LOST)
		fprintf(out, " %s", am_text_lost[mode]);
	else if ((e->kind == AM_INIT || e->kind == AM_DESTROY) && mode < AM_TEXT_OBJECTS)
		fprintf(out, " %s", am_text_objects[mode]);
	else
		fprintf(out, " mode=%u", mode);
}

static void put_aux(FILE *out, const struct am_tables *tables, const struct am_event *e)
{
	const char *name = am_text_aux((enum am_kind)e->kind);
	const bool always = *name == 'm' || *name == 'b' || e->kind == AM_LOST;

	if (!e->aux && !always)
		return;
	fprintf(out, " %s=", name);
	if (e->kind == AM_NAME)
		put_string(out, tables, e->aux);
	else if (e->kind == AM_WRITE)
		fprintf(out, "%" PRIu64, ~e->aux);
	else
		fprintf(out, *name == 'm' ? "0x%" PRIx64 : "%" PRIu64, e->aux);
}

static bool is_canonical(const struct am_expr *x)
{
	const unsigned arity = am_op_arity((enum am_op)x->op);

	if (x->op == AM_OP_NONE || x->op == AM_OP_READ || x->op >= AM_OP_COUNT)
		return false;
	return x->op == AM_OP_CONST ? !x->c : (arity > 1 || !x->b) && (arity > 2 || !x->c);
}

/* e9 = OP:WIDTH operands (tree) */
static void put_definition(struct am_text *t, const struct am_event *e)
{
	const struct am_expr x = {
		.op = (uint8_t)e->object,
		.width = (uint8_t)(e->object >> 8),
		.a = (uint32_t)e->value,
		.b = (uint32_t)(e->value >> 32),
		.c = (uint32_t)(e->object >> 16),
		.value = e->value,
	};
	const enum am_op op = (enum am_op)x.op;
	char tree[TREE];
	uint32_t n;

	fprintf(t->out, " e%u", e->expr);
	if (x.op == AM_OP_CONST && !x.c) {
		fprintf(t->out, " = const:%u 0x%" PRIx64, x.width, e->value);
		return;
	}
	if (!is_canonical(&x)) {
		fprintf(t->out, " = raw 0x%" PRIx64 " 0x%" PRIx64, e->object, e->value);
		return;
	}
	fprintf(t->out, " = %s:%u e%u", am_op_text(op), x.width, x.a);
	if (am_op_arity(op) > 1)
		fprintf(t->out, op == AM_OP_EXTRACT ? " %u" : " e%u", x.b);
	if (am_op_arity(op) > 2)
		fprintf(t->out, " e%u", x.c);
	const struct am_expr *all = am_source_exprs(t->source, e->thread, &n);
	am_text_expr(all, n, e->expr, tree, sizeof tree);
	fprintf(t->out, " ; %s", tree);
}

/* The tree for people, then the node's number for the reader. */
static void put_expr(struct am_text *t, const struct am_event *e)
{
	char tree[TREE];
	uint32_t n;

	if (e->kind == AM_READ || e->kind == AM_UPDATE) {
		fprintf(t->out, " r%u", e->expr);
		return;
	}
	const struct am_expr *all = am_source_exprs(t->source, e->thread, &n);
	am_text_expr(all, n, e->expr, tree, sizeof tree);
	if (*tree == '(' && tree[strlen(tree) - 1] == ')')
		fprintf(t->out, "%s #%u", tree, e->expr);
	else
		fprintf(t->out, "(%s) #%u", tree, e->expr);
}

static void put_condition(struct am_text *t, const struct am_event *e)
{
	if (!e->expr) {
		fputs(e->value ? " true" : " false", t->out);
		return;
	}
	fputs(e->value ? " " : " !", t->out);
	put_expr(t, e);
}

static void put_order(FILE *out, unsigned order)
{
	const unsigned bits = AM_ORDER_FAILED | AM_ORDER_AGAIN | AM_ORDER_COMMUTES | AM_ORDER_LAST;

	if ((order & ~bits) >= AM_TEXT_ORDERS) {
		fprintf(out, " order=%u", order);
		return;
	}
	if (order & ~bits)
		fprintf(out, " order=%s", am_text_orders[order & ~bits]);
	fputs(order & AM_ORDER_FAILED ? " failed" : "", out);
	fputs(order & AM_ORDER_AGAIN ? " again" : "", out);
	fputs(order & AM_ORDER_LAST ? " last" : "", out);
	if (order & AM_ORDER_COMMUTES)
		fprintf(out, " %s", am_text_commutes[(order & AM_ORDER_COMMUTES) / AM_ORDER_ADDS]);
}

static void put_details(struct am_text *t, const struct am_tables *tables, const struct am_event *e)
{
	FILE *const out = t->out;
	const bool is_condition = e->kind == AM_BRANCH || e->kind == AM_ASSERT;

	put_aux(out, tables, e);
	put_mode(out, e);
	if (e->size)
		fprintf(out, " size=%u", e->size);
	if (e->flags & AM_HAS_VALUE && !is_condition)
		fprintf(out, e->value > 0xffff ? " value=0x%" PRIx64 : " value=%" PRIu64, e->value);
	if (e->expr && !is_condition) {
		if (e->kind != AM_READ && e->kind != AM_UPDATE)
			putc(' ', out);
		put_expr(t, e);
	}
	put_order(out, e->order);
	for (unsigned i = 0; i < AM_TEXT_FLAGS; i++)
		if (e->flags & am_text_flags[i].flag)
			fprintf(out, " %s", am_text_flags[i].word);
}

void am_text_event(struct am_text *t, const struct am_event *e)
{
	const struct am_tables *tables = am_source_tables(t->source);
	size_t n;

	am_source_changes(t->source, &n);
	if (t->changes < n || !t->has_header)
		am_text_end(t);
	fprintf(t->out, "%" PRIu64 " T%u %s", e->index, e->thread,
		e->kind == AM_BRANCH ? "assume" : am_kind_name((enum am_kind)e->kind));
	if (e->kind == AM_EXPR) {
		if (e->flags & AM_NESTED)
			fputs(" nested", t->out);
		put_definition(t, e);
		putc('\n', t->out);
		return;
	}
	if (e->kind == AM_BRANCH || e->kind == AM_ASSERT) {
		put_condition(t, e);
		if (e->object)
			fprintf(t->out, " object=0x%" PRIx64, e->object);
	} else {
		put_object(t->out, tables, e);
	}
	put_details(t, tables, e);
	fprintf(t->out, " @%u", e->site);
	const char *words = e->site && t->site ? t->site(t->ctx, tables, e->site) : NULL;
	if (words && *words)
		fprintf(t->out, " %s", words);
	const bool is_address = am_text_object_class((enum am_kind)e->kind) == 'a';
	const char *name =
		t->name && is_address && e->kind != AM_NAME ? t->name(t->ctx, e->object) : NULL;
	if (name)
		fprintf(t->out, " [%s]", name);
	putc('\n', t->out);
}
