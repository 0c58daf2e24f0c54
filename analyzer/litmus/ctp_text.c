/* Events of a translated program in words. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/predict/validate.h"
#include "to_ctp.h"

static void place_text(const struct am_lit *lit, const struct am_lit_ctp *lc, uint32_t id,
		       const struct am_validation *v, char *text, size_t size)
{
	const struct am_ctp_event *e = &lc->ctp->events[id];
	uint32_t cell = lc->events[id].cell;

	if (e->object < lc->ctp->object_count && e->object != lc->memory)
		cell = lc->object_cell[e->object];
	else if (v && am_ctp_is_access(e) && v->state[id] == 1)
		cell = (uint32_t)(v->where[id] / AM_LIT_CELL_BYTES);
	if (cell < lit->n_cells)
		am_lit_cell_name(lit, cell, text, size);
	else
		snprintf(text, size, "memory");
}

void am_lit_ctp_event_text(const struct am_lit *lit, const struct am_lit_ctp *lc, uint32_t id,
			   const struct am_validation *v, char *text, size_t size)
{
	static const char *const verbs[] = { [AM_ACQUIRE] = "lock", [AM_RELEASE] = "unlock",
					     [AM_WAIT] = "wait", [AM_WAKE] = "wake",
					     [AM_SIGNAL] = "signal", [AM_BROADCAST] = "broadcast",
					     [AM_POST] = "post", [AM_TAKE] = "take",
					     [AM_ARRIVE] = "arrive", [AM_LEAVE] = "leave",
					     [AM_BEGIN] = "begin", [AM_END] = "end" };
	const struct am_ctp_event *e = &lc->ctp->events[id];
	const struct am_lit_event *note = &lc->events[id];
	char name[48], got[48] = "?", put[48] = "?";

	place_text(lit, lc, id, v, name, sizeof(name));
	if (v && v->state[id] == 1) {
		am_lit_value_text(lit, v->reads[id], note->type, got, sizeof(got));
		am_lit_value_text(lit, v->wrote[id], note->type, put, sizeof(put));
	} else {
		uint64_t value;
		if (e->value && am_ctp_is_const(lc->ctp, e->value, &value))
			am_lit_value_text(lit, value, note->type, put, sizeof(put));
	}
	switch (e->kind) {
	case AM_READ: snprintf(text, size, "read %s = %s", name, got); break;
	case AM_WRITE: snprintf(text, size, "write %s = %s", name, put); break;
	case AM_UPDATE: snprintf(text, size, "update %s: %s to %s", name, got, put); break;
	case AM_FORK:
	case AM_JOIN:
		snprintf(text, size, "%s P%u", e->kind == AM_FORK ? "fork" : "join",
			 e->object < lit->n_threads ? lit->threads[e->object].number : 0);
		break;
	case AM_ASSERT: snprintf(text, size, "assertion fails"); break;
	case AM_BRANCH: snprintf(text, size, "condition"); break;
	case AM_PIN: snprintf(text, size, "test"); break;
	case AM_FENCE: snprintf(text, size, "fence"); break;
	case AM_BEGIN:
	case AM_END:
		snprintf(text, size, "%s %s", verbs[e->kind], lc->ctp->regions[e->object].name);
		break;
	default:
		snprintf(text, size, "%s %s",
			 e->kind < sizeof(verbs) / sizeof(*verbs) && verbs[e->kind] ? verbs[e->kind] :
										      "event",
			 name);
	}
}
