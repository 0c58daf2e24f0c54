/* SPDX-License-Identifier: MIT */
/*
 * The litmus program as parsed: objects in shared memory, threads, statements, the final condition.
 *
 * Memory is an array of cells; a cell has the address am_lit_address(cell), an object is one cell or
 * (array) several in a row. Synchronisation objects are cells too: their address is their identity.
 * Names are resolved and C's integer conversions are explicit in the tree, so that everything behind
 * the parser only evaluates. Shared by the tool, the explicit engines and the translation to a
 * concurrent trace program; plain data, owned by struct am_lit, never changed after the parse.
 */
#ifndef ATOMMON_LITMUS_AST_H
#define ATOMMON_LITMUS_AST_H

#include "atommon/expr.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Hostile input stays small: everything that could grow has a ceiling. */
enum {
	AM_LIT_THREADS_MAX = 64,
	AM_LIT_CELLS_MAX = 1024,
	AM_LIT_LOCALS_MAX = 512,
	AM_LIT_SOURCE_MAX = 1 << 20,
	AM_LIT_NODES_MAX = 1 << 18,
	AM_LIT_DEPTH_MAX = 200,
};

enum am_lit_base {
	AM_LIT_INT,
	AM_LIT_VOID,
	AM_LIT_LOCK,
	AM_LIT_SEM,
	AM_LIT_COND,
	AM_LIT_BARRIER,
};

struct am_lit_type {
	uint8_t base;	 /* enum am_lit_base */
	uint8_t bits;	 /* of the integer at the end of the pointers */
	bool is_unsigned;
	uint8_t pointers; /* levels of indirection; an address has 64 bits */
};

struct am_lit_pos {
	uint32_t line, column; /* from 1 */
};

struct am_lit_object {
	const char *name;
	struct am_lit_type type;
	uint32_t cell, count;
	bool is_array;
	bool is_typed; /* declared, or named by a thread's parameter */
};

struct am_lit_cell {
	uint32_t object;
	uint64_t init;
	bool has_range; /* --model-check: declared values, inclusive */
	int64_t low, high;
};

struct am_lit_local {
	const char *name;
	struct am_lit_type type;
	bool is_implicit; /* a register used without a declaration, as herd allows */
	uint64_t init;
	bool has_range;
	int64_t low, high;
};

/* Memory order of an access: what it promises besides being done at once. */
enum am_lit_order {
	AM_LIT_PLAIN,	/* ordinary access: may race */
	AM_LIT_RELAXED, /* marked: READ_ONCE, WRITE_ONCE, memory_order_relaxed */
	AM_LIT_ACQUIRE,
	AM_LIT_RELEASE,
	AM_LIT_FULL, /* acquire and release and a full fence on both sides */
};

enum am_lit_fence { AM_LIT_MB, AM_LIT_RMB, AM_LIT_WMB };

enum am_lit_rmw {
	AM_LIT_XCHG,
	AM_LIT_ADD,
	AM_LIT_SUB,
	AM_LIT_AND,
	AM_LIT_OR,
	AM_LIT_XOR,
	AM_LIT_CMPXCHG,	   /* b: expected, c: new */
	AM_LIT_ADD_UNLESS, /* b: addend, c: the value at which nothing is added */
};

enum am_lit_expr_kind {
	AM_LIT_X_CONST,
	AM_LIT_X_LOCAL,
	AM_LIT_X_OP,	   /* op on a, b, c: SMT-LIB meaning, operand width in `bits` */
	AM_LIT_X_LOGAND,   /* short circuit, value 0 or 1 */
	AM_LIT_X_LOGOR,
	AM_LIT_X_SELECT,   /* a ? b : c, only the chosen side is evaluated */
	AM_LIT_X_COMMA,	   /* a, then b */
	AM_LIT_X_SET,	   /* local = a */
	AM_LIT_X_LOAD,	   /* from address a */
	AM_LIT_X_STORE,	   /* address a, value b; value is b */
	AM_LIT_X_RMW,	   /* address a; value: what was there before */
	AM_LIT_X_TRYLOCK,  /* address a; value: 1 taken, 0 not */
	AM_LIT_X_ISLOCKED, /* address a */
	/* below: no value */
	AM_LIT_X_FENCE,
	AM_LIT_X_LOCK,
	AM_LIT_X_UNLOCK,
	AM_LIT_X_POST,
	AM_LIT_X_TAKE,
	AM_LIT_X_WAIT, /* condition a, mutex b (may be NULL) */
	AM_LIT_X_SIGNAL,
	AM_LIT_X_BROADCAST,
	AM_LIT_X_BARRIER,
	AM_LIT_X_FORK, /* thread in `local` */
	AM_LIT_X_JOIN,
	AM_LIT_X_ASSERT,
	AM_LIT_X_ASSUME,
	AM_LIT_X_NOTHING,
	AM_LIT_X_GRACE, /* RCU grace period */
	AM_LIT_X_RCU_LOCK,
	AM_LIT_X_RCU_UNLOCK,
};

struct am_lit_expr {
	uint8_t kind;  /* enum am_lit_expr_kind */
	uint8_t op;    /* enum am_op */
	uint8_t bits;  /* operand width of op */
	uint8_t order; /* enum am_lit_order; fence: enum am_lit_fence */
	uint8_t rmw;   /* enum am_lit_rmw */
	struct am_lit_type type;
	struct am_lit_pos pos;
	uint64_t value;
	uint32_t local;
	const struct am_lit_expr *a, *b, *c;
};

enum am_lit_stmt_kind {
	AM_LIT_S_EXPR,
	AM_LIT_S_IF,
	AM_LIT_S_LOOP, /* while (expr) body; step. test_last: do body while (expr) */
	AM_LIT_S_BREAK,
	AM_LIT_S_CONTINUE,
	AM_LIT_S_RETURN,
	AM_LIT_S_ATOMIC, /* body is the block, name its name */
	AM_LIT_S_BLOCK,	 /* body in a row, nothing else */
};

struct am_lit_stmt {
	uint8_t kind;
	bool test_last;
	uint32_t id; /* loops and atomic blocks: number in the whole program */
	struct am_lit_pos pos;
	const char *name;
	const struct am_lit_expr *expr, *step; /* a loop without expr runs for ever */
	const struct am_lit_stmt *body, *other, *next;
};

struct am_lit_thread {
	uint32_t number; /* N of PN */
	bool is_forked;	 /* started by fork(), not by itself */
	uint32_t n_locals;
	struct am_lit_local *locals;
	const struct am_lit_stmt *body;
};

enum am_lit_quantifier { AM_LIT_NO_CONDITION, AM_LIT_EXISTS, AM_LIT_NEVER, AM_LIT_FORALL };

enum am_lit_prop_kind {
	AM_LIT_P_TRUE,
	AM_LIT_P_NOT,
	AM_LIT_P_AND,
	AM_LIT_P_OR,
	AM_LIT_P_COMPARE,
};

/* A place or a value of the final state. */
struct am_lit_term {
	enum { AM_LIT_T_CONST, AM_LIT_T_CELL, AM_LIT_T_LOCAL } kind;
	uint32_t thread, local, cell;
	uint64_t value;
	struct am_lit_type type;
};

struct am_lit_prop {
	uint8_t kind;
	uint8_t op; /* compare: AM_OP_EQ, NE, SLT, SLE, SGT, SGE on 64 bits */
	const struct am_lit_prop *a, *b;
	struct am_lit_term left, right;
};

struct am_lit {
	const char *file, *name;
	const char *source;
	size_t source_len;
	uint32_t n_objects, n_cells, n_threads, n_loops, n_blocks;
	struct am_lit_object *objects;
	struct am_lit_cell *cells;
	struct am_lit_thread *threads;
	enum am_lit_quantifier quantifier;
	const struct am_lit_prop *condition, *filter; /* NULL: none */
	uint32_t n_locations;
	struct am_lit_term *locations;
	const char *unmodelled; /* first construct that no engine models, or NULL */
	struct am_lit_pos unmodelled_pos;
	void *arena;
};

#define AM_LIT_ADDRESS_BASE UINT64_C(0x1000)
#define AM_LIT_CELL_BYTES 8

static inline uint64_t am_lit_address(uint32_t cell)
{
	return AM_LIT_ADDRESS_BASE + (uint64_t)cell * AM_LIT_CELL_BYTES;
}

/* The cell at an address, or n_cells if none is there. */
static inline uint32_t am_lit_cell_at(const struct am_lit *lit, uint64_t address)
{
	const uint64_t offset = address - AM_LIT_ADDRESS_BASE;

	if (address < AM_LIT_ADDRESS_BASE || offset % AM_LIT_CELL_BYTES ||
	    offset / AM_LIT_CELL_BYTES >= lit->n_cells)
		return lit->n_cells;
	return (uint32_t)(offset / AM_LIT_CELL_BYTES);
}

static inline unsigned am_lit_width(struct am_lit_type type)
{
	return type.pointers ? 64 : type.bits;
}

static inline uint64_t am_lit_mask(unsigned bits)
{
	return bits >= 64 ? UINT64_MAX : (UINT64_C(1) << bits) - 1;
}

/* A value of a type as 64 bits, sign or zero extended: what conditions compare and people read. */
static inline int64_t am_lit_extend(uint64_t value, struct am_lit_type type)
{
	const unsigned bits = am_lit_width(type);

	if (bits >= 64 || !bits) /* no width: not a number of the program */
		return (int64_t)value;
	value &= am_lit_mask(bits);
	if (!type.is_unsigned && (value >> (bits - 1)) & 1)
		value |= ~am_lit_mask(bits);
	return (int64_t)value;
}

struct am_lit_error {
	struct am_lit_pos pos;
	char message[200];
};

/* `source` is copied. NULL: *error says why. */
struct am_lit *am_lit_parse(const char *file, const char *source, size_t len,
			    struct am_lit_error *error);
void am_lit_free(struct am_lit *lit);

/* "file:line:column: error: message", the source line and a caret. Returns the length written. */
int am_lit_error_text(const char *file, const char *source, size_t len,
		      const struct am_lit_error *error, char *text, size_t size);

/* Names for people: "x", "a[2]"; "0:r1". */
void am_lit_cell_name(const struct am_lit *lit, uint32_t cell, char *text, size_t size);
/* A value for people: a number, or the name of the object whose address it is. */
void am_lit_value_text(const struct am_lit *lit, uint64_t value, struct am_lit_type type, char *text,
		       size_t size);

bool am_lit_prop_holds(const struct am_lit_prop *prop, const uint64_t *cells,
		       const uint64_t *const *locals);

#endif
