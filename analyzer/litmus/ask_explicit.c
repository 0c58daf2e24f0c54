/* Answers of the exhaustive engines, brought into the common form. */
/* SPDX-License-Identifier: MIT */
#include "ask_explicit.h"
#include "to_ctp.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void cell_text(const struct am_lit *lit, uint32_t cell, char *text, size_t size)
{
	if (cell < lit->n_cells)
		am_lit_cell_name(lit, cell, text, size);
	else
		snprintf(text, size, "?");
}

void am_lit_step_text(const struct am_lit *lit, const struct am_vm_step *s, char *text, size_t size)
{
	static const char *const verbs[] = { [AM_ACQUIRE] = "lock", [AM_RELEASE] = "unlock",
					     [AM_WAIT] = "wait", [AM_WAKE] = "wake",
					     [AM_SIGNAL] = "signal", [AM_BROADCAST] = "broadcast",
					     [AM_POST] = "post", [AM_TAKE] = "take",
					     [AM_ARRIVE] = "arrive", [AM_LEAVE] = "leave" };
	char name[48], got[48], put[48];
	const struct am_lit_type type =
		s->cell < lit->n_cells ? lit->objects[lit->cells[s->cell].object].type :
					 (struct am_lit_type){ .bits = 32 };

	cell_text(lit, s->cell, name, sizeof(name));
	am_lit_value_text(lit, s->got, type, got, sizeof(got));
	am_lit_value_text(lit, s->put, type, put, sizeof(put));
	switch (s->kind) {
	case AM_READ: snprintf(text, size, "read %s = %s", name, got); break;
	case AM_WRITE: snprintf(text, size, "write %s = %s", name, put); break;
	case AM_UPDATE: snprintf(text, size, "update %s: %s to %s", name, got, put); break;
	case AM_FORK:
	case AM_JOIN:
		snprintf(text, size, "%s P%u", s->kind == AM_FORK ? "fork" : "join",
			 lit->threads[s->other].number);
		break;
	case AM_NONE: snprintf(text, size, "looks at %s", name); break;
	default:
		snprintf(text, size, "%s %s", s->kind < sizeof(verbs) / sizeof(*verbs) ? verbs[s->kind] : "?", name);
	}
}

void am_lit_fill_run(const struct am_lit *lit, const struct am_code *code,
		     const struct am_explore_run *run, struct am_lit_verdict *verdict)
{
	for (uint32_t i = 0; i < run->n; i++) {
		const struct am_vm_step *s = &run->steps[i];
		struct am_lit_line *line = am_lit_verdict_line(verdict);
		line->thread = s->thread;
		/* without code, `insn` is the line itself */
		line->line = code ? code->threads[s->thread].insns[s->insn].pos.line : s->insn;
		for (uint32_t k = 0; k < run->finding.n; k++)
			line->is_mark |= run->finding.marks[k] == i;
		am_lit_step_text(lit, s, line->text, sizeof(line->text));
	}
}

/* A negative answer is one only if nothing was left out. */
enum am_lit_answer am_lit_absence(const struct am_lit *lit, const struct am_explored *found,
				  char *reason, size_t size)
{
	char name[48];

	if (found->out_of_budget) {
		snprintf(reason, size, "the budget ran out before all was explored");
	} else if (found->left_range) {
		if (found->range_cell < lit->n_cells)
			cell_text(lit, found->range_cell, name, sizeof(name));
		else
			snprintf(name, sizeof(name), "a local variable");
		snprintf(reason, size, "%s leaves its declared range (line %u)", name,
			 found->range_pos.line);
	} else if (found->hit_bound) {
		snprintf(reason, size, "the loop at line %u ran into the bound (--unroll)",
			 found->bound_pos.line);
	} else {
		return AM_LIT_CANNOT;
	}
	return AM_LIT_UNDECIDED;
}

static void final_of(const struct am_lit *lit, const struct am_vm *vm, const uint64_t *state,
		     struct am_lit_verdict *verdict)
{
	const uint64_t *locals[AM_LIT_THREADS_MAX];

	for (uint32_t t = 0; t < lit->n_threads; t++)
		locals[t] = am_vm_regs(vm, state, t);
	am_lit_final_text(lit, state, locals, verdict->final, sizeof(verdict->final));
}

void am_lit_fill_states(const struct am_lit *lit, const struct am_code *code,
			const struct am_lit_options *options, enum am_vm_model model,
			const struct am_explored *found, struct am_lit_report *report)
{
	const bool asks_outcome = options->properties & 1u << AM_LIT_PROP_OUTCOME;
	char reason[sizeof(((struct am_lit_verdict *)0)->reason)] = "";
	const enum am_lit_answer absent = am_lit_absence(lit, found, reason, sizeof(reason));
	struct am_lit_verdict *v;

	if (asks_outcome && lit->condition) {
		const bool is_forall = lit->quantifier == AM_LIT_FORALL;
		const bool can = is_forall ? found->can_fail : found->can_hold;
		const struct am_explore_run *run = is_forall ? &found->fails : &found->holds;
		v = am_lit_report_add(report, AM_LIT_PROP_OUTCOME, can ? AM_LIT_CAN : absent);
		v->work = found->states;
		if (can) {
			struct am_vm *vm = am_vm_new(code, model, 0);
			am_lit_fill_run(lit, code, run, v);
			final_of(lit, vm, run->state, v);
			am_vm_free(vm);
		} else {
			memcpy(v->reason, reason, sizeof(reason));
		}
	}
	if (options->properties & 1u << AM_LIT_PROP_ASSERT) {
		v = am_lit_report_add(report, AM_LIT_PROP_ASSERT,
				      found->has_failed ? AM_LIT_CAN : absent);
		v->work = found->states;
		if (found->has_failed) {
			am_lit_fill_run(lit, code, &found->failure, v);
			snprintf(v->reason, sizeof(v->reason), "%s in P%u, line %u",
				 found->is_fault ? "an address that is none of a variable" :
						   "the assertion",
				 lit->threads[found->failed_thread].number, found->failed_pos.line);
		} else {
			memcpy(v->reason, reason, sizeof(reason));
		}
	}
}

const enum am_hist_prop am_lit_history_of[] = { [AM_LIT_PROP_RACE] = AM_HIST_RACE,
						[AM_LIT_PROP_SERIAL] = AM_HIST_SERIAL,
						[AM_LIT_PROP_THREE] = AM_HIST_THREE,
						[AM_LIT_PROP_STRONG] = AM_HIST_STRONG,
						[AM_LIT_PROP_WINDOW] = AM_HIST_WINDOW };

void am_lit_fill_runs(const struct am_lit *lit, const struct am_code *code,
		      const struct am_lit_options *options, const struct am_explored *found,
		      struct am_lit_report *report)
{
	char reason[sizeof(((struct am_lit_verdict *)0)->reason)] = "";
	const enum am_lit_answer absent = am_lit_absence(lit, found, reason, sizeof(reason));

	for (unsigned p = 0; p < AM_LIT_PROP_COUNT; p++) {
		if (!(options->properties & 1u << p) || p == AM_LIT_PROP_OUTCOME ||
		    p == AM_LIT_PROP_ASSERT)
			continue;
		const enum am_hist_prop h = am_lit_history_of[p];
		const uint32_t n = p == AM_LIT_PROP_RACE ? 1 : lit->n_blocks;
		for (uint32_t block = 0; block < n; block++) {
			const bool can = found->broken[h][block];
			struct am_lit_verdict *v = am_lit_report_add(
				report, (enum am_lit_property)p, can ? AM_LIT_CAN : absent);
			v->work = found->runs;
			if (p != AM_LIT_PROP_RACE)
				v->block = block;
			if (!can)
				memcpy(v->reason, reason, sizeof(reason));
			else
				am_lit_fill_run(lit, code, &found->witness[h][block], v);
		}
		if (!n)
			am_lit_report_add(report, (enum am_lit_property)p, AM_LIT_CANNOT);
	}
}

/* pso keeps the order of writes whose places may be the same (doc/litmus.md): where addresses are
 * computed, that is a matter of the translated program, not of the values of a run. */
static bool has_computed_address(const struct am_lit *lit, uint32_t unroll)
{
	const struct am_lit_ctp_options how = { .unroll = unroll };
	struct am_lit_ctp *lc = am_lit_to_ctp(lit, &how);
	const bool is_merged = !lc->unsupported && lc->memory != AM_CTP_NONE;

	am_lit_ctp_free(lc);
	return is_merged;
}

void am_lit_ask_explicit(const struct am_lit *lit, const struct am_lit_options *options,
			 struct am_lit_report *report)
{
	struct am_explore_options how = { .unroll = options->unroll,
					  .budget = options->budget ? options->budget : 20000000,
					  .max_states = options->budget ? options->budget : 2000000 };
	const uint32_t of_states = 1u << AM_LIT_PROP_OUTCOME | 1u << AM_LIT_PROP_ASSERT;
	struct am_explored found;

	if (options->model == AM_MODEL_COHERENCE ||
	    (options->model == AM_MODEL_PSO && has_computed_address(lit, options->unroll))) {
		am_lit_ask_orders(lit, options, report);
		return;
	}
	struct am_code *code = am_code_new(lit);
	if (!code)
		abort();
	how.model = options->model == AM_MODEL_SC  ? AM_VM_SC :
		    options->model == AM_MODEL_TSO ? AM_VM_TSO :
						     AM_VM_PSO;
	if (options->properties & of_states) {
		am_explored_init(&found, lit);
		am_explore_states(code, &how, &found);
		am_lit_fill_states(lit, code, options, how.model, &found, report);
		am_explored_clear(&found);
	}
	if (options->properties & ~of_states) {
		am_explored_init(&found, lit);
		for (unsigned p = 0; p < AM_LIT_PROP_COUNT; p++)
			if ((options->properties & ~of_states) & 1u << p)
				how.want[am_lit_history_of[p]] = true;
		am_explore_runs(code, &how, &found);
		am_lit_fill_runs(lit, code, options, &found, report);
		am_explored_clear(&found);
	}
	am_code_free(code);
}
