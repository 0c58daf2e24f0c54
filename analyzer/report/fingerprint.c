/* Stable ids: see fingerprint.h. Pure. */
/* SPDX-License-Identifier: MIT */
#include "fingerprint.h"

#include <string.h>

/* FNV-1a, 64 bits; a 0 byte after each text keeps neighbours apart. */
static uint64_t mix(uint64_t h, const char *text, size_t n)
{
	for (size_t i = 0; i < n; i++)
		h = (h ^ (unsigned char)text[i]) * UINT64_C(0x100000001b3);
	return h * UINT64_C(0x100000001b3);
}

static uint64_t mix_text(uint64_t h, const char *text)
{
	return mix(h, text, strlen(text));
}

/* Compilers clone functions as they see fit: foo.constprop.0 is foo. */
static uint64_t mix_function(uint64_t h, const char *function)
{
	static const char *const clones[] = {".constprop.", ".isra.", ".part.", ".cold", ".llvm."};
	size_t n = strlen(function);

	for (size_t i = 0; i < sizeof clones / sizeof *clones; i++) {
		const char *cut = strstr(function, clones[i]);
		if (cut && cut != function && (size_t)(cut - function) < n)
			n = (size_t)(cut - function);
	}
	return mix(h, function, n);
}

static uint64_t mix_end(uint64_t h, const struct am_print_end *e, bool is_coarse)
{
	h = mix_text(h, e->operation);
	h = mix_text(h, e->object);
	return is_coarse ? h : mix_function(h, e->function);
}

static uint32_t fingerprint(const struct am_print *p, bool is_coarse)
{
	uint64_t h = mix_text(UINT64_C(0xcbf29ce484222325), p->region);

	if (!is_coarse)
		h = mix_function(h, p->function);
	h = mix_end(h, &p->out, is_coarse);
	h = mix_end(h, &p->in, is_coarse);
	if (p->is_chain)
		h = mix_text(h, "chain");
	else {
		h = mix_text(h, p->other);
		h = mix_end(h, &p->other_in, is_coarse);
		h = mix_end(h, &p->other_out, is_coarse);
	}
	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return (uint32_t)(h >> 32);
}

uint32_t am_fingerprint(const struct am_print *p)
{
	return fingerprint(p, false);
}

uint32_t am_fingerprint_coarse(const struct am_print *p)
{
	return fingerprint(p, true);
}

uint32_t am_fingerprint_core(const struct am_print *p, bool is_coarse)
{
	struct am_print alone = *p;

	alone.is_chain = true;
	return fingerprint(&alone, is_coarse);
}

uint32_t am_fingerprint_statement(const struct am_print *p, const char *file, uint32_t line)
{
	struct am_print at = *p;

	at.in.operation = "";
	return (uint32_t)((mix_text(fingerprint(&at, false), file) ^ line) * UINT64_C(0xc4ceb9fe1a85ec53) >> 32);
}

void am_fingerprint_id(uint32_t fingerprint, char id[12])
{
	memcpy(id, "AV-", 3);
	for (unsigned i = 0; i < 8; i++)
		id[3 + i] = "0123456789abcdef"[fingerprint >> (28 - 4 * i) & 15];
	id[11] = 0;
}
