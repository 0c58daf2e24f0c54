/*
 * LU factorisation: for each column a barrier, then each thread eliminates its rows; a row is a
 * region. All read the pivot row, which nobody writes meanwhile: serializable. --size N: N x N.
 */
/* SPDX-License-Identifier: MIT */
#include "example.h"

static double *matrix;
static pthread_barrier_t barrier;

#define AT(r, c) matrix[(size_t)(r) * (size_t)example.size + (size_t)(c)]

static void eliminate(long pivot, long r)
{
	ATOMMON_REGION("eliminate row") {
		const double factor = ATOMMON_LOAD(AT(r, pivot)) / ATOMMON_LOAD(AT(pivot, pivot));
		ATOMMON_STORE(AT(r, pivot), factor);
		for (long c = pivot + 1; c < example.size; c++)
			ATOMMON_STORE(AT(r, c), ATOMMON_LOAD(AT(r, c)) - factor * ATOMMON_LOAD(AT(pivot, c)));
	}
}

static void body(int id)
{
	for (long pivot = 0; pivot < example.size - 1; pivot++) {
		pthread_barrier_wait(&barrier);
		for (long r = pivot + 1; r < example.size; r++)
			if (r % example.threads == id)
				eliminate(pivot, r);
	}
}

int main(int argc, char **argv)
{
	double trace = 0;

	example_parse(argc, argv, 3, 30);
	example.order = EXAMPLE_FREE; /* the barrier needs all of them */
	matrix = calloc((size_t)(example.size * example.size), sizeof *matrix);
	for (long r = 0; r < example.size; r++)
		for (long c = 0; c < example.size; c++)
			AT(r, c) = r == c ? 100 + (double)r : (double)((r * 7 + c * 3) % 11);
	pthread_barrier_init(&barrier, NULL, (unsigned)example.threads);
	example_run(body);
	for (long i = 0; i < example.size; i++)
		trace += AT(i, i);
	printf("trace %.6e\n", trace);
	free(matrix);
	return 0;
}
