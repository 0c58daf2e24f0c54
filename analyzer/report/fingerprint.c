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

static uint64_t mix_end(uint64_t h, const struct am_print_end *e)
{
	h = mix_text(h, e->operation);
	h = mix_text(h, e->object);
	return mix_function(h, e->function);
}

static uint64_t hop_hash(const struct am_print_hop *hop)
{
	uint64_t h = mix_text(UINT64_C(0xcbf29ce484222325), hop->region);
	h = mix_end(h, &hop->in);
	return mix_end(h, &hop->out);
}

uint32_t am_fingerprint(const struct am_print *p)
{
	uint64_t h = mix_text(UINT64_C(0xcbf29ce484222325), p->region);

	h = mix_function(h, p->function);
	h = mix_end(h, &p->out);
	h = mix_end(h, &p->in);
	/* A set: each different hop once, in any order. */
	uint64_t sum = 0;
	for (size_t i = 0; i < p->n_hops; i++) {
		const uint64_t one = hop_hash(&p->hop[i]);
		size_t j = 0;
		while (j < i && hop_hash(&p->hop[j]) != one)
			j++;
		if (j == i)
			sum += one * UINT64_C(0x9e3779b97f4a7c15);
	}
	h = (h ^ sum) * UINT64_C(0xff51afd7ed558ccd);
	h ^= h >> 33;
	h *= UINT64_C(0xc4ceb9fe1a85ec53);
	return (uint32_t)(h >> 32);
}

void am_fingerprint_id(uint32_t fingerprint, char id[12])
{
	memcpy(id, "AV-", 3);
	for (unsigned i = 0; i < 8; i++)
		id[3 + i] = "0123456789abcdef"[fingerprint >> (28 - 4 * i) & 15];
	id[11] = 0;
}
