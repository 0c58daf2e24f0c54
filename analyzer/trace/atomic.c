/*
 * Names of regions that a trace does not mark: see atomic.h. Runs in tools.
 *
 * Made names get ids from FIRST_MADE on, far above those of any trace; the table of strings is one
 * large allocation of which only the pages at both ends are ever touched.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/atomic.h"

#include "analyzer/core/map.h"
#include "atommon/mem.h"
#include "atommon/options.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_MADE = 1 << 22, MADE_MAX = 1 << 18, NAME_MAX_BYTES = 256 };

struct am_atomic {
	struct am_regions *regions;
	struct am_mem mem;
	const struct am_source *source;
	struct am_names *names;
	char *atomic;		/* what a region is, a comma list */
	bool is_recorded;	/* functions that were regions then, no others */
	struct am_map section;	/* lock and site -> id */
	struct am_map function; /* address + 1 -> id + 1; 1: no region */
	struct am_map by_text;	/* hash of a made name -> id, first of that hash */
	const char **string;
	size_t n_made;
};

static uint64_t hash_of(const char *text)
{
	uint64_t h = UINT64_C(0xcbf29ce484222325);

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
	return h | 1;
}

/* Id of a made name; 0 when there are too many or no memory. */
static uint32_t intern(struct am_atomic *a, const char *text)
{
	uint64_t *known = am_map_put(&a->by_text, &a->mem, hash_of(text));

	if (known && *known && strcmp(a->string[*known], text) == 0)
		return (uint32_t)*known;
	if (!known || a->n_made == MADE_MAX)
		return 0;
	char *copy = am_mem_alloc(&a->mem, strlen(text) + 1);
	if (!copy)
		return 0;
	strcpy(copy, text);
	const uint32_t id = FIRST_MADE + (uint32_t)a->n_made++;
	a->string[id] = copy;
	if (!*known)
		*known = id;
	return id;
}

static const char *function_at(struct am_atomic *a, uint64_t address, bool is_return)
{
	struct am_frame frame;
	const struct am_tables *tables = am_source_tables(a->source);

	if (!a->names->symbols ||
	    !am_symbols_frames(a->names->symbols, tables, address, is_return, &frame, 1))
		return NULL;
	return frame.function;
}

/* The innermost named function of a site. */
static const char *function_of_site(struct am_atomic *a, uint32_t site)
{
	const struct am_tables *t = am_source_tables(a->source);
	const char *name = NULL;

	if (site >= t->n_sites)
		return NULL;
	for (uint32_t i = 0; i < t->site[site].n_frames && !name; i++)
		name = function_at(a, t->site[site].frame[i], true);
	return name;
}

static uint32_t section_name(void *ctx, uint64_t lock, uint32_t site)
{
	struct am_atomic *a = ctx;
	uint64_t *known =
		am_map_put(&a->section, &a->mem, (lock * UINT64_C(0x9e3779b97f4a7c15) ^ site) | 1);
	char text[NAME_MAX_BYTES];
	const char *name;

	if (known && *known)
		return (uint32_t)*known;
	if ((name = am_names_of(a->names, lock)))
		snprintf(text, sizeof text, "section of %s", name);
	else if ((name = function_of_site(a, site)))
		snprintf(text, sizeof text, "section in %s", name);
	else
		snprintf(text, sizeof text, "section");
	const uint32_t id = intern(a, text);
	if (known)
		*known = id;
	return id;
}

static uint32_t function_name(void *ctx, const struct am_event *enter)
{
	struct am_atomic *a = ctx;
	const struct am_tables *t = am_source_tables(a->source);

	if (a->is_recorded)
		return (uint32_t)enter->aux;
	if (enter->aux && enter->aux < t->n_strings)
		return am_glob_function(a->atomic, t->string[enter->aux]) ? (uint32_t)enter->aux : 0;
	uint64_t *known = am_map_put(&a->function, &a->mem, enter->object + 1);
	if (!known)
		return 0;
	if (!*known) {
		const char *name = function_at(a, enter->object, false);
		*known = 1 + (uint64_t)(name && am_glob_function(a->atomic, name) ? intern(a, name) : 0);
	}
	return (uint32_t)(*known - 1);
}

struct am_atomic *am_atomic_new(const char *atomic, const struct am_source *source,
				struct am_names *names, am_event_fn *out, void *ctx)
{
	struct am_atomic *a = calloc(1, sizeof *a);

	if (!a)
		return NULL;
	a->is_recorded = !atomic;
	if (!atomic)
		atomic = "marked,fn:*";
	const struct am_regions_config config = {
		.atomic = atomic,
		.out = out,
		.out_ctx = ctx,
		.section = section_name,
		.function = function_name,
		.ctx = a,
	};
	am_mem_init(&a->mem, 0);
	a->source = source;
	a->names = names;
	a->atomic = strdup(atomic);
	a->string = calloc(FIRST_MADE + MADE_MAX, sizeof *a->string);
	a->regions = am_regions_new(&config, &a->mem);
	if (a->atomic && a->string && a->regions)
		return a;
	am_atomic_free(a);
	return NULL;
}

void am_atomic_event(struct am_atomic *a, const struct am_event *event)
{
	am_regions_event(a->regions, event);
}

void am_atomic_tables(struct am_atomic *a, struct am_tables *tables)
{
	const struct am_tables *t = am_source_tables(a->source);
	const size_t n = t->n_strings < FIRST_MADE ? t->n_strings : FIRST_MADE;

	for (size_t i = 0; i < n; i++) /* all: the source may replace a text */
		a->string[i] = t->string[i];
	*tables = *t;
	tables->string = a->string;
	tables->n_strings = FIRST_MADE + a->n_made;
}

void am_atomic_free(struct am_atomic *a)
{
	am_mem_destroy(&a->mem);
	free(a->atomic);
	free(a->string);
	free(a);
}
