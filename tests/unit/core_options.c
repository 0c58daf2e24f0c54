/* Settings: every row of the table, good values and bad ones. */
/* SPDX-License-Identifier: MIT */
#include "atommon/options.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static int warnings;
static char last[512];

static void on_warning(void *ctx, const char *message)
{
	(void)ctx;
	warnings++;
	snprintf(last, sizeof last, "%s", message);
}

static struct am_options parse_two(char *setting, char *second)
{
	static struct am_options o;
	char *env[] = {"HOME=/", setting, second, NULL};

	warnings = 0;
	am_options_from_env(&o, env, on_warning, NULL);
	return o;
}

static struct am_options parse(char *setting)
{
	return parse_two(setting, NULL);
}

Test(options, defaults_are_those_of_the_table)
{
	const struct am_options o = parse(NULL);

	cr_assert_eq(warnings, 0);
	cr_assert(o.enabled);
	cr_assert_eq(o.mode, AM_MODE_CHECK);
	cr_assert_eq(o.buffer, 1u << 20);
	cr_assert_eq(o.mem_max, 256u << 20);
	cr_assert_eq(o.trace_max, 1u << 30);
	cr_assert_str_eq(o.trace, "atommon.%e.%p.atm");
	cr_assert_str_eq(o.atomic, "marked");
	cr_assert_eq(o.stack, 4);
}

Test(options, every_type_is_read)
{
	cr_assert_eq(parse("ATOMMON_MODE=both").mode, AM_MODE_BOTH);
	cr_assert_eq(parse("ATOMMON_BUFFER=64K").buffer, 65536);
	cr_assert_eq(parse("ATOMMON_EXITCODE=66").exitcode, 66);
	cr_assert_not(parse("ATOMMON_ENABLED=0").enabled);
	cr_assert_str_eq(parse("ATOMMON_ATOMIC=marked,fn:a*").atomic, "marked,fn:a*");
	cr_assert_eq(warnings, 0);
}

Test(options, names_of_cxx_are_globs)
{
	static char *const good[] = {"ATOMMON_ATOMIC=fn:operator new", "ATOMMON_ATOMIC=fn:a::fn::b", "ATOMMON_ATOMIC=fn:fn",
				     "ATOMMON_ATOMIC=fn:*::operator|"};

	for (size_t i = 0; i < sizeof good / sizeof good[0]; i++) {
		cr_assert_str_eq(parse(good[i]).atomic, good[i] + 15);
		cr_assert_eq(warnings, 0, "%s", good[i]);
	}
}

Test(options, each_glob_knows_its_functions)
{
	const char *atomic = "fn:with*,marked,fn:a::b,sections,fn:nothing";
	size_t n;

	cr_assert_eq(am_glob_functions(atomic, "withdraw"), 1);
	cr_assert_eq(am_glob_functions(atomic, "bank::withdraw"), 1);
	cr_assert_eq(am_glob_functions(atomic, "a::b"), 2);
	cr_assert_eq(am_glob_functions(atomic, "sections"), 0);
	cr_assert_eq(am_glob_functions("fn:*,fn:a", "a"), 3);
	/* A C++ symbol has the names of all that is handed to the function. */
	cr_assert_eq(am_glob_functions("fn:*,fn:*push*,fn:_Z*push*", "_Z4callIZN4bank4pushEvEUlvE_EvT_"), 5);
	cr_assert_eq(strncmp(am_glob_function_at(atomic, 2, &n), "nothing", 7), 0);
	cr_assert_eq(n, 7);
	cr_assert_null(am_glob_function_at(atomic, 3, &n));
}

Test(options, a_bad_value_is_one_warning_and_the_default)
{
	static char *const bad[] = {
		"ATOMMON_MODE=chek",	  "ATOMMON_BUFFER=1X",	  "ATOMMON_BUFFER=1K",
		"ATOMMON_BUFFER=8M",	  "ATOMMON_EXITCODE=256", "ATOMMON_EXITCODE=-1",
		"ATOMMON_EXITCODE=",	  "ATOMMON_STACK=0",	  "ATOMMON_ENABLED=yes",
		"ATOMMON_ATOMIC=section", "ATOMMON_ATOMIC=",	  "ATOMMON_ATOMIC=fn:a;fn:b",
		"ATOMMON_ATOMIC=fn:a fn:b", "ATOMMON_ATOMIC=fn:a:fn:b", "ATOMMON_TRACE_MAX=1",  "ATOMMON_MEM_MAX=99999999999999999999G",
	};
	const struct am_options defaults = parse(NULL);

	for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
		const struct am_options o = parse(bad[i]);
		cr_assert_eq(warnings, 1, "%s", bad[i]);
		cr_assert_eq(memcmp(&o, &defaults, sizeof o), 0, "%s", bad[i]);
	}
}

Test(options, an_overlong_text_is_refused_not_cut)
{
	char setting[2000] = "ATOMMON_TRACE=";

	memset(setting + strlen(setting), 'x', 1500);
	cr_assert_str_eq(parse(setting).trace, "atommon.%e.%p.atm");
	cr_assert_eq(warnings, 1);
}

Test(options, a_trace_that_is_not_recorded_is_one_warning)
{
	parse("ATOMMON_TRACE=x.atm");
	cr_assert_eq(warnings, 1);
	parse_two("ATOMMON_TRACE=x.atm", "ATOMMON_MODE=both");
	cr_assert_eq(warnings, 0);
	parse_two("ATOMMON_MODE=record", "ATOMMON_TRACE=x.atm");
	cr_assert_eq(warnings, 0);
	parse_two("ATOMMON_ENABLED=0", "ATOMMON_TRACE=x.atm");
	cr_assert_eq(warnings, 0);
}

Test(options, an_unknown_name_is_one_warning)
{
	parse("ATOMMON_COLOUR=1");
	cr_assert_eq(warnings, 1);
	cr_assert(strstr(last, "ATOMMON_COLOUR"));
	parse("ATOMMON_CC=clang");
	cr_assert_eq(warnings, 0);
}

Test(options, globs_match_like_a_shell)
{
	cr_assert(am_glob("cache_*", "cache_get"));
	cr_assert(am_glob("*", ""));
	cr_assert(am_glob("a?c*e", "abcde"));
	cr_assert_not(am_glob("a?c", "abcd"));
	cr_assert(am_glob_list("", "anything"));
	cr_assert(am_glob_list("redis*,bank", "bank"));
	cr_assert_not(am_glob_list("redis*,bank", "banks"));
	cr_assert(am_glob_function("marked,fn:withdraw", "bank::Account::withdraw"));
	cr_assert(am_glob_function("fn:bank::*", "bank::Account::withdraw"));
	cr_assert_not(am_glob_function("fn:Account::withdraw", "bank::Account::withdraw"));
	cr_assert_not(am_glob_function("withdraw,sections", "withdraw"));
}
