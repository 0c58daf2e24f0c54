/* Worker processes over questions. Results come back through pipes, in no particular order. */
/* SPDX-License-Identifier: MIT */
#include "jobs.h"

#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* ---- questions --------------------------------------------------------------------------------------- */

struct question {
	uint64_t signature;
	uint32_t region;
};

static int by_question(const void *a, const void *b)
{
	const struct question *x = a, *y = b;
	if (x->signature != y->signature)
		return x->signature < y->signature ? -1 : 1;
	return x->region < y->region ? -1 : x->region > y->region;
}

/* ---- a result on the wire ------------------------------------------------------------------------- */

static bool put(int fd, const void *data, size_t n)
{
	const char *p = data;

	while (n) {
		const ssize_t k = write(fd, p, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static bool get(int fd, void *data, size_t n)
{
	char *p = data;

	while (n) {
		const ssize_t k = read(fd, p, n);
		if (k < 0 && errno == EINTR)
			continue;
		if (k <= 0)
			return false;
		p += k;
		n -= (size_t)k;
	}
	return true;
}

static bool send_result(int fd, const struct am_region_result *r, uint32_t threads)
{
	const uint32_t reason = r->reason ? (uint32_t)strlen(r->reason) : 0;

	return put(fd, r, sizeof *r) && put(fd, &reason, sizeof reason) && put(fd, r->reason, reason) &&
	       (!r->witness || (put(fd, r->witness, r->witness_n * sizeof *r->witness) &&
				put(fd, r->value, r->witness_n * sizeof *r->value) &&
				put(fd, r->is_known, r->witness_n) &&
				put(fd, r->from, threads * sizeof *r->from)));
}

/* Reasons are few and equal; keep one copy of each for the life of the process. */
static const char *keep_reason(const char *text)
{
	static VEC(char *) kept;

	for (uint32_t i = 0; i < kept.n; i++)
		if (!strcmp(kept.at[i], text))
			return kept.at[i];
	return *vec_push(&kept) = strdup(text);
}

static bool receive_result(int fd, struct am_region_result *results, uint32_t regions, uint32_t threads)
{
	struct am_region_result r;
	char reason[512] = "";
	uint32_t n;

	if (!get(fd, &r, sizeof r) || !get(fd, &n, sizeof n) || n >= sizeof reason ||
	    !get(fd, reason, n) || r.region >= regions)
		return false;
	r.reason = n ? keep_reason(reason) : NULL;
	if (r.witness) {
		r.witness = am_xalloc(r.witness_n, sizeof *r.witness);
		r.value = am_xalloc(r.witness_n, sizeof *r.value);
		r.is_known = am_xalloc(r.witness_n, 1);
		r.from = am_xalloc(threads, sizeof *r.from);
		if (!get(fd, r.witness, r.witness_n * sizeof *r.witness) ||
		    !get(fd, r.value, r.witness_n * sizeof *r.value) ||
		    !get(fd, r.is_known, r.witness_n) ||
		    !get(fd, r.from, threads * sizeof *r.from))
			return false;
	}
	am_region_result_free(&results[r.region]);
	results[r.region] = r;
	return true;
}

static bool is_known(const struct am_known *known, uint64_t signature)
{
	for (uint32_t i = 0; known && i < known->predicted.n; i++)
		if (known->predicted.at[i] == signature)
			return true;
	return false;
}

/* ---- worker --------------------------------------------------------------------------------------------- */

static void work(const struct am_jobs *jobs, const struct question *q, uint32_t n, uint32_t worker, int fd)
{
	uint32_t number = 0;

	for (uint32_t i = 0; i < n;) {
		uint32_t end = i;
		while (end < n && q[end].signature == q[i].signature)
			end++;
		const bool is_mine = number++ % jobs->jobs == worker;
		bool is_predicted = is_known(jobs->known, q[i].signature);
		for (uint32_t failed = 0; i < end; i++) {
			struct am_region_result r = {.region = q[i].region};
			if (!is_mine)
				continue;
			if (is_predicted) {
				r.outcome = AM_OUT_SAME;
			} else if (failed >= jobs->tries) {
				r.outcome = AM_OUT_UNDECIDED;
				r.reason = "like other instances of the same region";
			} else {
				am_predict_region(jobs->predict, q[i].region, &r);
				is_predicted = r.outcome == AM_OUT_PREDICTED;
				failed += r.outcome == AM_OUT_UNDECIDED;
			}
			if (!send_result(fd, &r, jobs->run->n_threads))
				_exit(1);
			am_region_result_free(&r);
		}
	}
	_exit(0);
}

/* ---- parent ------------------------------------------------------------------------------------------------ */

static uint32_t list_questions(const struct am_jobs *jobs, struct question *q,
			       struct am_region_result *results)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < jobs->run->region.n; i++) {
		const uint64_t signature = am_region_signature(jobs->run, i);
		results[i] = (struct am_region_result){.region = i};
		if (jobs->skip[i] != 0xff)
			results[i].outcome = jobs->skip[i];
		else if (jobs->shards && (signature >> 17) % jobs->shards != jobs->shard)
			results[i].outcome = AM_OUT_SKIPPED;
		else {
			results[i].outcome = AM_OUT_UNDECIDED;
			results[i].reason = "stopped before it was its turn";
			q[n++] = (struct question){signature, i};
		}
	}
	if (n)
		qsort(q, n, sizeof *q, by_question);
	return n;
}

static bool collect(const struct am_jobs *jobs, struct pollfd *fds, uint32_t workers, uint32_t all,
		    struct am_region_result *results)
{
	uint32_t open = workers, done = 0;

	while (open && !*jobs->stop) {
		const int ready = poll(fds, workers, 200);
		if (ready < 0 && errno != EINTR)
			return false;
		for (uint32_t w = 0; ready > 0 && w < workers; w++) {
			if (fds[w].fd < 0 || !fds[w].revents)
				continue;
			if (receive_result(fds[w].fd, results, jobs->run->region.n, jobs->run->n_threads)) {
				done++;
				continue;
			}
			close(fds[w].fd);
			fds[w].fd = -1;
			open--;
		}
		if (jobs->progress)
			jobs->progress(jobs->ctx, done, all);
	}
	return done == all || *jobs->stop;
}

bool am_jobs_run(const struct am_jobs *jobs, struct am_region_result *results)
{
	struct am_jobs copy = *jobs;
	struct question *q = am_xalloc(jobs->run->region.n, sizeof *q);
	const uint32_t n = list_questions(jobs, q, results);

	if (jobs->is_whole || !copy.jobs) /* splitting the questions would change what is learned */
		copy.jobs = 1;
	struct pollfd *fds = am_xalloc(copy.jobs, sizeof *fds);
	pid_t *pids = am_xalloc(copy.jobs, sizeof *pids);
	bool ok = true;
	uint32_t started = 0;
	fflush(NULL);
	for (; started < copy.jobs && n; started++) {
		int ends[2];
		if (pipe(ends) != 0)
			break;
		pids[started] = fork();
		if (pids[started] == 0) {
			for (uint32_t i = 0; i < started; i++)
				close(fds[i].fd);
			close(ends[0]);
			signal(SIGINT, SIG_IGN);
			signal(SIGPIPE, SIG_DFL);
			work(&copy, q, n, started, ends[1]);
		}
		close(ends[1]);
		if (pids[started] < 0) {
			close(ends[0]);
			break;
		}
		fds[started] = (struct pollfd){.fd = ends[0], .events = POLLIN};
	}
	if (n && started < copy.jobs) {
		fprintf(stderr, "atommon-predict: cannot start a worker: %s\n", strerror(errno));
		ok = false;
	}
	if (n && started)
		ok &= collect(&copy, fds, started, n, results);
	for (uint32_t i = 0; i < started; i++) {
		if (*jobs->stop)
			kill(pids[i], SIGKILL);
		if (fds[i].fd >= 0)
			close(fds[i].fd);
		int status;
		while (waitpid(pids[i], &status, 0) < 0 && errno == EINTR)
			;
		if (!*jobs->stop && (!WIFEXITED(status) || WEXITSTATUS(status)))
			fprintf(stderr, "atommon-predict: a worker ended with status %#x\n", status);
	}
	for (uint32_t i = 0; jobs->known && i < n; i++)
		if (results[q[i].region].outcome == AM_OUT_PREDICTED)
			*vec_push(&jobs->known->predicted) = q[i].signature;
	free(fds);
	free(pids);
	free(q);
	return ok;
}
