/*
 * Which functions are regions (ATOMMON_ATOMIC=fn:GLOB). The symbol tables of a module are read once,
 * at start or when a function of a module that came later is first entered; after that a look-up is
 * one probe of a table keyed by the function's address. Runs in init and in hooks; no malloc.
 */
/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "preload/area.h"
#include "preload/functions.h"
#include "preload/msg.h"
#include "preload/name.h"
#include "preload/real.h"
#include "preload/runtime.h"

enum { TABLE = 65536, PROBES = 64, MODULES = 512 };

bool am_has_functions;

/* id_plus_1 1: known to be no region. */
static struct {
	uint64_t address;
	uint32_t id_plus_1;
} table[TABLE];

/* The same functions by extent, for callbacks that know only where they were called. */
struct am_function am_functions[AM_REGION_FUNCTIONS];
static uint32_t n_ranges;

/* For those who misspell: which globs of ATOMMON_ATOMIC named a function so far; is there a module that tells us of entries? */
static uint64_t matched;
static bool has_entries;

static uintptr_t resolved[MODULES]; /* bases of modules whose symbols were read */
static uint32_t n_resolved;

static uint32_t *find(uintptr_t address, bool is_new)
{
	uint64_t at = (address * UINT64_C(0x9e3779b97f4a7c15)) >> 40;

	for (unsigned k = 0; k < PROBES; k++, at++) {
		uint64_t seen = __atomic_load_n(&table[at % TABLE].address, __ATOMIC_ACQUIRE);
		if (seen == 0 && is_new &&
		    __atomic_compare_exchange_n(&table[at % TABLE].address, &seen, address, false,
						__ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
			seen = address;
		if (seen == address)
			return &table[at % TABLE].id_plus_1;
		if (seen == 0)
			return NULL;
	}
	return NULL;
}

static bool claim_module(uintptr_t base);
static void read_module(const char *path, uintptr_t base);

/* Compilers make versions of a function: withdraw.constprop.0, withdraw.atommon. */
static const char *base_name(const char *name, char *buf, size_t size)
{
	const char *dot = strchr(name, '.');

	if (!dot || dot == name || (size_t)(dot - name) >= size)
		return name;
	memcpy(buf, name, (size_t)(dot - name));
	buf[dot - name] = 0;
	return buf;
}

static void add_range(uintptr_t start, uintptr_t size, uint32_t id)
{
	const uint32_t i = __atomic_load_n(&n_ranges, __ATOMIC_RELAXED);

	if (size == 0 || i >= AM_REGION_FUNCTIONS)
		return;
	am_functions[i].start = start;
	am_functions[i].end = start + size;
	am_functions[i].name = id;
	__atomic_store_n(&n_ranges, i + 1, __ATOMIC_RELEASE); /* partner: learn */
}

uint64_t am_function_places[AM_FUNCTION_PLACES] __attribute__((aligned(64)));
struct am_function_map am_function_map;

static uint32_t learn(uintptr_t pc)
{
	struct am_real_module m;
	const int saved = errno;

	if (am_real_find_module(pc, &m) && m.path[0] && claim_module(m.base))
		read_module(m.path, m.base);
	errno = saved;
	const uint32_t n = __atomic_load_n(&n_ranges, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < n; i++)
		if (pc >= am_functions[i].start && pc < am_functions[i].end)
			return i + 1;
	return 0;
}

/* The other entry may have it; then they change places. What was in the first one is not lost before a third comes. */
uint32_t am_function_learn(uintptr_t pc, uint64_t *place)
{
	uint64_t *other = &am_function_places[(place - am_function_places) ^ 1];
	const uint64_t first = __atomic_load_n(place, __ATOMIC_RELAXED), second = __atomic_load_n(other, __ATOMIC_RELAXED);
	const uint64_t known = second >> 16 == pc ? second : (uint64_t)pc << 16 | learn(pc);

	__atomic_store_n(other, first, __ATOMIC_RELAXED);
	__atomic_store_n(place, known, __ATOMIC_RELAXED);
	return known & 0xffff;
}

static bool is_region(const char *name)
{
	const uint64_t globs = am_glob_functions(am_opt.atomic, name);

	if (globs & ~__atomic_load_n(&matched, __ATOMIC_RELAXED))
		__atomic_fetch_or(&matched, globs, __ATOMIC_RELAXED);
	return globs != 0;
}

typedef void symbol_fn(const ElfW(Sym) *symbol, const char *name, void *ctx);

/* Every symbol of the file that has a name inside it. */
static void each_symbol(const char *file, size_t size, symbol_fn *fn, void *ctx)
{
	const ElfW(Ehdr) *e = (const void *)file;

	if (size < sizeof *e || memcmp(e->e_ident, ELFMAG, SELFMAG) != 0 ||
	    e->e_shentsize != sizeof(ElfW(Shdr)) || e->e_shoff > size ||
	    e->e_shnum > (size - e->e_shoff) / sizeof(ElfW(Shdr)))
		return;
	const ElfW(Shdr) *section = (const void *)(file + e->e_shoff);
	for (unsigned i = 0; i < e->e_shnum; i++) {
		const ElfW(Shdr) *s = &section[i];
		if ((s->sh_type != SHT_SYMTAB && s->sh_type != SHT_DYNSYM) || s->sh_link >= e->e_shnum)
			continue;
		const ElfW(Shdr) *text = &section[s->sh_link];
		if (s->sh_offset > size || s->sh_size > size - s->sh_offset ||
		    text->sh_offset > size || text->sh_size > size - text->sh_offset ||
		    text->sh_size == 0 || file[text->sh_offset + text->sh_size - 1] != 0)
			continue;
		const ElfW(Sym) *symbol = (const void *)(file + s->sh_offset);
		for (size_t k = 0; k < s->sh_size / sizeof *symbol; k++)
			if (symbol[k].st_name < text->sh_size)
				fn(&symbol[k], file + text->sh_offset + symbol[k].st_name, ctx);
	}
}

/* A module that does not call us when it enters a function has no region functions. */
static void look_for_calls(const ElfW(Sym) *symbol, const char *name, void *has_calls)
{
	if (symbol->st_shndx == SHN_UNDEF &&
	    (!strcmp(name, "__tsan_func_entry") || !strcmp(name, "__atommon_entry") || !strcmp(name, "__cyg_profile_func_enter")))
		*(bool *)has_calls = true;
}

static void add_function(const ElfW(Sym) *symbol, const char *text, void *ctx)
{
	const uintptr_t base = *(const uintptr_t *)ctx, address = base + symbol->st_value;
	char buf[256], base_buf[256];

	if (ELF64_ST_TYPE(symbol->st_info) != STT_FUNC || !symbol->st_value)
		return;
	const char *mangled = base_name(text, base_buf, sizeof base_buf);
	const char *name = am_name_plain(mangled, buf, sizeof buf);
	if (!is_region(name) && (mangled == name || !is_region(mangled)))
		return;
	uint32_t *p = find(address, true);
	const uint32_t id = am_intern(name);
	if (!p || !id)
		return;
	if (__atomic_load_n(p, __ATOMIC_RELAXED) <= 1)
		add_range(address, symbol->st_size, id);
	__atomic_store_n(p, id + 1, __ATOMIC_RELEASE);
}

static void read_symbols(const char *file, size_t size, uintptr_t base)
{
	bool has_calls = false;

	each_symbol(file, size, look_for_calls, &has_calls);
	if (!has_calls)
		return;
	__atomic_store_n(&has_entries, true, __ATOMIC_RELAXED);
	each_symbol(file, size, add_function, &base);
}

/* Behind the reading of the program itself: `entry` is in it. */
static void draw_map(uintptr_t entry, uintptr_t start, uintptr_t end)
{
	struct am_function_map *m = &am_function_map;

	if (entry < start || entry >= end)
		return;
	while ((end - start) >> m->shift >= AM_FUNCTION_PIECES)
		m->shift++;
	for (uint32_t i = 0; i < n_ranges; i++) {
		const struct am_function *f = &am_functions[i];
		if (f->start >= start && f->end <= end)
			for (uintptr_t k = (f->start - start) >> m->shift; k <= (f->end - 1 - start) >> m->shift; k++)
				m->may[k] = 1;
	}
	m->code = start;
	m->size = end - start;
}

static void read_module(const char *path, uintptr_t base)
{
	struct stat st;
	const int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return;
	void *p = MAP_FAILED;
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode) && st.st_size > 0)
		p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	close(fd);
	if (p == MAP_FAILED)
		return;
	read_symbols(p, (size_t)st.st_size, base);
	munmap(p, (size_t)st.st_size);
}

/* True if this call is the one to read the module. */
static bool claim_module(uintptr_t base)
{
	const uint32_t n = __atomic_load_n(&n_resolved, __ATOMIC_ACQUIRE);

	for (uint32_t i = 0; i < n && i < MODULES; i++)
		if (resolved[i] == base + 1)
			return false;
	const uint32_t i = __atomic_fetch_add(&n_resolved, 1, __ATOMIC_ACQ_REL);
	if (i >= MODULES)
		return false;
	resolved[i] = base + 1;
	return true;
}

void am_functions_resolve(void)
{
	const uint32_t n = am_ringtable_used(&am_area.file->modules);

	am_has_functions = strstr(am_opt.atomic, "fn:") != NULL;
	memset(&am_function_map, 0, sizeof am_function_map);
	if (!am_has_functions) {
		am_function_map.shift = 63;
		am_function_map.size = UINTPTR_MAX;
		return;
	}
	memset(table, 0, sizeof table);
	memset(am_function_places, 0, sizeof am_function_places);
	n_resolved = n_ranges = 0;
	matched = 0;
	has_entries = false;
	for (uint32_t i = 0; i < n; i++) {
		const struct am_ringmodule *row = &am_area.modules[i];
		if (row->state != 1 || !claim_module(row->base))
			continue;
		read_module(row->path, row->base);
		draw_map(getauxval(AT_ENTRY), row->start, row->end);
	}
}

uint32_t am_function_region(uintptr_t address)
{
	struct am_real_module m;
	const uint32_t *known = find(address, false);

	if (am_likely(known != NULL)) {
		const uint32_t id = __atomic_load_n(known, __ATOMIC_ACQUIRE);
		return id ? id - 1 : 0;
	}
	const int saved = errno;
	if (am_real_find_module(address, &m) && m.path[0] && claim_module(m.base))
		read_module(m.path, m.base);
	uint32_t *p = find(address, true), none = 0;
	if (p)
		__atomic_compare_exchange_n(p, &none, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
	errno = saved;
	return p && *p > 1 ? *p - 1 : 0;
}

void am_functions_tell_unmatched(void)
{
	char names[200] = "";
	size_t at = 0, n;
	const char *glob;

	if (!am_has_functions)
		return;
	if (!__atomic_load_n(&has_entries, __ATOMIC_RELAXED)) {
		am_say("ATOMMON_ATOMIC names functions, but none are seen: build with 'atommon cc' or -finstrument-functions");
		return;
	}
	const uint64_t found = __atomic_load_n(&matched, __ATOMIC_RELAXED);
	for (unsigned i = 0; i < 63 && (glob = am_glob_function_at(am_opt.atomic, i, &n)); i++)
		if (!(found >> i & 1) && n < sizeof names - at - 8) {
			at += am_format(names + at, sizeof names - at, at ? ", '" : "'");
			memcpy(names + at, glob, n);
			at += n;
			at += am_format(names + at, sizeof names - at, "'");
		}
	if (at)
		am_say("ATOMMON_ATOMIC: no function is called %s; what was inlined, or not built with 'atommon cc', is not seen", names);
}
