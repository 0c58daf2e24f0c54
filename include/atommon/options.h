/* SPDX-License-Identifier: MIT */
/*
 * All settings of the preload library. This table makes the struct, the parser, `atommon help env`
 * and the man page. A bad value or an unknown ATOMMON_ name is one warning and the default.
 *
 * X(field, NAME, type, default, values, meaning)
 *   type: bool, uint (plain number), size (K, M, G), choice (values is "a|b|c"), text
 */
#ifndef ATOMMON_OPTIONS_H
#define ATOMMON_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define AM_OPTIONS(X)                                                                              \
	X(enabled, ENABLED, bool, "1", "0|1", "0: loaded but dormant")                             \
	X(only, ONLY, text, "", "globs",                                                           \
	  "program names to watch; others that inherit the preload pass through")                  \
	X(mode, MODE, choice, "check", "check|record|both", "what to do with the events")          \
	X(atomic, ATOMIC, text, "marked", "marked|sections|fn:GLOB, comma list",                   \
	  "what a region is")                                                                      \
	X(conflicts, CONFLICTS, choice, "auto", "data|locks|both|auto",                            \
	  "what conflicts; auto: data if the program shows accesses, else locks")                  \
	X(trace, TRACE, text, "atommon.%e.%p.atm", "path template",                                \
	  "where to record; %p pid, %e program, %h host, %t start time, %n sequence")              \
	X(trace_max, TRACE_MAX, size, "1G", "64K..", "size limit of the trace")                    \
	X(log, LOG, text, "stderr", "stderr|none|path template", "where reports go")               \
	X(format, FORMAT, choice, "text", "text|json", "json: one object per line")                \
	X(exitcode, EXITCODE, uint, "0", "0..255",                                                 \
	  "non-zero: exit status when a violation was found")                                      \
	X(on_violation, ON_VIOLATION, choice, "continue", "continue|stop|trap|abort",              \
	  "what to do after a report")                                                             \
	X(suppressions, SUPPRESSIONS, text, "", "files, colon list",                               \
	  "files of region:, var:, lock:, lib:, stack:, id: patterns")                             \
	X(buffer, BUFFER, size, "1M", "4K..4M", "ring per thread")                                 \
	X(overflow, OVERFLOW, choice, "block", "block|drop",                                       \
	  "a full ring blocks (lossless) or drops (counted, marked in the stream)")                \
	X(stack, STACK, uint, "4", "1..16", "frames kept per call site")                           \
	X(mem_max, MEM_MAX, size, "256M", "4M..", "ceiling of the monitor's own memory")           \
	X(max_reports, MAX_REPORTS, uint, "50", "0..1000000", "distinct reports in full")          \
	X(verbose, VERBOSE, uint, "0", "0..3", "1 summary, 2 settings, 3 debug")                   \
	X(verify, VERIFY, bool, "0", "0|1", "run the reference checker beside the fast one")

struct am_options {
#define AM_OPTION_bool(f) bool f;
#define AM_OPTION_uint(f) uint32_t f;
#define AM_OPTION_size(f) uint64_t f;
#define AM_OPTION_choice(f) uint32_t f;
#define AM_OPTION_text(f) char f[512];
#define X(field, name, type, def, values, meaning) AM_OPTION_##type(field)
	AM_OPTIONS(X)
#undef X
};

enum am_opt_mode { AM_MODE_CHECK, AM_MODE_RECORD, AM_MODE_BOTH };
enum am_opt_format { AM_FORMAT_TEXT, AM_FORMAT_JSON };
enum am_opt_overflow { AM_OVERFLOW_BLOCK, AM_OVERFLOW_DROP };
enum am_opt_on_violation { AM_ON_CONTINUE, AM_ON_STOP, AM_ON_TRAP, AM_ON_ABORT };

/* One row of the table, for the parser, the help and the man page. */
struct am_option_row {
	const char *name; /* with the ATOMMON_ prefix */
	const char *type, *def, *values, *meaning;
	size_t offset;
};
extern const struct am_option_row am_option_rows[];
extern const size_t am_option_count;

typedef void am_option_warn_fn(void *ctx, const char *message);

/* Fill with defaults, then with what the environment says; each problem goes to warn once. No
 * malloc, no stdio: callable before main. */
void am_options_from_env(struct am_options *o, char *const *env, am_option_warn_fn *warn, void *ctx);

/* Does any glob of a comma list match? An empty list matches everything. */
bool am_glob_list(const char *globs, const char *text);
bool am_glob(const char *glob, const char *text);
/* Does a fn:GLOB of the comma list `atomic` name this function? Account::withdraw is a withdraw, too. */
bool am_glob_function(const char *atomic, const char *name);
/* Which of them do, in bits from 0; from the 64th on they share one. */
uint64_t am_glob_functions(const char *atomic, const char *name);
/* The glob of the one with number i from 0, n bytes; NULL: there are not so many. */
const char *am_glob_function_at(const char *atomic, unsigned i, size_t *n);

#endif
