/* Layout of the machine's states, and questions to one. Pure, but for the machine's own memory. */
/* SPDX-License-Identifier: MIT */
#include "vm_priv.h"

#include <stdlib.h>

struct am_vm *am_vm_new(const struct am_code *code, enum am_vm_model model,
				  uint32_t unroll)
{
	const struct am_lit *lit = code->lit;
	struct am_vm *m = calloc(1, sizeof(*m));

	if (!m)
		abort();
	m->code = code;
	m->lit = lit;
	m->model = model;
	m->unroll = unroll;
	m->thread_base = calloc(2 * lit->n_threads, sizeof(*m->thread_base));
	if (!m->thread_base)
		abort();
	m->meta_base = m->thread_base + lit->n_threads;
	uint32_t words = lit->n_cells;
	for (uint32_t t = 0; t < lit->n_threads; t++) {
		m->thread_base[t] = words;
		words += REGS + code->threads[t].n_regs;
	}
	m->core_words = words;
	for (uint32_t t = 0; t < lit->n_threads; t++, words += M_WORDS)
		m->meta_base[t] = words;
	m->words = words;
	return m;
}

void am_vm_free(struct am_vm *m)
{
	if (!m)
		return;
	free(m->thread_base);
	free(m);
}

enum am_thread_status am_vm_status(const struct am_vm *m, const uint64_t *state, uint32_t t)
{
	return (enum am_thread_status)core_c(m, state, t)[STATUS];
}

uint32_t am_vm_pc(const struct am_vm *m, const uint64_t *state, uint32_t t)
{
	return (uint32_t)core_c(m, state, t)[PC];
}

uint32_t am_vm_depth(const struct am_vm *m, const uint64_t *state, uint32_t t,
			  uint32_t *block)
{
	*block = (uint32_t)core_c(m, state, t)[BLOCK];
	return (uint32_t)core_c(m, state, t)[DEPTH];
}

const uint64_t *am_vm_regs(const struct am_vm *m, const uint64_t *state, uint32_t t)
{
	return core_c(m, state, t) + REGS;
}

uint64_t am_vm_begun(const struct am_vm *m, const uint64_t *state, uint32_t t)
{
	return state[m->meta_base[t] + M_REGIONS];
}

bool am_vm_is_done(const struct am_vm *m, const uint64_t *state)
{
	for (uint32_t t = 0; t < m->lit->n_threads; t++)
		if (core_c(m, state, t)[STATUS] != AM_THREAD_DONE)
			return false;
	return true;
}

uint32_t am_vm_moves_max(const struct am_vm *m)
{
	return m->lit->n_threads * (AM_BUFFER_MAX + m->lit->n_threads + 1);
}
