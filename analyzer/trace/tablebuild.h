/* SPDX-License-Identifier: MIT */
/* Tables that grow while a trace is read, and the log of their changes. Tools only. */
#ifndef ATOMMON_TRACE_TABLEBUILD_H
#define ATOMMON_TRACE_TABLEBUILD_H

#include "analyzer/trace/source.h"
#include "atommon/trace.h"

struct tablebuild {
	struct am_tables t; /* what others see; points into the arrays below */
	char **string;
	struct am_module *module;
	struct am_site *site;
	struct am_thread *thread;
	size_t string_cap, module_cap, site_cap, thread_cap;
	size_t defined; /* entries set: bounds how far an id may lie beyond the others */
	struct am_change *log;
	size_t n_log, log_cap;
	uint32_t *newest[AM_ATM_T_THREAD + 1]; /* by tag and id: place of its newest change, + 1 */
	size_t newest_cap[AM_ATM_T_THREAD + 1];
	char *command;
};

void tablebuild_init(struct tablebuild *b);
void tablebuild_free(struct tablebuild *b);

/* NULL, or what is wrong. Texts need not end in NUL; a NUL inside ends them. An entry equal to what
 * is known changes nothing. */
const char *tablebuild_command(struct tablebuild *b, const char *text, size_t len);
const char *tablebuild_string(struct tablebuild *b, uint32_t id, const char *text, size_t len);
/* path of `m` is ignored. */
const char *tablebuild_module(struct tablebuild *b, uint32_t index, const struct am_module *m,
			      const char *path, size_t len);
const char *tablebuild_site(struct tablebuild *b, uint32_t id, const struct am_site *site);
/* name of `th` is ignored. */
const char *tablebuild_thread(struct tablebuild *b, const struct am_thread *th, const char *name,
			      size_t len);
/* A thread that only its events tell of: makes a row for it, without logging a change. */
const char *tablebuild_see_thread(struct tablebuild *b, uint32_t id);

#endif
