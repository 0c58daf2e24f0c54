/* States and their steps; see vm.h. No I/O, no globals. */
/* SPDX-License-Identifier: MIT */
#include "vm_priv.h"

#include <assert.h>
#include <string.h>

static void left_range(struct am_vm *m, uint32_t cell, struct am_lit_pos pos)
{
	if (m->has_left_range)
		return;
	m->has_left_range = true;
	m->range_cell = cell;
	m->range_pos = pos;
}

static void set_reg(struct am_vm *m, uint64_t *state, uint32_t t, const struct am_insn *insn,
		    uint64_t value)
{
	const struct am_lit_thread *thread = &m->lit->threads[t];

	core(m, state, t)[REGS + insn->dst] = value;
	if (insn->dst >= thread->n_locals || !thread->locals[insn->dst].has_range)
		return;
	const struct am_lit_local *local = &thread->locals[insn->dst];
	const int64_t v = am_lit_extend(value, local->type);
	if (v < local->low || v > local->high)
		left_range(m, m->lit->n_cells, insn->pos);
}

static void set_cell(struct am_vm *m, uint64_t *state, uint32_t cell, uint64_t value,
		     struct am_lit_pos pos)
{
	const struct am_lit_cell *c = &m->lit->cells[cell];

	state[cell] = value;
	if (!c->has_range)
		return;
	const int64_t v = am_lit_extend(value, m->lit->objects[c->object].type);
	if (v < c->low || v > c->high)
		left_range(m, cell, pos);
}

static void push_entry(struct am_vm *m, uint64_t *state, uint32_t t, uint64_t cell,
		       uint64_t value, uint32_t insn)
{
	uint64_t *th = core(m, state, t), *meta = state + m->meta_base[t];
	const uint64_t n = th[BUFFERED];

	assert(n < AM_BUFFER_MAX);
	th[BUFFER + n * E_WORDS + E_CELL] = cell;
	th[BUFFER + n * E_WORDS + E_VALUE] = value;
	th[BUFFER + n * E_WORDS + E_INSN] = insn;
	meta[M_ENTRY + 2 * n] = meta[M_PO];
	meta[M_ENTRY + 2 * n + 1] = meta[M_REGION] << 32 | th[BLOCK];
	th[BUFFERED]++;
}

static void drop_entry(struct am_vm *m, uint64_t *state, uint32_t t, uint32_t at)
{
	uint64_t *th = core(m, state, t), *meta = state + m->meta_base[t];
	const uint64_t rest = --th[BUFFERED] - at;
	uint64_t *entry = th + BUFFER + at * E_WORDS;

	memmove(entry, entry + E_WORDS, rest * E_WORDS * sizeof(*entry));
	memset(entry + rest * E_WORDS, 0, E_WORDS * sizeof(*entry));
	memmove(meta + M_ENTRY + 2 * at, meta + M_ENTRY + 2 * at + 2, rest * 2 * sizeof(*meta));
	/* A barrier with nothing before it has done its work. */
	while (th[BUFFERED] && (uint32_t)th[BUFFER + E_CELL] == MARKER)
		drop_entry(m, state, t, 0);
}

static uint64_t memory_or_buffer(const struct am_vm *m, const uint64_t *state, uint32_t t,
				 uint32_t cell)
{
	const uint64_t *th = core_c(m, state, t);

	for (uint64_t i = th[BUFFERED]; i-- > 0;)
		if ((uint32_t)th[BUFFER + i * E_WORDS + E_CELL] == cell)
			return th[BUFFER + i * E_WORDS + E_VALUE];
	return state[cell];
}

/* A store under tso, pso. False: the buffer is full. */
static bool buffer_store(struct am_vm *m, uint64_t *state, uint32_t t,
			 const struct am_insn *insn)
{
	uint64_t *th = core(m, state, t);
	const uint32_t cell = am_lit_cell_at(m->lit, th[REGS + insn->a]);

	if (th[BUFFERED] == AM_BUFFER_MAX) {
		m->has_overflowed = true;
		return false;
	}
	if (cell == m->lit->n_cells) {
		th[STATUS] = AM_THREAD_FAULT;
		return false;
	}
	state[m->meta_base[t] + M_PO]++;
	const bool is_release = insn->order == AM_LIT_RELEASE || insn->order == AM_LIT_FULL;
	push_entry(m, state, t, cell | (is_release ? IS_RELEASE : 0), th[REGS + insn->b],
		   (uint32_t)th[PC]);
	return true;
}

/* True: the fence is behind us. */
static bool fence(struct am_vm *m, uint64_t *state, uint32_t t, const struct am_insn *insn)
{
	uint64_t *th = core(m, state, t);

	if (m->model == AM_VM_SC || !th[BUFFERED] || insn->order == AM_LIT_RMB)
		return true;
	if (insn->order == AM_LIT_MB)
		return false;
	if (m->model == AM_VM_PSO) {
		if (th[BUFFERED] == AM_BUFFER_MAX) {
			m->has_overflowed = true;
			return false;
		}
		push_entry(m, state, t, MARKER, 0, (uint32_t)th[PC]);
	}
	return true;
}

/* One local instruction. False: the thread stands before a step, or has stopped. */
static bool local_step(struct am_vm *m, uint64_t *state, uint32_t t)
{
	uint64_t *th = core(m, state, t), *regs = th + REGS;
	const struct am_code_thread *code = &m->code->threads[t];
	const struct am_insn *insn = &code->insns[th[PC]];

	switch ((enum am_code_op)insn->code) {
	case AM_CODE_CONST: set_reg(m, state, t, insn, insn->imm); break;
	case AM_CODE_MOVE: set_reg(m, state, t, insn, regs[insn->a]); break;
	case AM_CODE_EVAL:
		regs[insn->dst] = am_op_eval(insn->op, insn->width, insn->bits, regs[insn->a],
					     regs[insn->b], regs[insn->c]);
		break;
	case AM_CODE_JUMP: th[PC] = insn->imm; return true;
	case AM_CODE_ZERO:
		if (!regs[insn->a]) {
			th[PC] = insn->imm;
			return true;
		}
		break;
	case AM_CODE_CLEAR:
		memset(regs + code->first_temp, 0,
		       (code->first_counter - code->first_temp) * sizeof(*regs));
		break;
	case AM_CODE_ENTER: regs[insn->dst] = 0; break;
	case AM_CODE_AGAIN:
		if (m->unroll && regs[insn->dst]++ >= m->unroll) {
			th[STATUS] = AM_THREAD_CUT;
			return false;
		}
		break;
	case AM_CODE_BEGIN:
		if (!th[DEPTH]++) {
			th[BLOCK] = insn->imm;
			state[m->meta_base[t] + M_REGION] = ++state[m->meta_base[t] + M_REGIONS];
		}
		break;
	case AM_CODE_END:
		if (!--th[DEPTH]) {
			th[BLOCK] = 0;
			state[m->meta_base[t] + M_REGION] = 0;
		}
		break;
	case AM_CODE_ASSERT:
	case AM_CODE_ASSUME:
		if (!regs[insn->a]) {
			th[STATUS] = insn->code == AM_CODE_ASSERT ? AM_THREAD_FAILED :
								    AM_THREAD_ASSUME;
			return false;
		}
		break;
	case AM_CODE_HALT:
		if (!th[BUFFERED])
			th[STATUS] = AM_THREAD_DONE;
		return false;
	case AM_CODE_STORE:
		if (m->model == AM_VM_SC || !buffer_store(m, state, t, insn))
			return false;
		break;
	case AM_CODE_FENCE:
		if (!fence(m, state, t, insn))
			return false;
		break;
	default: return false;
	}
	th[PC]++;
	return true;
}

/* Loops without a step in them and without a bound would never come back. */
enum { LOCAL_MAX = 100000 };

static void run_local(struct am_vm *m, uint64_t *state, uint32_t t)
{
	uint32_t n = 0;

	while (core(m, state, t)[STATUS] == AM_THREAD_READY && local_step(m, state, t))
		if (++n == LOCAL_MAX) {
			core(m, state, t)[STATUS] = AM_THREAD_CUT;
			m->has_overflowed = true;
		}
}

void am_vm_start(struct am_vm *m, uint64_t *state)
{
	memset(state, 0, m->words * sizeof(*state));
	for (uint32_t c = 0; c < m->lit->n_cells; c++) {
		const enum am_lit_base base = m->lit->objects[m->lit->cells[c].object].type.base;
		/* A lock begins free, a barrier with nobody: their init is not their state. */
		state[c] = base == AM_LIT_INT || base == AM_LIT_SEM || base == AM_LIT_VOID ?
				   m->lit->cells[c].init :
				   0;
	}
	for (uint32_t t = 0; t < m->lit->n_threads; t++) {
		const struct am_lit_thread *thread = &m->lit->threads[t];
		for (uint32_t i = 0; i < thread->n_locals; i++)
			core(m, state, t)[REGS + i] = thread->locals[i].init;
		core(m, state, t)[STATUS] = thread->is_forked ? AM_THREAD_UNBORN : AM_THREAD_READY;
	}
	for (uint32_t t = 0; t < m->lit->n_threads; t++)
		run_local(m, state, t);
}

static bool can_flush(const struct am_vm *m, const uint64_t *th, uint32_t at)
{
	const uint64_t cell = th[BUFFER + at * E_WORDS + E_CELL];

	if ((uint32_t)cell == MARKER || (at && (m->model == AM_VM_TSO || (cell & IS_RELEASE))))
		return false;
	for (uint32_t i = 0; i < at; i++) {
		const uint32_t other = (uint32_t)th[BUFFER + i * E_WORDS + E_CELL];
		if (other == MARKER || other == (uint32_t)cell)
			return false;
	}
	return true;
}

/* Is the thread's next step possible? Its buffer is known to be empty where that matters. */
static bool is_enabled(const struct am_vm *m, const uint64_t *state, uint32_t t,
		       const struct am_insn *insn)
{
	const uint64_t *th = core_c(m, state, t), *regs = th + REGS;
	const uint32_t cell = am_lit_cell_at(m->lit, regs[insn->a]);
	const bool needs_cell = insn->code != AM_CODE_FORK && insn->code != AM_CODE_JOIN;

	if (insn->code == AM_CODE_LOAD)
		return true;
	if (th[BUFFERED])
		return false;
	if (needs_cell && cell == m->lit->n_cells)
		return true; /* the step will find the fault */
	switch ((enum am_code_op)insn->code) {
	case AM_CODE_STORE: return m->model == AM_VM_SC;
	case AM_CODE_LOCK: return state[cell] == 0;
	case AM_CODE_UNLOCK: return state[cell] == t + 1;
	case AM_CODE_TAKE: return (int64_t)state[cell] > 0;
	case AM_CODE_WAIT: {
		const uint32_t mutex = am_lit_cell_at(m->lit, regs[insn->b]);
		return !insn->imm || (mutex < m->lit->n_cells && state[mutex] == t + 1);
	}
	case AM_CODE_WAKE:
		return th[NOTIFIED] &&
		       (!insn->imm || state[am_lit_cell_at(m->lit, regs[insn->b])] == 0);
	case AM_CODE_LEAVE: return th[NOTIFIED];
	case AM_CODE_JOIN: return core_c(m, state, (uint32_t)insn->imm)[STATUS] == AM_THREAD_DONE;
	case AM_CODE_RMW:
	case AM_CODE_TRYLOCK:
	case AM_CODE_ISLOCKED:
	case AM_CODE_POST:
	case AM_CODE_SIGNAL:
	case AM_CODE_BROADCAST:
	case AM_CODE_ARRIVE:
	case AM_CODE_FORK: return true;
	default: return false; /* a fence, or the end: only flushes help */
	}
}

static bool waits_for(const struct am_vm *m, const uint64_t *state, uint32_t t, uint32_t cell)
{
	const uint64_t *th = core_c(m, state, t);

	return th[STATUS] == AM_THREAD_READY && th[WAITS] == cell + 1 && !th[NOTIFIED];
}

uint32_t am_vm_moves(const struct am_vm *m, const uint64_t *state, struct am_vm_move *moves)
{
	uint32_t n = 0;

	for (uint32_t t = 0; t < m->lit->n_threads; t++) {
		const uint64_t *th = core_c(m, state, t);
		for (uint32_t i = 0; i < th[BUFFERED]; i++)
			if (can_flush(m, th, i))
				moves[n++] = (struct am_vm_move){ t, (int32_t)i, UINT32_MAX };
		if (th[STATUS] != AM_THREAD_READY)
			continue;
		const struct am_insn *insn = &m->code->threads[t].insns[th[PC]];
		if (!am_code_is_step(insn) || !is_enabled(m, state, t, insn))
			continue;
		const uint32_t first = n;
		if (insn->code == AM_CODE_SIGNAL)
			for (uint32_t w = 0; w < m->lit->n_threads; w++)
				if (waits_for(m, state, w, am_lit_cell_at(m->lit, th[REGS + insn->a])))
					moves[n++] = (struct am_vm_move){ t, -1, w };
		if (n == first)
			moves[n++] = (struct am_vm_move){ t, -1, UINT32_MAX };
	}
	return n;
}

static uint64_t rmw_result(const struct am_insn *insn, uint64_t old, uint64_t b, uint64_t c)
{
	const unsigned bits = am_lit_width(insn->type);

	switch ((enum am_lit_rmw)insn->op) {
	case AM_LIT_XCHG: return b;
	case AM_LIT_ADD: return (old + b) & am_lit_mask(bits);
	case AM_LIT_SUB: return (old - b) & am_lit_mask(bits);
	case AM_LIT_AND: return old & b;
	case AM_LIT_OR: return old | b;
	case AM_LIT_XOR: return old ^ b;
	case AM_LIT_CMPXCHG: return old == b ? c : old;
	case AM_LIT_ADD_UNLESS: return old == c ? old : (old + b) & am_lit_mask(bits);
	}
	return old;
}

static void flush(struct am_vm *m, uint64_t *state, uint32_t t, uint32_t at,
		  struct am_vm_step *step)
{
	const uint64_t *th = core(m, state, t), *meta = state + m->meta_base[t];
	const uint64_t *entry = th + BUFFER + at * E_WORDS;
	const uint32_t insn = (uint32_t)entry[E_INSN];

	step->kind = AM_WRITE;
	step->insn = insn;
	step->order = m->code->threads[t].insns[insn].order;
	step->cell = (uint32_t)entry[E_CELL];
	step->put = entry[E_VALUE];
	step->old = state[step->cell];
	step->po = (uint32_t)meta[M_ENTRY + 2 * at];
	step->region = (uint32_t)(meta[M_ENTRY + 2 * at + 1] >> 32);
	step->block = (uint32_t)meta[M_ENTRY + 2 * at + 1];
	const uint32_t cell = step->cell;
	const uint64_t value = step->put;
	drop_entry(m, state, t, at);
	set_cell(m, state, cell, value, m->code->threads[t].insns[insn].pos);
}

static void arrive(struct am_vm *m, uint64_t *state, uint32_t t, uint32_t cell)
{
	const uint64_t needed = m->lit->cells[cell].init;

	core(m, state, t)[WAITS] = cell + 1;
	core(m, state, t)[NOTIFIED] = 0;
	if (++state[cell] < (needed ? needed : 1))
		return;
	state[cell] = 0;
	for (uint32_t w = 0; w < m->lit->n_threads; w++)
		if (waits_for(m, state, w, cell))
			core(m, state, w)[NOTIFIED] = 1;
}

static void end_wait(uint64_t *th)
{
	th[WAITS] = 0;
	th[NOTIFIED] = 0;
}

/* The step itself; the thread's buffer is empty unless it is a load. */
static void execute(struct am_vm *m, uint64_t *state, const struct am_vm_move *move,
		    const struct am_insn *insn, struct am_vm_step *step)
{
	const uint32_t t = move->thread;
	uint64_t *th = core(m, state, t), *regs = th + REGS;
	const uint32_t cell = step->cell;

	switch ((enum am_code_op)insn->code) {
	case AM_CODE_LOAD:
		step->kind = AM_READ;
		step->got = memory_or_buffer(m, state, t, cell) & am_lit_mask(am_lit_width(insn->type));
		set_reg(m, state, t, insn, step->got);
		break;
	case AM_CODE_STORE:
		step->kind = AM_WRITE;
		step->put = regs[insn->b];
		step->old = state[cell];
		set_cell(m, state, cell, step->put, insn->pos);
		break;
	case AM_CODE_RMW:
		step->kind = AM_UPDATE;
		step->got = step->old = state[cell];
		step->put = rmw_result(insn, step->old, regs[insn->b], regs[insn->c]);
		set_cell(m, state, cell, step->put, insn->pos);
		set_reg(m, state, t, insn, step->got);
		break;
	case AM_CODE_LOCK:
		step->kind = AM_ACQUIRE;
		state[cell] = t + 1;
		break;
	case AM_CODE_UNLOCK:
		step->kind = AM_RELEASE;
		state[cell] = 0;
		break;
	case AM_CODE_TRYLOCK:
		regs[insn->dst] = state[cell] == 0;
		if (!state[cell]) {
			step->kind = AM_ACQUIRE;
			state[cell] = t + 1;
		}
		break;
	case AM_CODE_ISLOCKED: regs[insn->dst] = state[cell] != 0; break;
	case AM_CODE_POST:
		step->kind = AM_POST;
		state[cell]++;
		break;
	case AM_CODE_TAKE:
		step->kind = AM_TAKE;
		state[cell]--;
		break;
	case AM_CODE_WAIT:
		step->kind = AM_WAIT;
		th[WAITS] = cell + 1;
		th[NOTIFIED] = 0;
		if (insn->imm)
			state[step->mutex] = 0;
		break;
	case AM_CODE_WAKE:
		step->kind = AM_WAKE;
		end_wait(th);
		if (insn->imm)
			state[step->mutex] = t + 1;
		break;
	case AM_CODE_SIGNAL:
		step->kind = AM_SIGNAL;
		step->other = move->choice;
		if (move->choice != UINT32_MAX)
			core(m, state, move->choice)[NOTIFIED] = 1;
		break;
	case AM_CODE_BROADCAST:
		step->kind = AM_BROADCAST;
		for (uint32_t w = 0; w < m->lit->n_threads; w++)
			if (waits_for(m, state, w, cell))
				core(m, state, w)[NOTIFIED] = 1;
		break;
	case AM_CODE_ARRIVE:
		step->kind = AM_ARRIVE;
		arrive(m, state, t, cell);
		break;
	case AM_CODE_LEAVE:
		step->kind = AM_LEAVE;
		end_wait(th);
		break;
	case AM_CODE_FORK:
		step->kind = AM_FORK;
		step->other = (uint32_t)insn->imm;
		if (core(m, state, step->other)[STATUS] == AM_THREAD_UNBORN) {
			core(m, state, step->other)[STATUS] = AM_THREAD_READY;
			run_local(m, state, step->other);
		}
		break;
	case AM_CODE_JOIN:
		step->kind = AM_JOIN;
		step->other = (uint32_t)insn->imm;
		break;
	default: assert(!"not a step");
	}
}

void am_vm_apply(struct am_vm *m, uint64_t *state, const struct am_vm_move *move,
		      struct am_vm_step *step)
{
	const uint32_t t = move->thread;
	uint64_t *th = core(m, state, t);

	*step = (struct am_vm_step){ .thread = t, .other = UINT32_MAX, .cell = m->lit->n_cells,
				  .mutex = m->lit->n_cells };
	if (move->flush >= 0) {
		flush(m, state, t, (uint32_t)move->flush, step);
		run_local(m, state, t);
		return;
	}
	const struct am_insn *insn = &m->code->threads[t].insns[th[PC]];
	const bool is_thread_op = insn->code == AM_CODE_FORK || insn->code == AM_CODE_JOIN;
	step->insn = (uint32_t)th[PC];
	step->order = insn->order;
	step->po = (uint32_t)++state[m->meta_base[t] + M_PO];
	step->region = (uint32_t)state[m->meta_base[t] + M_REGION];
	step->block = (uint32_t)th[BLOCK];
	if (!is_thread_op)
		step->cell = am_lit_cell_at(m->lit, th[REGS + insn->a]);
	if (insn->code == AM_CODE_WAIT || insn->code == AM_CODE_WAKE)
		step->mutex = insn->imm ? am_lit_cell_at(m->lit, th[REGS + insn->b]) :
					  m->lit->n_cells;
	if (!is_thread_op && step->cell == m->lit->n_cells) {
		th[STATUS] = AM_THREAD_FAULT;
		return;
	}
	execute(m, state, move, insn, step);
	th[PC]++;
	run_local(m, state, t);
}
