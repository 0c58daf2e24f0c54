/* SPDX-License-Identifier: MIT */
/*
 * What ids in events stand for: strings, modules, sites, threads. The reader fills these from a
 * trace, the preload library from the running process; reports and checkers only read them.
 */
#ifndef ATOMMON_TABLES_H
#define ATOMMON_TABLES_H

#include <stddef.h>
#include <stdbool.h>
#include <stdint.h>

#define AM_BUILD_ID_MAX 32
#define AM_FRAMES_MAX 16

struct am_module {
	const char *path;
	uint64_t base; /* load bias: address in the process minus address in the file */
	uint64_t start, end; /* mapped range */
	uint8_t build_id[AM_BUILD_ID_MAX];
	uint32_t build_id_len;
	uint32_t unloaded; /* 1 once dlclosed: the range may belong to another module since */
};

/* A call site: return addresses, innermost first. frame[0] is the call into atommon. */
struct am_site {
	uint32_t n_frames;
	uint64_t frame[AM_FRAMES_MAX];
};

struct am_thread {
	uint32_t id;
	uint32_t parent; /* UINT32_MAX: unknown or none */
	uint32_t os_tid; /* 0: unknown */
	uint32_t create_site;
	const char *name; /* "" if none */
};

/* Id 0 of strings and sites is reserved for "unknown". */
struct am_tables {
	const char *const *string;
	size_t n_strings;
	const struct am_module *module;
	size_t n_modules;
	const struct am_site *site;
	size_t n_sites;
	const struct am_thread *thread; /* index = thread id */
	size_t n_threads;
	bool sites_are_lines; /* a site's one frame is a location of the STD form, not an address */
	const char *command; /* command line, for people */
	uint32_t pid;
};

/* The newest module that covers the address, or NULL. */
const struct am_module *am_tables_module(const struct am_tables *t, uint64_t address);

#endif
