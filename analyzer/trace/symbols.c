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

struct global {
	uint64_t address;
	Dwarf_Die die;
};

struct image {
	struct image *next;
	char *path;
	uint64_t base, start;
	Dwfl *dwfl;
	Dwfl_Module *mod; /* NULL: no symbols from it */
	struct global *globals;
	size_t n_globals, cap_globals;
	bool has_globals; /* they were looked for */
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
	char part[256]; /* of the last variable */
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
		free(i->globals);
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

/* Compilers make versions of a function, `atommon cc` the watched one; to the reader they are one. */
static const char *version_of(const char *name)
{
	static const char *const kind[] = {".atommon", ".constprop.", ".isra.", ".part.",
					   ".cold",    ".lto_priv.",  ".llvm."};
	const char *first = NULL;

	for (size_t i = 0; i < sizeof kind / sizeof *kind; i++) {
		const char *at = strstr(name, kind[i]);
		if (at && (!first || at < first))
			first = at;
	}
	return first;
}

static char *source_name(const char *mangled)
{
	const char *version = version_of(mangled);
	char *name = version ? strndup(mangled, (size_t)(version - mangled)) : strdup(mangled);
	int status;

	if (!name || strncmp(name, "_Z", 2) != 0)
		return name;
	char *plain = __cxa_demangle(name, NULL, NULL, &status);
	if (!plain)
		return name;
	free(name);
	return plain;
}

static const char *plain_name(struct am_symbols *s, const char *mangled)
{
	unsigned h = 0;

	if (!mangled || (strncmp(mangled, "_Z", 2) != 0 && !version_of(mangled)))
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
	n->plain = source_name(mangled);
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

/* The compiler gives no line to the callback at a function's entry; it is the first one's. Line 0 further
 * on is code of several lines: none of them is told. */
static uint32_t first_line(Dwarf_Die *cu, Dwarf_Die *function, Dwarf_Addr pc)
{
	Dwarf_Lines *lines;
	Dwarf_Addr low, at;
	size_t n;
	int number, first = 0;

	if (dwarf_lowpc(function, &low) != 0 || dwarf_getsrclines(cu, &lines, &n) != 0)
		return 0;
	for (size_t i = 0; i < n; i++) {
		Dwarf_Line *l = dwarf_onesrcline(lines, i);
		if (!l || dwarf_lineaddr(l, &at) != 0 || at < low || at > pc ||
		    dwarf_lineno(l, &number) != 0 || number == 0)
			continue;
		if (first && number != first)
			return 0;
		first = number;
	}
	return (uint32_t)first;
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
			if (n == 0 && frame[0].line == 0)
				frame[0].line = first_line(cu, &scope[i], address - bias);
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
	set_line(i->mod, pc, &frame[0]);
	const size_t n = add_inlined(s, i->mod, pc, frame, max < INLINE_MAX ? max : INLINE_MAX);
	/* Looks at every symbol of the file: only if nothing better is there. */
	if (!frame[n - 1].function)
		frame[n - 1].function =
			plain_name(s, dwfl_module_addrinfo(i->mod, pc, &off, &sym, NULL, NULL, NULL));
	return n;
}

/* ---- variables and their members ------------------------------------------------------------- */

/* The address that a variable always has, in the file; false: it is in a register, on a stack. */
static bool fixed_address(Dwarf_Die *die, uint64_t *address)
{
	Dwarf_Attribute attr, number;
	Dwarf_Op *op;
	size_t n;
	Dwarf_Addr at;

	if (!dwarf_attr(die, DW_AT_location, &attr) || dwarf_getlocation(&attr, &op, &n) != 0 || n != 1)
		return false;
	*address = op[0].number;
	if (op[0].atom == DW_OP_addr)
		return true;
	if ((op[0].atom != DW_OP_addrx && op[0].atom != DW_OP_GNU_addr_index) ||
	    dwarf_getlocation_attr(&attr, op, &number) != 0 || dwarf_formaddr(&number, &at) != 0)
		return false;
	*address = at;
	return true;
}

static void collect_globals(struct image *i, Dwarf_Die *parent, uint64_t bias, unsigned depth)
{
	Dwarf_Die child;
	uint64_t address;

	if (depth == 8 || dwarf_child(parent, &child) != 0)
		return;
	do {
		const int tag = dwarf_tag(&child);
		if (tag == DW_TAG_namespace || tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block)
			collect_globals(i, &child, bias, depth + 1);
		if (tag != DW_TAG_variable || !fixed_address(&child, &address))
			continue;
		if (i->n_globals == i->cap_globals) {
			const size_t cap = i->cap_globals ? i->cap_globals * 2 : 256;
			struct global *more = realloc(i->globals, cap * sizeof *more);
			if (!more)
				return;
			i->globals = more;
			i->cap_globals = cap;
		}
		i->globals[i->n_globals++] = (struct global){address + bias, child};
	} while (dwarf_siblingof(&child, &child) == 0);
}

static Dwarf_Die *find_global(struct image *i, uint64_t address)
{
	Dwarf_Addr bias;

	for (Dwarf_Die *cu = NULL; !i->has_globals && (cu = dwfl_module_nextcu(i->mod, cu, &bias));)
		collect_globals(i, cu, bias, 0);
	i->has_globals = true;
	for (size_t k = 0; k < i->n_globals; k++)
		if (i->globals[k].address == address)
			return &i->globals[k].die;
	return NULL;
}

/* Types whose insides mean nothing to their users. */
static bool is_opaque(Dwarf_Die *type)
{
	static const char *const names[] = {
		"pthread_mutex_t", "pthread_cond_t", "pthread_rwlock_t", "pthread_spinlock_t",
		"pthread_barrier_t", "pthread_once_t", "sem_t", "mtx_t", "cnd_t", "once_flag", "mutex",
		"recursive_mutex", "timed_mutex", "recursive_timed_mutex", "shared_mutex",
		"shared_timed_mutex", "condition_variable", "condition_variable_any",
		"counting_semaphore", "barrier"};
	const char *name = dwarf_diename(type);

	for (size_t i = 0; name && i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static bool type_of(Dwarf_Die *die, Dwarf_Die *type)
{
	Dwarf_Attribute attr;

	return dwarf_formref_die(dwarf_attr_integrate(die, DW_AT_type, &attr), type) != NULL;
}

/* Take typedefs and qualifiers off; false: go no deeper. */
static bool peel(Dwarf_Die *type)
{
	for (;;) {
		const int tag = dwarf_tag(type);
		if (is_opaque(type))
			return false;
		if (tag != DW_TAG_typedef && tag != DW_TAG_const_type && tag != DW_TAG_volatile_type &&
		    tag != DW_TAG_restrict_type && tag != DW_TAG_atomic_type)
			return true;
		if (!type_of(type, type))
			return false;
	}
}

/* The member or base of a structure that covers the offset. */
static bool find_member(Dwarf_Die *type, uint64_t offset, Dwarf_Die *member, uint64_t *start)
{
	Dwarf_Die each, of;
	Dwarf_Attribute attr;
	Dwarf_Word at, size;

	if (dwarf_child(type, &each) != 0)
		return false;
	do {
		const int tag = dwarf_tag(&each);
		if ((tag != DW_TAG_member && tag != DW_TAG_inheritance) || !type_of(&each, &of) ||
		    dwarf_aggregate_size(&of, &size) != 0)
			continue;
		if (dwarf_formudata(dwarf_attr(&each, DW_AT_data_bit_offset, &attr), &at) == 0)
			at /= 8;
		else if (dwarf_formudata(dwarf_attr(&each, DW_AT_data_member_location, &attr), &at) != 0)
			at = 0;
		if (at <= offset && offset - at < size) {
			*member = each;
			*start = at;
			return true;
		}
	} while (dwarf_siblingof(&each, &each) == 0);
	return false;
}

/* "[2][5]" of the element that covers the offset, which becomes the one within it. */
static bool find_element(Dwarf_Die *type, uint64_t *offset, char *out, size_t cap)
{
	Dwarf_Die element, each;
	Dwarf_Attribute attr;
	Dwarf_Word size, bound[8], rest = 1;
	size_t n = 0;

	if (!type_of(type, &element) || dwarf_aggregate_size(&element, &size) != 0 || !size ||
	    dwarf_child(type, &each) != 0)
		return false;
	do {
		if (dwarf_tag(&each) != DW_TAG_subrange_type || n == 8)
			continue;
		if (dwarf_formudata(dwarf_attr(&each, DW_AT_count, &attr), &bound[n]) != 0) {
			if (dwarf_formudata(dwarf_attr(&each, DW_AT_upper_bound, &attr), &bound[n]) != 0)
				return false;
			bound[n]++;
		}
		rest *= bound[n++];
	} while (dwarf_siblingof(&each, &each) == 0);
	uint64_t index = *offset / size;
	if (index >= rest)
		return false;
	for (size_t i = 0, at = 0; i < n && at < cap; i++) {
		rest /= bound[i];
		at += (size_t)snprintf(out + at, cap - at, "[%" PRIu64 "]", index / rest);
		index %= rest;
	}
	*offset %= size;
	*type = element;
	return true;
}

/* ".queue[3].count": how the byte at `offset` is called within a variable; "+5" where names end. */
static void name_part(Dwarf_Die *variable, uint64_t offset, char *out, size_t cap)
{
	Dwarf_Die type, member;
	uint64_t start;
	size_t at = 0;

	out[0] = 0;
	bool is_typed = variable && type_of(variable, &type);
	while (is_typed && at < cap && peel(&type)) {
		const int tag = dwarf_tag(&type);
		if (tag == DW_TAG_array_type) {
			if (!find_element(&type, &offset, out + at, cap - at))
				break;
		} else if (tag == DW_TAG_structure_type || tag == DW_TAG_class_type ||
			   tag == DW_TAG_union_type) {
			if (!find_member(&type, offset, &member, &start))
				break;
			const char *name = dwarf_diename(&member);
			if (name && dwarf_tag(&member) == DW_TAG_member)
				snprintf(out + at, cap - at, ".%s", name);
			offset -= start;
			is_typed = type_of(&member, &type);
		} else {
			break;
		}
		at += strlen(out + at);
	}
	if (offset && at < cap)
		snprintf(out + at, cap - at, "+%" PRIu64, offset);
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
	name_part(find_global(i, address - off), off, s->part, sizeof s->part);
	*v = (struct am_variable){plain_name(s, name), s->part, address - off, sym.st_size, i->path};
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
