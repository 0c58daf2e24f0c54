/*
 * The merged order really happened. Random threads lock random mutexes and, without any lock, load
 * and store shared words through the annotations; rings are tiny, so that threads block and wrap all
 * the time, and a timer signal logs from handlers. In the merged stream a mutex must never have two
 * holders, and each load must give the value of the last store before it: racing accesses included.
 * Each round is a forked child, which starts the runtime anew. usage: preload_order [SEED [ROUNDS]]
 */
/* SPDX-License-Identifier: MIT */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "atommon.h"
#include "preload/area.h"
#include "preload/log.h"
#include "preload/runtime.h"
#include "preload/sink.h"
#include "preload/thread.h"
#include "../unit/preload_stand_in.h"
#include "tests/property/cases.h"

enum { LOCKS = 5, WORDS = 7, THREADS_MAX = 8 };

static struct {
	pthread_mutex_t mutex;
	char pad[100];
} lock[LOCKS];
static uint32_t word[WORDS * 16];
static unsigned n_operations;
static uint64_t n_handled;

/* ---- the model ------------------------------------------------------------------------------- */

static struct {
	uint32_t holder[LOCKS];
	uint32_t value[WORDS];
	uint64_t acquires, reads, writes, handled, lost;
	char wrong[200];
} model;

static void wrong(const struct am_event *e, const char *what)
{
	if (!model.wrong[0])
		snprintf(model.wrong, sizeof model.wrong, "event %lu of thread %u: %s",
			 (unsigned long)e->index, e->thread, what);
}

void am_live_event(void *ctx, const struct am_event *e)
{
	(void)ctx;
	model.lost += e->kind == AM_LOST;
	model.handled += e->kind == AM_BROADCAST;
	for (unsigned i = 0; i < LOCKS; i++) {
		if (e->object != (uintptr_t)&lock[i].mutex)
			continue;
		if (e->kind == AM_ACQUIRE) {
			if (model.holder[i])
				wrong(e, "two holders");
			model.holder[i] = e->thread + 1;
			model.acquires++;
		} else if (e->kind == AM_RELEASE) {
			if (model.holder[i] != e->thread + 1)
				wrong(e, "released by another");
			model.holder[i] = 0;
		}
	}
	for (unsigned i = 0; i < WORDS; i++) {
		if (e->object != (uintptr_t)&word[i * 16])
			continue;
		if (e->kind == AM_READ && e->value != model.value[i])
			wrong(e, "a value that was not the last");
		if (e->kind == AM_WRITE)
			model.value[i] = (uint32_t)e->value;
		model.reads += e->kind == AM_READ;
		model.writes += e->kind == AM_WRITE;
	}
}

/* ---- the threads ----------------------------------------------------------------------------- */

static unsigned next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (unsigned)(*state >> 33);
}

static __attribute__((noinline)) void hook(enum am_kind kind, uint64_t object)
{
	am_log(kind, 0, object, AM_HERE);
}

static __attribute__((noinline)) void hook_mutex(enum am_kind kind, const pthread_mutex_t *m)
{
	am_log_held(kind, (uintptr_t)m, AM_HERE);
}

static void on_alarm(int sig)
{
	(void)sig;
	hook(AM_BROADCAST, 0x4000);
	__atomic_fetch_add(&n_handled, 1, __ATOMIC_RELAXED);
}

static void *work(void *arg)
{
	uint64_t state = (uintptr_t)arg;

	for (unsigned i = 0; i < n_operations; i++) {
		const unsigned r = next_random(&state), w = r / 8 % WORDS;
		if (r % 8 < 3) {
			pthread_mutex_t *m = &lock[r / 8 % LOCKS].mutex;
			pthread_mutex_lock(m);
			hook_mutex(AM_ACQUIRE, m);
			hook_mutex(AM_RELEASE, m);
			pthread_mutex_unlock(m);
		} else if (r % 8 < 6) {
			uint32_t value;
			atommon_load_(&word[w * 16], &value, sizeof value);
		} else {
			const uint32_t value = r;
			atommon_store_(&word[w * 16], &value, sizeof value);
		}
	}
	return NULL;
}

static int one_round(uint64_t seed)
{
	uint64_t state = seed;
	pthread_t t[THREADS_MAX];
	const unsigned n = 2 + next_random(&state) % (THREADS_MAX - 1);
	const bool has_signals = next_random(&state) % 2;

	am_opt.buffer = 4096u << next_random(&state) % 4;
	n_operations = 1000 + next_random(&state) % 3000;
	if (!am_watching())
		return 2;
	am_arm();
	for (unsigned i = 0; i < LOCKS; i++)
		pthread_mutex_init(&lock[i].mutex, NULL);
	if (has_signals) {
		const struct itimerval it = {{0, 200}, {0, 200}};
		signal(SIGALRM, on_alarm);
		setitimer(ITIMER_REAL, &it, NULL);
	}
	for (unsigned i = 0; i < n; i++) {
		struct am_start *s = am_start_new(work, (void *)(uintptr_t)(seed * 100 + i),
						  (struct am_here){0, 0});
		const uint32_t id = am_start_id(s);
		const int r = pthread_create(&t[i], NULL, am_start_run, s);
		am_start_done(s, id, t[i], r);
		if (r)
			return 2;
	}
	for (unsigned i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	if (has_signals) {
		signal(SIGALRM, SIG_IGN);
		setitimer(ITIMER_REAL, &(struct itimerval){{0, 0}, {0, 0}}, NULL);
	}
	if (!am_drain_finish(AM_CLOSE_CHECK))
		return 3;
	if (model.wrong[0]) {
		printf("# seed %lu: %s\n", (unsigned long)seed, model.wrong);
		return 4;
	}
	if (model.acquires + model.reads + model.writes != (uint64_t)n * n_operations ||
	    model.handled != n_handled || model.lost) {
		printf("# seed %lu: %lu of %lu events, %lu of %lu from handlers, %lu losses\n",
		       (unsigned long)seed, (unsigned long)(model.acquires + model.reads + model.writes),
		       (unsigned long)n * n_operations, (unsigned long)model.handled,
		       (unsigned long)n_handled, (unsigned long)model.lost);
		return 5;
	}
	return 0;
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : (uint64_t)time(NULL);
	const unsigned rounds = (unsigned)cases_wanted(argc, argv, 60);
	unsigned bad = 0;

	printf("# seed %lu rounds %u\n", (unsigned long)seed, rounds);
	for (unsigned i = 0; i < rounds; i++) {
		int status = 0;
		fflush(stdout);
		const pid_t pid = fork();
		if (pid == 0) {
			alarm(0);
			const int r = one_round(seed + i);
			fflush(stdout);
			_exit(r);
		}
		if (waitpid(pid, &status, 0) != pid || status != 0) {
			printf("# round with seed %lu: status %x\n", (unsigned long)(seed + i),
			       (unsigned)status);
			bad++;
		}
	}
	printf("%s 1 - merged order is one that happened\n1..1\n", bad ? "not ok" : "ok");
	return bad != 0;
}
