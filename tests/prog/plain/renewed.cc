/*
 * A region takes a block, uses it and gives it back, twice; in between another thread has a block at the same address. Each
 * time it is another variable, but of the kind `kept`. usage: renewed KIND NUMBER-OF-BYTES; ends with 2 if the addresses were different. The order is forced by a
 * variable that the monitor does not see.
 */
/* SPDX-License-Identifier: MIT */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <malloc.h>
#include <new>
#include <pthread.h>
#include <sys/mman.h>

#include "order.h"

static const char *kind;
static size_t bytes;
static volatile long *seen[3];
static long kept[1024];

static bool is(const char *name)
{
	return !strcmp(kind, name);
}

static volatile long *take()
{
	void *p = nullptr;

	if (is("kept"))
		p = kept;
	else if (is("malloc"))
		p = malloc(bytes);
	else if (is("calloc"))
		p = calloc(bytes / 8, 8);
	else if (is("realloc"))
		p = realloc(nullptr, bytes);
	else if (is("reallocarray"))
		p = reallocarray(nullptr, bytes / 8, 8);
	else if (is("aligned_alloc"))
		p = aligned_alloc(16, bytes);
	else if (is("memalign"))
		p = memalign(16, bytes);
	else if (is("posix_memalign"))
		p = posix_memalign(&p, 16, bytes) ? nullptr : p;
	else if (is("mmap"))
		p = mmap(const_cast<long *>(seen[0]), bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	else if (is("new"))
		p = ::operator new(bytes);
	else if (is("new_array"))
		p = new long[bytes / 8];
	else if (is("new_aligned"))
		p = ::operator new(bytes, std::align_val_t(16));
	return static_cast<volatile long *>(p);
}

static void give(volatile long *block)
{
	void *p = const_cast<long *>(block);

	if (is("kept"))
		return;
	if (is("mmap"))
		munmap(p, bytes);
	else if (is("new"))
		::operator delete(p);
	else if (is("new_array"))
		delete[] static_cast<long *>(p);
	else if (is("new_aligned"))
		::operator delete(p, std::align_val_t(16));
	else if (is("realloc"))
		(void)!realloc(p, 0);
	else
		free(p);
}

__attribute__((noinline)) static void use(int n)
{
	volatile long *p = take();

	p[0] = n;
	p[0] = p[0] + 1;
	p[bytes / 8 - 1] = n;
	seen[n] = p;
	give(p);
}

extern "C" __attribute__((noinline)) void region(void)
{
	use(0);
	reach(2);
	await(3);
	use(2);
}

/* What a thread's first call of malloc takes for itself. */
static void warm(void)
{
	void *volatile p = malloc(1);
	free(p);
	volatile long *block = take();
	seen[0] = block;
	give(block);
}

static void *first(void *unused)
{
	warm();
	await(1);
	region();
	return unused;
}

static void *second(void *unused)
{
	warm();
	reach(1);
	await(2);
	use(1);
	reach(3);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	kind = argc == 3 ? argv[1] : "";
	bytes = argc == 3 ? strtoul(argv[2], nullptr, 0) : 0;
	mallopt(M_ARENA_MAX, 1);
	if (!bytes || pthread_create(&a, nullptr, first, nullptr) || pthread_create(&b, nullptr, second, nullptr))
		return 1;
	pthread_join(a, nullptr);
	pthread_join(b, nullptr);
	puts("done");
	return seen[0] == seen[1] && seen[1] == seen[2] ? 0 : 2;
}
