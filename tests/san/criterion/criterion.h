/* SPDX-License-Identifier: MIT */
/*
 * Stands in for Criterion where that cannot run: under ThreadSanitizer its process machinery crashes. The same
 * words, as far as the unit tests use them; every test in a child of its own, one after the other; TAP.
 */
#ifndef ATOMMON_TESTS_SAN_CRITERION_H
#define ATOMMON_TESTS_SAN_CRITERION_H

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CR_LITE_SKIPPED = 77 };

struct cr_lite_extra {
	void (*init)(void), (*fini)(void);
	double timeout;
	const char *description;
};

struct cr_lite_test {
	const char *suite, *name;
	void (*run)(void); /* NULL: speaks of the whole suite */
	struct cr_lite_extra extra;
	struct cr_lite_test *next;
};

static struct cr_lite_test *cr_lite_first;
static bool cr_lite_has_failed;

static inline void cr_lite_add(struct cr_lite_test *t)
{
	struct cr_lite_test **at = &cr_lite_first;

	while (*at)
		at = &(*at)->next;
	*at = t;
}

#define CR_LITE_ADD(id, suite_, name_, run_, ...)                                                  \
	static struct cr_lite_test id = {                                                          \
		.suite = suite_, .name = name_, .run = run_, .extra = {__VA_ARGS__}};              \
	__attribute__((constructor)) static void id##_add(void)                                    \
	{                                                                                          \
		cr_lite_add(&id);                                                                  \
	}

#define Test(suite_, name_, ...)                                                                   \
	static void suite_##_##name_##_run(void);                                                  \
	CR_LITE_ADD(suite_##_##name_##_test, #suite_, #name_, suite_##_##name_##_run, __VA_ARGS__) \
	static void suite_##_##name_##_run(void)

#define TestSuite(suite_, ...) CR_LITE_ADD(suite_##_all, #suite_, "", NULL, __VA_ARGS__)

#define CR_LITE(is_fatal, condition, ...)                                                          \
	do {                                                                                       \
		if (!(condition)) {                                                                \
			printf("# %s:%d: %s\n", __FILE__, __LINE__, #condition);                   \
			printf("# " __VA_ARGS__);                                                  \
			putchar('\n');                                                             \
			cr_lite_has_failed = true;                                                 \
			if (is_fatal) {                                                            \
				fflush(stdout);                                                    \
				_exit(1);                                                          \
			}                                                                          \
		}                                                                                  \
	} while (0)

#define cr_assert(c, ...) CR_LITE(true, c, "" __VA_ARGS__)
#define cr_assert_not(c, ...) CR_LITE(true, !(c), "" __VA_ARGS__)
#define cr_assert_fail(...) CR_LITE(true, false, "" __VA_ARGS__)
#define cr_assert_eq(a, b, ...) CR_LITE(true, (a) == (b), "" __VA_ARGS__)
#define cr_assert_neq(a, b, ...) CR_LITE(true, (a) != (b), "" __VA_ARGS__)
#define cr_assert_lt(a, b, ...) CR_LITE(true, (a) < (b), "" __VA_ARGS__)
#define cr_assert_leq(a, b, ...) CR_LITE(true, (a) <= (b), "" __VA_ARGS__)
#define cr_assert_gt(a, b, ...) CR_LITE(true, (a) > (b), "" __VA_ARGS__)
#define cr_assert_geq(a, b, ...) CR_LITE(true, (a) >= (b), "" __VA_ARGS__)
#define cr_assert_null(a, ...) CR_LITE(true, (a) == NULL, "" __VA_ARGS__)
#define cr_assert_not_null(a, ...) CR_LITE(true, (a) != NULL, "" __VA_ARGS__)
#define cr_assert_str_eq(a, b, ...) CR_LITE(true, strcmp(a, b) == 0, "" __VA_ARGS__)
#define cr_assert_str_neq(a, b, ...) CR_LITE(true, strcmp(a, b) != 0, "" __VA_ARGS__)
#define cr_assert_arr_eq(a, b, n, ...) CR_LITE(true, memcmp(a, b, n) == 0, "" __VA_ARGS__)
#define cr_expect(c, ...) CR_LITE(false, c, "" __VA_ARGS__)
#define cr_expect_not(c, ...) CR_LITE(false, !(c), "" __VA_ARGS__)
#define cr_expect_eq(a, b, ...) CR_LITE(false, (a) == (b), "" __VA_ARGS__)
#define cr_expect_neq(a, b, ...) CR_LITE(false, (a) != (b), "" __VA_ARGS__)
#define cr_expect_lt(a, b, ...) CR_LITE(false, (a) < (b), "" __VA_ARGS__)
#define cr_expect_leq(a, b, ...) CR_LITE(false, (a) <= (b), "" __VA_ARGS__)
#define cr_expect_gt(a, b, ...) CR_LITE(false, (a) > (b), "" __VA_ARGS__)
#define cr_expect_geq(a, b, ...) CR_LITE(false, (a) >= (b), "" __VA_ARGS__)
#define cr_expect_null(a, ...) CR_LITE(false, (a) == NULL, "" __VA_ARGS__)
#define cr_expect_not_null(a, ...) CR_LITE(false, (a) != NULL, "" __VA_ARGS__)
#define cr_expect_str_eq(a, b, ...) CR_LITE(false, strcmp(a, b) == 0, "" __VA_ARGS__)
#define cr_expect_str_neq(a, b, ...) CR_LITE(false, strcmp(a, b) != 0, "" __VA_ARGS__)
#define cr_expect_arr_eq(a, b, n, ...) CR_LITE(false, memcmp(a, b, n) == 0, "" __VA_ARGS__)
#define cr_skip_test(...)                                                                          \
	do {                                                                                       \
		printf("# skipped: " __VA_ARGS__);                                                 \
		putchar('\n');                                                                     \
		fflush(stdout);                                                                    \
		_exit(CR_LITE_SKIPPED);                                                            \
	} while (0)

/* The suite's init before the test's own; in a child. */
static inline void cr_lite_run(const struct cr_lite_test *t)
{
	const struct cr_lite_test *all = cr_lite_first;

	while (all && (all->run || strcmp(all->suite, t->suite) != 0))
		all = all->next;
	alarm(t->extra.timeout > 0 ? 10 * (unsigned)t->extra.timeout : 600);
	if (all && all->extra.init)
		all->extra.init();
	if (t->extra.init)
		t->extra.init();
	t->run();
	if (t->extra.fini)
		t->extra.fini();
	if (all && all->extra.fini)
		all->extra.fini();
	exit(cr_lite_has_failed);
}

int main(void)
{
	int n = 0, failed = 0;

	setvbuf(stdout, NULL, _IOLBF, 0);
	for (const struct cr_lite_test *t = cr_lite_first; t; t = t->next) {
		int status = 0;
		if (!t->run)
			continue;
		fflush(stdout);
		const pid_t pid = fork();
		if (pid == 0)
			cr_lite_run(t);
		waitpid(pid, &status, 0);
		const bool is_skipped = WIFEXITED(status) && WEXITSTATUS(status) == CR_LITE_SKIPPED;
		const bool is_ok = status == 0 || is_skipped;
		failed += !is_ok;
		printf("%s %d - %s::%s%s", is_ok ? "ok" : "not ok", ++n, t->suite, t->name,
		       is_skipped ? " # SKIP" : "");
		printf(is_ok ? "\n" : " (status %#x)\n", (unsigned)status);
	}
	printf("1..%d\n", n);
	return failed != 0;
}

#endif
