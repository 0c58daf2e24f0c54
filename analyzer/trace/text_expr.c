/* Expressions for people. No state. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/text.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

enum { DEPTH = 6, CLOSING = 240 /* room to close all that is open */ };

struct printer {
	const struct am_expr *expr;
	uint32_t n;
	char *buf;
	size_t cap, len;
};

__attribute__((format(printf, 2, 3))) static void put(struct printer *p, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	const int n = vsnprintf(p->buf + p->len, p->cap - p->len, format, args);
	va_end(args);
	if (n > 0)
		p->len = p->len + (size_t)n < p->cap ? p->len + (size_t)n : p->cap - 1;
}

static void put_const(struct printer *p, const struct am_expr *x)
{
	const unsigned width = x->width ? x->width : 64;
	const uint64_t top = UINT64_C(1) << ((width > 64 ? 64 : width) - 1);
	const int64_t value = (int64_t)((x->value ^ top) - top);

	if (width > 1 && width < 64 && value > -4096 && value < 0)
		put(p, "%" PRId64, value);
	else if (x->value > 0xffff)
		put(p, "0x%" PRIx64, x->value);
	else
		put(p, "%" PRIu64, x->value);
}

static void put_node(struct printer *p, uint32_t node, unsigned depth)
{
	const struct am_expr *x = node < p->n ? &p->expr[node] : NULL;

	if (!x || x->op == AM_OP_NONE || x->op >= AM_OP_COUNT) {
		put(p, "e%u", node);
		return;
	}
	if (x->op == AM_OP_READ) {
		put(p, "r%u", node);
		return;
	}
	if (x->op == AM_OP_CONST) {
		put_const(p, x);
		return;
	}
	/* Operands are older than the node; a damaged trace may say otherwise, depth ends it. */
	if (depth == 0 || p->len + CLOSING > p->cap) {
		put(p, "e%u", node);
		return;
	}
	const char *op = am_op_text((enum am_op)x->op);
	switch (x->op == AM_OP_EXTRACT ? 4 : am_op_arity((enum am_op)x->op)) {
	case 1:
		put(p, "%s(", op);
		put_node(p, x->a, depth - 1);
		if (x->op == AM_OP_ZEXT || x->op == AM_OP_SEXT || x->op == AM_OP_TRUNC)
			put(p, ", %u", x->width);
		put(p, ")");
		break;
	case 2:
		put(p, "(");
		put_node(p, x->a, depth - 1);
		put(p, " %s ", op);
		put_node(p, x->b, depth - 1);
		put(p, ")");
		break;
	case 3:
		put(p, "(");
		put_node(p, x->a, depth - 1);
		put(p, " ? ");
		put_node(p, x->b, depth - 1);
		put(p, " : ");
		put_node(p, x->c, depth - 1);
		put(p, ")");
		break;
	case 4:
		put_node(p, x->a, depth - 1);
		put(p, "[%u+%u]", x->b, x->width);
		break;
	default:
		put(p, "e%u", node);
		break;
	}
}

void am_text_expr(const struct am_expr *expr, uint32_t n, uint32_t node, char *buf, size_t cap)
{
	struct printer p = {expr, n, buf, cap, 0};

	buf[0] = 0;
	put_node(&p, node, DEPTH);
}
