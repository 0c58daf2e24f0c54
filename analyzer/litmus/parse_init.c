/* Types, objects, and the init block of a litmus file. */
/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <string.h>

struct type_name {
	const char *name;
	struct am_lit_type type;
};

#define INT(b, u) { .base = AM_LIT_INT, .bits = b, .is_unsigned = u }
#define SYNC(what) { .base = what, .bits = 64, .is_unsigned = true }

static const struct type_name names[] = {
	{ "int", INT(32, false) },
	{ "void", { .base = AM_LIT_VOID, .bits = 32 } },
	{ "char", INT(8, false) },
	{ "short", INT(16, false) },
	{ "long", INT(64, false) },
	{ "bool", INT(1, true) },
	{ "_Bool", INT(1, true) },
	{ "int8_t", INT(8, false) },
	{ "int16_t", INT(16, false) },
	{ "int32_t", INT(32, false) },
	{ "int64_t", INT(64, false) },
	{ "uint8_t", INT(8, true) },
	{ "uint16_t", INT(16, true) },
	{ "uint32_t", INT(32, true) },
	{ "uint64_t", INT(64, true) },
	{ "s8", INT(8, false) },
	{ "s16", INT(16, false) },
	{ "s32", INT(32, false) },
	{ "s64", INT(64, false) },
	{ "u8", INT(8, true) },
	{ "u16", INT(16, true) },
	{ "u32", INT(32, true) },
	{ "u64", INT(64, true) },
	{ "intptr_t", INT(64, false) },
	{ "uintptr_t", INT(64, true) },
	{ "size_t", INT(64, true) },
	{ "atomic_t", INT(32, false) },
	{ "atomic64_t", INT(64, false) },
	{ "atomic_long_t", INT(64, false) },
	{ "atomic_int", INT(32, false) },
	{ "atomic_uint", INT(32, true) },
	{ "atomic_long", INT(64, false) },
	{ "atomic_ulong", INT(64, true) },
	{ "atomic_bool", INT(1, true) },
	{ "spinlock_t", SYNC(AM_LIT_LOCK) },
	{ "raw_spinlock_t", SYNC(AM_LIT_LOCK) },
	{ "mutex_t", SYNC(AM_LIT_LOCK) },
	{ "pthread_mutex_t", SYNC(AM_LIT_LOCK) },
	{ "pthread_spinlock_t", SYNC(AM_LIT_LOCK) },
	{ "sem_t", SYNC(AM_LIT_SEM) },
	{ "cond_t", SYNC(AM_LIT_COND) },
	{ "pthread_cond_t", SYNC(AM_LIT_COND) },
	{ "barrier_t", SYNC(AM_LIT_BARRIER) },
	{ "pthread_barrier_t", SYNC(AM_LIT_BARRIER) },
};

static bool find_type(const struct am_token *token, struct am_lit_type *type)
{
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (am_tok_is(token, names[i].name)) {
			*type = names[i].type;
			return true;
		}
	return false;
}

static bool qualifier(struct am_parser *p)
{
	static const char *const words[] = { "const", "volatile", "static", "register", "_Atomic",
					     "__iomem", "restrict" };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (am_parse_accept(p, words[i]))
			return true;
	return false;
}

/* "struct mutex" is a lock; another structure is opaque: only its address can be used. */
static struct am_lit_type structure(struct am_parser *p)
{
	struct am_lit_type type = SYNC(AM_LIT_VOID);

	if (p->token.kind != AM_TOK_NAME)
		am_parse_fail(p, p->token.pos, "expected a structure's name");
	if (am_tok_is(&p->token, "mutex"))
		type.base = AM_LIT_LOCK;
	else if (am_tok_is(&p->token, "semaphore"))
		type.base = AM_LIT_SEM;
	am_parse_take(p);
	return type;
}

bool am_parse_type(struct am_parser *p, struct am_lit_type *type)
{
	bool has_type = false, has_sign = false, is_unsigned = false, is_long = false;

	*type = AM_TYPE_INT;
	for (;;) {
		struct am_lit_type found;
		if (qualifier(p)) {
			continue;
		} else if (am_tok_is(&p->token, "unsigned") || am_tok_is(&p->token, "signed")) {
			is_unsigned = am_tok_is(&p->token, "unsigned");
			has_sign = true;
		} else if (am_tok_is(&p->token, "long")) {
			is_long = true;
		} else if (!has_type && am_tok_is(&p->token, "struct")) {
			am_parse_take(p);
			*type = structure(p);
			has_type = true;
			continue;
		} else if (find_type(&p->token, &found) &&
			   (!has_type || am_tok_is(&p->token, "int"))) {
			if (!has_type)
				*type = found;
			has_type = true;
		} else {
			break;
		}
		am_parse_take(p);
	}
	if (is_long)
		type->bits = 64;
	if (has_sign)
		type->is_unsigned = is_unsigned;
	return has_type || has_sign || is_long;
}

void am_parse_stars(struct am_parser *p, struct am_lit_type *type)
{
	for (;;) {
		if (am_parse_accept(p, "*")) {
			if (++type->pointers > 8)
				am_parse_fail(p, p->token.pos, "too many levels of pointers");
		} else if (!qualifier(p)) {
			return;
		}
	}
}

int64_t am_parse_number(struct am_parser *p)
{
	const bool minus = am_parse_accept(p, "-");

	if (p->token.kind != AM_TOK_NUMBER)
		am_parse_fail(p, p->token.pos, "expected a number");
	const uint64_t value = p->token.number;
	am_parse_take(p);
	return (int64_t)(minus ? 0 - value : value);
}

/* "in [low, high]": the values that --model-check lets a variable have. */
bool am_parse_range(struct am_parser *p, int64_t *low, int64_t *high)
{
	const struct am_lit_pos pos = p->token.pos;

	if (!am_parse_accept(p, "in"))
		return false;
	am_parse_expect(p, "[");
	*low = am_parse_number(p);
	am_parse_expect(p, ",");
	*high = am_parse_number(p);
	am_parse_expect(p, "]");
	if (*low > *high)
		am_parse_fail(p, pos, "this range is empty");
	return true;
}

bool am_parse_find_object(const struct am_parser *p, const struct am_token *name, uint32_t *object)
{
	for (uint32_t i = 0; i < p->lit->n_objects; i++)
		if (strlen(p->lit->objects[i].name) == name->len &&
		    !memcmp(p->lit->objects[i].name, name->text, name->len)) {
			*object = i;
			return true;
		}
	return false;
}

uint32_t am_parse_object(struct am_parser *p, const struct am_token *name, struct am_lit_type type,
			 uint32_t count, bool is_array)
{
	struct am_lit *lit = p->lit;

	if (count == 0 || count > AM_LIT_CELLS_MAX - lit->n_cells)
		am_parse_fail(p, name->pos, "more than %d shared variables", AM_LIT_CELLS_MAX);
	if (type.base == AM_LIT_VOID && !type.pointers)
		type.bits = 64;
	lit->objects[lit->n_objects] =
		(struct am_lit_object){ .name = am_parse_string(p, name->text, name->len),
					.type = type,
					.cell = lit->n_cells,
					.count = count,
					.is_array = is_array };
	for (uint32_t i = 0; i < count; i++)
		lit->cells[lit->n_cells++].object = lit->n_objects;
	return lit->n_objects++;
}

static struct am_token name_token(struct am_parser *p, const char *what)
{
	const struct am_token name = p->token;

	if (name.kind != AM_TOK_NAME)
		am_parse_fail(p, name.pos, "expected %s", what);
	am_parse_take(p);
	return name;
}

static uint32_t array_size(struct am_parser *p, bool *is_array)
{
	*is_array = false;
	if (!am_parse_accept(p, "["))
		return 1;
	const struct am_lit_pos pos = p->token.pos;
	const int64_t count = am_parse_number(p);
	if (count < 1 || count > AM_LIT_CELLS_MAX)
		am_parse_fail(p, pos, "an array has 1 to %d elements", AM_LIT_CELLS_MAX);
	am_parse_expect(p, "]");
	*is_array = true;
	return (uint32_t)count;
}

/* One initial value: number, name or &name (an address), ATOMIC_INIT(n), NULL. */
static void init_value(struct am_parser *p, struct am_pending *pending)
{
	const bool is_wrapped = am_tok_is(&p->token, "(") || am_tok_is(&p->token, "ATOMIC_INIT") ||
				am_tok_is(&p->token, "ATOMIC_VAR_INIT");

	if (is_wrapped) {
		if (p->token.kind == AM_TOK_NAME)
			am_parse_take(p);
		am_parse_expect(p, "(");
		am_parse_deeper(p, p->token.pos);
		init_value(p, pending);
		p->depth--;
		am_parse_expect(p, ")");
	} else if (am_parse_accept(p, "NULL")) {
		pending->value = 0;
	} else if (am_tok_is(&p->token, "&") || p->token.kind == AM_TOK_NAME) {
		am_parse_accept(p, "&");
		pending->is_address = true;
		pending->target = name_token(p, "a variable's name");
		if (am_parse_accept(p, "[")) {
			pending->index = (uint64_t)am_parse_number(p);
			am_parse_expect(p, "]");
		}
	} else {
		pending->value = (uint64_t)am_parse_number(p);
	}
}

static struct am_pending *new_pending(struct am_parser *p, uint32_t cell, uint32_t thread)
{
	struct am_pending *pending = am_parse_alloc(p, sizeof(*pending));

	pending->cell = cell;
	pending->thread = thread;
	pending->next = p->pending;
	p->pending = pending;
	return pending;
}

static void object_init(struct am_parser *p, uint32_t object)
{
	const struct am_lit_object *o = &p->lit->objects[object];

	if (am_parse_accept(p, "=")) {
		const struct am_lit_pos pos = p->token.pos;
		if (am_parse_accept(p, "{")) {
			for (uint32_t i = 0; !am_tok_is(&p->token, "}"); i++) {
				if (i >= o->count)
					am_parse_fail(p, pos, "more values than elements");
				init_value(p, new_pending(p, o->cell + i, UINT32_MAX));
				if (!am_parse_accept(p, ",") && !am_parse_accept(p, ";"))
					break;
			}
			am_parse_expect(p, "}");
		} else {
			init_value(p, new_pending(p, o->cell, UINT32_MAX));
		}
	}
	int64_t low, high;
	if (am_parse_range(p, &low, &high))
		for (uint32_t i = 0; i < o->count; i++) {
			struct am_lit_cell *cell = &p->lit->cells[o->cell + i];
			cell->has_range = true;
			cell->low = low;
			cell->high = high;
		}
}

static void register_init(struct am_parser *p, bool has_type, struct am_lit_type type)
{
	const struct am_token number = p->token;

	am_parse_take(p);
	am_parse_expect(p, ":");
	if (!has_type && am_parse_type(p, &type)) {
		am_parse_stars(p, &type);
		has_type = true;
	}
	const struct am_token reg = name_token(p, "a register's name");
	struct am_pending *pending = new_pending(p, 0, (uint32_t)(number.number & 0xffff));
	pending->reg = reg;
	pending->has_type = has_type;
	pending->type = type;
	if (am_parse_accept(p, "="))
		init_value(p, pending);
}

static void declarator(struct am_parser *p, bool has_type, struct am_lit_type type)
{
	uint32_t object;
	bool is_array;

	am_parse_stars(p, &type);
	if (p->token.kind == AM_TOK_NUMBER) {
		register_init(p, has_type, type);
		return;
	}
	const bool is_bracketed = am_parse_accept(p, "[");
	const struct am_token name = name_token(p, "a variable's name");
	if (is_bracketed)
		am_parse_expect(p, "]");
	const uint32_t count = array_size(p, &is_array);
	if (!am_parse_find_object(p, &name, &object))
		object = am_parse_object(p, &name, type, count, is_array);
	else if (has_type)
		am_parse_fail(p, name.pos, "'%.*s' is declared twice", (int)name.len, name.text);
	p->lit->objects[object].is_typed |= has_type || is_array;
	object_init(p, object);
}

void am_parse_init(struct am_parser *p)
{
	am_parse_expect(p, "{");
	while (!am_tok_is(&p->token, "}")) {
		struct am_lit_type type;
		if (am_parse_accept(p, ";"))
			continue;
		const bool has_type = am_parse_type(p, &type);
		do
			declarator(p, has_type, type);
		while (am_parse_accept(p, ","));
		if (!am_tok_is(&p->token, "}"))
			am_parse_expect(p, ";");
	}
	am_parse_expect(p, "}");
}

static uint64_t pending_value(struct am_parser *p, struct am_pending *pending)
{
	uint32_t object;

	if (!pending->is_address)
		return pending->value;
	if (!am_parse_find_object(p, &pending->target, &object))
		object = am_parse_object(p, &pending->target, AM_TYPE_INT, 1, false);
	if (pending->index >= p->lit->objects[object].count)
		am_parse_fail(p, pending->target.pos, "this element is not in the array");
	return am_lit_address(p->lit->objects[object].cell + (uint32_t)pending->index);
}

static void settle_register(struct am_parser *p, struct am_pending *pending, uint64_t value)
{
	for (uint32_t t = 0; t < p->lit->n_threads; t++) {
		struct am_lit_thread *thread = &p->lit->threads[t];
		if (thread->number != pending->thread)
			continue;
		for (uint32_t i = 0; i < thread->n_locals; i++) {
			struct am_lit_local *local = &thread->locals[i];
			if (strlen(local->name) == pending->reg.len &&
			    !memcmp(local->name, pending->reg.text, pending->reg.len)) {
				local->init = value & am_lit_mask(am_lit_width(local->type));
				return;
			}
		}
		/* A register that the thread never names keeps its value to the end. */
		p->thread = thread;
		const uint32_t local = am_parse_new_local(
			p, &pending->reg, pending->has_type ? pending->type : AM_TYPE_INT);
		thread->locals[local].init =
			value & am_lit_mask(am_lit_width(thread->locals[local].type));
		return;
	}
	am_parse_fail(p, pending->reg.pos, "there is no thread P%u", pending->thread);
}

/* All objects are known: addresses get their values. An untyped variable that holds an address is
 * a pointer. The list is newest first; the first value given for a place wins nothing: the last. */
void am_parse_settle(struct am_parser *p)
{
	struct am_pending *oldest = NULL;

	for (struct am_pending *next; p->pending; p->pending = next) {
		next = p->pending->next;
		p->pending->next = oldest;
		oldest = p->pending;
	}
	for (struct am_pending *pending = oldest; pending; pending = pending->next) {
		const uint64_t value = pending_value(p, pending);
		if (pending->thread != UINT32_MAX) {
			settle_register(p, pending, value);
			continue;
		}
		struct am_lit_object *object = &p->lit->objects[p->lit->cells[pending->cell].object];
		if (pending->is_address && !object->is_typed && !object->type.pointers)
			object->type = (struct am_lit_type){ .base = AM_LIT_INT, .bits = 32,
							     .pointers = 1 };
		p->lit->cells[pending->cell].init = value & am_lit_mask(am_lit_width(object->type));
	}
	for (uint32_t i = 0; i < p->lit->n_cells; i++) {
		const struct am_lit_cell *cell = &p->lit->cells[i];
		const struct am_lit_object *object = &p->lit->objects[cell->object];
		const int64_t value = am_lit_extend(cell->init, object->type);
		if (cell->has_range && (value < cell->low || value > cell->high))
			am_parse_fail(p, p->token.pos, "the initial value of '%s' is out of its range",
				      object->name);
	}
}
