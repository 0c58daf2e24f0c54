/*
 * The functions a thread may call: the kernel's accesses, atomics and locks, C11's atomics, and our
 * additions. Names with regular endings (_relaxed, _acquire, _release, _explicit) are taken apart.
 */
/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <stdio.h>
#include <string.h>

enum { ARGS_MAX = 5 };

struct call {
	const struct am_token *name;
	char stem[48]; /* the name without its ending */
	enum am_lit_order order;
	bool is_explicit; /* _explicit: the last arguments are memory orders */
	unsigned n;
	struct am_operand arg[ARGS_MAX];
	bool is_local_address[ARGS_MAX]; /* &local: only compare-exchange takes it */
};

struct place {
	const struct am_lit_expr *address;
	struct am_lit_type type;
};

/* A pointer is the place it points to; a shared variable is its own place. */
static struct place place_of(struct am_parser *p, const struct call *call, unsigned i,
			     bool is_lvalue)
{
	const struct am_operand *arg = &call->arg[i];
	struct am_lit_type type = arg->type;

	if (i >= call->n)
		am_parse_fail(p, call->name->pos, "too few arguments");
	if (arg->place == AM_PLACE_MEMORY && (is_lvalue || !type.pointers))
		return (struct place){ arg->address, type };
	if (!type.pointers && !is_lvalue && arg->place == AM_PLACE_LOCAL)
		type.pointers = 1; /* a register that holds an address */
	if (!type.pointers || is_lvalue)
		am_parse_fail(p, arg->pos,
			      is_lvalue ? "expected a shared variable, as in '*x'" :
					  "expected a pointer to a shared variable");
	type.pointers--;
	struct am_lit_type pointer = type;
	pointer.pointers++;
	return (struct place){ am_parse_convert(p, am_parse_value(p, arg), pointer), type };
}

static struct place data_place(struct am_parser *p, const struct call *call, unsigned i,
			       bool is_lvalue)
{
	const struct place place = place_of(p, call, i, is_lvalue);

	if (place.type.base != AM_LIT_INT && !place.type.pointers)
		am_parse_fail(p, call->arg[i].pos, "this object is not a variable");
	return place;
}

static const struct am_lit_expr *value_of(struct am_parser *p, const struct call *call, unsigned i)
{
	if (i >= call->n)
		am_parse_fail(p, call->name->pos, "too few arguments");
	return am_parse_value(p, &call->arg[i]);
}

static void count(struct am_parser *p, const struct call *call, unsigned n)
{
	if (call->n != n)
		am_parse_fail(p, call->name->pos, "'%.*s' takes %u argument%s, not %u",
			      (int)call->name->len, call->name->text, n, n == 1 ? "" : "s", call->n);
}

static const struct am_lit_expr *sync_node(struct am_parser *p, const struct call *call,
					   enum am_lit_expr_kind kind, enum am_lit_base base)
{
	static const char *const wanted[] = { [AM_LIT_LOCK] = "a lock", [AM_LIT_SEM] = "a semaphore",
					      [AM_LIT_COND] = "a condition variable",
					      [AM_LIT_BARRIER] = "a barrier" };
	struct am_lit_expr *e = am_parse_node(p, kind, call->name->pos);
	const struct place place = place_of(p, call, 0, false);

	if (place.type.base != base || place.type.pointers)
		am_parse_fail(p, call->arg[0].pos, "expected %s", wanted[base]);
	e->a = place.address;
	if (kind >= AM_LIT_X_FENCE)
		e->type = AM_TYPE_VOID;
	return e;
}

static const struct am_lit_expr *nothing(struct am_parser *p, const struct call *call,
					 enum am_lit_expr_kind kind)
{
	struct am_lit_expr *e = am_parse_node(p, kind, call->name->pos);

	e->type = AM_TYPE_VOID;
	return e;
}

static const struct am_lit_expr *fence(struct am_parser *p, const struct call *call,
				       enum am_lit_fence kind)
{
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_FENCE, call->name->pos);

	e->order = (uint8_t)kind;
	e->type = AM_TYPE_VOID;
	return e;
}

static const struct am_lit_expr *rmw(struct am_parser *p, const struct call *call,
				     enum am_lit_rmw kind, struct place place,
				     const struct am_lit_expr *b, const struct am_lit_expr *c)
{
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_RMW, call->name->pos);

	e->rmw = (uint8_t)kind;
	e->order = (uint8_t)call->order;
	e->a = place.address;
	e->b = am_parse_convert(p, b, place.type);
	e->c = c ? am_parse_convert(p, c, place.type) : NULL;
	e->type = place.type;
	return e;
}

static bool is(const struct call *call, const char *stem)
{
	return !strcmp(call->stem, stem);
}

static const struct am_lit_expr *accesses(struct am_parser *p, const struct call *call)
{
	const struct am_lit_pos pos = call->name->pos;

	if (is(call, "READ_ONCE") || is(call, "ACCESS_ONCE") || is(call, "rcu_dereference") ||
	    is(call, "lockless_dereference")) {
		count(p, call, 1);
		const struct place place = data_place(p, call, 0, true);
		return am_parse_load(p, pos, place.address, place.type, AM_LIT_RELAXED);
	}
	if (is(call, "WRITE_ONCE") || is(call, "rcu_assign_pointer") || is(call, "smp_store_mb")) {
		count(p, call, 2);
		const struct place place = data_place(p, call, 0, true);
		const struct am_lit_expr *store = am_parse_store(
			p, pos, place.address, place.type, value_of(p, call, 1),
			is(call, "rcu_assign_pointer") ? AM_LIT_RELEASE : AM_LIT_RELAXED);
		return is(call, "smp_store_mb") ? am_parse_comma(p, store, fence(p, call, AM_LIT_MB)) :
						  store;
	}
	if (is(call, "smp_load") || is(call, "atomic_read") || is(call, "atomic_load")) {
		count(p, call, 1);
		const struct place place = data_place(p, call, 0, false);
		return am_parse_load(p, pos, place.address, place.type, call->order);
	}
	if (is(call, "smp_store") || is(call, "atomic_set") || is(call, "atomic_store") ||
	    is(call, "atomic_init")) {
		count(p, call, 2);
		const struct place place = data_place(p, call, 0, false);
		return am_parse_store(p, pos, place.address, place.type, value_of(p, call, 1),
				      call->order);
	}
	return NULL;
}

/* "add", "inc", ... behind atomic_ or atomic_fetch_. */
static bool arithmetic(const char *word, enum am_lit_rmw *kind, bool *is_step)
{
	static const struct {
		const char *name;
		enum am_lit_rmw kind;
		bool is_step;
	} words[] = { { "add", AM_LIT_ADD, false }, { "sub", AM_LIT_SUB, false },
		      { "and", AM_LIT_AND, false }, { "or", AM_LIT_OR, false },
		      { "xor", AM_LIT_XOR, false }, { "inc", AM_LIT_ADD, true },
		      { "dec", AM_LIT_SUB, true } };

	for (size_t i = 0; i < sizeof(words) / sizeof(*words); i++)
		if (!strcmp(word, words[i].name)) {
			*kind = words[i].kind;
			*is_step = words[i].is_step;
			return true;
		}
	return false;
}

/* The kernel writes atomic_add(i, v), C11 atomic_fetch_add(v, i): the pointer tells. */
static const struct am_lit_expr *step(struct am_parser *p, const struct call *call,
				      enum am_lit_rmw kind, bool is_step, bool gives_new)
{
	const struct am_lit_pos pos = call->name->pos;
	unsigned target = 0;

	count(p, call, is_step ? 1 : 2);
	if (!is_step && !call->arg[0].type.pointers &&
	    (call->arg[0].place != AM_PLACE_MEMORY || call->arg[1].type.pointers))
		target = 1;
	const struct place place = data_place(p, call, target, false);
	const struct am_lit_expr *by = is_step ? am_parse_const(p, pos, 1, AM_TYPE_INT) :
						 value_of(p, call, 1 - target);
	if (!gives_new)
		return rmw(p, call, kind, place, by, NULL);
	static const char *const ops[] = { [AM_LIT_ADD] = "+", [AM_LIT_SUB] = "-",
					   [AM_LIT_AND] = "&", [AM_LIT_OR] = "|",
					   [AM_LIT_XOR] = "^" };
	/* The operand once, also where it has effects. */
	const struct am_token unnamed = { .text = "", .pos = pos };
	const uint32_t temp = am_parse_new_local(p, &unnamed, place.type);
	const struct am_lit_expr *set = am_parse_set(p, pos, temp, by);
	const struct am_lit_expr *operand = am_parse_local(p, pos, temp);
	const struct am_lit_expr *old = rmw(p, call, kind, place, operand, NULL);
	return am_parse_comma(
		p, set,
		am_parse_convert(p, am_parse_binary(p, pos, ops[kind], old, operand), place.type));
}

/* expected: &local, or a pointer to a shared variable (a plain read, and a write on failure). */
static const struct am_lit_expr *compare_exchange(struct am_parser *p, const struct call *call)
{
	const struct am_lit_pos pos = call->name->pos;
	const struct am_token unnamed = { .text = "", .pos = pos };

	count(p, call, 3);
	const struct place place = data_place(p, call, 0, false);
	const uint32_t expected = am_parse_new_local(p, &unnamed, place.type);
	const uint32_t old = am_parse_new_local(p, &unnamed, place.type);
	const struct am_lit_expr *want = am_parse_local(p, pos, expected);
	const struct am_lit_expr *got = am_parse_local(p, pos, old);
	const struct am_lit_expr *initial, *give_back;
	if (call->is_local_address[1]) {
		initial = am_parse_local(p, pos, call->arg[1].local);
		give_back = am_parse_set(p, pos, call->arg[1].local, got);
	} else {
		const struct place other = data_place(p, call, 1, false);
		initial = am_parse_load(p, pos, other.address, other.type, AM_LIT_PLAIN);
		give_back = am_parse_store(p, pos, other.address, other.type, got, AM_LIT_PLAIN);
	}
	const struct am_lit_expr *before =
		am_parse_comma(p, am_parse_set(p, pos, expected, initial),
			       am_parse_set(p, pos, old,
					    rmw(p, call, AM_LIT_CMPXCHG, place, want,
						value_of(p, call, 2))));
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_SELECT, pos);
	e->a = am_parse_truth(p, am_parse_binary(p, pos, "==", got, want));
	e->b = am_parse_const(p, pos, 1, AM_TYPE_INT);
	e->c = am_parse_comma(p, give_back, am_parse_const(p, pos, 0, AM_TYPE_INT));
	return am_parse_comma(p, before, e);
}

static const struct am_lit_expr *updates(struct am_parser *p, const struct call *call)
{
	const struct am_lit_pos pos = call->name->pos;
	char word[sizeof(call->stem)];
	enum am_lit_rmw kind;
	bool is_step;

	if (is(call, "xchg") || is(call, "atomic_xchg") || is(call, "atomic_exchange")) {
		count(p, call, 2);
		return rmw(p, call, AM_LIT_XCHG, data_place(p, call, 0, false),
			   value_of(p, call, 1), NULL);
	}
	if (is(call, "cmpxchg") || is(call, "atomic_cmpxchg")) {
		count(p, call, 3);
		return rmw(p, call, AM_LIT_CMPXCHG, data_place(p, call, 0, false),
			   value_of(p, call, 1), value_of(p, call, 2));
	}
	if (is(call, "atomic_compare_exchange_strong") || is(call, "atomic_compare_exchange_weak") ||
	    is(call, "try_cmpxchg") || is(call, "atomic_try_cmpxchg"))
		return compare_exchange(p, call);
	if (is(call, "atomic_add_unless") || is(call, "atomic_inc_not_zero")) {
		const bool is_add = is(call, "atomic_add_unless");
		count(p, call, is_add ? 3 : 1);
		const struct am_lit_expr *zero = am_parse_const(p, pos, 0, AM_TYPE_INT);
		const struct am_lit_expr *unless = is_add ? value_of(p, call, 2) : zero;
		const struct am_lit_expr *old =
			rmw(p, call, AM_LIT_ADD_UNLESS, data_place(p, call, 0, false),
			    is_add ? value_of(p, call, 1) : am_parse_const(p, pos, 1, AM_TYPE_INT),
			    unless);
		if (unless->kind != AM_LIT_X_CONST && unless->kind != AM_LIT_X_LOCAL)
			am_parse_fail(p, unless->pos, "expected a constant or a local variable");
		return am_parse_binary(p, pos, "!=", old, unless);
	}
	if (strncmp(call->stem, "atomic_", 7))
		return NULL;
	strcpy(word, call->stem + 7);
	const bool is_fetch = !strncmp(word, "fetch_", 6);
	if (is_fetch)
		memmove(word, word + 6, strlen(word + 6) + 1);
	char *tail = strchr(word, '_');
	const char *ending = "";
	if (tail) {
		*tail = 0;
		ending = tail + 1;
	}
	if (!arithmetic(word, &kind, &is_step))
		return NULL;
	const struct am_lit_expr *zero = am_parse_const(p, pos, 0, AM_TYPE_INT);
	if (!*ending)
		return step(p, call, kind, is_step, false);
	if (!is_fetch && !strcmp(ending, "return"))
		return step(p, call, kind, is_step, true);
	if (!is_fetch && !strcmp(ending, "and_test"))
		return am_parse_binary(p, pos, "==", step(p, call, kind, is_step, true), zero);
	if (!is_fetch && !strcmp(ending, "negative"))
		return am_parse_binary(p, pos, "<", step(p, call, kind, is_step, true), zero);
	return NULL;
}

static bool is_one_of(const struct call *call, const char *const *names)
{
	for (; *names; names++)
		if (is(call, *names))
			return true;
	return false;
}

#define ANY(...) is_one_of(call, (const char *const[]){ __VA_ARGS__, NULL })

static const struct am_lit_expr *thread_call(struct am_parser *p, const struct call *call,
					     enum am_lit_expr_kind kind, uint32_t number)
{
	struct am_lit *lit = p->lit;
	uint32_t t = 0;

	while (t < lit->n_threads && lit->threads[t].number != number)
		t++;
	if (t == lit->n_threads) { /* defined further down: its place is kept */
		if (lit->n_threads == AM_LIT_THREADS_MAX)
			am_parse_fail(p, call->name->pos, "more than %d threads", AM_LIT_THREADS_MAX);
		lit->threads[lit->n_threads++] =
			(struct am_lit_thread){ .number = number, .n_locals = UINT32_MAX };
	}
	if (&lit->threads[t] == p->thread)
		am_parse_fail(p, call->name->pos, "a thread cannot fork or join itself");
	if (kind == AM_LIT_X_FORK)
		lit->threads[t].is_forked = true;
	struct am_lit_expr *e = am_parse_node(p, kind, call->name->pos);
	e->local = t;
	e->type = AM_TYPE_VOID;
	return e;
}

/* cond_wait(c, m); cond_wait(c) alone waits with a mutex of its own that nobody else has. */
static const struct am_lit_expr *wait_call(struct am_parser *p, const struct call *call)
{
	const struct am_lit_pos pos = call->name->pos;
	const struct am_lit_type lock = { .base = AM_LIT_LOCK, .bits = 64, .is_unsigned = true };
	struct am_lit_expr *e = am_parse_node(p, AM_LIT_X_WAIT, pos);

	*e = *sync_node(p, call, AM_LIT_X_WAIT, AM_LIT_COND);
	if (call->n != 1) {
		count(p, call, 2);
		const struct place mutex = place_of(p, call, 1, false);
		if (mutex.type.base != AM_LIT_LOCK || mutex.type.pointers)
			am_parse_fail(p, call->arg[1].pos, "expected a lock");
		e->b = mutex.address;
		return e;
	}
	char text[32];
	const int len = snprintf(text, sizeof(text), "P%u.mutex", p->thread->number);
	const struct am_token name = { .kind = AM_TOK_NAME, .pos = pos, .text = text,
				       .len = (size_t)len };
	uint32_t object;
	if (!am_parse_find_object(p, &name, &object))
		object = am_parse_object(p, &name, lock, 1, false);
	struct am_lit_type pointer = lock;
	pointer.pointers = 1;
	struct am_lit_expr *take = am_parse_node(p, AM_LIT_X_LOCK, pos);
	struct am_lit_expr *give = am_parse_node(p, AM_LIT_X_UNLOCK, pos);
	e->b = take->a = give->a =
		am_parse_const(p, pos, am_lit_address(p->lit->objects[object].cell), pointer);
	take->type = give->type = AM_TYPE_VOID;
	return am_parse_comma(p, am_parse_comma(p, take, e), give);
}

static const struct am_lit_expr *synchronisation(struct am_parser *p, const struct call *call)
{
	if (ANY("spin_lock", "raw_spin_lock", "mutex_lock", "pthread_mutex_lock", "lock")) {
		count(p, call, 1);
		return sync_node(p, call, AM_LIT_X_LOCK, AM_LIT_LOCK);
	}
	if (ANY("spin_unlock", "raw_spin_unlock", "mutex_unlock", "pthread_mutex_unlock", "unlock")) {
		count(p, call, 1);
		return sync_node(p, call, AM_LIT_X_UNLOCK, AM_LIT_LOCK);
	}
	if (ANY("spin_trylock", "mutex_trylock"))
		return sync_node(p, call, AM_LIT_X_TRYLOCK, AM_LIT_LOCK);
	if (ANY("spin_is_locked", "mutex_is_locked"))
		return sync_node(p, call, AM_LIT_X_ISLOCKED, AM_LIT_LOCK);
	if (ANY("sem_post", "up"))
		return sync_node(p, call, AM_LIT_X_POST, AM_LIT_SEM);
	if (ANY("sem_wait", "down"))
		return sync_node(p, call, AM_LIT_X_TAKE, AM_LIT_SEM);
	if (ANY("cond_signal", "pthread_cond_signal"))
		return sync_node(p, call, AM_LIT_X_SIGNAL, AM_LIT_COND);
	if (ANY("cond_broadcast", "pthread_cond_broadcast"))
		return sync_node(p, call, AM_LIT_X_BROADCAST, AM_LIT_COND);
	if (ANY("barrier_wait", "pthread_barrier_wait") || (is(call, "barrier") && call->n))
		return sync_node(p, call, AM_LIT_X_BARRIER, AM_LIT_BARRIER);
	if (ANY("cond_wait", "pthread_cond_wait"))
		return wait_call(p, call);
	return NULL;
}

static const struct am_lit_expr *others(struct am_parser *p, const struct call *call)
{
	if (ANY("smp_mb", "mb", "smp_mb__before_atomic", "smp_mb__after_atomic",
		"smp_mb__after_spinlock", "smp_mb__after_unlock_lock", "smp_mb__before_spinlock",
		"smp_memb", "smp_mb__after_srcu_read_unlock"))
		return fence(p, call, AM_LIT_MB);
	if (ANY("smp_rmb", "rmb"))
		return fence(p, call, AM_LIT_RMB);
	if (ANY("smp_wmb", "wmb"))
		return fence(p, call, AM_LIT_WMB);
	if (ANY("atomic_thread_fence")) {
		if (call->order == AM_LIT_RELAXED)
			return nothing(p, call, AM_LIT_X_NOTHING);
		return fence(p, call,
			     call->order == AM_LIT_ACQUIRE ? AM_LIT_RMB :
			     call->order == AM_LIT_RELEASE ? AM_LIT_WMB :
							     AM_LIT_MB);
	}
	if (ANY("barrier", "smp_read_barrier_depends", "cpu_relax", "kfree", "atomic_signal_fence"))
		return nothing(p, call, AM_LIT_X_NOTHING);
	if (ANY("rcu_read_lock", "rcu_read_unlock"))
		return nothing(p, call,
			       is(call, "rcu_read_lock") ? AM_LIT_X_RCU_LOCK : AM_LIT_X_RCU_UNLOCK);
	if (ANY("synchronize_rcu", "synchronize_rcu_expedited", "synchronize_sched")) {
		am_parse_unmodelled(p, call->name->pos, call->name);
		return nothing(p, call, AM_LIT_X_GRACE);
	}
	if (ANY("srcu_read_lock", "srcu_read_unlock", "synchronize_srcu", "srcu_down_read",
		"srcu_up_read", "spin_unlock_wait", "call_rcu")) {
		am_parse_unmodelled(p, call->name->pos, call->name);
		return am_parse_const(p, call->name->pos, 0, AM_TYPE_INT);
	}
	if (ANY("assert", "assume")) {
		count(p, call, 1);
		struct am_lit_expr *e =
			am_parse_node(p, is(call, "assert") ? AM_LIT_X_ASSERT : AM_LIT_X_ASSUME,
				      call->name->pos);
		e->a = am_parse_truth(p, value_of(p, call, 0));
		e->type = AM_TYPE_VOID;
		return e;
	}
	return NULL;
}

/* memory_order_X as an argument, C11 style. */
static bool memory_order(struct am_parser *p, enum am_lit_order *order)
{
	static const struct {
		const char *name;
		enum am_lit_order order;
	} orders[] = { { "memory_order_relaxed", AM_LIT_RELAXED },
		       { "memory_order_consume", AM_LIT_ACQUIRE },
		       { "memory_order_acquire", AM_LIT_ACQUIRE },
		       { "memory_order_release", AM_LIT_RELEASE },
		       { "memory_order_acq_rel", AM_LIT_FULL },
		       { "memory_order_seq_cst", AM_LIT_FULL } };

	for (size_t i = 0; i < sizeof(orders) / sizeof(*orders); i++)
		if (am_parse_accept(p, orders[i].name)) {
			*order = orders[i].order;
			return true;
		}
	return false;
}

/* &local as an argument: the address of a local variable means nothing to anybody else. */
static bool local_address(struct am_parser *p, struct am_operand *arg)
{
	if (!am_tok_is(&p->token, "&"))
		return false;
	const struct am_lexer saved = p->lexer;
	const struct am_token ampersand = p->token;
	uint32_t local;
	am_parse_take(p);
	if (p->token.kind == AM_TOK_NAME && am_parse_find_local(p, &p->token, &local)) {
		*arg = (struct am_operand){ .place = AM_PLACE_LOCAL, .local = local,
					    .type = p->thread->locals[local].type,
					    .pos = ampersand.pos };
		am_parse_take(p);
		if (am_tok_is(&p->token, ",") || am_tok_is(&p->token, ")"))
			return true;
	}
	p->lexer = saved;
	p->token = ampersand;
	return false;
}

static void arguments(struct am_parser *p, struct call *call)
{
	bool has_order = false;

	while (!am_tok_is(&p->token, ")")) {
		enum am_lit_order order;
		if (memory_order(p, &order)) {
			if (!has_order) /* compare-exchange: the order of success counts */
				call->order = order;
			has_order = true;
		} else {
			if (call->n == ARGS_MAX)
				am_parse_fail(p, p->token.pos, "too many arguments");
			call->is_local_address[call->n] = local_address(p, &call->arg[call->n]);
			if (!call->is_local_address[call->n])
				call->arg[call->n] = am_parse_assignment(p);
			call->n++;
		}
		if (!am_parse_accept(p, ","))
			break;
	}
	am_parse_expect(p, ")");
}

static bool cut(char *text, const char *ending)
{
	const size_t n = strlen(text), k = strlen(ending);

	if (n <= k || strcmp(text + n - k, ending))
		return false;
	text[n - k] = 0;
	return true;
}

/* Value-returning atomics are full unless they say otherwise; the others, and accesses, relaxed.
 * C11's without _explicit are sequentially consistent. */
static void take_apart(struct call *call)
{
	char *stem = call->stem;

	memcpy(stem, call->name->text, call->name->len);
	if (cut(stem, "_relaxed")) {
		call->order = AM_LIT_RELAXED;
	} else if (cut(stem, "_acquire")) {
		call->order = AM_LIT_ACQUIRE;
	} else if (cut(stem, "_release")) {
		call->order = AM_LIT_RELEASE;
	} else if (cut(stem, "_explicit")) {
		call->order = AM_LIT_FULL;
		call->is_explicit = true;
	} else {
		const bool is_relaxed = !strcmp(stem, "atomic_read") || !strcmp(stem, "atomic_set") ||
					!strcmp(stem, "atomic_add") || !strcmp(stem, "atomic_sub") ||
					!strcmp(stem, "atomic_inc") || !strcmp(stem, "atomic_dec") ||
					!strcmp(stem, "atomic_and") || !strcmp(stem, "atomic_or") ||
					!strcmp(stem, "atomic_xor") || !strcmp(stem, "atomic_init");
		call->order = is_relaxed ? AM_LIT_RELAXED : AM_LIT_FULL;
	}
	if (!strncmp(stem, "atomic64_", 9)) {
		memmove(stem + 6, stem + 8, strlen(stem + 8) + 1);
	} else if (!strncmp(stem, "atomic_long_", 12)) {
		memmove(stem + 6, stem + 11, strlen(stem + 11) + 1);
	} else if (!strncmp(stem, "__xchg", 6) || !strncmp(stem, "__cmpxchg", 9)) {
		memmove(stem, stem + 2, strlen(stem + 2) + 1);
	}
}

const struct am_lit_expr *am_parse_call(struct am_parser *p, const struct am_token *name)
{
	struct call call = { .name = name };

	if (name->len >= sizeof(call.stem))
		return NULL;
	take_apart(&call);
	if (is(&call, "fork") || is(&call, "join")) {
		const struct am_token target = p->token;
		uint64_t number = target.number;
		if (target.kind == AM_TOK_NAME && target.text[0] == 'P' && target.len < 6)
			for (size_t i = 1; i < target.len; i++)
				number = number * 10 + (uint64_t)(target.text[i] - '0');
		else if (target.kind != AM_TOK_NUMBER)
			am_parse_fail(p, target.pos, "expected a thread, as in 'P1'");
		am_parse_take(p);
		am_parse_expect(p, ")");
		return thread_call(p, &call, is(&call, "fork") ? AM_LIT_X_FORK : AM_LIT_X_JOIN,
				   (uint32_t)(number & 0xffff));
	}
	arguments(p, &call);
	const struct am_lit_expr *e = accesses(p, &call);
	if (!e)
		e = updates(p, &call);
	if (!e)
		e = synchronisation(p, &call);
	if (!e)
		e = others(p, &call);
	return e;
}
