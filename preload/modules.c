/*
 * The table of loaded modules, so that addresses can be told as file and offset. All of them are
 * noted at start; what dlopen brings later is noted when its code first shows up in a call site,
 * through a look-up that takes no lock: hooks must not wait for the loader, whose lock may be held
 * by a thread that waits for a lock which the caller of the hook holds.
 */
/* SPDX-License-Identifier: MIT */
#include <elf.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

#include "preload/area.h"
#include "preload/real.h"
#include "preload/runtime.h"
#include "preload/trace_open.h"

static void read_notes(struct am_ringmodule *row, const char *p, size_t size)
{
	const char *end = p + size;

	while ((size_t)(end - p) >= sizeof(ElfW(Nhdr))) {
		const ElfW(Nhdr) *note = (const void *)p;
		const char *name = p + sizeof *note, *desc = name + ((note->n_namesz + 3) & ~3u);
		if (note->n_type == NT_GNU_BUILD_ID && note->n_namesz == 4 && !memcmp(name, "GNU", 4) &&
		    note->n_descsz <= sizeof row->build_id && desc + note->n_descsz <= end) {
			memcpy(row->build_id, desc, note->n_descsz);
			row->build_id_len = note->n_descsz;
			return;
		}
		p = desc + ((note->n_descsz + 3) & ~3u);
	}
}

static void add(const char *path, uintptr_t base, uintptr_t start, uintptr_t end,
		const ElfW(Phdr) *phdr, unsigned n)
{
	const uint32_t i = am_ringtable_claim(&am_area.file->modules, 1);

	if (i == UINT32_MAX)
		return;
	struct am_ringmodule *row = &am_area.modules[i];
	row->base = base;
	row->start = start;
	row->end = end;
	for (unsigned k = 0; k < n; k++)
		if (phdr[k].p_type == PT_NOTE)
			read_notes(row, (const char *)base + phdr[k].p_vaddr, phdr[k].p_memsz);
	if (!path[0] && i == 0) {
		const ssize_t length = readlink("/proc/self/exe", row->path, sizeof row->path - 1);
		row->path[length > 0 ? length : 0] = 0;
	} else {
		strncpy(row->path, path, sizeof row->path - 1);
	}
	__atomic_store_n(&row->state, 1, __ATOMIC_RELEASE); /* partner: the readers of the table */
	__atomic_add_fetch(&am_modules_changed, 1, __ATOMIC_RELEASE);
}

static int note_one(struct dl_phdr_info *info, size_t size, void *unused)
{
	uintptr_t start = UINTPTR_MAX, end = 0;

	(void)size;
	(void)unused;
	for (unsigned i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *ph = &info->dlpi_phdr[i];
		if (ph->p_type != PT_LOAD)
			continue;
		const uintptr_t at = info->dlpi_addr + ph->p_vaddr;
		start = at < start ? at : start;
		end = at + ph->p_memsz > end ? at + ph->p_memsz : end;
	}
	if (end > start)
		add(info->dlpi_name ? info->dlpi_name : "", info->dlpi_addr, start & ~UINT64_C(4095),
		    end, info->dlpi_phdr, info->dlpi_phnum);
	return 0;
}

void am_modules_scan(void)
{
	dl_iterate_phdr(note_one, NULL);
}

void am_modules_know(uintptr_t pc)
{
	struct am_real_module m;
	const uint32_t n = am_ringtable_used(&am_area.file->modules);

	if (!am_real_find_module(pc, &m))
		return;
	for (uint32_t i = n; i-- > 0;) {
		struct am_ringmodule *row = &am_area.modules[i];
		if (__atomic_load_n(&row->state, __ATOMIC_ACQUIRE) != 1 || pc < row->start ||
		    pc >= row->end)
			continue;
		if (row->base == m.base && (!m.path[0] || !strncmp(row->path, m.path, 255)))
			return;
		row->state = 2; /* its place was taken by another module since */
		__atomic_add_fetch(&am_modules_changed, 1, __ATOMIC_RELEASE);
	}
	/* The program headers lie at the start of the first mapping. */
	const ElfW(Ehdr) *e = (const void *)m.start;
	const bool has_header = !memcmp(e->e_ident, ELFMAG, SELFMAG) &&
				e->e_phoff + e->e_phnum * sizeof(ElfW(Phdr)) <= 4096;
	add(m.path, m.base, m.start, m.end,
	    has_header ? (const void *)(m.start + e->e_phoff) : NULL, has_header ? e->e_phnum : 0);
}
