/*
 * What objects and threads are called. A name for people is never empty; the key beside it holds no
 * address and no number that changes from run to run. Runs in the drain thread and in tools.
 */
/* SPDX-License-Identifier: MIT */
#include <assert.h>
#include <string.h>

#include "story.h"

const char *am_status_name(enum am_status status)
{
	static const char *const names[] = {"observed", "predicted", "confirmed", "potential"};
	assert((unsigned)status < 4);
	return names[status];
}

const char *am_sync_name(enum am_object sync)
{
	switch (sync) {
	case AM_OBJ_MUTEX:
		return "mutex";
	case AM_OBJ_RWLOCK:
		return "rwlock";
	case AM_OBJ_SPIN:
		return "spinlock";
	case AM_OBJ_COND:
		return "condition";
	case AM_OBJ_SEM:
		return "semaphore";
	case AM_OBJ_BARRIER:
		return "barrier";
	case AM_OBJ_ONCE:
		return "once";
	case AM_OBJ_FUTEX:
	case AM_OBJ_WAITERS:
		break;
	}
	return "lock";
}

bool am_kind_is_sync(uint8_t kind)
{
	return (kind >= AM_ACQUIRE && kind <= AM_ONCE_END) || kind == AM_INIT || kind == AM_DESTROY;
}

const char *am_story_string(const struct story *s, uint32_t id)
{
	const struct am_tables *t = s->b->tables;
	return id && id < t->n_strings && t->string[id] ? t->string[id] : "";
}

const char *am_story_function(const struct story *s, const struct am_place *place)
{
	const struct am_vframe *f = am_place_frame(place);

	if (!f)
		return "";
	if (*f->function)
		return f->function;
	return *f->module ? am_textf(s->arena, "%s+0x%x", am_basename(f->module), f->offset) : "";
}

static const char *short_name(const struct story *s, const char *function)
{
	char text[200];

	am_function_short(function, text, sizeof text);
	return am_arena_copy(s->arena, text);
}

const char *am_story_region(const struct story *s, uint32_t string, uint32_t site)
{
	const char *name = am_story_string(s, string);

	if (*name || !site)
		return name;
	name = am_story_function(s, am_places_get(s->b->places, site));
	return am_textf(s->arena, "section@%s", *name ? short_name(s, name) : "?");
}

struct found {
	struct am_vobject object;
	const char *part;
	const char *key;
	uint64_t born;
};

static void find_name(struct story *s, const struct am_extent *x, struct found *f)
{
	const char *name = am_story_string(s, x->string);

	f->object.is_named = true;
	f->object.name = name;
	f->object.address = x->start;
	f->object.size = x->size;
	f->key = am_textf(s->arena, "n:%s", name);
	f->born = x->born;
}

static void find_block(struct story *s, const struct am_extent *x, struct found *f)
{
	const struct am_place *place = am_places_get(s->b->places, x->site);
	const char *function = am_story_function(s, place);

	f->object.storage = AM_AT_HEAP;
	f->object.name = *function ? am_textf(s->arena, "block@%s", short_name(s, function)) : "heap block";
	f->object.address = x->start;
	f->object.size = x->size;
	f->object.place = place;
	f->object.thread = am_story_thread(s, x->thread);
	f->key = am_textf(s->arena, "h:%s", function);
	f->born = x->born;
}

/* An anonymous namespace names nothing. */
static const char *without_anonymous(const char *name)
{
	static const char anonymous[] = "(anonymous namespace)::";

	while (strncmp(name, anonymous, sizeof anonymous - 1) == 0)
		name += sizeof anonymous - 1;
	return name;
}

static void find_global(struct story *s, const struct am_module *m, uint64_t address,
			struct found *f)
{
	const struct am_symbolizer *sym = s->b->symbolizer;
	struct am_symbol symbol;

	f->object.storage = AM_AT_GLOBAL;
	f->object.module = am_arena_copy(s->arena, m->path);
	f->object.offset = address - m->base;
	f->object.address = address;
	if (sym->data && sym->data(sym->ctx, m, address - m->base, &symbol)) {
		f->object.name = am_arena_copy(s->arena, symbol.name);
		f->object.offset = symbol.start;
		f->object.address = symbol.start + m->base;
		f->object.size = symbol.size;
		am_globals_note(s->b->globals, f->object.address, symbol.size);
		f->part = symbol.part ? am_arena_copy(s->arena, symbol.part) : NULL;
		f->key = am_textf(s->arena, "g:%s", f->object.name);
		f->object.name = without_anonymous(f->object.name);
		return;
	}
	f->object.name = am_textf(s->arena, "%s+0x%x", am_basename(m->path), f->object.offset);
	f->key = am_textf(s->arena, "g:%s", f->object.name);
}

/* Where a named object lies: the name says what, the storage still says where. */
static void place_name(struct story *s, uint64_t address, uint64_t index, struct found *f)
{
	const struct am_module *m = am_tables_module(s->b->tables, address);
	struct am_extent x;

	if (am_evidence_block(s->b->evidence, address, index, &x)) {
		f->object.storage = AM_AT_HEAP;
		f->object.place = am_places_get(s->b->places, x.site);
		f->object.thread = am_story_thread(s, x.thread);
	} else if (m) {
		f->object.storage = AM_AT_GLOBAL;
		f->object.module = am_arena_copy(s->arena, m->path);
		f->object.offset = f->object.address - m->base;
	}
}

static struct found find(struct story *s, uint64_t address, uint64_t size, uint64_t index)
{
	struct found f = {.object = {.module = "", .thread = UINT32_MAX}};
	const struct am_module *m;
	struct am_extent x;

	if (am_evidence_name(s->b->evidence, address, index, &x) && *am_story_string(s, x.string)) {
		find_name(s, &x, &f);
		place_name(s, address, index, &f);
	} else if (am_evidence_block(s->b->evidence, address, index, &x))
		find_block(s, &x, &f);
	else if ((m = am_tables_module(s->b->tables, address)))
		find_global(s, m, address, &f);
	if (!f.object.name || !*f.object.name) {
		f.object.address = address;
		f.object.size = size;
		f.object.name = am_textf(s->arena, "0x%x", address);
		f.key = "u";
	}
	return f;
}

/* Two blocks from one place get numbers: block@f, block@f#2. */
static const char *distinct_name(struct story *s, const char *name)
{
	uint32_t same = 0;

	for (uint32_t i = 0; i < s->n_objects; i++) {
		const size_t n = strlen(name);
		same += strncmp(s->object[i].name, name, n) == 0 &&
			(!s->object[i].name[n] || s->object[i].name[n] == '#');
	}
	return same ? am_textf(s->arena, "%s#%u", name, same + 1) : name;
}

/* Is the lock in a heap block whose data is spoken of? Then it is called by its place in that. */
static bool is_in_told_block(const struct story *s, uint64_t address, struct found *f)
{
	for (uint32_t i = 0; i < s->n_objects; i++)
		if (f->object.storage == AM_AT_HEAP && !f->object.is_named && s->key[i][0] != 's' &&
		    s->object[i].address == f->object.address && s->born[i] == f->born) {
			f->object.name = am_textf(s->arena, "%s+%l", s->object[i].name,
						  address - f->object.address);
			return true;
		}
	return false;
}

uint32_t am_story_object(struct story *s, uint64_t address, uint64_t size, uint64_t index,
			 bool is_sync, const char **part)
{
	struct found f = find(s, address, size, index);
	struct am_extent sync;

	f.object.is_sync = is_sync;
	*part = is_sync ? NULL : f.part;
	if (is_sync) {
		/* A lock inside a larger object is an object of its own. */
		if (f.part && *f.part) {
			f.object.name = am_textf(s->arena, "%s%s", f.object.name, f.part);
			f.object.size = 0;
		}
		const bool is_told = is_in_told_block(s, address, &f);
		if (address != f.object.address || is_told) {
			if (!f.part && !is_told)
				f.object.name = am_textf(s->arena, "%s+%l", f.object.name,
							 address - f.object.address);
			f.object.offset += address - f.object.address;
			f.object.address = address;
			f.object.size = 0;
		}
		if (am_evidence_sync(s->b->evidence, address, &sync)) {
			f.object.sync = sync.sync;
			if (!f.object.place && sync.site) {
				f.object.place = am_places_get(s->b->places, sync.site);
				f.object.thread = am_story_thread(s, sync.thread);
			}
		}
		f.key = am_textf(s->arena, "s%s", f.key);
	}
	for (uint32_t i = 0; i < s->n_objects; i++)
		if (s->object[i].address == f.object.address && s->born[i] == f.born &&
		    (s->key[i][0] == 's') == is_sync)
			return i;
	if (s->n_objects == STORY_OBJECTS)
		return AM_NO_OBJECT;
	f.object.name = distinct_name(s, f.object.name);
	s->object[s->n_objects] = f.object;
	s->key[s->n_objects] = f.key;
	s->born[s->n_objects] = f.born;
	return s->n_objects++;
}

uint32_t am_story_thread(struct story *s, uint32_t id)
{
	const struct am_tables *t = s->b->tables;

	for (uint32_t i = 0; i < s->n_threads; i++)
		if (s->thread[i].id == id)
			return i;
	if (s->n_threads == STORY_THREADS)
		return UINT32_MAX;
	struct am_vthread *v = &s->thread[s->n_threads];
	*v = (struct am_vthread){.id = id, .parent = UINT32_MAX, .name = ""};
	if (id < t->n_threads) {
		v->os_tid = t->thread[id].os_tid;
		v->parent = t->thread[id].parent;
		v->name = t->thread[id].name ? am_arena_copy(s->arena, t->thread[id].name) : "";
		if (t->thread[id].create_site)
			v->place = am_places_get(s->b->places, t->thread[id].create_site);
	}
	return s->n_threads++;
}
