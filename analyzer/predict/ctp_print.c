/*
 * Trace programs as text, in the manner of Fig. 3 and 4 of Wang et al. Pure functions over the
 * program. Tool side.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/ctp_priv.h"

#include <inttypes.h>

static void print(const struct am_ctp *ctp, uint32_t node, FILE *out, int depth)
{
	const struct am_expr *n = &ctp->nodes[node];
	const char *text = am_op_text((enum am_op)n->op);
	if (depth > 12) {
		fprintf(out, "n%u", node);
		return;
	}
	switch (n->op) {
	case AM_OP_CONST:
		fprintf(out, "%" PRIu64, n->value);
		return;
	case AM_OP_READ:
		fprintf(out, "r%" PRIu64, n->value + 1);
		return;
	case AM_OP_ITE:
		fputc('(', out);
		print(ctp, n->a, out, depth + 1);
		fputs(" ? ", out);
		print(ctp, n->b, out, depth + 1);
		fputs(" : ", out);
		print(ctp, n->c, out, depth + 1);
		fputc(')', out);
		return;
	case AM_OP_EXTRACT:
		print(ctp, n->a, out, depth + 1);
		fprintf(out, "[%u:%u]", n->b + n->width - 1, n->b);
		return;
	default:
		break;
	}
	if (am_op_arity((enum am_op)n->op) == 1) {
		fprintf(out, n->op == AM_OP_NOT && n->width == 1 ? "!(" : "%s(", text);
		print(ctp, n->a, out, depth + 1);
		fputc(')', out);
		return;
	}
	fputc('(', out);
	print(ctp, n->a, out, depth + 1);
	fprintf(out, " %s ", text);
	print(ctp, n->b, out, depth + 1);
	fputc(')', out);
}

void am_ctp_print_node(const struct am_ctp *ctp, uint32_t node, FILE *out)
{
	if (node)
		print(ctp, node, out, 0);
	else
		fputs("true", out);
}

static void print_place(const struct am_ctp *ctp, const struct am_ctp_event *e, FILE *out)
{
	const struct am_ctp_object *o = &ctp->objects[e->object];
	fputs(o->name, out);
	if (e->offset || o->size != e->size) {
		fputc('[', out);
		if (e->offset)
			print(ctp, e->offset, out, 0);
		else
			fputc('0', out);
		fprintf(out, ":%u]", e->size);
	}
}

static void print_action(const struct am_ctp *ctp, uint32_t id, FILE *out)
{
	const struct am_ctp_event *e = &ctp->events[id];
	switch (e->kind) {
	case AM_READ:
	case AM_UPDATE:
		fprintf(out, "r%u := ", id + 1);
		print_place(ctp, e, out);
		if (e->kind == AM_READ)
			break;
		fputs("; ", out);
		/* fall through */
	case AM_WRITE:
		print_place(ctp, e, out);
		fputs(" := ", out);
		am_ctp_print_node(ctp, e->value, out);
		break;
	case AM_BRANCH:
		break;
	case AM_ASSERT:
		fputs("assert ", out);
		am_ctp_print_node(ctp, e->cond, out);
		break;
	case AM_FORK:
	case AM_JOIN:
		fprintf(out, "%s %s", am_kind_name((enum am_kind)e->kind),
			ctp->threads[e->object].name);
		break;
	case AM_BEGIN:
	case AM_END:
		fprintf(out, "%s %s", am_kind_name((enum am_kind)e->kind),
			ctp->regions[e->object].name);
		break;
	default:
		fputs(am_kind_name((enum am_kind)e->kind), out);
		if ((e->kind == AM_ACQUIRE || e->kind == AM_RELEASE) && e->mode == AM_SHARED)
			fputs(" shared", out);
		if (e->object < ctp->object_count)
			fprintf(out, " %s", ctp->objects[e->object].name);
		if (e->aux < ctp->object_count)
			fprintf(out, ", %s", ctp->objects[e->aux].name);
	}
}

void am_ctp_print_event(const struct am_ctp *ctp, uint32_t id, FILE *out)
{
	const struct am_ctp_event *e = &ctp->events[id];
	fprintf(out, "t%u: <%s, (assume(", id + 1, ctp->threads[e->thread].name);
	if (e->guard && e->cond && e->kind != AM_ASSERT) {
		print(ctp, e->guard, out, 0);
		fputs(" => ", out);
		print(ctp, e->cond, out, 0);
	} else {
		am_ctp_print_node(ctp, e->kind == AM_ASSERT || e->guard ? e->guard : e->cond, out);
	}
	fputs("), { ", out);
	print_action(ctp, id, out);
	fputs(" })>", out);
}

void am_ctp_dump(const struct am_ctp *ctp, FILE *out)
{
	for (uint32_t i = 0; i < ctp->object_count; i++) {
		const struct am_ctp_object *o = &ctp->objects[i];
		if (o->class != AM_CTP_DATA)
			continue;
		uint64_t v = 0;
		for (uint32_t k = 0; o->init && k < o->size && k < 8; k++)
			v |= (uint64_t)o->init[k] << (8 * k);
		fprintf(out, "t0: { %s := %" PRIu64 "%s }\n", o->name, v, o->size > 8 ? ", ..." : "");
	}
	for (uint32_t t = 0; t < ctp->thread_count; t++) {
		fprintf(out, "thread %s\n", ctp->threads[t].name);
		for (uint32_t i = 0; i < ctp->threads[t].length; i++) {
			fputs("  ", out);
			am_ctp_print_event(ctp, ctp->threads[t].events[i], out);
			fputc('\n', out);
		}
	}
	for (uint32_t i = 0; i < ctp->order_count; i++)
		fprintf(out, "t%u before t%u\n", ctp->orders[i].before + 1,
			ctp->orders[i].after + 1);
}

void am_ctp_dump_cssa(struct am_ctp *ctp, FILE *out)
{
	am_ctp_dump(ctp, out);
	for (uint32_t id = 0; id < ctp->event_count; id++) {
		const struct am_ctp_event e = ctp->events[id];
		if (e.kind != AM_READ && e.kind != AM_UPDATE)
			continue;
		fprintf(out, "r%u <- pi(%s0", id + 1, ctp->objects[e.object].name);
		for (uint32_t w = 0; w < ctp->event_count; w++) {
			const struct am_ctp_event *s = &ctp->events[w];
			uint64_t never;
			if (!am_ctp_is_store(s) || s->loc != e.loc || w == id ||
			    (s->thread == e.thread && s->pos > e.pos))
				continue;
			const uint32_t same = am_ctp_overlap(ctp, w, id);
			if (am_ctp_is_const(ctp, same, &never) && !never)
				continue;
			fprintf(out, ", %s%u", ctp->objects[e.object].name, w + 1);
		}
		fputs(")\n", out);
	}
}
