/*
 * Symbolised sites: see places.h. Runs in the drain thread and in tools; the symboliser behind it
 * may be slow or absent, then places show module and offset.
 */
/* SPDX-License-Identifier: MIT */
#include "places.h"

#include <assert.h>
#include <string.h>

#include "arena.h"
#include "atommon/mem.h"

enum { MAX_FRAMES = 32, INLINED = 8, MAX_SITES = 1 << 20 };

struct am_places {
	struct am_mem *mem;
	const struct am_tables *tables;
	struct am_symbolizer symbolizer;
	struct am_arena arena;
	const struct am_place **place; /* by site id, NULL: not asked yet */
	size_t n_places;
};

static const struct am_place nowhere;

const char *am_basename(const char *path)
{
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

static bool starts_with(const char *text, const char *start)
{
	return strncmp(text, start, strlen(start)) == 0;
}

bool am_frame_is_wrapper(const struct am_vframe *f)
{
	static const char *const functions[] = {"std::",	"__gthread_", "__gnu_cxx::",
						"operator new", "atommon_",   "__atommon_"};
	static const char *const modules[] = {"libatommon", "libstdc++.so", "libc++.so", "libc.so",
					      "libpthread", "ld-linux",	    "libc-2."};
	const char *file = am_basename(f->file), *module = am_basename(f->module);

	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++)
		if (starts_with(f->function, functions[i]))
			return true;
	for (size_t i = 0; i < sizeof modules / sizeof *modules; i++)
		if (starts_with(module, modules[i]))
			return true;
	return strcmp(file, "atommon.h") == 0 || strstr(f->file, "/include/c++/");
}

struct am_places *am_places_new(struct am_mem *mem, const struct am_tables *tables,
				const struct am_symbolizer *symbolizer)
{
	struct am_places *p = am_mem_alloc(mem, sizeof *p);

	if (!p)
		return NULL;
	p->mem = mem;
	p->tables = tables;
	p->symbolizer = *symbolizer;
	am_arena_init(&p->arena, mem);
	return p;
}

void am_places_free(struct am_places *p)
{
	if (!p)
		return;
	am_arena_destroy(&p->arena);
	am_mem_free(p->mem, p->place, p->n_places * sizeof *p->place);
	am_mem_free(p->mem, p, sizeof *p);
}

/* The frames of one return address, texts copied. */
static unsigned resolve(struct am_places *p, uint64_t address, struct am_vframe *out, unsigned max)
{
	/* The call, not what follows it, which may be another line or function. */
	const uint64_t call = address ? address - 1 : 0;
	const struct am_module *m = am_tables_module(p->tables, call);
	unsigned n = 0;

	if (p->tables->sites_are_lines) {
		out[0] = (struct am_vframe){"", "", (uint32_t)address, "", address};
		return 1;
	}
	if (!m) {
		out[0] = (struct am_vframe){"", "", 0, "", call};
		return 1;
	}
	const char *module = am_arena_copy(&p->arena, m->path);
	if (p->symbolizer.code)
		n = p->symbolizer.code(p->symbolizer.ctx, m, call - m->base, out, max);
	assert(n <= max);
	for (unsigned i = 0; i < n; i++) {
		out[i].function = am_arena_copy(&p->arena, out[i].function);
		out[i].file = am_arena_copy(&p->arena, out[i].file);
		out[i].module = module;
		out[i].offset = call - m->base;
	}
	if (!n)
		out[n++] = (struct am_vframe){"", "", 0, module, call - m->base};
	return n;
}

/* Our own library between the program's frames is nobody's business. */
static bool is_own(const struct am_places *p, uint64_t address)
{
	const struct am_module *m = am_tables_module(p->tables, address);
	return m && starts_with(am_basename(m->path), "libatommon.so");
}

/* Is every frame's answer there? Each one that is not is asked for. */
static bool is_known(struct am_places *p, const struct am_site *site)
{
	const struct am_symbolizer *sym = &p->symbolizer;
	struct am_vframe frames[INLINED];

	if (!sym->missed || p->tables->sites_are_lines)
		return true;
	const uint64_t before = sym->missed(sym->ctx);
	for (uint32_t i = 0; i < site->n_frames; i++) {
		const uint64_t call = site->frame[i] ? site->frame[i] - 1 : 0;
		const struct am_module *m = is_own(p, site->frame[i]) ? NULL : am_tables_module(p->tables, call);
		if (m)
			sym->code(sym->ctx, m, call - m->base, frames, INLINED);
	}
	return sym->missed(sym->ctx) == before;
}

static const struct am_place *make(struct am_places *p, const struct am_site *site)
{
	struct am_vframe frames[MAX_FRAMES];
	unsigned n = 0;

	for (uint32_t i = 0; i < site->n_frames && n + INLINED <= MAX_FRAMES; i++)
		if (!is_own(p, site->frame[i]))
			n += resolve(p, site->frame[i], frames + n, INLINED);
	struct am_place *place = am_arena_get(&p->arena, sizeof *place);
	struct am_vframe *copy = am_arena_get(&p->arena, n * sizeof *copy);
	if (!place || !copy)
		return &nowhere;
	memcpy(copy, frames, n * sizeof *copy);
	place->n_frames = n;
	place->frame = copy;
	while (place->shown < n && am_frame_is_wrapper(&copy[place->shown]))
		place->shown++;
	if (place->shown == n) /* nothing but wrappers: the outermost is nearest to the program */
		place->shown = n ? n - 1 : 0;
	return place;
}

const struct am_place *am_places_get(struct am_places *p, uint32_t site)
{
	if (!site || site >= p->tables->n_sites || site >= MAX_SITES)
		return &nowhere;
	if (site >= p->n_places) {
		size_t n = p->n_places ? p->n_places : 256;
		while (n <= site)
			n *= 2;
		const struct am_place **grown = am_mem_resize(
			p->mem, p->place, p->n_places * sizeof *grown, n * sizeof *grown);
		if (!grown)
			return &nowhere;
		p->place = grown;
		p->n_places = n;
	}
	if (!p->place[site]) {
		if (!is_known(p, &p->tables->site[site]))
			return &nowhere; /* for now */
		p->place[site] = make(p, &p->tables->site[site]);
	}
	return p->place[site];
}

const struct am_vframe *am_place_frame(const struct am_place *place)
{
	return place && place->n_frames ? &place->frame[place->shown] : NULL;
}

/* Does the text before p end in "operator"? */
static bool is_operator(const char *name, const char *p)
{
	return p - name >= 8 && strncmp(p - 8, "operator", 8) == 0;
}

/* Length of what an operator is called: its own brackets and blanks are no parameters. */
static size_t operator_bytes(const char *p)
{
	if (strncmp(p, "()", 2) == 0 || strncmp(p, "[]", 2) == 0)
		return 2;
	if (*p == ' ' && p[1] != '<') /* operator new, operator bool */
		return 1 + strcspn(p + 1, "(<");
	const size_t n = strspn(p, "<>=+-*/!&|^%~,");
	return p[n] == ' ' && p[n + 1] == '<' ? n + 1 : n;
}

size_t am_function_short(const char *name, char *out, size_t size)
{
	static const char anonymous[] = "(anonymous namespace)";
	const char *start = name, *end = NULL, *p = name;
	int depth = 0;

	for (; *p && !end; p++) {
		if (depth == 0 && is_operator(name, p)) {
			p += operator_bytes(p);
			if (!*p)
				break;
		}
		if (strncmp(p, anonymous, sizeof anonymous - 1) == 0)
			p += sizeof anonymous - 2;
		else if (*p == '(' && depth == 0 && p != name)
			end = p;
		else if (*p == '<' || *p == '{' || *p == '(')
			depth++;
		else if ((*p == '>' || *p == '}' || *p == ')') && depth > 0)
			depth--;
		else if (*p == ' ' && depth == 0 && p[1])
			start = p + 1;
	}
	end = end ? end : p;
	return am_text_into(out, size, "%.*s", (int)(end - start), start);
}

/* The end of "Outer::Inner::method" in so many bytes; of a qualified name whole parts. */
static const char *end_of(const char *function, size_t bytes)
{
	const size_t n = strlen(function);
	const char *from = function + (n > bytes ? n - bytes : 0);

	for (const char *p = from; p > function && *p; p++)
		if (p[-1] == ':' && *p != ':')
			return p;
	return from;
}

static void write_place(const struct am_place *place, size_t function_bytes, const char *cut, char *out, size_t size)
{
	const struct am_vframe *f = am_place_frame(place);
	char whole[200], function[200];

	if (size)
		out[0] = 0;
	if (!f)
		return;
	am_function_short(f->function, whole, sizeof whole);
	const char *end = end_of(whole, function_bytes);
	am_text_into(function, sizeof function, "%s%s", end == whole ? "" : cut, end);
	const char *call = *function ? "() " : "";
	if (*f->file)
		am_text_into(out, size, f->line ? "%s%s%s:%u" : "%s%s%s", function, call,
			     am_basename(f->file), f->line);
	else if (*f->module)
		am_text_into(out, size, "%s%s%s+0x%x", function, call, am_basename(f->module), f->offset);
	else if (f->line)
		am_text_into(out, size, "line %u", f->line);
	else
		am_text_into(out, size, "0x%x", f->offset);
}

void am_place_into(const struct am_place *place, char *out, size_t size)
{
	write_place(place, SIZE_MAX, "", out, size);
}

void am_place_within(const struct am_place *place, unsigned columns, const char *cut, char *out, size_t size)
{
	const struct am_vframe *f = am_place_frame(place);
	char function[200];

	am_place_into(place, out, size);
	const size_t n = strlen(out);
	if (!f || n <= columns)
		return;
	const size_t whole = am_function_short(f->function, function, sizeof function), over = n - columns;
	/* one column for what stands for the rest */
	if (whole > over + 4)
		write_place(place, whole - over - 1, cut, out, size);
}

const char *am_place_text(const struct am_place *place, struct am_arena *arena)
{
	char text[400];

	am_place_into(place, text, sizeof text);
	return *text ? am_arena_copy(arena, text) : "unknown place";
}
