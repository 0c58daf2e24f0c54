/* Why a program cannot be watched: see doctor.h. Runs in tools; reads files, writes none. */
/* SPDX-License-Identifier: MIT */
#include "doctor.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "arena.h"

enum { TEXT = 1200, SCRIPT_DEPTH = 4, PATH_BYTES = 1024 };

struct visit {
	const char *path;
	am_finding_fn *tell;
	void *ctx;
	bool is_good;
	unsigned depth;
};

static void say(struct visit *v, enum am_finding finding, const char *format, ...)
{
	char text[TEXT];
	va_list ap;

	va_start(ap, format);
	am_text_intov(text, sizeof text, format, ap);
	va_end(ap);
	if (finding == AM_FINDING_NO)
		v->is_good = false;
	v->tell(v->ctx, finding, text);
}

/* ---- ELF files ------------------------------------------------------------------------------ */

struct image {
	const uint8_t *bytes;
	size_t n;
	const Elf64_Phdr *segment;
	unsigned n_segments;
	const Elf64_Dyn *dynamic;
	size_t n_dynamic;
	const char *strings;
	size_t n_strings;
};

static bool map_file(const char *path, struct image *m)
{
	const int fd = open(path, O_RDONLY | O_CLOEXEC);
	struct stat st;

	memset(m, 0, sizeof *m);
	if (fd < 0)
		return false;
	if (fstat(fd, &st) == 0 && st.st_size > 0) {
		void *p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
		if (p != MAP_FAILED) {
			m->bytes = p;
			m->n = (size_t)st.st_size;
		}
	}
	close(fd);
	return m->bytes != NULL;
}

static const void *range(const struct image *m, uint64_t at, uint64_t n)
{
	return at <= m->n && n <= m->n - at ? m->bytes + at : NULL;
}

/* A virtual address of the file as an offset; UINT64_MAX if no segment holds it. */
static uint64_t offset_of(const struct image *m, uint64_t address)
{
	for (unsigned i = 0; i < m->n_segments; i++)
		if (m->segment[i].p_type == PT_LOAD && address >= m->segment[i].p_vaddr &&
		    address - m->segment[i].p_vaddr < m->segment[i].p_filesz)
			return address - m->segment[i].p_vaddr + m->segment[i].p_offset;
	return UINT64_MAX;
}

static uint64_t dynamic_value(const struct image *m, int64_t tag)
{
	for (size_t i = 0; i < m->n_dynamic && m->dynamic[i].d_tag != DT_NULL; i++)
		if (m->dynamic[i].d_tag == tag)
			return m->dynamic[i].d_un.d_val;
	return 0;
}

static bool parse(struct image *m)
{
	const Elf64_Ehdr *h = range(m, 0, sizeof *h);

	if (!h || memcmp(h->e_ident, ELFMAG, SELFMAG) != 0 || h->e_ident[EI_CLASS] != ELFCLASS64)
		return false;
	m->segment = range(m, h->e_phoff, (uint64_t)h->e_phnum * sizeof *m->segment);
	if (!m->segment || h->e_phentsize != sizeof *m->segment)
		return false;
	m->n_segments = h->e_phnum;
	for (unsigned i = 0; i < m->n_segments; i++)
		if (m->segment[i].p_type == PT_DYNAMIC) {
			m->dynamic = range(m, m->segment[i].p_offset, m->segment[i].p_filesz);
			m->n_dynamic = m->dynamic ? m->segment[i].p_filesz / sizeof *m->dynamic : 0;
		}
	m->n_strings = dynamic_value(m, DT_STRSZ);
	m->strings = range(m, offset_of(m, dynamic_value(m, DT_STRTAB)), m->n_strings);
	return true;
}

static const char *dynamic_text(const struct image *m, uint64_t at)
{
	return m->strings && at < m->n_strings && memchr(m->strings + at, 0, m->n_strings - at)
		       ? m->strings + at
		       : "";
}

static const char *interpreter(const struct image *m)
{
	for (unsigned i = 0; i < m->n_segments; i++)
		if (m->segment[i].p_type == PT_INTERP) {
			const char *p = range(m, m->segment[i].p_offset, m->segment[i].p_filesz);
			return p && memchr(p, 0, m->segment[i].p_filesz) ? p : "";
		}
	return "";
}

static bool has_section(const struct image *m, const char *name)
{
	const Elf64_Ehdr *h = range(m, 0, sizeof *h);
	const Elf64_Shdr *s = range(m, h->e_shoff, (uint64_t)h->e_shnum * sizeof *s);

	if (!s || h->e_shentsize != sizeof *s || h->e_shstrndx >= h->e_shnum)
		return false;
	const Elf64_Shdr *names = &s[h->e_shstrndx];
	const char *text = range(m, names->sh_offset, names->sh_size);
	for (unsigned i = 0; text && i < h->e_shnum; i++)
		if (s[i].sh_name < names->sh_size &&
		    memchr(text + s[i].sh_name, 0, names->sh_size - s[i].sh_name) &&
		    strcmp(text + s[i].sh_name, name) == 0)
			return true;
	return false;
}

static void libraries(struct visit *v, const struct image *m)
{
	for (size_t i = 0; i < m->n_dynamic && m->dynamic[i].d_tag != DT_NULL; i++) {
		const char *text = dynamic_text(m, m->dynamic[i].d_un.d_val);
		switch (m->dynamic[i].d_tag) {
		case DT_NEEDED:
			if (strncmp(text, "libasan.so", 10) == 0)
				say(v, AM_FINDING_NOTE,
				    "built with AddressSanitizer: %s must be preloaded first; 'atommon run' "
				    "does that",
				    text);
			if (strncmp(text, "libtsan.so", 10) == 0)
				say(v, AM_FINDING_NOTE,
				    "built with ThreadSanitizer: works, but both slow it down; for access "
				    "level build with 'atommon cc' instead");
			break;
		case DT_RPATH:
		case DT_RUNPATH:
			say(v, AM_FINDING_OK, "brings its own libraries (run path '%s'): they are watched too",
			    text);
			break;
		}
	}
}

/* Is this one of the names the dynamic linker deals with? */
static bool mentions(const struct image *m, const char *name)
{
	const size_t n = strlen(name) + 1;

	for (size_t i = 0; m->strings && i + n <= m->n_strings; i += strlen(dynamic_text(m, i)) + 1)
		if (memcmp(m->strings + i, name, n) == 0)
			return true;
	return false;
}

static void elf(struct visit *v, struct image *m)
{
	const uint8_t *ident = m->bytes;

	if (m->n > EI_CLASS && ident[EI_CLASS] == ELFCLASS32) {
		say(v, AM_FINDING_NO, "'%s' is a 32-bit program: the library is 64-bit and cannot be loaded "
				      "into it. Build it for x86-64.", v->path);
		return;
	}
	if (!parse(m)) {
		say(v, AM_FINDING_NO, "'%s' is a damaged ELF file", v->path);
		return;
	}
	const Elf64_Ehdr *h = (const Elf64_Ehdr *)m->bytes;
	if (h->e_machine != EM_X86_64) {
		say(v, AM_FINDING_NO, "'%s' is for another processor (ELF machine %u): atommon knows x86-64",
		    v->path, (uint32_t)h->e_machine);
		return;
	}
	const char *linker = interpreter(m);
	const bool is_go = has_section(m, ".note.go.buildid") || has_section(m, ".go.buildinfo");
	if (!*linker) {
		say(v, AM_FINDING_NO,
		    "'%s' is statically linked: there is no dynamic linker that could load the library. "
		    "%s",
		    v->path,
		    is_go ? "Go programs synchronise in their own runtime, not through pthreads."
			  : "Link it dynamically (without -static).");
		return;
	}
	if (strstr(linker, "musl")) {
		say(v, AM_FINDING_NO,
		    "'%s' uses musl (%s): the library is made for glibc, whose symbol versions it "
		    "relies on. Build the program against glibc.",
		    v->path, linker);
		return;
	}
	if (access(linker, X_OK) != 0)
		say(v, AM_FINDING_NO, "its dynamic linker '%s' does not exist here", linker);
	if (is_go)
		say(v, AM_FINDING_NOTE, "a Go program: only locks of C code linked into it are visible");
	if (has_section(m, ".rustc") || has_section(m, ".note.rustc"))
		say(v, AM_FINDING_NOTE, "a Rust program: std::sync uses futexes, which are not visible");
	libraries(v, m);
	if (mentions(m, "dlmopen"))
		say(v, AM_FINDING_NOTE, "it calls dlmopen: locks of libraries in another namespace are not seen");
	else if (mentions(m, "dlopen"))
		say(v, AM_FINDING_NOTE, "it loads libraries while running: locks of those opened with "
					"RTLD_DEEPBIND are not seen");
	say(v, AM_FINDING_OK, "'%s' is dynamically linked (%s): it can be watched", v->path, linker);
	say(v, AM_FINDING_OK, has_section(m, ".debug_info")
				      ? "it has debug information: reports name source lines"
				      : "it has no debug information: reports name functions as far as "
					"symbols go, no lines (build with -g)");
}

/* ---- any file ------------------------------------------------------------------------------- */

static bool find_in_path(const char *program, char *out, size_t size)
{
	const char *path = getenv("PATH");

	if (strchr(program, '/'))
		return am_text_into(out, size, "%s", program) < size;
	for (path = path ? path : "/usr/bin:/bin"; *path;) {
		const size_t n = strcspn(path, ":");
		struct stat st;
		if (am_text_into(out, size, "%.*s/%s", (int)n, path, program) < size &&
		    access(out, X_OK) == 0 && stat(out, &st) == 0 && S_ISREG(st.st_mode))
			return true;
		path += n + (path[n] == ':');
	}
	return false;
}

static void visit_file(struct visit *v);

static void script(struct visit *v, const struct image *m)
{
	char line[256], found[PATH_BYTES];
	size_t n = 0;
	const char *start = (const char *)m->bytes + 2, *end = (const char *)m->bytes + m->n;

	while (start < end && (*start == ' ' || *start == '\t'))
		start++;
	while (start + n < end && n < sizeof line - 1 && start[n] != '\n')
		n++;
	memcpy(line, start, n);
	line[n] = 0;
	char *words = NULL, *interp = strtok_r(line, " \t\r", &words);
	if (interp && strcmp(strrchr(interp, '/') ? strrchr(interp, '/') + 1 : interp, "env") == 0)
		do
			interp = strtok_r(NULL, " \t\r", &words);
		while (interp && (*interp == '-' || strchr(interp, '=')));
	if (!interp || v->depth >= SCRIPT_DEPTH || !find_in_path(interp, found, sizeof found)) {
		say(v, AM_FINDING_NO, "'%s' is a script, and its interpreter '%s' is not found", v->path,
		    interp ? interp : "");
		return;
	}
	say(v, AM_FINDING_NOTE,
	    "'%s' is a script: what is watched is its interpreter '%s' and the programs it starts "
	    "(narrow it down with ATOMMON_ONLY)",
	    v->path, found);
	struct visit inner = *v;
	inner.path = found;
	inner.depth++;
	visit_file(&inner);
	v->is_good = inner.is_good;
}

static void rights(struct visit *v, const struct stat *st)
{
	struct statvfs fs;
	const bool ids_count = statvfs(v->path, &fs) != 0 || !(fs.f_flag & ST_NOSUID);

	if (ids_count && ((st->st_mode & S_ISUID && st->st_uid != geteuid()) ||
			  (st->st_mode & S_ISGID && st->st_mode & S_IXGRP && st->st_gid != getegid())))
		say(v, AM_FINDING_NO,
		    "'%s' is set-%s: the dynamic linker ignores LD_PRELOAD for it. Run a copy without "
		    "that bit, or run it as its owner.",
		    v->path, st->st_mode & S_ISUID ? "user-ID" : "group-ID");
	else if (st->st_mode & S_ISUID)
		say(v, AM_FINDING_NOTE, "'%s' is set-user-ID: watched only when its owner runs it", v->path);
}

static void visit_file(struct visit *v)
{
	struct stat st;
	struct image m;

	if (stat(v->path, &st) != 0) {
		say(v, AM_FINDING_NO, "'%s': %s", v->path, strerror(errno));
		return;
	}
	if (!S_ISREG(st.st_mode)) {
		say(v, AM_FINDING_NO, "'%s' is not a program but a %s", v->path,
		    S_ISDIR(st.st_mode) ? "directory" : "special file");
		return;
	}
	if (access(v->path, X_OK) != 0)
		say(v, AM_FINDING_NO, "'%s' may not be executed: %s (chmod +x)", v->path, strerror(errno));
	rights(v, &st);
	if (!map_file(v->path, &m)) {
		say(v, AM_FINDING_NOTE, "'%s' cannot be read (%s): nothing more can be said", v->path,
		    st.st_size ? strerror(errno) : "it is empty");
		if (!st.st_size)
			v->is_good = false;
		return;
	}
	if (m.n >= SELFMAG && memcmp(m.bytes, ELFMAG, SELFMAG) == 0)
		elf(v, &m);
	else if (m.n > 2 && m.bytes[0] == '#' && m.bytes[1] == '!')
		script(v, &m);
	else
		say(v, AM_FINDING_NO, "'%s' is neither an ELF program nor a script with '#!'", v->path);
	munmap((void *)m.bytes, m.n);
}

bool am_doctor(const char *program, am_finding_fn *tell, void *ctx)
{
	char found[PATH_BYTES];
	struct visit v = {.path = found, .tell = tell, .ctx = ctx, .is_good = true};

	if (!find_in_path(program, found, sizeof found)) {
		v.path = program;
		say(&v, AM_FINDING_NO, "'%s' is not found in PATH", program);
		return false;
	}
	visit_file(&v);
	return v.is_good;
}

bool am_doctor_first_library(const char *program, char *out, size_t size)
{
	char found[PATH_BYTES];
	struct image m;
	bool has = false;

	if (!find_in_path(program, found, sizeof found) || !map_file(found, &m))
		return false;
	if (m.n >= SELFMAG && memcmp(m.bytes, ELFMAG, SELFMAG) == 0 && parse(&m))
		for (size_t i = 0; i < m.n_dynamic && m.dynamic[i].d_tag != DT_NULL && !has; i++) {
			const char *text = dynamic_text(&m, m.dynamic[i].d_un.d_val);
			if (m.dynamic[i].d_tag == DT_NEEDED && strncmp(text, "libasan.so", 10) == 0)
				has = am_text_into(out, size, "%s", text) < size;
		}
	munmap((void *)m.bytes, m.n);
	return has;
}
