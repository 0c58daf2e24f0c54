/*
 * From a cycle to a story in numbered steps. Every step is an event that happened (or that the
 * witness schedule holds); context steps (region begin, lock operations) come from the recent
 * critical sections and may be missing, the cycle's own accesses never are.
 */
/* SPDX-License-Identifier: MIT */
#include "blame.h"

#include <assert.h>
#include <string.h>

#include "belated.h"
#include "fingerprint.h"
#include "story.h"

enum { CONTEXT_STEPS = 48 }; /* at most so many steps that are not of the cycle */
enum { BELATED = 16 };	     /* orders behind each event, for what was told late */

static const struct am_place nowhere;

/* Where in the told schedule an event stands. */
static uint64_t order_of(const struct story *s, uint32_t thread, uint64_t index)
{
	if (!s->witness || !s->witness->event)
		return index * BELATED;
	for (size_t i = 0; i < s->witness->n_events; i++) {
		const struct am_event *e = s->witness->event[i];
		if (e->index == index && e->thread == thread)
			return i;
	}
	return UINT64_MAX;
}

struct fact {
	uint64_t index, object, value;
	uint64_t order; /* 0: by its index */
	uint32_t thread, site, size, region, region_site;
	uint8_t kind, mode, flags, role;
};

static struct fact fact_of_access(const struct am_access *a)
{
	return (struct fact){.index = a->index, .object = a->object, .value = a->value,
			     .thread = a->thread, .site = a->site, .size = a->size,
			     .region = a->region, .region_site = a->region_site,
			     .kind = a->kind, .mode = a->mode,
			     .flags = a->flags, .role = AM_ROLE_CYCLE};
}

static bool is_in_region(const struct story *s, const struct fact *f)
{
	return f->thread == s->cycle->thread && f->index >= s->cycle->begin_index &&
	       (f->role == AM_ROLE_CONTEXT ||
		(f->region == s->cycle->region && f->region_site == s->cycle->region_site));
}

/* Adds a step, keeping the order of the schedule; an event is told once. */
static void add(struct story *s, const struct fact *f)
{
	for (uint32_t i = 0; i < s->n_steps; i++)
		if (s->step[i].index == f->index && s->step[i].kind == f->kind &&
		    s->thread[s->step[i].thread].id == f->thread) {
			if (f->role == AM_ROLE_CYCLE)
				s->step[i].role = AM_ROLE_CYCLE;
			return;
		}
	if (s->n_steps == STORY_STEPS)
		return;
	const bool is_sync = am_kind_is_sync(f->kind);
	const uint32_t thread = am_story_thread(s, f->thread);
	if (thread == UINT32_MAX)
		return;
	struct am_vstep step = {
		.thread = thread, .kind = f->kind, .mode = f->mode,
		.flags = f->flags,
		.role = f->role, .in_region = is_in_region(s, f), .object = AM_NO_OBJECT,
		.size = is_sync ? 0 : f->size, .value = f->value, .index = f->index,
		.region = am_story_region(s, f->region, f->region_site),
		.place = f->site ? am_places_get(s->b->places, f->site) : &nowhere,
	};
	if (f->kind != AM_BEGIN && f->kind != AM_END) {
		step.object = am_story_object(s, f->object, f->size, f->index, is_sync, &step.part);
		if (step.object != AM_NO_OBJECT)
			step.offset = f->object - s->object[step.object].address;
	}
	const uint64_t order = f->order ? f->order : order_of(s, f->thread, f->index);
	uint32_t at = s->n_steps++;
	/* A section begins with its lock operation: the same index, begin first. */
	const bool is_begin = f->kind == AM_BEGIN;
	for (; at > 0 && (s->order[at - 1] > order || (is_begin && s->order[at - 1] == order)); at--) {
		s->step[at] = s->step[at - 1];
		s->order[at] = s->order[at - 1];
	}
	s->step[at] = step;
	s->order[at] = order;
}

static void add_section(struct story *s, const struct am_access *a, const struct am_section *x)
{
	struct fact f = {.index = x->acquired, .object = x->lock, .thread = a->thread,
			 .site = x->acquire_site, .region = a->region,
			 .region_site = a->region_site, .kind = x->acquire_kind,
			 .mode = x->mode, .role = AM_ROLE_CONTEXT};

	add(s, &f);
	if (x->released == AM_OPEN || x->released > s->cycle->close_index)
		return;
	f.index = x->released;
	f.site = x->release_site;
	f.kind = x->release_kind;
	add(s, &f);
}

/* The critical sections around an access that happened. */
static void add_context(struct story *s, const struct am_access *a)
{
	struct am_section held[AM_HELD];
	const unsigned n = am_evidence_held(s->b->evidence, a->thread, a->index, held, 4);

	for (unsigned i = 0; i < n && s->n_steps < CONTEXT_STEPS; i++)
		add_section(s, a, &held[i]);
}

/* What a story is told of may not depend on names, which can come later (evidence.h). */
static void ask_ahead(const struct story *s, const struct am_section *x)
{
	struct am_evidence *e = s->b->evidence;
	struct am_extent answer;

	am_evidence_name(e, x->lock, x->acquired, &answer);
	am_evidence_block(e, x->lock, x->acquired, &answer);
	am_evidence_name(e, x->lock, x->released, &answer);
	am_evidence_block(e, x->lock, x->released, &answer);
	am_evidence_sync(e, x->lock, &answer);
}

/* An access told late, with the critical sections that it lies in. `next`: where its edge leads to. */
static void add_belated(struct story *s, const struct am_access *a, const struct am_access *next)
{
	const struct am_belated x = {.places = s->b->places, .place = am_places_get(s->b->places, a->site),
				     .mark = a->index, .before = next->index,
				     .thread = am_story_thread(s, a->thread)};
	struct am_section section[8];
	const unsigned n = am_evidence_between(s->b->evidence, a->thread, x.mark, x.before, section, 8);
	struct fact f = fact_of_access(a);

	for (unsigned i = 0; i < n; i++) {
		ask_ahead(s, &section[i]);
		if (s->n_steps < CONTEXT_STEPS && am_belated_lies_in(&x, &section[i]))
			add_section(s, a, &section[i]);
	}
	f.order = am_belated_order(&x, s->step, s->order, s->n_steps);
	f.order = (f.order ? f.order : order_of(s, a->thread, a->index)) + 1;
	add(s, &f);
}

static void add_begin(struct story *s)
{
	const struct am_cycle *c = s->cycle;
	const struct fact f = {.index = c->begin_index, .thread = c->thread,
			       .site = c->region_site, .region = c->region,
			       .region_site = c->region_site, .kind = AM_BEGIN,
			       .role = AM_ROLE_CONTEXT};
	add(s, &f);
}

/* Of a witness: what the cycle's threads did with locks and regions, from the region's begin on. */
static void add_witness(struct story *s)
{
	const struct am_witness *w = s->witness;
	uint64_t first = UINT64_MAX, last = 0;

	for (uint32_t i = 0; i < s->n_steps; i++) {
		first = s->order[i] < first ? s->order[i] : first;
		last = s->order[i] > last && s->order[i] != UINT64_MAX ? s->order[i] : last;
	}
	const uint32_t n_threads = s->n_threads;
	for (size_t i = 0; i < w->n_events && i <= last; i++) {
		const struct am_event *e = w->event[i];
		uint32_t t = 0;
		while (t < n_threads && s->thread[t].id != e->thread)
			t++;
		const bool is_lock = e->kind == AM_ACQUIRE || e->kind == AM_RELEASE ||
				     e->kind == AM_WAIT || e->kind == AM_WAKE;
		const bool is_region = e->kind == AM_BEGIN || e->kind == AM_END;
		if (t == n_threads || i < first || s->n_steps >= CONTEXT_STEPS ||
		    !(is_lock || is_region))
			continue;
		const struct fact f = {.index = e->index, .object = e->object, .thread = e->thread,
				       .site = e->site, .kind = e->kind, .mode = e->mode,
				       .region = is_region ? (uint32_t)e->object : 0,
				       .role = AM_ROLE_CONTEXT};
		add(s, &f);
	}
}

static uint32_t number_of(const struct story *s, const struct am_access *a)
{
	for (uint32_t i = 0; i < s->n_steps; i++)
		if (s->step[i].index == a->index && s->step[i].kind == a->kind &&
		    s->thread[s->step[i].thread].id == a->thread)
			return i + 1;
	return 0;
}

static bool collect(struct story *s)
{
	const struct am_cycle *c = s->cycle;

	for (uint32_t i = 0; i < c->n_edges; i++) {
		const struct fact from = fact_of_access(&c->edge[i].from);
		const struct fact to = fact_of_access(&c->edge[i].to);
		if (!c->edge[i].from.told)
			add(s, &from);
		add(s, &to);
	}
	add_begin(s);
	if (s->witness && s->witness->event)
		add_witness(s);
	else
		for (uint32_t i = 0; i < c->n_edges; i++) {
			if (!c->edge[i].from.told)
				add_context(s, &c->edge[i].from);
			add_context(s, &c->edge[i].to);
		}
	for (uint32_t i = 0; i < c->n_edges; i++)
		if (c->edge[i].from.told)
			add_belated(s, &c->edge[i].from, &c->edge[i].to);
	if (!s->witness)
		am_story_mend_order(s);
	for (uint32_t i = 0; i < s->n_steps; i++)
		s->step[i].number = i + 1;
	for (uint32_t i = 0; i < c->n_edges; i++) {
		s->from[i] = number_of(s, &c->edge[i].from);
		s->to[i] = number_of(s, &c->edge[i].to);
		if (!s->from[i] || !s->to[i])
			return false;
	}
	return true;
}

static struct am_print_end print_end(struct story *s, uint32_t number)
{
	const struct am_vstep *step = &s->step[number - 1];

	const bool is_sync = am_kind_is_sync(step->kind);

	/* At lock level the lock counts, not where and how it is taken: the remedy is the same. */
	return (struct am_print_end){
		.operation = is_sync ? "hold" : am_kind_name(step->kind),
		.object = step->object == AM_NO_OBJECT ? "" : s->key[step->object],
		.function = is_sync ? "" : am_story_function(s, step->place),
	};
}

static void identify(struct story *s)
{
	const uint32_t n = s->cycle->n_edges;
	struct am_print print = {.region = s->v->region,
				 .function = am_story_function(s, s->v->region_place),
				 .out = print_end(s, s->from[0]), .in = print_end(s, s->to[n - 1]),
				 .is_chain = n != 2 || am_kind_is_sync(s->cycle->edge[0].from.kind)};

	/*
	 * Out by one lock and in by another: the region lets go of a lock before it has all that it
	 * takes. With n locks that is told in n * n ways, and it is one thing to mend.
	 */
	if (am_kind_is_sync(s->cycle->edge[0].from.kind) &&
	    s->cycle->edge[0].from.object != s->cycle->edge[n - 1].to.object)
		print.out.object = print.in.object = "";
	if (!print.is_chain) {
		print.other = s->step[s->to[0] - 1].region;
		print.other_in = print_end(s, s->to[0]);
		print.other_out = print_end(s, s->from[1]);
	}
	am_fingerprint_id(am_fingerprint(&print), s->v->id);
	s->v->coarse = am_fingerprint_coarse(&print);
	s->v->core = am_fingerprint_core(&print, false);
	s->v->coarse_core = am_fingerprint_core(&print, true);
	const struct am_vframe *last = am_place_frame(s->step[s->to[n - 1] - 1].place);
	const bool has_line = last && last->line && !am_kind_is_sync(s->step[s->to[n - 1] - 1].kind);
	s->v->statement = has_line ? am_fingerprint_statement(&print, last->file, last->line) : 0;
	print.is_chain = true;
	s->v->statement_core = has_line ? am_fingerprint_statement(&print, last->file, last->line) : 0;
	for (uint32_t i = 0; i < s->n_steps; i++) {
		const struct am_vframe *f = am_place_frame(s->step[i].place);
		if (s->step[i].role == AM_ROLE_CYCLE && f && am_frame_is_wrapper(f))
			s->v->is_vague = true;
	}
}

static bool make_room(struct story *s)
{
	s->step = am_arena_get(s->arena, STORY_STEPS * sizeof *s->step);
	s->order = am_arena_get(s->arena, STORY_STEPS * sizeof *s->order);
	s->object = am_arena_get(s->arena, STORY_OBJECTS * sizeof *s->object);
	s->key = am_arena_get(s->arena, STORY_OBJECTS * sizeof *s->key);
	s->born = am_arena_get(s->arena, STORY_OBJECTS * sizeof *s->born);
	s->thread = am_arena_get(s->arena, STORY_THREADS * sizeof *s->thread);
	return !s->arena->failed;
}

static void name_region(struct story *s)
{
	const struct am_cycle *c = s->cycle;
	struct am_violation *v = s->v;
	const char **inner = am_arena_get(s->arena, (c->n_inner + 1) * sizeof *inner);

	v->region_place = am_places_get(s->b->places, c->region_site);
	v->region = am_story_region(s, c->region, c->region_site);
	if (!*v->region)
		v->region = "unnamed region";
	for (uint32_t i = 0; inner && i < c->n_inner; i++) {
		inner[v->n_inner] = am_story_string(s, c->inner[i]);
		v->n_inner += *inner[v->n_inner] != 0; /* a critical section has no name */
	}
	v->inner = inner;
}

bool am_blame_cycle(struct am_blame *b, const struct am_cycle *cycle,
		    const struct am_witness *witness, struct am_violation *v)
{
	struct story s = {.b = b, .arena = b->arena, .cycle = cycle, .witness = witness, .v = v};

	assert(cycle->n_edges >= 1 && cycle->n_edges <= AM_CYCLE_MAX);
	memset(v, 0, sizeof *v);
	if (!make_room(&s))
		return false;
	v->status = witness ? witness->status : AM_OBSERVED;
	v->model = witness && witness->model ? am_arena_copy(b->arena, witness->model) : "";
	v->moved = witness && witness->moved ? am_arena_copy(b->arena, witness->moved) : "";
	v->command = b->tables->command ? am_arena_copy(b->arena, b->tables->command) : "";
	v->pid = b->tables->pid;
	v->next = "";
	v->count = 1;
	v->region_thread = am_story_thread(&s, cycle->thread);
	name_region(&s);
	if (!collect(&s))
		return false;
	identify(&s);
	am_story_tell(&s);
	v->step = s.step;
	v->n_steps = s.n_steps;
	v->object = s.object;
	v->n_objects = s.n_objects;
	v->thread = s.thread;
	v->n_threads = s.n_threads;
	return !b->arena->failed;
}

static uint64_t mix(uint64_t h, uint64_t v)
{
	h = (h ^ v) * UINT64_C(0xff51afd7ed558ccd);
	return h ^ (h >> 32);
}

/* A key is asked for at every cycle, most of which are repeats, and it asks for few objects often: what lies around each is
 * looked for once, as long as there is room. */
enum { ASKED_MAX = 8 };
struct raw {
	const struct am_blame *b;
	struct asked {
		uint64_t address;
		struct am_extent block;
		bool is_there;
	} asked[ASKED_MAX];
	uint32_t n;
};

static const struct asked *live_block(struct raw *r, uint64_t address)
{
	for (uint32_t i = 0; i < r->n && i < ASKED_MAX; i++)
		if (r->asked[i].address == address)
			return &r->asked[i];
	struct asked *x = &r->asked[r->n++ % ASKED_MAX];
	x->address = address;
	x->is_there = am_objects_live(r->b->evidence->objects, address, &x->block);
	return x;
}

/* As exact as the fingerprint's object key, in numbers: which name, block or variable, else none. */
static uint64_t raw_object(struct raw *r, const struct am_access *a)
{
	const struct am_blame *b = r->b;
	const struct am_objects *objects = b->evidence->objects;
	struct am_extent x;
	uint64_t start;

	if (am_objects_name(objects, a->object, a->index, &x))
		return mix(1, x.string);
	const struct asked *live = live_block(r, a->object);
	if (live->is_there)
		return mix(2, live->block.site);
	if (am_objects_told(objects, a->object, a->index, &x))
		return mix(2, x.site);
	if (am_globals_find(b->globals, a->object, &start))
		return mix(3, start);
	return am_tables_module(b->tables, a->object) ? mix(4, a->object) : 5;
}

/* As print_end in numbers. */
static uint64_t raw_end(struct raw *r, uint64_t h, const struct am_access *a, bool has_object)
{
	if (am_kind_is_sync(a->kind))
		return mix(mix(h, 1), has_object ? raw_object(r, a) : 0);
	return mix(mix(h, ((uint64_t)a->kind << 32) | a->site), raw_object(r, a));
}

static uint64_t raw_id(struct raw *r, const struct am_cycle *cycle)
{
	const struct am_access *out = &cycle->edge[0].from, *in = &cycle->edge[cycle->n_edges - 1].to;
	const bool is_sync = am_kind_is_sync(out->kind), is_chain = cycle->n_edges != 2 || is_sync;
	const bool has_object = !is_sync || out->object == in->object;
	uint64_t h = mix(((uint64_t)cycle->region << 32) | cycle->region_site, is_chain);

	h = raw_end(r, h, out, has_object);
	h = raw_end(r, h, in, has_object);
	if (is_chain)
		return h;
	const struct am_access *other_in = &cycle->edge[0].to, *other_out = &cycle->edge[1].from;
	h = mix(h, ((uint64_t)other_in->region << 32) | other_in->region_site);
	h = raw_end(r, h, other_in, true);
	return raw_end(r, h, other_out, true);
}

static uint64_t raw_access(struct raw *r, uint64_t h, const struct am_access *a)
{
	h = mix(h, ((uint64_t)a->kind << 32) | a->site);
	h = mix(h, ((uint64_t)a->region << 32) | a->region_site);
	return mix(h, raw_object(r, a));
}

struct am_raw_key am_blame_raw_key(const struct am_blame *b, const struct am_cycle *cycle)
{
	uint64_t h = mix(((uint64_t)cycle->region << 32) | cycle->region_site, cycle->n_edges);
	struct raw r = {.b = b};

	for (uint32_t i = 0; i < cycle->n_edges; i++) {
		h = raw_access(&r, h, &cycle->edge[i].from);
		h = raw_access(&r, h, &cycle->edge[i].to);
	}
	/* Odd and even: the two are never mistaken for each other. */
	return (struct am_raw_key){raw_id(&r, cycle) | 1, (h | 2) & ~UINT64_C(1)};
}
