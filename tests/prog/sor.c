/*
 * Successive over-relaxation: a grid, red and black rows in turn, a barrier between; relaxing a row
 * is a region. Data-parallel, always serializable. --size N: an N x N grid, 10 sweeps.
 */
/* SPDX-License-Identifier: MIT */
#include "example.h"

enum { SWEEPS = 10 };

static double *grid;
static pthread_barrier_t barrier;

#define AT(r, c) grid[(size_t)(r) * (size_t)example.size + (size_t)(c)]

static void relax(long r)
{
	ATOMMON_REGION("relax row") {
		for (long c = 1; c < example.size - 1; c++) {
			const double around = ATOMMON_LOAD(AT(r - 1, c)) + ATOMMON_LOAD(AT(r + 1, c)) +
					      ATOMMON_LOAD(AT(r, c - 1)) + ATOMMON_LOAD(AT(r, c + 1));
			ATOMMON_STORE(AT(r, c), 0.3 * around - 0.2 * ATOMMON_LOAD(AT(r, c)));
		}
	}
}

static void body(int id)
{
	for (int sweep = 0; sweep < SWEEPS * 2; sweep++) {
		for (long r = 1 + sweep % 2; r < example.size - 1; r += 2)
			if (r / 2 % example.threads == id)
				relax(r);
		pthread_barrier_wait(&barrier);
	}
}

int main(int argc, char **argv)
{
	double sum = 0;

	example_parse(argc, argv, 3, 40);
	example.order = EXAMPLE_FREE; /* the barrier needs all of them */
	grid = calloc((size_t)(example.size * example.size), sizeof *grid);
	for (long i = 0; i < example.size * example.size; i++)
		grid[i] = (double)(i % 17);
	pthread_barrier_init(&barrier, NULL, (unsigned)example.threads);
	example_run(body);
	for (long i = 0; i < example.size * example.size; i++)
		sum += grid[i];
	printf("sum %.6e\n", sum);
	free(grid);
	return 0;
}
