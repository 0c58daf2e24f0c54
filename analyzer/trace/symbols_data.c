/*
 * Which part of a variable an address is: its members and elements, from debug information. Runs in tools.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/symbols_image.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NESTED_MAX = 8 };

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

/* Those of this depth only: to look into functions is most of the work, and few are there. */
static void collect(struct am_spans *globals, Dwarf_Die *parent, enum am_depth want, enum am_depth at, unsigned nested)
{
	Dwarf_Die child;
	uint64_t address;

	if (nested == NESTED_MAX || dwarf_child(parent, &child) != 0)
		return;
	do {
		const int tag = dwarf_tag(&child);
		const bool is_code = tag == DW_TAG_subprogram || tag == DW_TAG_lexical_block;
		if (tag == DW_TAG_namespace || (is_code && want == AM_INSIDE_FUNCTIONS))
			collect(globals, &child, want, is_code ? AM_INSIDE_FUNCTIONS : at, nested + 1);
		if (tag == DW_TAG_variable && at == want && fixed_address(&child, &address))
			am_spans_add(globals, address, address + 1, &child);
	} while (dwarf_siblingof(&child, &child) == 0);
}

static Dwarf_Die *find_global(struct am_image *i, uint64_t address, enum am_depth depth)
{
	struct am_spans *globals = &i->globals[depth];
	Dwarf_Addr bias = 0;

	for (Dwarf_Die *cu = NULL; !i->has_globals[depth] && (cu = dwfl_module_nextcu(i->mod, cu, &bias));)
		collect(globals, cu, depth, AM_OUTSIDE_FUNCTIONS, 0);
	if (!i->has_globals[depth])
		am_spans_sort(globals);
	i->has_globals[depth] = true;
	if (!dwfl_module_getdwarf(i->mod, &bias))
		return NULL;
	const struct am_span *found = am_spans_find(globals, address - bias);
	return found ? (Dwarf_Die *)&found->die : NULL;
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

void am_image_part(struct am_image *i, uint64_t address, uint64_t offset, char *out, size_t cap)
{
	Dwarf_Die *variable = find_global(i, address, AM_OUTSIDE_FUNCTIONS);

	name_part(variable ? variable : find_global(i, address, AM_INSIDE_FUNCTIONS), offset, out, cap);
}

void am_image_free_data(struct am_image *i)
{
	for (unsigned k = 0; k < AM_DEPTHS; k++)
		free(i->globals[k].at);
}
