/*
 * Memory from mmap: size classes (powers of two and their midpoints) with free lists up to 64 KiB,
 * a mapping of its own above. Runs in the drain thread and in tools; one owner per struct am_mem,
 * no locks. Must never call malloc: its host may be inside it.
 */
/* SPDX-License-Identifier: MIT */
#include "atommon/mem.h"

#include <assert.h>
#include <string.h>
#include <sys/mman.h>

enum { MIN_BYTES = 16, LARGE = 64 * 1024, CHUNK = 256 * 1024, CLASSES = 26, PAGE = 4096, LINE = 64, HUGE_FROM = 4 << 20 };

struct block {
	struct block *next;
};

struct chunk {
	struct chunk *next, *prev;
	size_t bytes; /* of the whole mapping */
};

/* The state itself lies at the start of the first chunk. */
struct state {
	struct chunk *chunks; /* shared by small blocks */
	struct chunk *large;  /* one block each */
	char *at, *end;	      /* rest of the newest chunk */
	struct block *free[CLASSES];
};

/* Class sizes 16, 24, 32, 48, 64, 96, ... */
static unsigned class_of(size_t bytes)
{
	if (bytes <= MIN_BYTES)
		return 0;
	const unsigned log = 63u - (unsigned)__builtin_clzll(bytes - 1); /* 2^log < bytes <= 2^(log+1) */
	const size_t mid = ((size_t)1 << log) + ((size_t)1 << (log - 1));
	return (log - 4) * 2 + (bytes <= mid ? 1 : 2);
}

static size_t class_bytes(unsigned c)
{
	const size_t base = (size_t)MIN_BYTES << (c / 2);
	return c & 1 ? base + base / 2 : base;
}

static void *map(struct am_mem *mem, size_t bytes)
{
	if (mem->limit && mem->mapped + bytes > mem->limit)
		return NULL;
	void *p = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (p == MAP_FAILED)
		return NULL;
	/* Large tables are read at random: with small pages most of that time goes into page tables. */
	if (bytes >= HUGE_FROM)
		madvise(p, bytes, MADV_HUGEPAGE);
	mem->mapped += bytes;
	if (mem->mapped > mem->peak)
		mem->peak = mem->mapped;
	return p;
}

static void link_chunk(struct chunk **list, struct chunk *c)
{
	c->prev = NULL;
	c->next = *list;
	if (*list)
		(*list)->prev = c;
	*list = c;
}

static struct state *state_of(struct am_mem *mem)
{
	if (mem->state)
		return mem->state;
	struct chunk *c = map(mem, CHUNK);
	if (!c)
		return NULL;
	struct state *s = (struct state *)(c + 1);
	c->bytes = CHUNK;
	link_chunk(&s->chunks, c);
	s->at = (char *)(((uintptr_t)(s + 1) + 63) & ~(uintptr_t)63);
	s->end = (char *)c + CHUNK;
	return mem->state = s;
}

void am_mem_init(struct am_mem *mem, uint64_t limit)
{
	memset(mem, 0, sizeof *mem);
	mem->limit = limit;
}

static void *alloc_large(struct am_mem *mem, struct state *s, size_t bytes)
{
	if (bytes > SIZE_MAX - 2 * PAGE)
		return NULL;
	const size_t whole = (bytes + 64 + PAGE - 1) & ~(size_t)(PAGE - 1);
	struct chunk *c = map(mem, whole);
	if (!c)
		return NULL;
	c->bytes = whole;
	link_chunk(&s->large, c);
	return (char *)c + 64;
}

void *am_mem_alloc(struct am_mem *mem, size_t bytes)
{
	struct state *s = state_of(mem);

	if (!s)
		return NULL;
	if (bytes > LARGE)
		return alloc_large(mem, s, bytes);
	const unsigned k = class_of(bytes);
	const size_t size = class_bytes(k);
	assert(k < CLASSES && size >= bytes);
	struct block *b = s->free[k];
	if (b) {
		s->free[k] = b->next;
		return memset(b, 0, size);
	}
	if (size >= LINE) /* what may be an array of cache lines begins with one */
		s->at = (char *)(((uintptr_t)s->at + LINE - 1) & ~(uintptr_t)(LINE - 1));
	if (s->end < s->at + size) {
		struct chunk *c = map(mem, CHUNK);
		if (!c)
			return NULL;
		c->bytes = CHUNK;
		link_chunk(&s->chunks, c);
		s->at = (char *)c + 64;
		s->end = (char *)c + CHUNK;
	}
	b = (struct block *)s->at;
	s->at += size;
	return b; /* fresh pages are zero */
}

void am_mem_free(struct am_mem *mem, void *block, size_t bytes)
{
	struct state *s = mem->state;

	if (!block)
		return;
	if (bytes > LARGE) {
		struct chunk *c = (struct chunk *)((char *)block - 64);
		if (c->prev)
			c->prev->next = c->next;
		else
			s->large = c->next;
		if (c->next)
			c->next->prev = c->prev;
		mem->mapped -= c->bytes;
		munmap(c, c->bytes);
		return;
	}
	struct block *b = block;
	const unsigned k = class_of(bytes);
	b->next = s->free[k];
	s->free[k] = b;
}

void am_mem_drop(void *block, size_t bytes, size_t from, size_t to)
{
	const uintptr_t start = ((uintptr_t)block + from + PAGE - 1) & ~(uintptr_t)(PAGE - 1);
	const uintptr_t end = ((uintptr_t)block + to) & ~(uintptr_t)(PAGE - 1);

	assert(from <= to && to <= bytes);
	if (bytes > LARGE && start < end)
		madvise((void *)start, end - start, MADV_DONTNEED);
}

void *am_mem_resize(struct am_mem *mem, void *old, size_t old_bytes, size_t bytes)
{
	if (old && old_bytes <= LARGE && bytes <= LARGE && class_of(old_bytes) == class_of(bytes)) {
		if (bytes > old_bytes)
			memset((char *)old + old_bytes, 0, bytes - old_bytes);
		return old;
	}
	void *p = am_mem_alloc(mem, bytes);
	if (!p)
		return NULL;
	if (old) {
		memcpy(p, old, old_bytes < bytes ? old_bytes : bytes);
		am_mem_free(mem, old, old_bytes);
	}
	return p;
}

static void unmap_all(struct chunk *c)
{
	while (c) {
		struct chunk *next = c->next;
		munmap(c, c->bytes);
		c = next;
	}
}

void am_mem_destroy(struct am_mem *mem)
{
	struct state *s = mem->state;

	if (!s)
		return;
	struct chunk *chunks = s->chunks;
	unmap_all(s->large);
	unmap_all(chunks);
	mem->state = NULL;
	mem->mapped = 0;
}
