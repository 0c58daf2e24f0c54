/*
 * Members of packed structs, each at an address that is no multiple of its size and most across the boundary of a word of 8
 * bytes. A region reads each and writes it back. usage: straddle first|last|before|behind
 *   first, last      meanwhile another thread writes the member's first or last byte: reported
 *   before, behind   it writes the bytes next to the member: not reported
 * The order is forced by a variable that the monitor does not see.
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <stdio.h>
#include <stdint.h>
#include <string.h>

#include "order.h"

struct __attribute__((packed)) across {
	unsigned char skip[5], before;
	uint32_t word; /* bytes 6 to 9 */
	unsigned char behind, skip2[2];
};
struct __attribute__((packed)) wide {
	unsigned char before;
	uint64_t word; /* bytes 1 to 8 */
	unsigned char behind;
};
struct __attribute__((packed)) small {
	unsigned char skip[6], before;
	uint16_t word; /* bytes 7 and 8 */
	unsigned char behind;
};

static struct across across __attribute__((aligned(16)));
static struct wide wide __attribute__((aligned(16)));
static struct small small __attribute__((aligned(16)));
static const char *mode;

#define UPDATE(name)                                                                                       \
	__attribute__((noinline)) void update_##name(int step)                                             \
	{                                                                                                  \
		const uint64_t seen = name.word;                                                           \
		reach(step);                                                                               \
		await(step + 1);                                                                           \
		name.word = seen + 1;                                                                      \
	}
UPDATE(across)
UPDATE(wide)
UPDATE(small)

#define DISTURB(name, step)                                                                                \
	do {                                                                                               \
		unsigned char *bytes = (unsigned char *)&name.word;                                        \
		await(step);                                                                               \
		if (!strcmp(mode, "before"))                                                               \
			name.before = 7;                                                                   \
		else if (!strcmp(mode, "behind"))                                                          \
			name.behind = 7;                                                                   \
		else                                                                                       \
			bytes[!strcmp(mode, "first") ? 0 : sizeof name.word - 1] = 7;                      \
		reach(step + 1);                                                                           \
	} while (0)

static void *first(void *unused)
{
	update_across(1);
	update_wide(3);
	update_small(5);
	return unused;
}

static void *second(void *unused)
{
	DISTURB(across, 1);
	DISTURB(wide, 3);
	DISTURB(small, 5);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t a, b;

	mode = argc == 2 ? argv[1] : "";
	if (pthread_create(&a, NULL, first, NULL) || pthread_create(&b, NULL, second, NULL))
		return 1;
	pthread_join(a, NULL);
	pthread_join(b, NULL);
	printf("%u %llu %u\n", across.word, (unsigned long long)wide.word, small.word);
	return 0;
}
