/* Symbols of this very program, looked up as if it had been recorded. */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/symbols.h"

#include <criterion/criterion.h>
#include <link.h>
#include <string.h>
#include <unistd.h>

int trace_symbols_variable[4] = {1, 2, 3, 4};

static inline __attribute__((always_inline)) uint64_t inlined_here(void)
{
	uint64_t pc;
	__asm__ volatile("lea 0(%%rip), %0" : "=r"(pc));
	return pc;
}

__attribute__((noinline)) uint64_t trace_symbols_function(void);
uint64_t trace_symbols_function(void)
{
	return inlined_here();
}

struct found {
	struct am_module m;
	char path[4096];
};

static int first_module(struct dl_phdr_info *info, size_t size, void *data)
{
	struct found *f = data;

	(void)size;
	f->m.base = info->dlpi_addr;
	f->m.start = UINT64_MAX;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *p = &info->dlpi_phdr[i];
		const uint64_t start = info->dlpi_addr + p->p_vaddr;
		if (p->p_type == PT_LOAD) {
			f->m.start = start < f->m.start ? start : f->m.start;
			f->m.end = start + p->p_memsz > f->m.end ? start + p->p_memsz : f->m.end;
		}
		if (p->p_type == PT_NOTE && p->p_memsz >= 36) {
			const ElfW(Nhdr) *n = (const void *)start;
			if (n->n_type == NT_GNU_BUILD_ID && n->n_descsz <= AM_BUILD_ID_MAX) {
				memcpy(f->m.build_id, (const char *)(n + 1) + n->n_namesz,
				       n->n_descsz);
				f->m.build_id_len = n->n_descsz;
			}
		}
	}
	return 1;
}

static void self(struct found *f, struct am_tables *t)
{
	memset(f, 0, sizeof *f);
	memset(t, 0, sizeof *t);
	dl_iterate_phdr(first_module, f);
	const ssize_t n = readlink("/proc/self/exe", f->path, sizeof f->path - 1);
	cr_assert(n > 0);
	f->m.path = f->path;
	t->module = &f->m;
	t->n_modules = 1;
}

Test(symbols, an_address_has_function_file_and_line_and_inlined_frames)
{
	struct found f;
	struct am_tables t;
	struct am_frame frame[8];
	struct am_symbols *s = am_symbols_new();

	self(&f, &t);
	const size_t n = am_symbols_frames(s, &t, trace_symbols_function(), true, frame, 8);
	cr_assert_eq(n, 2);
	cr_assert_str_eq(frame[0].function, "inlined_here");
	cr_assert(frame[0].is_inlined);
	cr_assert_str_eq(frame[1].function, "trace_symbols_function");
	cr_assert_not_null(strstr(frame[0].file, "trace_symbols.c"));
	cr_assert(frame[0].line > 10 && frame[1].line > frame[0].line);
	cr_assert_null(am_symbols_note(s));
	am_symbols_free(s);
}

Test(symbols, a_variable_covers_its_bytes)
{
	struct found f;
	struct am_tables t;
	struct am_variable v;
	struct am_symbols *s = am_symbols_new();

	self(&f, &t);
	const uint64_t at = (uintptr_t)&trace_symbols_variable[2];
	cr_assert(am_symbols_variable(s, &t, at + 1, &v));
	cr_assert_str_eq(v.name, "trace_symbols_variable");
	cr_assert_eq(v.start, (uintptr_t)trace_symbols_variable);
	cr_assert_eq(v.size, sizeof trace_symbols_variable);
	cr_assert(!am_symbols_variable(s, &t, trace_symbols_function(), &v));
	am_symbols_free(s);
}

Test(symbols, a_changed_file_is_said_once_and_degrades_to_module_and_offset)
{
	struct found f;
	struct am_tables t;
	struct am_frame frame[8];
	struct am_symbols *s = am_symbols_new();

	self(&f, &t);
	f.m.build_id_len = 20;
	f.m.build_id[0] ^= 1;
	const uint64_t pc = trace_symbols_function();
	for (int i = 0; i < 2; i++) {
		cr_assert_eq(am_symbols_frames(s, &t, pc, false, frame, 8), 1);
		cr_assert_null(frame[0].function);
		cr_assert_eq(frame[0].offset, pc - f.m.base);
		cr_assert_str_eq(frame[0].module, f.path);
	}
	const char *note = am_symbols_note(s);
	cr_assert(note && strstr(note, "has changed"));
	cr_assert_null(am_symbols_note(s));
	am_symbols_free(s);
}

Test(symbols, an_address_of_no_module_stays_a_number)
{
	struct am_tables t = {0};
	struct am_frame frame[2];
	struct am_symbols *s = am_symbols_new();

	cr_assert_eq(am_symbols_frames(s, &t, 0x1234, true, frame, 2), 1);
	cr_assert_null(frame[0].module);
	cr_assert_eq(frame[0].offset, 0x1234);
	am_symbols_free(s);
}
