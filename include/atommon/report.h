/* SPDX-License-Identifier: MIT */
/*
 * From cycles to reports: what the preload library and the tools call. Implemented in
 * analyzer/report/. No stdio, no malloc, no globals: it also runs in the drain thread of somebody
 * else's process. One owner at a time, no locks.
 *
 * A reporter is fed every merged event (it keeps names, heap blocks and recent critical sections),
 * is handed cycles, and writes each distinct violation once.
 */
#ifndef ATOMMON_REPORT_H
#define ATOMMON_REPORT_H

#include "checker.h"
#include "tables.h"
#include "violation.h"

struct am_mem;

/* ---- where text goes ------------------------------------------------------------------------ */

/* Bytes out. A writer calls it any number of times per report. */
typedef void am_write_fn(void *ctx, const char *bytes, size_t n);
struct am_out {
	am_write_fn *write;
	void *ctx;
};

/* ---- names of addresses --------------------------------------------------------------------- */

struct am_symbol {
	const char *name; /* symbol covering the address */
	uint64_t start, size;
	const char *part; /* which part of it: ".len", "[3]", "+8"; NULL: not known */
};

/*
 * Resolves addresses of a module's file; texts live until the next call. Either member may be
 * NULL. `code` gets the address of the call, not the return address, and yields inlined frames
 * innermost first; 0: unknown.
 *
 * One that must ask somebody else has the other three as well. An answer that is not there yet is
 * "unknown" for now, and `missed` counts it: whoever finds that it grew asks again when `answered` has
 * reached what `asked` was. A symboliser that is asked for the same things often enough ends up knowing
 * them, or that nobody does.
 */
struct am_symbolizer {
	void *ctx;
	unsigned (*code)(void *ctx, const struct am_module *module, uint64_t offset,
			 struct am_vframe *frames, unsigned max);
	bool (*data)(void *ctx, const struct am_module *module, uint64_t offset,
		     struct am_symbol *symbol);
	uint64_t (*missed)(void *ctx);
	uint64_t (*asked)(void *ctx);
	/* Takes in what came; waits until so many are answered, or given up. */
	uint64_t (*answered)(void *ctx, uint64_t wanted);
};

/* A heap block: what covers an address, where it was allocated and by whom. */
struct am_block {
	uint64_t start, size;
	uint32_t site, thread;
};

/* ---- writers: pure functions over a violation ------------------------------------------------ */

struct am_style {
	bool colour;
	bool ascii;	/* no box-drawing characters */
	unsigned width; /* 60 to 100 columns; 0: 100 */
};

void am_report_text(const struct am_violation *v, const struct am_style *style, struct am_out *out);
void am_report_json(const struct am_violation *v, struct am_out *out); /* one line */

/* A SARIF log is one document: begin, any number of violations, end. */
struct am_sarif {
	struct am_out *out;
	unsigned n;
};
void am_sarif_begin(struct am_sarif *s, struct am_out *out, const char *version);
void am_sarif_violation(struct am_sarif *s, const struct am_violation *v);
void am_sarif_end(struct am_sarif *s, const char *command);

/* ---- suppressions --------------------------------------------------------------------------- */

struct am_suppressions;

/* `message` is "FILE:LINE: what is wrong"; a bad line is skipped, never fatal. */
typedef void am_message_fn(void *ctx, const char *message);

struct am_suppressions *am_suppressions_new(struct am_mem *mem);
void am_suppressions_free(struct am_suppressions *s);
/* Adds the lines of one file's text; `today` is YYYYMMDD, for until=. Returns lines taken. */
unsigned am_suppressions_parse(struct am_suppressions *s, const char *file, const char *text,
			       size_t n, uint32_t today, am_message_fn *complain, void *ctx);
/* Does one cover the violation? Counts its use: once per distinct violation. */
bool am_suppressions_match(struct am_suppressions *s, const struct am_violation *v);
/* Calls back with "FILE:LINE: pattern: matched N violations", or "... never matched". */
void am_suppressions_usage(const struct am_suppressions *s, bool only_unused, am_message_fn *tell,
			   void *ctx);

/* ---- the reporter --------------------------------------------------------------------------- */

enum am_report_format { AM_REPORT_TEXT, AM_REPORT_JSON, AM_REPORT_SARIF };

struct am_reporter_config {
	const struct am_tables *tables;	/* read at each cycle; may grow between calls */
	void (*refresh)(void *ctx); /* bring them up to date, with out.ctx; may be NULL */
	struct am_symbolizer symbolizer;
	/* Blocks that the events do not tell of; asked first; may be NULL. */
	bool (*block)(uint64_t address, struct am_block *out);
	struct am_suppressions *suppressions; /* may be NULL */
	enum am_report_format format;	      /* SARIF: am_reporter_finish closes the document */
	struct am_style style;
	struct am_out out;	/* gets whole reports */
	void (*flush)(void *ctx); /* after each whole report, with out.ctx; may be NULL */
	uint32_t max_reports;	/* distinct ones in full */
	enum am_status status;	/* of cycles handed over: observed, or as a predictor says */
	const char *model;	/* "" or the predictor's model */
	const char *next;	/* command to go on with, "" none */
	/* Each new violation that is not suppressed, after it was written; with out.ctx; may be NULL. */
	void (*on_new)(void *ctx, const struct am_violation *v);
	bool waits; /* for names, each time: a cycle is told when it is handed over, or never */
};

struct am_reporter_stats {
	uint64_t cycles;     /* handed over */
	uint64_t distinct;   /* different ids, suppressed ones not counted */
	uint64_t printed;    /* in full */
	uint64_t repeats;    /* cycles whose id was seen before */
	uint64_t suppressed; /* cycles a suppression covered */
	uint64_t failed;     /* not told for want of memory */
};

struct am_reporter;

struct am_reporter *am_reporter_new(const struct am_reporter_config *config, struct am_mem *mem);
void am_reporter_free(struct am_reporter *r);
void am_reporter_event(struct am_reporter *r, const struct am_event *event);
/* False: it has no use for events of this kind, and need not be asked. */
static inline bool am_reporter_is_asked(const struct am_event *event)
{
	const uint64_t kinds = UINT64_C(1) << AM_ACQUIRE | UINT64_C(1) << AM_RELEASE | UINT64_C(1) << AM_WAIT |
			       UINT64_C(1) << AM_WAKE | UINT64_C(1) << AM_ALLOC | UINT64_C(1) << AM_FREE |
			       UINT64_C(1) << AM_NAME | UINT64_C(1) << AM_INIT;

	return kinds >> (event->kind & 63) & 1;
}

/* What a predictor knows beyond the cycle, whose values are those of the witness schedule, where known. */
struct am_witness {
	const struct am_event *const *event; /* the witness schedule, in its order; may be NULL */
	size_t n_events;
	const char *moved; /* in words */
	const char *model; /* overrides the configuration's; may be NULL */
	enum am_status status;
};

/*
 * Returns true when something new was told, neither suppressed nor a repeat: with a symboliser that must ask, this
 * cycle may wait for its names (am_reporter_settle), and what is told of it then is as it was now. `witness` is NULL for a cycle that
 * happened. `told` (may be NULL) gets the violation, valid until the next call; asking for it makes
 * repeats as costly as new ones, so ask am_reporter_last after true instead.
 */
bool am_reporter_cycle(struct am_reporter *r, const struct am_cycle *cycle,
		       const struct am_witness *witness, const struct am_violation **told);
const struct am_violation *am_reporter_last(const struct am_reporter *r);
/* Tell the cycles whose names have come; `waits`: all. How many still wait. */
uint32_t am_reporter_settle(struct am_reporter *r, bool waits);
/* End: closes a SARIF document; tells how often each repeated report came. */
void am_reporter_finish(struct am_reporter *r);
void am_reporter_stats(const struct am_reporter *r, struct am_reporter_stats *stats);

#endif
