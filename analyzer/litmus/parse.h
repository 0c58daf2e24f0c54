/* SPDX-License-Identifier: MIT */
/* Inside the parser: the cursor, the arena, scopes, and how the parser's files call each other. */
#ifndef ATOMMON_LITMUS_PARSE_H
#define ATOMMON_LITMUS_PARSE_H

#include "lex.h"

#include <setjmp.h>

struct am_arena {
	struct am_arena *next;
	size_t used, size;
	_Alignas(16) unsigned char bytes[];
};

struct am_scope_entry {
	uint32_t local;
	bool is_visible;
};

/* A value that waits until all objects are known: `p = &x` may come before x. */
struct am_pending {
	uint32_t cell;	 /* or */
	uint32_t thread; /* N of "N:r1", UINT32_MAX: a cell */
	struct am_token reg;
	bool has_type;
	struct am_lit_type type;
	bool is_address;
	struct am_token target;
	uint64_t index; /* of an address: element */
	uint64_t value;
	struct am_pending *next;
};

struct am_parser {
	struct am_lexer lexer;
	struct am_token token; /* the next one, not yet taken */
	struct am_lit *lit;
	struct am_lit_error *error;
	jmp_buf fail;
	unsigned depth, nodes;
	/* of the thread being parsed */
	struct am_lit_thread *thread;
	struct am_scope_entry scope[AM_LIT_LOCALS_MAX];
	uint32_t n_scope;
	unsigned loops_open;
	bool in_atomic;
	struct am_pending *pending;
};

/* What an expression is before it is used: a value, or a place. */
struct am_operand {
	const struct am_lit_expr *value; /* NULL for a place */
	enum { AM_PLACE_NONE, AM_PLACE_LOCAL, AM_PLACE_MEMORY } place;
	uint32_t local;
	const struct am_lit_expr *address;
	struct am_lit_type type;
	struct am_lit_pos pos;
};

/* parse.c */
_Noreturn void am_parse_fail(struct am_parser *p, struct am_lit_pos pos, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
void am_parse_take(struct am_parser *p);
bool am_parse_accept(struct am_parser *p, const char *text);
void am_parse_expect(struct am_parser *p, const char *text);
void am_parse_deeper(struct am_parser *p, struct am_lit_pos pos);
void *am_parse_alloc(struct am_parser *p, size_t bytes);
const char *am_parse_string(struct am_parser *p, const char *text, size_t len);
void am_parse_unmodelled(struct am_parser *p, struct am_lit_pos pos, const struct am_token *what);

/* parse_init.c */
bool am_parse_type(struct am_parser *p, struct am_lit_type *type); /* false: no type here */
void am_parse_stars(struct am_parser *p, struct am_lit_type *type);
bool am_parse_range(struct am_parser *p, int64_t *low, int64_t *high);
int64_t am_parse_number(struct am_parser *p);
uint32_t am_parse_object(struct am_parser *p, const struct am_token *name, struct am_lit_type type,
			 uint32_t count, bool is_array);
bool am_parse_find_object(const struct am_parser *p, const struct am_token *name, uint32_t *object);
void am_parse_init(struct am_parser *p);
void am_parse_settle(struct am_parser *p);

/* parse_stmt.c */
void am_parse_thread(struct am_parser *p);
/* An undeclared name that herd takes for a register: r0, r1, ... or one that the init block sets. */
bool am_parse_register(struct am_parser *p, const struct am_token *name, uint32_t *local);
uint32_t am_parse_new_local(struct am_parser *p, const struct am_token *name,
			    struct am_lit_type type);

/* parse_node.c, parse_expr.c */
bool am_parse_has_value(const struct am_lit_expr *e);
struct am_lit_type am_parse_promoted(struct am_lit_type type);
struct am_lit_type am_parse_common(struct am_lit_type a, struct am_lit_type b);
const struct am_lit_expr *am_parse_expression(struct am_parser *p); /* with commas; value */
struct am_operand am_parse_assignment(struct am_parser *p);
const struct am_lit_expr *am_parse_value(struct am_parser *p, const struct am_operand *operand);
struct am_lit_expr *am_parse_node(struct am_parser *p, enum am_lit_expr_kind kind,
				  struct am_lit_pos pos);
const struct am_lit_expr *am_parse_const(struct am_parser *p, struct am_lit_pos pos, uint64_t value,
					 struct am_lit_type type);
const struct am_lit_expr *am_parse_local(struct am_parser *p, struct am_lit_pos pos, uint32_t local);
const struct am_lit_expr *am_parse_convert(struct am_parser *p, const struct am_lit_expr *e,
					   struct am_lit_type type);
const struct am_lit_expr *am_parse_truth(struct am_parser *p, const struct am_lit_expr *e);
const struct am_lit_expr *am_parse_binary(struct am_parser *p, struct am_lit_pos pos,
					  const char *op, const struct am_lit_expr *a,
					  const struct am_lit_expr *b);
const struct am_lit_expr *am_parse_store(struct am_parser *p, struct am_lit_pos pos,
					 const struct am_lit_expr *address, struct am_lit_type type,
					 const struct am_lit_expr *value, enum am_lit_order order);
const struct am_lit_expr *am_parse_load(struct am_parser *p, struct am_lit_pos pos,
					const struct am_lit_expr *address, struct am_lit_type type,
					enum am_lit_order order);
const struct am_lit_expr *am_parse_set(struct am_parser *p, struct am_lit_pos pos, uint32_t local,
				       const struct am_lit_expr *value);
const struct am_lit_expr *am_parse_comma(struct am_parser *p, const struct am_lit_expr *a,
					 const struct am_lit_expr *b);
bool am_parse_find_local(const struct am_parser *p, const struct am_token *name, uint32_t *local);

/* parse_call.c: NULL if `name` is no known function. The next token is behind "(". */
const struct am_lit_expr *am_parse_call(struct am_parser *p, const struct am_token *name);

/* parse_cond.c */
void am_parse_final(struct am_parser *p);

#define AM_TYPE_INT ((struct am_lit_type){ .base = AM_LIT_INT, .bits = 32 })
#define AM_TYPE_LONG ((struct am_lit_type){ .base = AM_LIT_INT, .bits = 64 })
#define AM_TYPE_VOID ((struct am_lit_type){ .base = AM_LIT_VOID, .bits = 32 })

#endif
