/*
 * Looks up the real functions once, behind this library in the search order. The only file that
 * knows dlfcn.h. Runs in the first hook or in our constructor, whichever comes first; the loader may
 * call malloc, and so other people's code, from here: am_rouse() keeps our hooks out of the way.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/real.h"

#include <dlfcn.h>
#include <link.h>
#include <stddef.h>
#include <stdint.h>

struct am_reals am_real;

extern const char __ehdr_start __attribute__((visibility("hidden")));
extern const char _end __attribute__((visibility("hidden")));

static int (*find_object)(void *, struct dl_find_object *);

bool am_real_is_own(const void *p)
{
	return (uintptr_t)p >= (uintptr_t)&__ehdr_start && (uintptr_t)p < (uintptr_t)&_end;
}

/* In the same library? dladdr looks through all of a library's symbols: only where there is nothing else. */
static bool are_neighbours(const void *a, const void *b)
{
	struct dl_find_object in_a, in_b;
	Dl_info at_a, at_b;

	if (a == b)
		return true;
	if (find_object)
		return find_object((void *)(uintptr_t)a, &in_a) == 0 &&
		       find_object((void *)(uintptr_t)b, &in_b) == 0 &&
		       in_a.dlfo_map_start == in_b.dlfo_map_start;
	return dladdr(a, &at_a) && dladdr(b, &at_b) && at_a.dli_fbase == at_b.dli_fbase;
}

/*
 * The next function of this name behind us. With a version: the one of that version in the library
 * that is next. Asking for the version alone would skip another interposer (a sanitiser, another preload),
 * whose functions mostly have none; not asking for it finds the oldest before glibc 2.36.
 */
static void *next(const char *symbol, const char *version)
{
	void *p = dlsym(RTLD_NEXT, symbol);
	void *versioned = version ? dlvsym(RTLD_NEXT, symbol, version) : NULL;

	if (versioned && (!p || are_neighbours(p, versioned)))
		p = versioned;
	return p && !am_real_is_own(p) ? p : NULL;
}

static void set(void *field, void *p)
{
	/* Others may look meanwhile: one atomic store each, the same value whoever writes it. */
	__atomic_store_n((void **)field, p, __ATOMIC_RELEASE);
}

void am_real_resolve(void)
{
	set(&find_object, dlsym(RTLD_DEFAULT, "_dl_find_object"));
#define X(type, name, params) set(&am_real.name, next(#name, NULL));
	AM_REALS_CORE(X)
	AM_REALS_MEMORY(X)
	AM_REALS_HOOKS(X)
#undef X
#define X(field, symbol, version, type, params) set(&am_real.field, next(symbol, version));
	AM_REALS_VERSIONED(X)
#undef X
	dlerror();
}

void *am_real_of_cxx(const char *symbol)
{
	void *p = next(symbol, NULL);

	if (!p && am_real.dlopen) {
		/* Pinned: what we found there must not go. */
		void *lib = am_real.dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD | RTLD_NODELETE);
		p = lib ? dlsym(lib, symbol) : NULL;
		if (!p)
			dlerror(); /* nobody asked for our message */
	}
	return p && !am_real_is_own(p) ? p : NULL;
}

const void *am_real_eh_index(const void *pc)
{
	struct dl_find_object o;
	int (*const find)(void *, struct dl_find_object *) =
		__atomic_load_n(&find_object, __ATOMIC_ACQUIRE); /* partner: set() */

	return find && find((void *)(uintptr_t)pc, &o) == 0 ? o.dlfo_eh_frame : NULL;
}

bool am_real_find_module(uintptr_t pc, struct am_real_module *out)
{
	struct dl_find_object o;
	int (*const find)(void *, struct dl_find_object *) =
		__atomic_load_n(&find_object, __ATOMIC_ACQUIRE); /* partner: set() */

	if (!find || find((void *)pc, &o) != 0)
		return false;
	out->path = o.dlfo_link_map->l_name ? o.dlfo_link_map->l_name : "";
	out->base = o.dlfo_link_map->l_addr;
	out->start = (uintptr_t)o.dlfo_map_start;
	out->end = (uintptr_t)o.dlfo_map_end;
	return true;
}
