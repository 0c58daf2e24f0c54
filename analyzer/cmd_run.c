/*
 * atommon run [options] -- PROGRAM ARGS: set up the environment, run the program, say what came of
 * it. The program's own input and output are untouched; its status is handed on, 66 stands for a
 * violation.
 */
/* SPDX-License-Identifier: MIT */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyzer/report/doctor.h"
#include "atommon/options.h"
#include "atommon/statuspage.h"

enum { STATUS_VIOLATION = 66, STATUS_USAGE = 2, STATUS_CANNOT = 126, STATUS_MISSING = 127 };

static struct {
	char **argv; /* of the program */
	bool quiet, keep_trace, has_failed;
	int status_on_violation;
	char library[4096];
	char page_path[4096];
	struct am_statuspage *page;
} run = {.keep_trace = true, .status_on_violation = STATUS_VIOLATION};

static void usage(FILE *out)
{
	fputs("usage: atommon run [OPTIONS] [--] PROGRAM [ARGS]\n"
	      "Runs a program under atommon: violations are reported on stderr while it runs, a trace\n"
	      "is recorded for atommon-predict. Status 66 on a violation, else the program's own.\n\n"
	      "  -s, --sections        each outermost critical section is a region\n"
	      "  -f, --fn GLOB         functions of this name are regions (built with atommon cc)\n"
	      "  -o, --trace FILE      where to record; -n, --no-trace: do not\n"
	      "  -j, --json            reports as JSON lines\n"
	      "  -S, --suppressions F  do not report what this file names\n"
	      "  -v, --verbose         a summary at the end; twice: settings too\n"
	      "  -q, --quiet           only reports\n"
	      "      --NAME VALUE      any setting ATOMMON_NAME (--on-violation stop); see --help-env\n"
	      "  -h, --help  -V, --version  --help-env\n",
	      out);
}

static int help_env(void)
{
	puts("Settings of libatommon.so, from the environment. A bad value is one warning and the default.\n");
	for (size_t i = 0; i < am_option_count; i++) {
		const struct am_option_row *r = &am_option_rows[i];
		printf("%-22s %s\n%-22s values: %s; default: %s\n", r->name, r->meaning, "", r->values,
		       *r->def ? r->def : "none");
	}
	puts("ATOMMON_SYMBOLIZER     helper process that finds names and lines for live reports\n"
	     "                       default: bin/atommon-symbolize beside the library; empty: none");
	return 0;
}

static int fail(int status, const char *what, const char *about, const char *hint)
{
	fprintf(stderr, "atommon run: %s '%s'%s%s\n", what, about, *hint ? ": " : "", hint);
	return status;
}

/* ---- options -------------------------------------------------------------------------------- */

/* "--on-violation" -> the row of ATOMMON_ON_VIOLATION, or NULL. */
static const struct am_option_row *row_of(const char *option, size_t n)
{
	for (size_t i = 0; i < am_option_count; i++) {
		const char *name = am_option_rows[i].name + strlen("ATOMMON_");
		size_t k = 0;
		while (k < n && name[k] && (option[k] == '-' ? '_' : toupper((unsigned char)option[k])) == name[k])
			k++;
		if (k == n && !name[k])
			return &am_option_rows[i];
	}
	return NULL;
}

static void append_atomic(const char *what)
{
	const char *old = getenv("ATOMMON_ATOMIC");
	char text[600];

	snprintf(text, sizeof text, "%s%s%s", old ? old : "", old ? "," : "", what);
	setenv("ATOMMON_ATOMIC", text, 1);
}

/* The value of an option: behind '=', or the next word. */
static char *value_of(int argc, char **argv, int *i, char *equals)
{
	if (equals)
		return equals + 1;
	return *i + 1 < argc ? argv[++*i] : NULL;
}

static bool is(const char *word, const char *brief, const char *full)
{
	return strcmp(word, brief) == 0 || strcmp(word, full) == 0;
}

static void make_trace_absolute(const char *path)
{
	char cwd[2048], full[4096];

	if (*path != '/' && getcwd(cwd, sizeof cwd)) {
		snprintf(full, sizeof full, "%s/%s", cwd, path);
		path = full;
	}
	setenv("ATOMMON_TRACE", path, 1);
}

static void be_verbose(void)
{
	const char *now = getenv("ATOMMON_VERBOSE");
	const char level[2] = {now && now[0] >= '1' && now[0] <= '2' ? (char)(now[0] + 1) : '1', 0};
	setenv("ATOMMON_VERBOSE", level, 1);
}

/* Any --NAME VALUE of the table. */
static int setting(const char *word, const char *value)
{
	const struct am_option_row *row = row_of(word + 2, strcspn(word + 2, "="));

	if (!row)
		return fail(STATUS_USAGE, "unknown option", word, "see atommon run --help");
	if (!value)
		return fail(STATUS_USAGE, "no value after", word, row->values);
	if (strcmp(row->name, "ATOMMON_EXITCODE") == 0)
		run.status_on_violation = atoi(value);
	if (strcmp(row->name, "ATOMMON_MODE") == 0)
		run.keep_trace = strcmp(value, "check") != 0;
	setenv(row->name, value, 1);
	return 0;
}

/* An option that takes a value: -f VALUE, --fn VALUE or --fn=VALUE. */
static bool takes(const char *word, const char *brief, const char *name)
{
	const size_t n = strlen(name);

	return strcmp(word, brief) == 0 || (strncmp(word, name, n) == 0 && (word[n] == 0 || word[n] == '='));
}

/* Returns -1 to go on, else the status to end with. */
static int parse(int argc, char **argv)
{
	int i = 1;

	for (; i < argc && argv[i][0] == '-' && argv[i][1]; i++) {
		char *word = argv[i], *equals = strchr(word, '=');
		if (strcmp(word, "--") == 0) {
			i++;
			break;
		}
		if (is(word, "-h", "--help")) {
			usage(stdout);
			return 0;
		}
		if (is(word, "-V", "--version"))
			return puts("atommon " ATOMMON_VERSION) < 0;
		if (strcmp(word, "--help-env") == 0)
			return help_env();
		if (is(word, "-s", "--sections"))
			append_atomic("marked,sections");
		else if (is(word, "-n", "--no-trace"))
			run.keep_trace = false;
		else if (is(word, "-j", "--json"))
			setenv("ATOMMON_FORMAT", "json", 1);
		else if (is(word, "-v", "--verbose"))
			be_verbose();
		else if (is(word, "-q", "--quiet"))
			run.quiet = true;
		else {
			const bool is_fn = takes(word, "-f", "--fn");
			const bool is_trace = takes(word, "-o", "--trace");
			const bool is_file = strcmp(word, "-S") == 0;
			const bool is_short = word[1] != '-';
			if (is_short && !is_fn && !is_trace && !is_file)
				return fail(STATUS_USAGE, "unknown option", word, "see atommon run --help");
			char *value = value_of(argc, argv, &i, is_short ? NULL : equals);
			if (!equals && value && strcmp(value, "--") == 0)
				value = NULL;
			if ((is_short || is_fn || is_trace) && !value)
				return fail(STATUS_USAGE, "no value after", word, "");
			if (is_fn) {
				char text[520];
				snprintf(text, sizeof text, "fn:%s", value);
				append_atomic(text);
			} else if (is_trace)
				make_trace_absolute(value);
			else {
				const int bad = setting(is_file ? "--suppressions" : word, value);
				if (bad)
					return bad;
			}
		}
	}
	if (i >= argc)
		return usage(stderr), STATUS_USAGE;
	run.argv = argv + i;
	return -1;
}

/* ---- the environment of the program --------------------------------------------------------- */

static int find_library(void)
{
	const char *given = getenv("ATOMMON_LIB");
	char *slash;

	if (given && *given)
		snprintf(run.library, sizeof run.library, "%s", given);
	else {
		const ssize_t n = readlink("/proc/self/exe", run.library, sizeof run.library - 64);
		run.library[n < 0 ? 0 : n] = 0;
		for (int i = 0; i < 2; i++)
			if ((slash = strrchr(run.library, '/')))
				*slash = 0;
		strcat(run.library, "/lib/libatommon.so");
	}
	if (access(run.library, R_OK) != 0)
		return fail(STATUS_MISSING, "cannot read the library", run.library, strerror(errno));
	return -1;
}

/* The sanitiser first, then the library, then what was there. */
static void set_preload(void)
{
	const char *old = getenv("LD_PRELOAD");
	char first[256] = "", text[12288];

	am_doctor_first_library(run.argv[0], first, sizeof first);
	snprintf(text, sizeof text, "%s%s%s%s%s", first, *first ? ":" : "", run.library,
		 old && *old ? ":" : "", old ? old : "");
	setenv("LD_PRELOAD", text, 1);
}

static void make_page(void)
{
	const char *dir = getenv("TMPDIR");

	snprintf(run.page_path, sizeof run.page_path, "%s/atommon-run-XXXXXX", dir && *dir ? dir : "/tmp");
	const int fd = mkostemp(run.page_path, O_CLOEXEC);
	if (fd < 0 || ftruncate(fd, AM_STATUS_BYTES) != 0) {
		run.page_path[0] = 0;
		if (fd >= 0)
			close(fd);
		return;
	}
	run.page = mmap(NULL, AM_STATUS_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	if (run.page == MAP_FAILED) {
		run.page = NULL;
		return;
	}
	memcpy(run.page->magic, AM_STATUS_MAGIC, sizeof run.page->magic);
	run.page->version = AM_STATUS_VERSION;
	run.page->launcher = (uint32_t)getpid();
	setenv(AM_STATUS_ENV, run.page_path, 1);
}

/* ---- the run -------------------------------------------------------------------------------- */

static volatile pid_t child;

static void hand_on(int sig)
{
	if (child > 0)
		kill(child, sig);
}

/* The terminal sends its signals to the program as well; others are handed on. */
static void set_signals(void)
{
	struct sigaction act = {.sa_handler = SIG_IGN};

	sigaction(SIGINT, &act, NULL);
	sigaction(SIGQUIT, &act, NULL);
	act.sa_handler = hand_on;
	act.sa_flags = SA_RESTART;
	sigaction(SIGTERM, &act, NULL);
	sigaction(SIGHUP, &act, NULL);
	sigaction(SIGUSR1, &act, NULL);
	sigaction(SIGUSR2, &act, NULL);
}

static int launch(void)
{
	int report[2], failed = 0, status = 0;

	if (pipe2(report, O_CLOEXEC) != 0)
		return fail(STATUS_CANNOT, "cannot start", run.argv[0], strerror(errno));
	/* None gets lost, or us, before we are ready to hand it on. */
	sigset_t all, old;
	sigfillset(&all);
	sigprocmask(SIG_BLOCK, &all, &old);
	child = fork();
	if (child < 0)
		return fail(STATUS_CANNOT, "cannot start", run.argv[0], strerror(errno));
	if (child == 0) {
		sigprocmask(SIG_SETMASK, &old, NULL);
		execvp(run.argv[0], run.argv);
		failed = errno;
		_exit(write(report[1], &failed, sizeof failed) == sizeof failed ? 0 : STATUS_CANNOT);
	}
	set_signals();
	sigprocmask(SIG_SETMASK, &old, NULL);
	close(report[1]);
	const bool did_fail = read(report[0], &failed, sizeof failed) == sizeof failed;
	while (waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	child = 0;
	if (did_fail) {
		run.quiet = run.has_failed = true;
		fail(0, "cannot run", run.argv[0], strerror(failed));
		return failed == ENOENT ? STATUS_MISSING : STATUS_CANNOT;
	}
	if (WIFSIGNALED(status)) {
		if (!run.quiet)
			fprintf(stderr, "atommon: '%s' was ended by signal %d (%s)\n", run.argv[0],
				WTERMSIG(status), strsignal(WTERMSIG(status)));
		return 128 + WTERMSIG(status);
	}
	return WEXITSTATUS(status);
}

/* ---- what came of it ------------------------------------------------------------------------ */

static void show_reason(void *ctx, enum am_finding finding, const char *text)
{
	(void)ctx;
	if (finding == AM_FINDING_NO)
		fprintf(stderr, "atommon: %s\n", text);
}

static void explain_no_regions(void)
{
	const char *atomic = getenv("ATOMMON_ATOMIC"), *names = atomic ? strstr(atomic, "fn:") : NULL;

	if (names) {
		fprintf(stderr,
			"atommon: no region was seen: nothing was checked. No watched function ran that matches '%s'.\n"
			"  Is the program built with atommon cc or -finstrument-functions? Names are those of the source,\n"
			"  * stands for any part. What runs: atommon run --fn '*' --trace all.atm -- ...;\n"
			"  atommon dump all.atm | grep enter\n",
			names);
		return;
	}
	fputs("atommon: no region was seen: nothing was checked. Three ways to say what is to be atomic:\n"
	      "  1. annotate: #include <atommon.h>, ATOMMON_REGION(\"name\") { ... }\n"
	      "  2. critical sections, on any program: atommon run --sections -- ...\n"
	      "  3. functions: compile with -finstrument-functions (or atommon cc), then\n"
	      "     atommon run --fn 'GLOB' -- ...\n",
	      stderr);
}

/* A program that crashes takes the drain thread with it, often before that has seen why: its trace has it. */
static bool check_trace(const char *trace)
{
	const char *atomic = getenv("ATOMMON_ATOMIC");
	char tool[sizeof run.library + 32];
	int status = 0;

	snprintf(tool, sizeof tool, "%s", run.library);
	for (int i = 0; i < 2; i++)
		if (strrchr(tool, '/'))
			*strrchr(tool, '/') = 0;
	strcat(tool, "/bin/atommon-check");
	fflush(stderr);
	const pid_t checker = fork();
	if (checker == 0) {
		unsetenv("LD_PRELOAD");
		dup2(STDERR_FILENO, STDOUT_FILENO);
		execl(tool, "atommon-check", "--atomic", atomic ? atomic : "marked", trace, (char *)NULL);
		_exit(STATUS_MISSING);
	}
	while (checker > 0 && waitpid(checker, &status, 0) < 0 && errno == EINTR)
		;
	return checker > 0 && WIFEXITED(status) && WEXITSTATUS(status) == 1;
}

static bool did_crash(int status)
{
	const int sig = status - 128;

	return sig == SIGSEGV || sig == SIGABRT || sig == SIGBUS || sig == SIGILL || sig == SIGFPE;
}

static int sum_up(int status)
{
	const struct am_statuspage *p = run.page;

	if (!p || run.has_failed)
		return status;
	if (!p->loaded) {
		fprintf(stderr, "atommon: the library was not loaded into '%s': nothing was watched\n",
			run.argv[0]);
		am_doctor(run.argv[0], show_reason, NULL);
		return status;
	}
	if (p->disagreements)
		fprintf(stderr, "atommon: the two checkers disagreed %llu times; please report this\n",
			(unsigned long long)p->disagreements);
	if (p->violations && run.status_on_violation)
		status = run.status_on_violation;
	if (run.quiet)
		return status;
	if (did_crash(status) && p->trace[0] && !p->violations) {
		fprintf(stderr, "atommon: what it did until then: atommon-check %.1000s\n", p->trace);
		return check_trace(p->trace) && run.status_on_violation ? run.status_on_violation : status;
	}
	if (p->checked && !p->regions)
		explain_no_regions();
	else if (p->checked)
		fprintf(stderr, "atommon: %llu violation%s in %llu regions, %llu events, %llu threads%s\n",
			(unsigned long long)p->violations, p->violations == 1 ? "" : "s",
			(unsigned long long)p->regions, (unsigned long long)p->events,
			(unsigned long long)p->threads, p->lost ? "; events were lost" : "");
	if (p->trace[0] && p->regions) {
		const char *atomic = getenv("ATOMMON_ATOMIC");
		const bool is_plain = !atomic || strcmp(atomic, "marked") == 0;
		fprintf(stderr, "atommon: trace %.1000s; next: atommon-predict %s%s%s%.1000s\n", p->trace,
			is_plain ? "" : "--atomic '", is_plain ? "" : atomic, is_plain ? "" : "' ", p->trace);
	}
	return status;
}

int main(int argc, char **argv)
{
	int status = parse(argc, argv);

	if (status >= 0)
		return status;
	if ((status = find_library()) >= 0)
		return status;
	set_preload();
	if (!getenv("ATOMMON_MODE"))
		setenv("ATOMMON_MODE", run.keep_trace ? "both" : "check", 1);
	if (getenv("ATOMMON_EXITCODE"))
		run.status_on_violation = atoi(getenv("ATOMMON_EXITCODE"));
	make_page();
	if (!run.page && !getenv("ATOMMON_EXITCODE"))
		setenv("ATOMMON_EXITCODE", "66", 1);
	status = launch();
	status = sum_up(status);
	if (run.page_path[0])
		unlink(run.page_path);
	return status;
}
