/*
 * Symbols through libdwfl: the only file that knows it. Runs in tools. One Dwfl per module, opened
 * at first use, so that modules that lay at the same addresses one after the other do not mix.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/symbols.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* From the C++ runtime. */
char *__cxa_demangle(const char *mangled, char *buf, size_t *n, int *status);

struct image {
	struct image *next;
	char *path;
	uint64_t base, start;
	Dwfl *dwfl;
	Dwfl_Module *mod; /* NULL: no symbols from it */
};

struct name {
	struct name *next;
	char *mangled, *plain;
};

struct note {
	struct note *next;
	char text[];
};

enum { NAMES = 1024, INLINE_MAX = 16 };

struct am_symbols {
	struct image *images;
	struct name *names[NAMES];
	struct note *notes, *said;
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

static void free_notes(struct note *n)
{
	while (n) {
		struct note *next = n->next;
		free(n);
		n = next;
	}
}

void am_symbols_free(struct am_symbols *s)
{
	if (!s)
		return;
	while (s->images) {
		struct image *i = s->images;
		s->images = i->next;
		if (i->dwfl)
			dwfl_end(i->dwfl);
		free(i->path);
		free(i);
	}
	for (unsigned k = 0; k < NAMES; k++)
		while (s->names[k]) {
			struct name *n = s->names[k];
			s->names[k] = n->next;
			free(n->mangled);
			free(n->plain);
			free(n);
		}
	free_notes(s->notes);
	free_notes(s->said);
	free(s);
}

static void add_note(struct am_symbols *s, const char *path, const char *what)
{
	const size_t len = strlen(path) + strlen(what) + 8;
	struct note *n = malloc(sizeof *n + len), **end = &s->notes;

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
	struct note *n = s->notes;

	if (!n)
		return NULL;
	s->notes = n->next;
	n->next = s->said;
	s->said = n;
	return n->text;
}

/* ---- modules ------------------------------------------------------------------------------- */

static void open_image(struct am_symbols *s, struct image *i, const struct am_module *m)
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

static struct image *find_image(struct am_symbols *s, const struct am_module *m)
{
	for (struct image *i = s->images; i; i = i->next)
		if (i->base == m->base && i->start == m->start && strcmp(i->path, m->path) == 0)
			return i;
	struct image *i = calloc(1, sizeof *i);
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

/* ---- functions and lines ------------------------------------------------------------------- */

static const char *plain_name(struct am_symbols *s, const char *mangled)
{
	unsigned h = 0;
	int status;

	if (!mangled || strncmp(mangled, "_Z", 2) != 0)
		return mangled;
	for (const char *p = mangled; *p; p++)
		h = h * 31 + (unsigned char)*p;
	h %= NAMES;
	for (struct name *n = s->names[h]; n; n = n->next)
		if (strcmp(n->mangled, mangled) == 0)
			return n->plain ? n->plain : mangled;
	struct name *n = calloc(1, sizeof *n);
	if (!n || !(n->mangled = strdup(mangled))) {
		free(n);
		return mangled;
	}
	n->plain = __cxa_demangle(mangled, NULL, NULL, &status);
	n->next = s->names[h];
	s->names[h] = n;
	return n->plain ? n->plain : mangled;
}

static const char *die_name(struct am_symbols *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *linkage =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));

	if (linkage)
		return plain_name(s, linkage);
	return dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
}

/* Where an inlined call stands in the function it was inlined into. */
static void call_place(Dwarf_Die *cu, Dwarf_Die *die, struct am_frame *f)
{
	Dwarf_Attribute attr;
	Dwarf_Word file, line;
	Dwarf_Files *files;

	f->file = NULL;
	f->line = 0;
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_file, &attr), &file) == 0 &&
	    dwarf_getsrcfiles(cu, &files, NULL) == 0)
		f->file = dwarf_filesrc(files, file, NULL, NULL);
	if (dwarf_formudata(dwarf_attr(die, DW_AT_call_line, &attr), &line) == 0)
		f->line = (uint32_t)line;
}

/* The compilation unit of an address. clang writes no address index (.debug_aranges) unless asked:
 * then all units are looked at. */
static Dwarf_Die *unit_of(Dwfl_Module *mod, uint64_t address, Dwarf_Addr *bias)
{
	Dwarf_Die *cu = dwfl_module_addrdie(mod, address, bias);

	if (cu)
		return cu;
	while ((cu = dwfl_module_nextcu(mod, cu, bias)))
		if (dwarf_haspc(cu, address - *bias) > 0)
			return cu;
	return NULL;
}

static void set_line(Dwfl_Module *mod, uint64_t pc, struct am_frame *f)
{
	Dwfl_Line *line = dwfl_module_getsrc(mod, pc);
	Dwarf_Addr bias = 0;
	int number = 0;

	if (line) {
		f->file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	} else {
		Dwarf_Die *cu = unit_of(mod, pc, &bias);
		Dwarf_Line *l = cu ? dwarf_getsrc_die(cu, pc - bias) : NULL;
		f->file = l ? dwarf_linesrc(l, NULL, NULL) : NULL;
		if (l && dwarf_lineno(l, &number) != 0)
			number = 0;
	}
	f->line = number > 0 ? (uint32_t)number : 0;
}

/* frame[0] has its place; fill in names, and the frames it is inlined into. */
static size_t add_inlined(struct am_symbols *s, Dwfl_Module *mod, uint64_t address,
			  struct am_frame *frame, size_t max)
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = unit_of(mod, address, &bias);
	Dwarf_Die *innermost = NULL, *scope = NULL;
	size_t n = 0;

	if (!cu)
		return 1;
	/* The scopes of an inlined function go on with where it was written; we want where it is.
	 */
	if (dwarf_getscopes(cu, address - bias, &innermost) <= 0)
		return 1;
	const int n_scopes = dwarf_getscopes_die(&innermost[0], &scope);
	free(innermost);
	for (int i = 0; i < n_scopes && n < max; i++) {
		const int tag = dwarf_tag(&scope[i]);
		if (tag == DW_TAG_inlined_subroutine) {
			const char *name = die_name(s, &scope[i]);
			frame[n].function = name;
			frame[n].is_inlined = n + 1 < max;
			if (n + 1 < max) {
				frame[n + 1] = frame[n];
				frame[n + 1].is_inlined = false;
				frame[n + 1].function = NULL;
				call_place(cu, &scope[i], &frame[n + 1]);
			}
			n++;
		} else if (tag == DW_TAG_subprogram) {
			const char *name = die_name(s, &scope[i]);
			if (name)
				frame[n].function = name;
			n++;
			break;
		}
	}
	free(scope);
	return n ? n : 1;
}

size_t am_symbols_frames(struct am_symbols *s, const struct am_tables *tables, uint64_t address,
			 bool is_return, struct am_frame *frame, size_t max)
{
	const uint64_t pc = is_return && address ? address - 1 : address;
	const struct am_module *m = am_tables_module(tables, pc);
	GElf_Sym sym;
	GElf_Off off;

	frame[0] = (struct am_frame){.offset = address};
	if (!m)
		return 1;
	struct image *i = find_image(s, m);
	frame[0].module = i ? i->path : m->path;
	frame[0].offset = address - m->base;
	if (!i || !i->mod)
		return 1;
	const char *symbol =
		plain_name(s, dwfl_module_addrinfo(i->mod, pc, &off, &sym, NULL, NULL, NULL));
	set_line(i->mod, pc, &frame[0]);
	const size_t n = add_inlined(s, i->mod, pc, frame, max < INLINE_MAX ? max : INLINE_MAX);
	if (!frame[n - 1].function)
		frame[n - 1].function = symbol;
	return n;
}

bool am_symbols_variable(struct am_symbols *s, const struct am_tables *tables, uint64_t address,
			 struct am_variable *v)
{
	const struct am_module *m = am_tables_module(tables, address);
	struct image *i = m ? find_image(s, m) : NULL;
	GElf_Sym sym;
	GElf_Off off;

	if (!i || !i->mod)
		return false;
	const char *name = dwfl_module_addrinfo(i->mod, address, &off, &sym, NULL, NULL, NULL);
	if (!name || GELF_ST_TYPE(sym.st_info) != STT_OBJECT || off >= sym.st_size)
		return false;
	*v = (struct am_variable){plain_name(s, name), address - off, sym.st_size, i->path};
	return true;
}

const char *am_symbols_site(struct am_symbols *s, const struct am_tables *tables, uint32_t site,
			    char *buf, size_t cap)
{
	struct am_frame f[4];

	if (site == 0 || site >= tables->n_sites || tables->site[site].n_frames == 0)
		return NULL;
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
