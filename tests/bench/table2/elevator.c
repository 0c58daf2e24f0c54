/* SPDX-License-Identifier: MIT */
/* In the manner of `elevator` (Sinha et al., Table I): lifts serve calls of a shared board; each floor
 * has its lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#define FLOORS 10

static struct {
	pthread_mutex_t lock;
	int up, down;
} floors[FLOORS];
static pthread_mutex_t board = PTHREAD_MUTEX_INITIALIZER;
static int calls = 120, served;

static int claim(int floor)
{
	int people;

	pthread_mutex_lock(&floors[floor].lock);
	people = floors[floor].up + floors[floor].down;
	floors[floor].up = floors[floor].down = 0;
	pthread_mutex_unlock(&floors[floor].lock);
	return people;
}

/* One stop: take a call off the board, serve the floor. False when there is no call left. */
__attribute__((noinline)) static int stop_at(int floor)
{
	pthread_mutex_lock(&board);
	const int more = calls > 0;
	if (more) {
		calls--;
		const int at = calls % FLOORS;
		pthread_mutex_lock(&floors[at].lock);
		floors[at].up++;
		pthread_mutex_unlock(&floors[at].lock);
	}
	pthread_mutex_unlock(&board);
	if (!more)
		return 0;
	const int people = claim(floor);
	pthread_mutex_lock(&board);
	served += people;
	pthread_mutex_unlock(&board);
	return 1;
}

static void *lift(void *arg)
{
	int floor = (int)(long)arg, direction = 1;

	while (stop_at(floor)) {
		if (floor + direction < 0 || floor + direction >= FLOORS)
			direction = -direction;
		floor += direction;
	}
	return NULL;
}

int main(int argc, char **argv)
{
	const int threads = argc > 1 ? atoi(argv[1]) : 3;
	pthread_t t[64];

	for (int i = 0; i < FLOORS; i++)
		pthread_mutex_init(&floors[i].lock, NULL);
	for (long i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, lift, (void *)i);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("%d served\n", served);
	return 0;
}
