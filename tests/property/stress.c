/*
 * Judge of the runtime: runs tests/prog/stress under the preload and asks whether its trace is a
 * legal run that holds every event the program counted; also pinned to one core, with 64 threads,
 * and killed at random moments. A tool of the tests; never inside the program under test.
 *
 * usage: stress                              the reduced set, as TAP
 *        stress run THREADS OPERATIONS SEED  one whole run (pin: prefix with taskset)
 *        stress kill RUNS THREADS SEED       runs that end by SIGKILL
 *        stress legal TRACE...               judge traces of other programs
 * Environment: ATOMMON_BUILD (build directory), STRESS_SEED, STRESS_KILLS, STRESS_OPERATIONS.
 */
/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "analyzer/trace/source.h"
#include "tests/legal.h"
#include "tests/property/cases.h"
#include "tests/stress_shm.h"

static const char *build;
static char dir[256];
static uint64_t random_state;
static int tests, failures;

static uint64_t any(uint64_t n)
{
	random_state ^= random_state << 13;
	random_state ^= random_state >> 7;
	random_state ^= random_state << 17;
	return n ? (random_state >> 11) % n : 0;
}

static void tap(bool good, const char *fmt, ...)
{
	va_list ap;

	failures += !good;
	printf("%sok %d - ", good ? "" : "not ", ++tests);
	va_start(ap, fmt);
	vprintf(fmt, ap);
	va_end(ap);
	putchar('\n');
	fflush(stdout);
}

enum how { STRICT, TOLERANT, LOSSY };

/* Read a trace through the judge. False, with the reason in l->why, if it does not open or is
 * illegal. */
static bool judge(const char *trace, enum how how, struct legal *l, struct am_source_info *info)
{
	char why[AM_SOURCE_ERROR_MAX];
	struct am_event e;
	int r;

	memset(l, 0, sizeof *l);
	l->is_strict = how == STRICT;
	l->is_lossy = how == LOSSY;
	struct am_source *s = am_source_open(trace, NULL, why);
	if (!s) {
		snprintf(l->why, sizeof l->why, "%.380s", why);
		return false;
	}
	while ((r = am_source_next(s, &e)) > 0 && legal_event(l, &e))
		;
	if (r < 0 && !l->illegal)
		snprintf(l->why, sizeof l->why, "%.380s", am_source_error(s));
	*info = *am_source_info(s);
	am_source_close(s);
	return r == 0 && !l->illegal;
}

/* ---- running the program ----------------------------------------------------------------------
 */

struct plan {
	unsigned threads;
	uint64_t operations, seed;
	bool is_pinned;
	const char *buffer, *mode, *overflow; /* settings; NULL: as they are */
	uint64_t kill_at; /* SIGKILL once so many events were counted; UINT64_MAX: never */
};

static struct stress_shm *map_counts(const char *path)
{
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	struct stress_shm *shm = MAP_FAILED;

	if (fd >= 0 && ftruncate(fd, sizeof *shm) == 0)
		shm = mmap(NULL, sizeof *shm, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (fd >= 0)
		close(fd);
	return shm == MAP_FAILED ? NULL : shm;
}

static uint64_t counted(const struct stress_shm *shm)
{
	uint64_t n = 0;

	for (unsigned i = 0; i <= STRESS_THREADS_MAX; i++)
		n += shm->cell[i].count;
	return n;
}

static void become(const struct plan *p, const char *trace, const char *counts)
{
	char prog[512], preload[512], threads[16], operations[24], seed[24];

	snprintf(prog, sizeof prog, "%s/tests/prog/stress", build);
	snprintf(preload, sizeof preload, "%s/lib/libatommon.so", build);
	snprintf(threads, sizeof threads, "%u", p->threads);
	snprintf(operations, sizeof operations, "%" PRIu64, p->operations);
	snprintf(seed, sizeof seed, "%" PRIu64, p->seed);
	if (p->is_pinned) {
		cpu_set_t one;
		CPU_ZERO(&one);
		CPU_SET(0, &one);
		sched_setaffinity(0, sizeof one, &one);
	}
	setenv("LD_PRELOAD", preload, 1);
	setenv("ATOMMON_MODE", "record", 1);
	setenv("ATOMMON_TRACE", trace, 1);
	setenv("ATOMMON_TRACE_MAX", "16G", 1);
	if (p->buffer)
		setenv("ATOMMON_BUFFER", p->buffer, 1);
	if (p->mode)
		setenv("ATOMMON_MODE", p->mode, 1);
	if (p->overflow)
		setenv("ATOMMON_OVERFLOW", p->overflow, 1);
	setenv("ATOMMON_LOG", "none", 1);
	execl(prog, prog, threads, operations, counts, seed, (char *)NULL);
	_exit(127);
}

/* Status as waitpid gives it. */
static int run(const struct plan *p, const char *trace, const char *counts,
	       const struct stress_shm *shm)
{
	int status = 0;
	const pid_t pid = fork();

	if (pid == 0)
		become(p, trace, counts);
	if (p->kill_at != UINT64_MAX) {
		const struct timespec tick = {.tv_nsec = 20000};
		pid_t done = 0;
		while (counted(shm) < p->kill_at && !(done = waitpid(pid, &status, WNOHANG)))
			nanosleep(&tick, NULL);
		if (done == pid)
			return status;
		for (volatile uint64_t spin = any(20000); spin; spin--)
			;
		kill(pid, SIGKILL);
	}
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	return status;
}

/* Every thread's events, as the program counted them, are in the trace; and not more. */
static bool counts_agree(struct legal *l, const struct stress_shm *shm, bool was_killed)
{
	for (unsigned i = 0; i <= shm->n_threads; i++) {
		const struct legal_thread *t = legal_of(l, i);
		/* Among the lost may be a few that the program does not count. After a kill only the
		 * record in progress may be lost, and the program has not counted that one. */
		const uint64_t held = t->events - t->ended + (was_killed ? 0 : t->lost);
		const uint64_t count = shm->cell[i].count;
		const uint64_t most = count + (was_killed    ? STRESS_IN_PROGRESS
					       : l->is_lossy ? 16 + count / 10000
							     : 0);
		if (held >= count && held <= most)
			continue;
		snprintf(l->why, sizeof l->why,
			 "T%u counted %" PRIu64 " events, the trace holds %" PRIu64, i, count,
			 held);
		return false;
	}
	return true;
}

/* One run and its verdict. Keeps the trace if there is something wrong. */
static bool one(const struct plan *p, const char *name, uint64_t *events, uint64_t *holes)
{
	char trace[300], ring[320], counts[300];
	struct am_source_info info = {0};
	struct legal l;
	const bool kills = p->kill_at != UINT64_MAX;

	snprintf(trace, sizeof trace, "%s/run.atm", dir);
	snprintf(ring, sizeof ring, "%s.ring", trace);
	snprintf(counts, sizeof counts, "%s/counts", dir);
	unlink(trace);
	unlink(ring);
	struct stress_shm *shm = map_counts(counts);
	if (!shm) {
		tap(false, "%s: no memory for the counts", name);
		return false;
	}
	const int status = run(p, trace, counts, shm);
	const bool was_killed = WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL && kills;
	bool good = was_killed || (WIFEXITED(status) && WEXITSTATUS(status) == 0 && shm->finished);
	if (!good)
		tap(false, "%s: the program ended with status 0x%x", name, status);
	const bool never_began = was_killed && shm->magic != STRESS_MAGIC;
	if (good && !(never_began && access(trace, F_OK))) {
		good = judge(trace, p->overflow ? LOSSY : STRICT, &l, &info);
		good = good && (never_began || counts_agree(&l, shm, was_killed));
		good = good && (was_killed || l.is_lossy || legal_finish(&l));
		/* a kill may tear the one record that a thread is writing */
		const uint64_t torn = was_killed ? p->threads + 4u : 0;
		if (good && !l.is_lossy && (l.lost > torn || (!was_killed && info.holes))) {
			snprintf(l.why, sizeof l.why, "%" PRIu64 " events lost, %" PRIu64 " holes",
				 l.lost, info.holes);
			good = false;
		}
		if (never_began && !good)
			good = true; /* killed before main: there was no event to keep */
		if (!good)
			tap(false, "%s: %s (seed %" PRIu64 ", killed at %" PRIu64 ", kept in %s)",
			    name, l.why, p->seed, p->kill_at, dir);
		*events += l.events;
		*holes += info.holes;
		legal_free(&l);
	}
	munmap(shm, sizeof *shm);
	return good;
}

static bool whole_run(const char *name, struct plan p)
{
	uint64_t events = 0, holes = 0;

	p.kill_at = UINT64_MAX;
	if (!one(&p, name, &events, &holes))
		return false;
	tap(true, "%s: %u threads, %" PRIu64 " events, %s", name, p.threads, events,
	    p.overflow ? "what is missing is told" : "legal, all there");
	return true;
}

static bool killed_runs(unsigned runs, unsigned threads, uint64_t most)
{
	uint64_t events = 0, holes = 0;

	for (unsigned i = 0; i < runs; i++) {
		const struct plan p = {.threads = threads,
				       .operations = 1u << 30,
				       .seed = any(1u << 30) + 1,
				       .is_pinned = any(4) == 0,
				       .buffer = any(3) ? "64K" : NULL,
				       .mode = any(4) ? "record" : "both",
				       .kill_at = any(most)};
		if (!one(&p, "killed", &events, &holes))
			return false;
	}
	tap(true,
	    "killed %u times with %u threads: every trace opens, is legal and holds all that was "
	    "logged "
	    "(%" PRIu64 " events, %" PRIu64 " records in progress)",
	    runs, threads, events, holes);
	return true;
}

static int judge_files(char **files, int n)
{
	int bad = 0;

	for (int i = 0; i < n; i++) {
		struct am_source_info info = {0};
		struct legal l;
		const bool good = judge(files[i], TOLERANT, &l, &info);
		printf("%s: %" PRIu64 " events, %s%s%s\n", files[i], l.events,
		       good ? "legal" : "NOT LEGAL", good ? "" : ": ", good ? "" : l.why);
		bad += !good;
		legal_free(&l);
	}
	return bad ? 1 : 0;
}

static uint64_t number_from(const char *name, uint64_t otherwise)
{
	const char *text = getenv(name);

	return text ? strtoull(text, NULL, 0) : otherwise;
}

int main(int argc, char **argv)
{
	if (argc > 2 && !strcmp(argv[1], "legal"))
		return judge_files(argv + 2, argc - 2);
	build = getenv("ATOMMON_BUILD");
	if (!build) {
		fprintf(stderr, "stress: set ATOMMON_BUILD to the build directory\n");
		return 2;
	}
	const uint64_t seed =
		number_from("STRESS_SEED", (uint64_t)time(NULL) ^ (uint64_t)getpid() << 20);
	random_state = seed | 1;
	printf("# seed %" PRIu64 " (STRESS_SEED repeats the choices)\n", seed);
	snprintf(dir, sizeof dir, "%s/atommon-stress.XXXXXX",
		 getenv("TMPDIR") ? getenv("TMPDIR") : "/tmp");
	if (!mkdtemp(dir)) {
		perror("stress: mkdtemp");
		return 2;
	}
	if (argc > 4 && !strcmp(argv[1], "run")) {
		whole_run("run", (struct plan){.threads = (unsigned)atoi(argv[2]),
					       .operations = strtoull(argv[3], NULL, 0),
					       .seed = strtoull(argv[4], NULL, 0)});
	} else if (argc > 4 && !strcmp(argv[1], "kill")) {
		random_state = strtoull(argv[4], NULL, 0) | 1;
		killed_runs((unsigned)atoi(argv[2]), (unsigned)atoi(argv[3]), 400000);
	} else {
		const uint64_t n = number_from("STRESS_OPERATIONS", cases_part(20000));
		const unsigned kills = (unsigned)number_from("STRESS_KILLS", cases_part(200));
#define RUN(name, t, ops, ...)                                                                     \
	whole_run(                                                                                 \
		name,                                                                              \
		(struct plan){.threads = t, .operations = ops, .seed = any(1 << 30), __VA_ARGS__})
		RUN("eight threads", 8, n, .is_pinned = false);
		RUN("on one core", 8, n / 2, .is_pinned = true);
		RUN("in the smallest rings", 8, n / 2, .buffer = "4K");
		RUN("64 threads", 64, n / 8, .is_pinned = false);
		RUN("one thread", 1, n, .is_pinned = false);
		RUN("recorded and checked", 8, n / 2, .mode = "both");
		RUN("dropping", 8, n / 2, .buffer = "4K", .overflow = "drop");
		killed_runs(kills - kills / 8, 8, 60000);
		killed_runs(kills / 8, 32, 60000);
	}
	printf("1..%d\n", tests);
	if (!failures) {
		char command[300];
		snprintf(command, sizeof command, "rm -rf '%s'", dir);
		if (system(command))
			return 2;
	}
	return failures ? 1 : 0;
}
