/* Answers of the helper: see answers.h. */
/* SPDX-License-Identifier: MIT */
#include "preload/answers.h"

#include <string.h>

#include "atommon/mem.h"
#include "atommon/tables.h"

enum { ROOM = 1 << 14, TEXT_MAX = 4 << 20 };

static struct {
	struct am_mem *mem;
	struct am_answer *at; /* open addressing; NULL until the first question */
	uint32_t n;
	size_t text_bytes;
} answers;

void am_answers_open(struct am_mem *mem)
{
	memset(&answers, 0, sizeof answers);
	answers.mem = mem;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ (h >> 32);
}

uint64_t am_answers_key(char what, const struct am_module *module, uint64_t offset)
{
	uint64_t h = mix((uint64_t)what, offset);

	for (const char *p = module->path; *p; p++)
		h = mix(h, (unsigned char)*p);
	for (uint32_t i = 0; i < module->build_id_len && i < AM_BUILD_ID_MAX; i++)
		h = mix(h, module->build_id[i]);
	return h ? h : 1;
}

/* The question's place, or the empty one where it would be. */
static struct am_answer *slot(uint64_t key)
{
	for (uint64_t i = key;; i++) {
		struct am_answer *a = &answers.at[i & (ROOM - 1)];
		if (!a->key || a->key == key)
			return a;
	}
}

struct am_answer *am_answers_find(uint64_t key)
{
	struct am_answer *a = answers.at ? slot(key) : NULL;

	return a && a->key ? a : NULL;
}

/* Keep those that are asked for, and no others; or those that are there. */
static void sift(bool keeps_there)
{
	struct am_answer *old = answers.at;

	answers.at = am_mem_alloc(answers.mem, ROOM * sizeof *old);
	answers.n = 0;
	answers.text_bytes = 0;
	for (uint32_t i = 0; i < ROOM; i++) {
		struct am_answer *a = &old[i];
		if (!a->key)
			continue;
		if (answers.at && a->is_there == keeps_there) {
			*slot(a->key) = *a;
			answers.n++;
			answers.text_bytes += a->bytes;
		} else {
			am_mem_free(answers.mem, a->text, a->bytes);
		}
	}
	am_mem_free(answers.mem, old, ROOM * sizeof *old);
}

void am_answers_drop_asked(void)
{
	if (answers.at)
		sift(true);
}

struct am_answer *am_answers_add(uint64_t key)
{
	if (answers.at && (answers.n >= ROOM / 2 || answers.text_bytes > TEXT_MAX))
		sift(false);
	if (!answers.at)
		answers.at = am_mem_alloc(answers.mem, ROOM * sizeof *answers.at);
	if (!answers.at)
		return NULL;
	struct am_answer *a = slot(key);
	answers.n += !a->key;
	a->key = key;
	return a;
}

void am_answers_put(struct am_answer *a, const char *text, size_t bytes)
{
	a->is_there = true;
	a->text = bytes ? am_mem_alloc(answers.mem, bytes) : NULL;
	a->bytes = a->text ? (uint32_t)bytes : 0;
	if (a->text)
		memcpy(a->text, text, bytes);
	answers.text_bytes += a->bytes;
}
