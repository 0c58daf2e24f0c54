/*
 * SARIF 2.1.0 (OASIS), for code scanning services: one run; a result per violation with one
 * codeFlow, in it a threadFlow per thread, executionOrder = number of the step. The fingerprint is
 * the violation's id. A pure function over the violations; runs in tools.
 */
/* SPDX-License-Identifier: MIT */
#include <string.h>

#include "arena.h"
#include "jsonw.h"
#include "places.h"

enum { TEXT = 512 };

/* Between calls the writer stands inside runs[0].results. */
enum { DEPTH_RESULTS = 4 };

static struct am_jsonw resume(struct am_sarif *s)
{
	return (struct am_jsonw){.out = s->out, .depth = DEPTH_RESULTS,
				 .has_item = s->n ? 1u << DEPTH_RESULTS : 0};
}

static void message(struct am_jsonw *w, const char *key, const char *text)
{
	am_jsonw_open(w, key, '{');
	am_jsonw_text(w, "text", text);
	am_jsonw_close(w, '}');
}

static void rule(struct am_jsonw *w, const char *id, const char *name, const char *text)
{
	am_jsonw_open(w, NULL, '{');
	am_jsonw_text(w, "id", id);
	am_jsonw_text(w, "name", name);
	message(w, "shortDescription", text);
	am_jsonw_close(w, '}');
}

static const char *const rule_ids[] = {"observed", "predicted", "confirmed", "potential"};

void am_sarif_begin(struct am_sarif *s, struct am_out *out, const char *version)
{
	struct am_jsonw w;

	*s = (struct am_sarif){.out = out};
	am_jsonw_init(&w, out);
	am_jsonw_open(&w, NULL, '{');
	am_jsonw_text(&w, "$schema", "https://json.schemastore.org/sarif-2.1.0.json");
	am_jsonw_text(&w, "version", "2.1.0");
	am_jsonw_open(&w, "runs", '[');
	am_jsonw_open(&w, NULL, '{');
	am_jsonw_open(&w, "tool", '{');
	am_jsonw_open(&w, "driver", '{');
	am_jsonw_text(&w, "name", "atommon");
	am_jsonw_text(&w, "version", version);
	am_jsonw_open(&w, "rules", '[');
	rule(&w, rule_ids[0], "AtomicityViolationObserved", "A region was not serializable in this run.");
	rule(&w, rule_ids[1], "AtomicityViolationPredicted",
	     "A feasible other schedule of this run's events makes a region not serializable.");
	rule(&w, rule_ids[2], "AtomicityViolationConfirmed",
	     "A predicted atomicity violation was shown by a forced re-run.");
	rule(&w, rule_ids[3], "AtomicityViolationPotential",
	     "A schedule that respects synchronisation, but ignores data, breaks a region.");
	am_jsonw_close(&w, ']');
	am_jsonw_close(&w, '}');
	am_jsonw_close(&w, '}');
	am_jsonw_text(&w, "columnKind", "unicodeCodePoints");
	am_jsonw_open(&w, "results", '[');
}

/* Relative names stay relative; what a URI may not hold is escaped. */
static void uri(struct am_jsonw *w, const char *path)
{
	char buf[TEXT * 2];
	size_t n = 0;

	if (*path == '/') {
		memcpy(buf, "file://", 7);
		n = 7;
	}
	for (; *path && n + 4 < sizeof buf; path++) {
		const unsigned char c = (unsigned char)*path;
		const bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
				      (c >= '0' && c <= '9') || (c && strchr("-._~/+@", c));
		if (is_plain)
			buf[n++] = (char)c;
		else
			n += am_text_into(buf + n, sizeof buf - n, "%%%s%x", c < 16 ? "0" : "", (uint64_t)c);
	}
	buf[n] = 0;
	am_jsonw_text(w, "uri", buf);
}

/* The members of a location; the caller opens and closes it. */
static void location(struct am_jsonw *w, const struct am_place *place, const char *text)
{
	const struct am_vframe *f = am_place_frame(place);

	if (f && (*f->file || *f->module)) {
		am_jsonw_open(w, "physicalLocation", '{');
		am_jsonw_open(w, "artifactLocation", '{');
		uri(w, *f->file ? f->file : f->module);
		am_jsonw_close(w, '}');
		am_jsonw_open(w, "region", '{');
		if (*f->file && f->line)
			am_jsonw_number(w, "startLine", f->line);
		else
			am_jsonw_number(w, "byteOffset", f->offset);
		am_jsonw_close(w, '}');
		am_jsonw_close(w, '}');
	}
	if (f && *f->function) {
		am_jsonw_open(w, "logicalLocations", '[');
		am_jsonw_open(w, NULL, '{');
		am_jsonw_text(w, "name", f->function);
		am_jsonw_text(w, "kind", "function");
		am_jsonw_close(w, '}');
		am_jsonw_close(w, ']');
	}
	if (text)
		message(w, "message", text);
}

static void stack(struct am_jsonw *w, const struct am_place *place)
{
	am_jsonw_open(w, "stack", '{');
	am_jsonw_open(w, "frames", '[');
	for (uint32_t i = place->shown; i < place->n_frames; i++) {
		const struct am_place one = {.n_frames = 1, .frame = &place->frame[i]};
		am_jsonw_open(w, NULL, '{');
		am_jsonw_open(w, "location", '{');
		location(w, &one, NULL);
		am_jsonw_close(w, '}');
		am_jsonw_close(w, '}');
	}
	am_jsonw_close(w, ']');
	am_jsonw_close(w, '}');
}

static void step_text(const struct am_violation *v, const struct am_vstep *s, char *buf, size_t size)
{
	const bool has_object = s->object != AM_NO_OBJECT;

	am_text_into(buf, size, "T%u: %s %s", v->thread[s->thread].id, am_kind_name(s->kind),
		  has_object ? v->object[s->object].name : *s->region ? s->region : v->region);
}

static void thread_flow(struct am_jsonw *w, const struct am_violation *v, uint32_t thread)
{
	char text[TEXT];

	am_jsonw_open(w, NULL, '{');
	am_text_into(text, sizeof text, "T%u", v->thread[thread].id);
	am_jsonw_text(w, "id", text);
	if (*v->thread[thread].name)
		message(w, "message", v->thread[thread].name);
	am_jsonw_open(w, "locations", '[');
	for (uint32_t i = 0; i < v->n_steps; i++) {
		const struct am_vstep *s = &v->step[i];
		if (s->thread != thread)
			continue;
		am_jsonw_open(w, NULL, '{');
		am_jsonw_number(w, "executionOrder", s->number);
		am_jsonw_text(w, "importance", s->role == AM_ROLE_CYCLE ? "essential" : "important");
		am_jsonw_open(w, "location", '{');
		step_text(v, s, text, sizeof text);
		location(w, s->place, text);
		am_jsonw_close(w, '}');
		if (s->place->n_frames > s->place->shown + 1)
			stack(w, s->place);
		am_jsonw_close(w, '}');
	}
	am_jsonw_close(w, ']');
	am_jsonw_close(w, '}');
}

static bool has_step(const struct am_violation *v, uint32_t thread)
{
	for (uint32_t i = 0; i < v->n_steps; i++)
		if (v->step[i].thread == thread)
			return true;
	return false;
}

void am_sarif_violation(struct am_sarif *s, const struct am_violation *v)
{
	struct am_jsonw w = resume(s);
	char text[TEXT * 2];

	am_jsonw_open(&w, NULL, '{');
	am_jsonw_text(&w, "ruleId", rule_ids[v->status]);
	am_jsonw_number(&w, "ruleIndex", v->status);
	am_jsonw_text(&w, "level", v->status == AM_POTENTIAL ? "warning" : "error");
	am_text_into(text, sizeof text, "Region \"%s\" is not atomic (%s). %s %s", v->region,
		  am_pattern_name(v->pattern), v->summary, v->fix);
	message(&w, "message", text);
	am_jsonw_open(&w, "locations", '[');
	am_jsonw_open(&w, NULL, '{');
	location(&w, v->region_place, NULL);
	am_jsonw_close(&w, '}');
	am_jsonw_close(&w, ']');
	am_jsonw_open(&w, "partialFingerprints", '{');
	am_jsonw_text(&w, "atommonViolation/v1", v->id);
	am_jsonw_close(&w, '}');
	am_jsonw_number(&w, "occurrenceCount", v->count ? v->count : 1);
	am_jsonw_open(&w, "codeFlows", '[');
	am_jsonw_open(&w, NULL, '{');
	message(&w, "message", *v->moved ? v->moved : v->summary);
	am_jsonw_open(&w, "threadFlows", '[');
	for (uint32_t t = 0; t < v->n_threads; t++)
		if (has_step(v, t))
			thread_flow(&w, v, t);
	am_jsonw_close(&w, ']');
	am_jsonw_close(&w, '}');
	am_jsonw_close(&w, ']');
	am_jsonw_close(&w, '}');
	s->n++;
}

void am_sarif_end(struct am_sarif *s, const char *command)
{
	struct am_jsonw w = resume(s);

	am_jsonw_close(&w, ']');
	w.has_item |= 1u << (DEPTH_RESULTS - 1);
	am_jsonw_open(&w, "invocations", '[');
	am_jsonw_open(&w, NULL, '{');
	am_jsonw_bool(&w, "executionSuccessful", true);
	if (command && *command)
		am_jsonw_text(&w, "commandLine", command);
	am_jsonw_close(&w, '}');
	am_jsonw_close(&w, ']');
	am_jsonw_close(&w, '}');
	am_jsonw_close(&w, ']');
	am_jsonw_close(&w, '}');
	s->out->write(s->out->ctx, "\n", 1);
}
