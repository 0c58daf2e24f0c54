/*
 * Executes a witness; see validate.h. The meaning of events is that of ctp.h, written down here a
 * second time on purpose. Tool side; never prints.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/validate.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

struct note { /* a signal or broadcast that happened */
	uint32_t cond, time;
	bool is_broadcast, is_used;
};

struct lock {
	uint32_t owner; /* 1 + thread, 0 free */
	uint32_t readers;
};

struct check {
	const struct am_ctp *ctp;
	enum am_model model;
	struct am_validation *v;
	uint64_t *value; /* memo of nodes */
	bool *known;
	uint32_t *stack;
	uint8_t **memory; /* by object */
	struct lock *locks;
	uint32_t *shares; /* by object and thread */
	uint64_t *count;  /* semaphores, barrier arrivals */
	struct note *notes;
	uint32_t n_notes, time;
	uint32_t *next;	   /* by thread: first position that is neither executed nor skipped */
	uint32_t *waiting; /* by thread: time of its wait + 1, 0: does not wait */
	uint64_t *arrival; /* by thread: 1 + rank of its last arrival */
	uint32_t *stopped; /* by thread: 1 + position of an assertion that failed */
	bool *has_fork, *is_forked; /* by thread: some fork names it; one has happened */
	bool *in_run;	/* by event */
	bool *must_skip; /* by event: something that is kept behind it went first */
};

static void *zeroed(size_t n, size_t size)
{
	void *block = calloc(n ? n : 1, size);

	if (!block)
		abort();
	return block;
}

/* ---- values ---------------------------------------------------------------------------------- */

static bool leaf(struct check *c, const struct am_expr *e, uint64_t *value)
{
	const uint8_t state = c->v->state[e->value];

	*value = state == 1 ? c->v->reads[e->value] : 0;
	return state != 0;
}

/* False: a read that the node needs has not happened yet. Nodes come after their operands, so the
 * stack stays as deep as the expression. */
static bool eval(struct check *c, uint32_t node, uint64_t *value)
{
	const struct am_expr *nodes = c->ctp->nodes;
	uint32_t n = 0;

	c->stack[n++] = node;
	while (n) {
		const uint32_t at = c->stack[n - 1];
		const struct am_expr *e = &nodes[at];
		if (c->known[at]) {
			n--;
			continue;
		}
		if (e->op == AM_OP_CONST || e->op == AM_OP_READ) {
			if (e->op == AM_OP_CONST)
				c->value[at] = e->value;
			else if (!leaf(c, e, &c->value[at]))
				return false;
			c->known[at] = true;
			continue;
		}
		const unsigned arity = am_op_arity((enum am_op)e->op);
		const uint32_t operands[3] = { e->a, e->op == AM_OP_EXTRACT ? 0 : e->b, e->c };
		bool is_ready = true;
		for (unsigned i = 0; i < arity; i++)
			if (operands[i] && !c->known[operands[i]]) {
				assert(operands[i] < at);
				c->stack[n++] = operands[i];
				is_ready = false;
			}
		if (!is_ready)
			continue;
		/* concat takes the width of its second operand: see expr.h's evaluation */
		const uint32_t measured = e->op == AM_OP_CONCAT ? e->b : e->a;
		c->value[at] = am_op_eval((enum am_op)e->op, e->width, nodes[measured].width,
					  c->value[e->a],
					  e->op == AM_OP_EXTRACT ? e->b : c->value[e->b],
					  c->value[e->c]);
		c->known[at] = true;
	}
	*value = c->value[node];
	return true;
}

/* A guard or condition; 0 stands for true. */
static bool holds(struct check *c, uint32_t node, bool *is_known)
{
	uint64_t value = 1;

	*is_known = !node || eval(c, node, &value);
	return *is_known && value;
}

/* ---- the part of program order that the model keeps ------------------------------------------- */

enum { C11_ACQUIRE = 3, C11_RELEASE = 4, C11_ACQ_REL = 5, C11_SEQ_CST = 6 };

static bool is_transparent(const struct am_ctp_event *e)
{
	switch (e->kind) {
	case AM_READ:
	case AM_WRITE:
	case AM_UPDATE:
	case AM_BRANCH:
	case AM_ASSERT:
	case AM_FENCE:
	case AM_THREAD_BEGIN:
	case AM_THREAD_END:
	case AM_FORK:
	case AM_JOIN:
	case AM_ACQUIRE:
	case AM_RELEASE:
	case AM_WAIT:
	case AM_WAKE:
	case AM_SIGNAL:
	case AM_BROADCAST:
	case AM_POST:
	case AM_TAKE:
	case AM_ARRIVE:
	case AM_LEAVE:
	case AM_ONCE_BEGIN:
	case AM_ONCE_END: return false;
	default: return true;
	}
}

static bool is_full(const struct am_ctp_event *e)
{
	if (e->kind == AM_FENCE)
		return !e->order || e->order >= C11_ACQ_REL;
	return e->kind != AM_READ && e->kind != AM_WRITE && e->kind != AM_BRANCH &&
	       e->kind != AM_ASSERT;
}

static bool is_store(const struct am_ctp_event *e)
{
	return e->kind == AM_WRITE || e->kind == AM_UPDATE;
}

/* Could the bytes be the same? Constant places are compared, others may be anywhere in the object. */
static bool may_overlap(const struct check *c, const struct am_ctp_event *a,
			const struct am_ctp_event *b)
{
	uint64_t p = 0, q = 0;

	if (!am_ctp_is_access(a) || !am_ctp_is_access(b) || a->object != b->object)
		return false;
	if ((a->offset && !am_ctp_is_const(c->ctp, a->offset, &p)) ||
	    (b->offset && !am_ctp_is_const(c->ctp, b->offset, &q)))
		return true;
	return p < q + b->size && q < p + a->size;
}

static bool mentions(const struct am_ctp *ctp, uint32_t node, uint32_t event)
{
	if (!node)
		return false;
	const struct am_expr *e = &ctp->nodes[node];
	if (e->op == AM_OP_READ)
		return e->value == event;
	const unsigned arity = am_op_arity((enum am_op)e->op);
	return (arity > 0 && mentions(ctp, e->a, event)) ||
	       (arity > 1 && e->op != AM_OP_EXTRACT && mentions(ctp, e->b, event)) ||
	       (arity > 2 && mentions(ctp, e->c, event));
}

/* Must `a`, earlier in program order, be in memory before `b`? */
static bool is_kept(const struct check *c, uint32_t a_id, uint32_t b_id)
{
	const struct am_ctp_event *a = &c->ctp->events[a_id], *b = &c->ctp->events[b_id];
	const bool a_local = a->kind == AM_BRANCH || a->kind == AM_ASSERT;

	if (c->model == AM_MODEL_SC)
		return true;
	if (is_transparent(a) || is_transparent(b))
		return false;
	if (is_full(a) || is_full(b))
		return true;
	if (a->kind == AM_FENCE) /* half a fence: release holds back writes, acquire everything */
		return a->order == C11_RELEASE ? b->kind == AM_WRITE : a->order > 1;
	if (b->kind == AM_FENCE)
		return b->order == C11_RELEASE ||
		       (b->order > 1 && (a->kind == AM_READ || a_local));
	if (a->kind == AM_WRITE && a->order == C11_SEQ_CST)
		return true;
	if (b->kind == AM_WRITE && b->order >= C11_RELEASE)
		return true;
	if (c->model == AM_MODEL_COHERENCE)
		return a_local || (a->kind == AM_READ && a->order > 1) || may_overlap(c, a, b) ||
		       mentions(c->ctp, b->guard, a_id) || mentions(c->ctp, b->cond, a_id) ||
		       mentions(c->ctp, b->offset, a_id) || mentions(c->ctp, b->value, a_id);
	if (a->kind != AM_WRITE)
		return true;
	if (b->kind != AM_WRITE)
		return false;
	return c->model == AM_MODEL_TSO || may_overlap(c, a, b);
}

/* ---- progress of threads ----------------------------------------------------------------------- */

/* Skips what must be skipped before event `pos` of a thread. False: something there still has to
 * happen first. */
static bool pass_to(struct check *c, uint32_t thread, uint32_t pos)
{
	const struct am_ctp_thread *t = &c->ctp->threads[thread];
	const uint32_t target = pos < t->length ? t->events[pos] : AM_CTP_NONE;
	bool is_prefix = true;

	for (uint32_t i = c->next[thread]; i < pos; i++) {
		const uint32_t f = t->events[i];
		const struct am_ctp_event *e = &c->ctp->events[f];
		bool is_known;
		if (!c->v->state[f]) {
			if (!holds(c, e->guard, &is_known) && is_known)
				c->v->state[f] = 2;
			else if (c->model != AM_MODEL_SC && is_transparent(e))
				c->v->state[f] = 2; /* no effect, in no order with anything */
		}
		if (c->v->state[f]) {
			if (is_prefix)
				c->next[thread] = i + 1;
			continue;
		}
		is_prefix = false;
		if (target == AM_CTP_NONE)
			return false;
		if (!is_kept(c, f, target))
			continue;
		/* Order is demanded of events that happen. One whose guard nobody knows yet, and that
		 * this run leaves out, must turn out to be skipped. */
		if (c->model == AM_MODEL_SC || c->in_run[f] || holds(c, e->guard, &is_known))
			return false;
		c->must_skip[f] = true;
	}
	return true;
}

/* ---- memory ------------------------------------------------------------------------------------ */

static bool place(struct check *c, uint32_t id, uint64_t *at)
{
	const struct am_ctp_event *e = &c->ctp->events[id];
	const uint32_t size = c->ctp->objects[e->object].size;

	*at = 0;
	return (!e->offset || eval(c, e->offset, at)) && *at <= size && e->size <= size - *at;
}

/* Bytes of own writes that are still on their way to memory (tso, pso): latest in program order. */
static bool forward(struct check *c, uint32_t id, uint64_t at, uint64_t *value)
{
	const struct am_ctp_event *e = &c->ctp->events[id];
	const struct am_ctp_thread *t = &c->ctp->threads[e->thread];

	for (uint32_t k = 0; k < e->size; k++)
		for (uint32_t i = e->pos; i-- > 0;) {
			const uint32_t w = t->events[i];
			const struct am_ctp_event *s = &c->ctp->events[w];
			uint64_t from, put;
			bool is_known;
			if (!is_store(s) || s->object != e->object || c->v->state[w] == 2)
				continue;
			if (c->v->state[w] == 1)
				from = c->v->where[w];
			else if (!holds(c, s->guard, &is_known) || !place(c, w, &from))
				return false; /* its operands come before this read in every model */
			if (at + k < from || at + k >= from + s->size)
				continue;
			if (c->v->state[w] == 0) {
				if (!eval(c, s->value, &put))
					return false;
				c->v->forwarded[id] = true;
				*value &= ~(UINT64_C(0xff) << (8 * k));
				*value |= (put >> (8 * (at + k - from)) & 0xff) << (8 * k);
			}
			break; /* in memory already: memory has it or something newer */
		}
	return true;
}

static const char *access_memory(struct check *c, uint32_t id)
{
	const struct am_ctp_event *e = &c->ctp->events[id];
	uint8_t *memory = c->memory[e->object];
	uint64_t at, value = 0;

	if (!place(c, id, &at))
		return "an address is not known yet, or lies beyond its object";
	c->v->where[id] = at;
	for (uint32_t k = 0; k < e->size; k++)
		value |= (uint64_t)memory[at + k] << (8 * k);
	c->v->old[id] = value;
	if (e->kind == AM_READ && (c->model == AM_MODEL_TSO || c->model == AM_MODEL_PSO) &&
	    !forward(c, id, at, &value))
		return "a read depends on a write whose value is not known";
	if (e->kind != AM_WRITE) {
		bool is_known;
		c->v->reads[id] = value;
		c->v->state[id] = 1; /* its own value may be used from here on */
		if (!holds(c, e->cond, &is_known))
			return "the condition of an access does not hold";
	}
	if (e->kind == AM_READ)
		return NULL;
	if (!eval(c, e->value, &value))
		return "a written value is not known yet";
	c->v->wrote[id] = value;
	for (uint32_t k = 0; k < e->size; k++)
		memory[at + k] = (uint8_t)(value >> (8 * k));
	return NULL;
}

/* ---- synchronisation ---------------------------------------------------------------------------- */

static bool take_lock(struct check *c, uint32_t lock, uint32_t thread, bool is_shared)
{
	struct lock *l = &c->locks[lock];
	uint32_t *mine = &c->shares[lock * c->ctp->thread_count + thread];

	if (l->owner || (l->readers && !is_shared) || (is_shared && *mine))
		return false;
	if (is_shared) {
		l->readers++;
		++*mine;
	} else {
		l->owner = thread + 1;
	}
	return true;
}

static bool give_lock(struct check *c, uint32_t lock, uint32_t thread, bool is_shared)
{
	struct lock *l = &c->locks[lock];
	uint32_t *mine = &c->shares[lock * c->ctp->thread_count + thread];

	if (is_shared ? !*mine : l->owner != thread + 1)
		return false;
	if (is_shared) {
		l->readers--;
		--*mine;
	} else {
		l->owner = 0;
	}
	return true;
}

/* The oldest signal that may wake it: a younger one serves every wait that an older one serves. */
static bool use_note(struct check *c, const struct am_ctp_event *e)
{
	const uint32_t since = c->waiting[e->thread] - 1;
	struct note *oldest = NULL;

	for (uint32_t i = 0; i < c->n_notes; i++) {
		struct note *n = &c->notes[i];
		if (n->cond != e->object || n->time < since)
			continue;
		if (n->is_broadcast)
			return true;
		if (!n->is_used && !oldest)
			oldest = n;
	}
	if (oldest)
		oldest->is_used = true;
	return oldest != NULL;
}

static const char *synchronise(struct check *c, const struct am_ctp_event *e)
{
	const uint32_t t = e->thread;

	switch (e->kind) {
	case AM_ACQUIRE:
		return take_lock(c, e->object, t, e->mode == AM_SHARED) ? NULL : "the lock is held";
	case AM_RELEASE:
		return give_lock(c, e->object, t, e->mode == AM_SHARED) ? NULL :
									  "the lock is not held";
	case AM_WAIT:
		c->waiting[t] = c->time + 1;
		return give_lock(c, e->aux, t, false) ? NULL : "a wait without its mutex";
	case AM_WAKE: {
		const bool is_free = (e->flags & (AM_TIMED_OUT | AM_CANCELLED)) || c->ctp->spurious;
		if (!c->waiting[t] || (!is_free && !use_note(c, e)))
			return "nothing woke this thread";
		c->waiting[t] = 0;
		return take_lock(c, e->aux, t, false) ? NULL : "the mutex of a wake is held";
	}
	case AM_SIGNAL:
	case AM_BROADCAST:
		c->notes[c->n_notes++] =
			(struct note){ e->object, c->time, e->kind == AM_BROADCAST, false };
		return NULL;
	case AM_POST: c->count[e->object]++; return NULL;
	case AM_TAKE: return c->count[e->object] && c->count[e->object]-- ? NULL : "semaphore at zero";
	case AM_ARRIVE: c->arrival[t] = ++c->count[e->object]; return NULL;
	case AM_LEAVE: {
		const uint64_t size = c->ctp->objects[e->object].count;
		const uint64_t rank = c->arrival[t];
		c->arrival[t] = 0;
		return rank && c->count[e->object] >= (rank - 1) / size * size + size ?
			       NULL :
			       "the barrier is not full";
	}
	case AM_FORK: c->is_forked[e->object] = true; return NULL;
	case AM_JOIN:
		return pass_to(c, e->object, c->ctp->threads[e->object].length) &&
				       !c->stopped[e->object] ?
			       NULL :
			       "a joined thread has not ended";
	default: return NULL;
	}
}

/* ---- steps --------------------------------------------------------------------------------------- */

static const char *step(struct check *c, uint32_t id)
{
	if (id >= c->ctp->event_count)
		return "no such event";
	const struct am_ctp_event *e = &c->ctp->events[id];
	bool is_known;

	c->time++;
	if (c->v->state[id] && !(c->model != AM_MODEL_SC && is_transparent(e)))
		return "an event happens twice, or after it was skipped";
	if (c->stopped[e->thread] && e->pos >= c->stopped[e->thread])
		return "a thread goes on after a failed assertion";
	if (c->has_fork[e->thread] && !c->is_forked[e->thread])
		return "a thread runs before its fork";
	if (!pass_to(c, e->thread, e->pos))
		return "program order is not kept";
	for (uint32_t i = 0; i < c->ctp->order_count; i++)
		if (c->ctp->orders[i].after == id) {
			const struct am_ctp_event *b =
				&c->ctp->events[c->ctp->orders[i].before];
			pass_to(c, b->thread, b->pos + 1);
			if (!c->v->state[c->ctp->orders[i].before])
				return "an explicit order is not kept";
		}
	if (!holds(c, e->guard, &is_known))
		return "a guard does not hold";
	const char *wrong = NULL;
	if (am_ctp_is_access(e)) {
		wrong = access_memory(c, id);
	} else if (e->kind == AM_BRANCH) {
		wrong = holds(c, e->cond, &is_known) ? NULL : "a branch does not hold";
	} else if (e->kind == AM_ASSERT) {
		c->v->failed[id] = !holds(c, e->cond, &is_known);
		if (c->v->failed[id])
			c->stopped[e->thread] = e->pos + 1;
		wrong = is_known ? NULL : "an assertion is not known yet";
	} else {
		wrong = synchronise(c, e);
	}
	c->v->state[id] = 1;
	return wrong;
}

static void begin(struct check *c)
{
	const struct am_ctp *ctp = c->ctp;
	const uint32_t n = ctp->event_count, t = ctp->thread_count, o = ctp->object_count;

	c->value = zeroed(ctp->node_count, sizeof(*c->value));
	c->known = zeroed(ctp->node_count, sizeof(*c->known));
	/* each node on the stack may be pushed once per user */
	c->stack = zeroed((size_t)ctp->node_count * 3 + 1, sizeof(*c->stack));
	c->memory = zeroed(o, sizeof(*c->memory));
	c->locks = zeroed(o, sizeof(*c->locks));
	c->shares = zeroed((size_t)o * t, sizeof(*c->shares));
	c->count = zeroed(o, sizeof(*c->count));
	c->notes = zeroed(n, sizeof(*c->notes));
	c->next = zeroed(t, sizeof(*c->next));
	c->waiting = zeroed(t, sizeof(*c->waiting));
	c->arrival = zeroed(t, sizeof(*c->arrival));
	c->stopped = zeroed(t, sizeof(*c->stopped));
	c->has_fork = zeroed(t, sizeof(*c->has_fork));
	c->is_forked = zeroed(t, sizeof(*c->is_forked));
	c->in_run = zeroed(n, sizeof(*c->in_run));
	c->must_skip = zeroed(n, sizeof(*c->must_skip));
	for (uint32_t i = 0; i < o; i++) {
		const struct am_ctp_object *object = &ctp->objects[i];
		c->memory[i] = zeroed(object->size, 1);
		if (object->init && object->size)
			memcpy(c->memory[i], object->init, object->size);
		c->count[i] = object->class == AM_CTP_SEM ? object->count : 0;
	}
	for (uint32_t i = 0; i < n; i++)
		if (ctp->events[i].kind == AM_FORK)
			c->has_fork[ctp->events[i].object] = true;
}

static void end(struct check *c)
{
	for (uint32_t i = 0; i < c->ctp->object_count; i++)
		free(c->memory[i]);
	free(c->value);
	free(c->known);
	free(c->stack);
	free(c->memory);
	free(c->locks);
	free(c->shares);
	free(c->count);
	free(c->notes);
	free(c->next);
	free(c->waiting);
	free(c->arrival);
	free(c->stopped);
	free(c->has_fork);
	free(c->is_forked);
	free(c->in_run);
	free(c->must_skip);
}

static const char *all_skipped(struct check *c)
{
	for (uint32_t e = 0; e < c->ctp->event_count; e++) {
		bool is_known;
		if (c->must_skip[e] && (holds(c, c->ctp->events[e].guard, &is_known) || !is_known))
			return "program order is not kept";
	}
	return NULL;
}

static const char *is_complete(struct check *c)
{
	for (uint32_t t = 0; t < c->ctp->thread_count; t++)
		if (c->stopped[t] || !pass_to(c, t, c->ctp->threads[t].length))
			return "the run is not complete";
	return NULL;
}

bool am_validate(const struct am_ctp *ctp, enum am_model model, const struct am_query *query,
		 const struct am_answer *answer, struct am_validation *v)
{
	const uint32_t n = ctp->event_count;
	struct check c = { .ctp = ctp, .model = model, .v = v };

	*v = (struct am_validation){ .at = AM_CTP_NONE,
				     .reads = zeroed(n, sizeof(*v->reads)),
				     .old = zeroed(n, sizeof(*v->old)),
				     .wrote = zeroed(n, sizeof(*v->wrote)),
				     .where = zeroed(n, sizeof(*v->where)),
				     .state = zeroed(n, sizeof(*v->state)),
				     .failed = zeroed(n, sizeof(*v->failed)),
				     .forwarded = zeroed(n, sizeof(*v->forwarded)) };
	begin(&c);
	for (uint32_t i = 0; i < answer->length; i++)
		if (answer->run[i] < n)
			c.in_run[answer->run[i]] = true;
	for (uint32_t i = 0; i < answer->length && !v->wrong; i++) {
		v->wrong = step(&c, answer->run[i]);
		if (v->wrong)
			v->at = answer->run[i];
	}
	if (!v->wrong)
		v->wrong = all_skipped(&c);
	if (!v->wrong && query->complete)
		v->wrong = is_complete(&c);
	if (!v->wrong)
		v->wrong = am_validate_property(ctp, query, answer, v);
	end(&c);
	return !v->wrong;
}

void am_validation_clear(struct am_validation *v)
{
	free(v->reads);
	free(v->old);
	free(v->wrote);
	free(v->where);
	free(v->state);
	free(v->failed);
	free(v->forwarded);
	*v = (struct am_validation){ 0 };
}
