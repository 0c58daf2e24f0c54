/*
 * dlopen, for one thing only: a library that asks for RTLD_DEEPBIND binds past our hooks, and
 * ATOMMON_VERBOSE=1 says so. The flag is left as it is: without it the program might bind to other
 * symbols than it asked for (doc/limits.md). Modules are found by address (modules.c) and need no
 * hook.
 *
 * dlopen searches along the path of the object that calls it, and it knows its caller by the return
 * address. So the real function is reached by a jump, with the application's return address in
 * place. Runs in application threads.
 */
/* SPDX-License-Identifier: MIT */
#pragma GCC optimize("O2") /* the call below must be a sibling call, also in a debug build */

#include "preload/hook.h"
#include "preload/msg.h"
#include "preload/runtime.h"

AM_EXPORT void *dlopen(const char *path, int flags);

enum { DEEPBIND = 8 }; /* RTLD_DEEPBIND; dlfcn.h is real.c's */

static __attribute__((noinline)) void mention(const char *path, int flags)
{
	if (flags & DEEPBIND && am_opt.verbose)
		am_say("'%s' is loaded with RTLD_DEEPBIND: its locks are not seen",
		       path ? path : "");
}

void *dlopen(const char *path, int flags)
{
	if (am_watching())
		mention(path, flags);
	return am_real.dlopen(path, flags);
}
