/*
 * Random small trace programs: the engine's verdicts against brute force, for every property and
 * memory model, with and without derived locks, lazy and direct. Usage: ctp_random [SEED [COUNT]].
 */
/* SPDX-License-Identifier: MIT */
#include "tests/property/ctp_random.h"

int main(int argc, char **argv)
{
	return random_main(argc, argv);
}
