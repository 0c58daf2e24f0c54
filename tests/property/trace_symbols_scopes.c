/*
 * Random addresses of this very program: the functions there, inlined ones first, as symbols_code.c finds
 * them in its index and as libdw does, which walks over the whole unit each time.
 * usage: trace_symbols_scopes [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/symbols.h"
#include "tests/property/cases.h"

#include <dwarf.h>
#include <elfutils/libdwfl.h>

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FRAMES = 16 };

static uint64_t rng;
static char path[4096];

static uint64_t rnd(uint64_t n)
{
	rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (rng >> 20) % n;
}

static Dwfl_Module *open_self(Dwfl **dwfl)
{
	static char *debuginfo;
	static const Dwfl_Callbacks callbacks = {.find_elf = dwfl_build_id_find_elf,
						 .find_debuginfo = dwfl_standard_find_debuginfo,
						 .debuginfo_path = &debuginfo};

	*dwfl = dwfl_begin(&callbacks);
	dwfl_report_begin(*dwfl);
	Dwfl_Module *mod = dwfl_report_elf(*dwfl, path, path, open(path, O_RDONLY | O_CLOEXEC), 0, true);
	dwfl_report_end(*dwfl, NULL, NULL);
	return mod;
}

static const char *name_of(Dwarf_Die *die)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, DW_AT_name, &attr));
}

/* As dwarf_getscopes has it: where an inlined function is, not where it was written. */
static size_t scopes(Dwfl_Module *mod, uint64_t pc, const char **name)
{
	Dwarf_Addr bias;
	Dwarf_Die *cu = dwfl_module_addrdie(mod, pc, &bias), *innermost = NULL, *scope = NULL;
	size_t n = 0;

	while (!cu || dwarf_haspc(cu, pc - bias) <= 0)
		if (!(cu = dwfl_module_nextcu(mod, cu, &bias)))
			return 0;
	if (dwarf_getscopes(cu, pc - bias, &innermost) <= 0)
		return 0;
	const int all = dwarf_getscopes_die(&innermost[0], &scope);
	for (int i = 0; i < all && n < FRAMES; i++) {
		const int tag = dwarf_tag(&scope[i]);
		if (tag == DW_TAG_inlined_subroutine || tag == DW_TAG_subprogram)
			name[n++] = name_of(&scope[i]);
		if (tag == DW_TAG_subprogram)
			break;
	}
	free(innermost);
	free(scope);
	return n;
}

/* Where code is: each address of a random line of a random unit. */
static uint64_t any_address(Dwfl_Module *mod)
{
	Dwarf_Addr bias, at = 0;
	Dwarf_Die *cu = NULL, *chosen = NULL;
	Dwarf_Lines *lines;
	size_t n;

	for (uint64_t seen = 1; (cu = dwfl_module_nextcu(mod, cu, &bias)); seen++)
		if (rnd(seen) == 0)
			chosen = cu;
	if (!chosen || dwarf_getsrclines(chosen, &lines, &n) != 0 || n == 0)
		return 0;
	dwarf_lineaddr(dwarf_onesrcline(lines, rnd(n)), &at);
	return at + rnd(4);
}

static bool agree(struct am_symbols *s, Dwfl_Module *mod, uint64_t pc, uint64_t *inlined)
{
	const struct am_module module = {.path = path, .end = UINT64_MAX};
	const struct am_tables tables = {.module = &module, .n_modules = 1};
	struct am_frame frame[FRAMES];
	const char *name[FRAMES];
	const size_t n = am_symbols_frames(s, &tables, pc, false, frame, FRAMES), want = scopes(mod, pc, name);

	if (want == 0) /* no function: one frame, perhaps with the name of a symbol */
		return n == 1 && !frame[0].is_inlined;
	bool same = n == want;
	for (size_t i = 0; same && i < n; i++)
		same = frame[i].function && name[i] && strcmp(frame[i].function, name[i]) == 0 &&
		       frame[i].is_inlined == (i + 1 < n);
	*inlined += n > 1;
	return same;
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 20080707;
	const uint64_t count = cases_wanted(argc, argv, 2000);
	struct am_symbols *s = am_symbols_new();
	uint64_t inlined = 0;
	Dwfl *dwfl;

	if (readlink("/proc/self/exe", path, sizeof path - 1) <= 0 || !s)
		return 2;
	Dwfl_Module *mod = open_self(&dwfl);
	rng = seed;
	printf("# seed %" PRIu64 "\n", seed);
	for (uint64_t i = 0; i < count; i++) {
		const uint64_t pc = any_address(mod);
		if (pc && !agree(s, mod, pc, &inlined)) {
			printf("not ok 1 - seed %" PRIu64 ": the functions at 0x%" PRIx64 " of '%s' differ from libdw's\n",
			       seed, pc, path);
			return 1;
		}
	}
	printf("%sok 1 - %" PRIu64 " addresses, %" PRIu64 " of them inlined, as libdw has them\n1..1\n",
	       inlined ? "" : "not ", count, inlined);
	am_symbols_free(s);
	dwfl_end(dwfl);
	return inlined ? 0 : 1;
}
