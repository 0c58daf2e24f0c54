/*
 * A short run of the fuzz targets: their seeds, what earlier fuzzing found (tests/fuzz/corpus), and
 * random damage to both. usage: trace_corpus [SEED [COUNT]]
 */
/* SPDX-License-Identifier: MIT */
#include <stddef.h>
#include <stdint.h>

int fuzz_atm(const uint8_t *data, size_t size);
int fuzz_ring(const uint8_t *data, size_t size);
int fuzz_text(const uint8_t *data, size_t size);
int fuzz_std(const uint8_t *data, size_t size);

#define LLVMFuzzerTestOneInput fuzz_atm
#include "tests/fuzz/fuzz_atm.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_ring
#include "tests/fuzz/fuzz_ring.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_text
#include "tests/fuzz/fuzz_text.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_std
#include "tests/fuzz/fuzz_std.c"
#undef LLVMFuzzerTestOneInput

#include "tests/fuzz/seeds.h"
#include "tests/property/cases.h"

#include <glob.h>

static const struct target {
	const char *name;
	int (*run)(const uint8_t *data, size_t size);
} targets[] = {{"atm", fuzz_atm}, {"ring", fuzz_ring}, {"text", fuzz_text}, {"std", fuzz_std}};

static uint64_t rng;

static uint64_t rnd(uint64_t n)
{
	rng = rng * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return (rng >> 20) % n;
}

static void mutate_and_run(const struct target *t, const uint8_t *seed, size_t n, unsigned count)
{
	static uint8_t buf[SEED_MAX];

	t->run(seed, n);
	for (unsigned i = 0; i < count; i++) {
		size_t size = rnd(8) ? n : rnd(n + 1);
		memcpy(buf, seed, n);
		for (uint64_t k = 1 + rnd(6); size && k > 0; k--) {
			const size_t at = rnd(size);
			switch (rnd(3)) {
			case 0:
				buf[at] = (uint8_t)rnd(256);
				break;
			case 1:
				buf[at] ^= (uint8_t)(1u << rnd(8));
				break;
			default:
				memmove(buf + at, buf + rnd(size),
					size - (at > size / 2 ? at : size / 2));
				break;
			}
		}
		t->run(buf, size);
	}
}

static size_t run_corpus(const struct target *t)
{
	static uint8_t buf[SEED_MAX];
	char pattern[4096];
	glob_t found;
	size_t n = 0;

	snprintf(pattern, sizeof pattern, "tests/fuzz/corpus/%s/*", t->name);
	if (glob(pattern, 0, NULL, &found) != 0)
		return 0;
	for (; n < found.gl_pathc; n++) {
		FILE *f = fopen(found.gl_pathv[n], "rb");
		if (!f)
			continue;
		t->run(buf, fread(buf, 1, sizeof buf, f));
		fclose(f);
	}
	globfree(&found);
	return n;
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 5;
	const unsigned count = (unsigned)cases_wanted(argc, argv, 1500);
	static uint8_t buf[SEED_MAX];

	rng = seed;
	printf("# seed %llu, %u variants of each input\n", (unsigned long long)seed, count);
	for (unsigned t = 0; t < 4; t++) {
		size_t n = run_corpus(&targets[t]);
		for (unsigned i = 0; i < SEEDS; i++)
			if (strncmp(seed_names[i], targets[t].name, strlen(targets[t].name)) == 0) {
				mutate_and_run(&targets[t], buf, seed_make(i, buf), count);
				n++;
			}
		printf("ok %u - %s reader survives %zu inputs and their variants\n", t + 1,
		       targets[t].name, n);
	}
	printf("1..4\n");
	return 0;
}
