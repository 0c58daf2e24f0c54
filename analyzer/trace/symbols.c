/*
 * Names of addresses: the files they come from, opened at first use, and the answers put together. One Dwfl
 * per module, so that modules that lay at the same addresses one after the other do not mix. Runs in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/symbols_image.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct am_symbols_note {
	struct am_symbols_note *next;
	char text[];
};

static char *debuginfo_path;
static const Dwfl_Callbacks callbacks = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.section_address = dwfl_offline_section_address,
	.debuginfo_path = &debuginfo_path,
};

struct am_symbols *am_symbols_new(void)
{
	return calloc(1, sizeof(struct am_symbols));
}

static void free_notes(struct am_symbols_note *n)
{
	while (n) {
		struct am_symbols_note *next = n->next;
		free(n);
		n = next;
	}
}

void am_symbols_free(struct am_symbols *s)
{
	if (!s)
		return;
	while (s->images) {
		struct am_image *i = s->images;
		s->images = i->next;
		if (i->dwfl)
			dwfl_end(i->dwfl);
		am_image_free_code(i);
		am_image_free_data(i);
		free(i->path);
		free(i);
	}
	am_symbols_free_names(s);
	free_notes(s->notes);
	free_notes(s->said);
	free(s);
}

static void add_note(struct am_symbols *s, const char *path, const char *what)
{
	const size_t len = strlen(path) + strlen(what) + 8;
	struct am_symbols_note *n = malloc(sizeof *n + len), **end = &s->notes;

	if (!n)
		return;
	snprintf(n->text, len, "'%s' %s", path, what);
	n->next = NULL;
	while (*end)
		end = &(*end)->next;
	*end = n;
}

const char *am_symbols_note(struct am_symbols *s)
{
	struct am_symbols_note *n = s->notes;

	if (!n)
		return NULL;
	s->notes = n->next;
	n->next = s->said;
	s->said = n;
	return n->text;
}

/* ---- modules ------------------------------------------------------------------------------- */

static void open_image(struct am_symbols *s, struct am_image *i, const struct am_module *m)
{
	const unsigned char *id;
	GElf_Addr at, bias;

	const int fd = open(m->path, O_RDONLY | O_CLOEXEC);
	if (fd < 0) {
		if (m->path[0] == '/')
			add_note(s, m->path, "cannot be opened: no symbols from it");
		return;
	}
	i->dwfl = dwfl_begin(&callbacks);
	Dwfl_Module *mod = NULL;
	if (i->dwfl) {
		dwfl_report_begin(i->dwfl);
		mod = dwfl_report_elf(i->dwfl, m->path, m->path, fd, m->base, true);
		dwfl_report_end(i->dwfl, NULL, NULL);
	}
	if (!mod) {
		close(fd); /* otherwise the Dwfl has it */
		return;
	}
	if (!dwfl_module_getelf(mod, &bias))
		return;
	const int n = dwfl_module_build_id(mod, &id, &at);
	if (m->build_id_len &&
	    (n != (int)m->build_id_len || memcmp(id, m->build_id, (size_t)n) != 0)) {
		add_note(s, m->path, "has changed since the recording: no symbols from it");
		return;
	}
	i->mod = mod;
}

static struct am_image *find_image(struct am_symbols *s, const struct am_module *m)
{
	for (struct am_image *i = s->images; i; i = i->next)
		if (i->base == m->base && i->start == m->start && strcmp(i->path, m->path) == 0)
			return i;
	struct am_image *i = calloc(1, sizeof *i);
	if (!i || !(i->path = strdup(m->path))) {
		free(i);
		return NULL;
	}
	i->base = m->base;
	i->start = m->start;
	i->next = s->images;
	s->images = i;
	open_image(s, i, m);
	return i;
}

/* ---- answers ------------------------------------------------------------------------------- */

size_t am_symbols_frames(struct am_symbols *s, const struct am_tables *tables, uint64_t address,
			 bool is_return, struct am_frame *frame, size_t max)
{
	const uint64_t pc = is_return && address ? address - 1 : address;
	const struct am_module *m = am_tables_module(tables, pc);

	frame[0] = (struct am_frame){.offset = address};
	if (!m)
		return 1;
	struct am_image *i = find_image(s, m);
	frame[0].module = i ? i->path : m->path;
	frame[0].offset = address - m->base;
	if (!i || !i->mod)
		return 1;
	return am_image_frames(s, i, pc, frame, max < AM_INLINE_MAX ? max : AM_INLINE_MAX);
}

bool am_symbols_variable(struct am_symbols *s, const struct am_tables *tables, uint64_t address,
			 struct am_variable *v)
{
	const struct am_module *m = am_tables_module(tables, address);
	struct am_image *i = m ? find_image(s, m) : NULL;
	GElf_Sym sym;
	GElf_Off off;

	if (!i || !i->mod)
		return false;
	const char *name = dwfl_module_addrinfo(i->mod, address, &off, &sym, NULL, NULL, NULL);
	if (!name || GELF_ST_TYPE(sym.st_info) != STT_OBJECT || off >= sym.st_size)
		return false;
	am_image_part(i, address - off, off, s->part, sizeof s->part);
	*v = (struct am_variable){am_symbols_plain(s, name), s->part, address - off, sym.st_size, i->path};
	return true;
}

const char *am_symbols_site(struct am_symbols *s, const struct am_tables *tables, uint32_t site,
			    char *buf, size_t cap)
{
	struct am_frame f[4];

	if (site == 0 || site >= tables->n_sites || tables->site[site].n_frames == 0)
		return NULL;
	if (tables->sites_are_lines) {
		snprintf(buf, cap, "line %" PRIu64, tables->site[site].frame[0]);
		return buf;
	}
	am_symbols_frames(s, tables, tables->site[site].frame[0], true, f, 4);
	const char *slash = f[0].file ? strrchr(f[0].file, '/') : NULL;
	if (f[0].function && f[0].file)
		snprintf(buf, cap, "%s %s:%u", f[0].function, slash ? slash + 1 : f[0].file,
			 f[0].line);
	else if (f[0].module) {
		slash = strrchr(f[0].module, '/');
		snprintf(buf, cap, "%s%s%s+0x%" PRIx64, f[0].function ? f[0].function : "",
			 f[0].function ? " " : "", slash ? slash + 1 : f[0].module, f[0].offset);
	} else {
		return NULL;
	}
	for (char *p = buf; *p; p++)
		if ((unsigned char)*p < ' ')
			*p = '?';
	return buf;
}
