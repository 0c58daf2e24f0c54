/*
 * Functions, files and lines of code, from debug information. The functions of a compilation unit are put in
 * order when it is first asked about; after that an address costs a walk over its own function only. Runs in
 * tools.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/symbols_image.h"

#include <stdlib.h>

enum { SCOPES_MAX = 64, NESTED_MAX = 16, UNITS = sizeof((struct am_image *)0)->unit / sizeof(struct am_unit *) };

static const char *die_name(struct am_symbols *s, Dwarf_Die *die)
{
	Dwarf_Attribute attr;
	const char *linkage =
		dwarf_formstring(dwarf_attr_integrate(die, DW_AT_linkage_name, &attr));

	if (linkage)
		return am_symbols_plain(s, linkage);
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

/* ---- units and their functions --------------------------------------------------------------- */

static void add_ranges(struct am_spans *spans, Dwarf_Die *die)
{
	Dwarf_Addr base, low, high;

	for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &low, &high)) > 0;)
		if (low < high)
			am_spans_add(spans, low, high, die);
}

/* clang writes no address index (.debug_aranges) unless asked: then we make one. */
static Dwarf_Die *find_unit(struct am_image *i, uint64_t address, Dwarf_Addr *bias)
{
	for (Dwarf_Die *cu = NULL; !i->has_units && (cu = dwfl_module_nextcu(i->mod, cu, bias));)
		add_ranges(&i->units, cu);
	if (!i->has_units)
		am_spans_sort(&i->units);
	i->has_units = true;
	if (!i->units.n || !dwfl_module_getdwarf(i->mod, bias))
		return NULL;
	struct am_span *found = am_spans_find(&i->units, address - *bias);
	return found ? &found->die : NULL;
}

static Dwarf_Die *unit_of(struct am_image *i, uint64_t address, Dwarf_Addr *bias)
{
	Dwarf_Die *cu = dwfl_module_addrdie(i->mod, address, bias);

	return cu ? cu : find_unit(i, address, bias);
}

/* Those with code: at the top, in namespaces and in classes. */
static void collect_functions(struct am_spans *functions, Dwarf_Die *parent, unsigned nested)
{
	Dwarf_Die child;

	if (nested == NESTED_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		switch (dwarf_tag(&child)) {
		case DW_TAG_subprogram:
			add_ranges(functions, &child);
			break;
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_class_type:
		case DW_TAG_structure_type:
		case DW_TAG_union_type:
			collect_functions(functions, &child, nested + 1);
			break;
		}
	} while (dwarf_siblingof(&child, &child) == 0);
}

static const struct am_spans *functions_of(struct am_image *i, Dwarf_Die *cu)
{
	const Dwarf_Off offset = dwarf_dieoffset(cu);
	struct am_unit **home = &i->unit[(offset >> 4) % UNITS];

	for (struct am_unit *u = *home; u; u = u->next)
		if (u->offset == offset)
			return &u->functions;
	struct am_unit *u = calloc(1, sizeof *u);
	if (!u)
		return NULL;
	u->offset = offset;
	u->next = *home;
	*home = u;
	collect_functions(&u->functions, cu, 0);
	am_spans_sort(&u->functions);
	return &u->functions;
}

/* The child whose code covers the address and that is inlined, or a block. */
static bool find_inner(Dwarf_Die *parent, Dwarf_Addr pc, Dwarf_Die *inner)
{
	if (dwarf_child(parent, inner) != 0)
		return false;
	do {
		const int tag = dwarf_tag(inner);
		if ((tag == DW_TAG_inlined_subroutine || tag == DW_TAG_lexical_block) && dwarf_haspc(inner, pc) > 0)
			return true;
	} while (dwarf_siblingof(inner, inner) == 0);
	return false;
}

/* The function at an address and what is inlined there, outermost first: so many. */
static unsigned find_scopes(struct am_image *i, Dwarf_Die *cu, Dwarf_Addr pc, Dwarf_Die *scope)
{
	const struct am_spans *functions = functions_of(i, cu);
	const struct am_span *function = functions ? am_spans_find(functions, pc) : NULL;
	Dwarf_Die at;
	unsigned n = 0;

	if (!function)
		return 0;
	scope[n++] = at = function->die;
	for (unsigned depth = 0; depth < SCOPES_MAX && find_inner(&at, pc, &at) && n < SCOPES_MAX; depth++)
		if (dwarf_tag(&at) == DW_TAG_inlined_subroutine)
			scope[n++] = at;
	return n;
}

/* ---- lines ----------------------------------------------------------------------------------- */

static void set_line(struct am_image *i, uint64_t pc, struct am_frame *f)
{
	Dwfl_Line *line = dwfl_module_getsrc(i->mod, pc);
	Dwarf_Addr bias = 0;
	int number = 0;

	if (line) {
		f->file = dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL);
	} else {
		Dwarf_Die *cu = unit_of(i, pc, &bias);
		Dwarf_Line *l = cu ? dwarf_getsrc_die(cu, pc - bias) : NULL;
		f->file = l ? dwarf_linesrc(l, NULL, NULL) : NULL;
		if (l && dwarf_lineno(l, &number) != 0)
			number = 0;
	}
	f->line = number > 0 ? (uint32_t)number : 0;
}

static Dwarf_Addr address_of(Dwarf_Lines *lines, size_t i)
{
	Dwarf_Addr at = 0;

	dwarf_lineaddr(dwarf_onesrcline(lines, i), &at);
	return at;
}

/* The compiler gives no line to the callback at a function's entry; it is the first one's. Line 0 further
 * on is code of several lines: none of them is told. */
static uint32_t first_line(Dwarf_Die *cu, Dwarf_Die *function, Dwarf_Addr pc)
{
	Dwarf_Lines *lines;
	Dwarf_Addr low;
	size_t n, from = 0;
	int number, first = 0;

	if (dwarf_lowpc(function, &low) != 0 || dwarf_getsrclines(cu, &lines, &n) != 0)
		return 0;
	for (size_t to = n; from < to;) { /* lines are by address */
		const size_t middle = from + (to - from) / 2;
		if (address_of(lines, middle) < low)
			from = middle + 1;
		else
			to = middle;
	}
	for (; from < n && address_of(lines, from) <= pc; from++) {
		if (dwarf_lineno(dwarf_onesrcline(lines, from), &number) != 0 || number == 0)
			continue;
		if (first && number != first)
			return 0;
		first = number;
	}
	return (uint32_t)first;
}

/* ---- frames ---------------------------------------------------------------------------------- */

/* frame[0] has its place; fill in names, and the frames it is inlined into. */
static size_t add_inlined(struct am_symbols *s, struct am_image *i, uint64_t address, struct am_frame *frame,
			  size_t max)
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = unit_of(i, address, &bias), scope[SCOPES_MAX];
	unsigned left = cu ? find_scopes(i, cu, address - bias, scope) : 0;
	size_t n = 0;

	while (left > 1 && n < max) {
		frame[n].function = die_name(s, &scope[--left]);
		frame[n].is_inlined = n + 1 < max;
		if (n + 1 < max) {
			frame[n + 1] = frame[n];
			frame[n + 1].is_inlined = false;
			frame[n + 1].function = NULL;
			call_place(cu, &scope[left], &frame[n + 1]);
		}
		n++;
	}
	if (left == 1 && n < max) {
		const char *name = die_name(s, &scope[0]);
		if (name)
			frame[n].function = name;
		if (n == 0 && frame[0].line == 0)
			frame[0].line = first_line(cu, &scope[0], address - bias);
		n++;
	}
	return n ? n : 1;
}

size_t am_image_frames(struct am_symbols *s, struct am_image *i, uint64_t pc, struct am_frame *frame, size_t max)
{
	GElf_Sym sym;
	GElf_Off off;

	set_line(i, pc, &frame[0]);
	const size_t n = add_inlined(s, i, pc, frame, max);
	/* Looks at every symbol of the file: only if nothing better is there. */
	if (!frame[n - 1].function)
		frame[n - 1].function =
			am_symbols_plain(s, dwfl_module_addrinfo(i->mod, pc, &off, &sym, NULL, NULL, NULL));
	return n;
}

void am_image_free_code(struct am_image *i)
{
	free(i->units.at);
	for (size_t k = 0; k < UNITS; k++)
		while (i->unit[k]) {
			struct am_unit *u = i->unit[k];
			i->unit[k] = u->next;
			free(u->functions.at);
			free(u);
		}
}
