/* SPDX-License-Identifier: MIT */
/*
 * The real functions behind the hooks, looked up once by real.c. A function that this libc does not
 * have is NULL; a hook for it then answers ENOSYS. Valid as soon as am_rouse() has run, which every
 * hook causes by asking am_on() or am_watching() first (log.h).
 *
 * AM_REALS: X(return type, name, parameters). AM_REALS_V: X(field, symbol, version, type, params).
 */
#ifndef ATOMMON_PRELOAD_REAL_H
#define ATOMMON_PRELOAD_REAL_H

#include <pthread.h>
#include <semaphore.h>
#include <setjmp.h>
#include <spawn.h>
#include <stdbool.h>
#include <stdint.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>

#include "real_list.h"

struct am_reals {
#define X(type, name, params) type(*name) params;
	AM_REALS_CORE(X)
	AM_REALS_MEMORY(X)
	AM_REALS_HOOKS(X)
#undef X
#define X(field, symbol, version, type, params) type(*field) params;
	AM_REALS_VERSIONED(X)
#undef X
};

extern struct am_reals am_real __attribute__((visibility("hidden")));

void am_real_resolve(void);

/* A function of the C++ runtime, which may have come late and out of the global scope; NULL if it is
 * not there. Takes the loader's lock. */
void *am_real_of_cxx(const char *symbol);

/* libc's syscall, past our own: what we wait on is not the program's (hook_futex.c). */
static inline long (*am_real_syscall(void))(long, ...)
{
	return am_real.syscall ? am_real.syscall : syscall;
}

/* Is this address in libatommon.so itself? */
bool am_real_is_own(const void *p);

/* The exception-handling index (.eh_frame_hdr) of the module that holds pc, or NULL. Takes no lock,
 * safe in signal handlers. */
const void *am_real_eh_index(const void *pc);

/* The module that holds this pc, found without a lock. `path` is "" for the main program and for
 * what has no name. */
struct am_real_module {
	const char *path;
	uintptr_t base, start, end;
};
bool am_real_find_module(uintptr_t pc, struct am_real_module *out);

#endif
