/* Look-ups in the id tables. Runs anywhere; no state. */
/* SPDX-License-Identifier: MIT */
#include "atommon/tables.h"

const struct am_module *am_tables_module(const struct am_tables *t, uint64_t address)
{
	const struct am_module *gone = NULL;

	for (size_t i = t->n_modules; i-- > 0;) {
		const struct am_module *m = &t->module[i];
		if (address < m->start || address >= m->end)
			continue;
		if (!m->unloaded)
			return m;
		if (!gone)
			gone = m;
	}
	return gone;
}
