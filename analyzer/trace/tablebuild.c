/*
 * Growing tables. Runs in tools. An id may not lie far beyond the entries seen before it: a damaged
 * file must not make us allocate what it does not contain.
 */
/* SPDX-License-Identifier: MIT */
#include "analyzer/trace/tablebuild.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static const char no_memory[] = "out of memory";

static bool grow(void *array, size_t *cap, size_t need, size_t entry)
{
	void **p = array;

	if (need <= *cap)
		return true;
	size_t now = *cap ? *cap : 16;
	while (now < need)
		now *= 2;
	void *bigger = realloc(*p, now * entry);
	if (!bigger)
		return false;
	memset((char *)bigger + *cap * entry, 0, (now - *cap) * entry);
	*p = bigger;
	*cap = now;
	return true;
}

static bool too_far(const struct tablebuild *b, uint32_t id)
{
	return id / 4 > b->defined + 16384;
}

static const char *log_change(struct tablebuild *b, enum am_atm_tag what, uint32_t id)
{
	if (!grow(&b->log, &b->log_cap, b->n_log + 1, sizeof *b->log) ||
	    !grow(&b->newest[what], &b->newest_cap[what], (size_t)id + 1, sizeof **b->newest))
		return no_memory;
	uint32_t *newest = &b->newest[what][id];
	if (*newest)
		b->log[*newest - 1].is_old = true;
	b->log[b->n_log++] = (struct am_change){(uint16_t)what, false, id};
	*newest = (uint32_t)b->n_log;
	b->defined++;
	return NULL;
}

/* A copy of the text in *old; sets *changed if it differs. */
static const char *set_text(char **old, const char *text, size_t len, bool *changed)
{
	len = strnlen(text, len);
	if (*old && strlen(*old) == len && memcmp(*old, text, len) == 0)
		return NULL;
	char *copy = malloc(len + 1);
	if (!copy)
		return no_memory;
	memcpy(copy, text, len);
	copy[len] = 0;
	free(*old);
	*old = copy;
	*changed = true;
	return NULL;
}

static const char empty[] = "";

static void publish(struct tablebuild *b)
{
	b->t.string = (const char *const *)b->string;
	b->t.module = b->module;
	b->t.site = b->site;
	b->t.thread = b->thread;
	b->t.command = b->command ? b->command : empty;
}

void tablebuild_init(struct tablebuild *b)
{
	memset(b, 0, sizeof *b);
	publish(b);
}

void tablebuild_free(struct tablebuild *b)
{
	for (size_t i = 0; i < b->t.n_strings; i++)
		if (b->string[i] != empty)
			free(b->string[i]);
	for (size_t i = 0; i < b->t.n_modules; i++)
		if (b->module[i].path != empty)
			free((char *)b->module[i].path);
	for (size_t i = 0; i < b->t.n_threads; i++)
		if (b->thread[i].name != empty)
			free((char *)b->thread[i].name);
	free(b->string);
	free(b->module);
	free(b->site);
	free(b->thread);
	free(b->log);
	for (unsigned i = 0; i <= AM_ATM_T_THREAD; i++)
		free(b->newest[i]);
	free(b->command);
	memset(b, 0, sizeof *b);
}

const char *tablebuild_command(struct tablebuild *b, const char *text, size_t len)
{
	bool changed = false;
	const char *why = set_text(&b->command, text, len, &changed);

	publish(b);
	return why || !changed ? why : log_change(b, AM_ATM_T_COMMAND, 0);
}

const char *tablebuild_string(struct tablebuild *b, uint32_t id, const char *text, size_t len)
{
	bool changed = false;

	if (id == 0)
		return "string 0 is reserved";
	if (too_far(b, id))
		return "string id is out of range";
	if (!grow(&b->string, &b->string_cap, (size_t)id + 1, sizeof *b->string))
		return no_memory;
	for (; b->t.n_strings <= id; b->t.n_strings++)
		b->string[b->t.n_strings] = (char *)empty;
	publish(b);
	char *old = b->string[id] == empty ? NULL : b->string[id];
	const char *why = set_text(&old, text, len, &changed);
	if (why || !changed)
		return why;
	b->string[id] = old;
	return log_change(b, AM_ATM_T_STRING, id);
}

const char *tablebuild_module(struct tablebuild *b, uint32_t index, const struct am_module *m,
			      const char *path, size_t len)
{
	if (too_far(b, index))
		return "module index is out of range";
	if (m->build_id_len > AM_BUILD_ID_MAX)
		return "build-id is too long";
	if (!grow(&b->module, &b->module_cap, (size_t)index + 1, sizeof *b->module))
		return no_memory;
	for (; b->t.n_modules <= index; b->t.n_modules++)
		b->module[b->t.n_modules].path = empty;
	publish(b);

	struct am_module *row = &b->module[index];
	char *old = row->path == empty ? NULL : (char *)row->path;
	bool changed = row->base != m->base || row->start != m->start || row->end != m->end ||
		       row->unloaded != m->unloaded || row->build_id_len != m->build_id_len ||
		       memcmp(row->build_id, m->build_id, m->build_id_len) != 0;
	const char *why = set_text(&old, path, len, &changed);
	if (why || !changed)
		return why;
	*row = *m;
	memset(row->build_id + m->build_id_len, 0, AM_BUILD_ID_MAX - m->build_id_len);
	row->path = old;
	return log_change(b, AM_ATM_T_MODULE, index);
}

const char *tablebuild_site(struct tablebuild *b, uint32_t id, const struct am_site *site)
{
	if (id == 0)
		return "site 0 is reserved";
	if (too_far(b, id))
		return "site id is out of range";
	if (site->n_frames > AM_FRAMES_MAX)
		return "site has too many frames";
	if (!grow(&b->site, &b->site_cap, (size_t)id + 1, sizeof *b->site))
		return no_memory;
	const bool is_new = b->t.n_sites <= id || b->site[id].n_frames == 0;
	if (b->t.n_sites <= id)
		b->t.n_sites = (size_t)id + 1;
	publish(b);
	struct am_site *row = &b->site[id];
	if (!is_new && row->n_frames == site->n_frames &&
	    memcmp(row->frame, site->frame, site->n_frames * sizeof *site->frame) == 0)
		return NULL;
	memset(row, 0, sizeof *row);
	row->n_frames = site->n_frames;
	memcpy(row->frame, site->frame, site->n_frames * sizeof *site->frame);
	return log_change(b, AM_ATM_T_SITE, id);
}

const char *tablebuild_see_thread(struct tablebuild *b, uint32_t id)
{
	if (id < b->t.n_threads)
		return NULL;
	if (id >= AM_ATM_THREADS_MAX || too_far(b, id))
		return "thread id is out of range";
	if (!grow(&b->thread, &b->thread_cap, (size_t)id + 1, sizeof *b->thread))
		return no_memory;
	for (; b->t.n_threads <= id; b->t.n_threads++)
		b->thread[b->t.n_threads] = (struct am_thread){
			.id = (uint32_t)b->t.n_threads, .parent = UINT32_MAX, .name = empty};
	b->defined++;
	publish(b);
	return NULL;
}

const char *tablebuild_thread(struct tablebuild *b, const struct am_thread *th, const char *name,
			      size_t len)
{
	const bool is_new = th->id >= b->t.n_threads || b->thread[th->id].name == empty;
	const char *why = tablebuild_see_thread(b, th->id);

	if (why)
		return why;
	struct am_thread *row = &b->thread[th->id];
	char *old = row->name == empty ? NULL : (char *)row->name;
	bool changed = is_new || row->parent != th->parent || row->os_tid != th->os_tid ||
		       row->create_site != th->create_site;
	why = set_text(&old, name, len, &changed);
	if (why || !changed)
		return why;
	*row = *th;
	row->name = old;
	return log_change(b, AM_ATM_T_THREAD, th->id);
}
