/* Mangled names: what people write for them, and what is left alone. */
/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>
#include <string.h>

#include "preload/name.h"
#include "preload_stand_in.h"

static void is(const char *symbol, const char *expected)
{
	char buf[256];

	cr_expect_str_eq(am_name_plain(symbol, buf, sizeof buf), expected, "of '%s'", symbol);
}

Test(name, c_functions_keep_theirs)
{
	is("withdraw", "withdraw");
	is("_start", "_start");
	is("", "");
}

Test(name, nested_names_lose_parameters)
{
	is("_Z8withdrawi", "withdraw");
	is("_ZL5auditv", "audit");
	is("_ZN4bank8withdrawEi", "bank::withdraw");
	is("_ZNK4bank7Account7balanceEv", "bank::Account::balance");
	is("_ZNSt6vectorIiSaIiEE9push_backERKi", "std::vector::push_back");
	is("_ZSt4swapIiEvRT_S1_", "std::swap");
}

Test(name, anonymous_namespaces_are_left_out)
{
	is("_ZN12_GLOBAL__N_15auditEv", "audit");
	is("_ZN12_GLOBAL__N_18Registry6lookupEi", "Registry::lookup");
}

Test(name, template_arguments_are_left_out)
{
	is("_ZN5CacheIiLi16ELb1EE3getEi", "Cache::get");
	is("_ZN5CacheISt4pairIKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEEiEE3getEv", "Cache::get");
	is("_ZN4PoolIJilA3_cEE4takeB5cxx11Ev", "Pool::take");
	is("_ZN5QueueIM1AFviEE3popEv", "Queue::pop");
}

/* As gcc and clang name them. */
Test(name, lambdas_and_local_types_as_arguments)
{
	is("_ZN4Pool6submitIZL1aiEUlvE_EESt6futureIiET_", "Pool::submit");
	is("_ZN4Pool6submitIZL1aiE3$_0EESt6futureIiET_", "Pool::submit");
	is("_ZN4Pool6submitIZ1aiEUlvE0_EESt6futureIiET_", "Pool::submit");
	is("_ZN4Pool6submitIZN3foo3barEvEUliPKcE12_S0_EESt6futureIiET_", "Pool::submit");
	is("_ZN4Pool6submitIZN12_GLOBAL__N_1L1aEiEUlvE_EEvT_", "Pool::submit");
	is("_ZN4Pool6submitIZ1aiE4Task_0EEvT_", "Pool::submit");
	is("_ZN4Pool6submitIZ4mainEUt0_EEvT_", "Pool::submit");
	is("_ZN4Pool6submitIZZ4mainENKUlvE_clEvEUlvE_EEvT_", "Pool::submit");
	is("_ZN4Pool6submitIZ1aiEUlvE_", "_ZN4Pool6submitIZ1aiEUlvE_");
	is("_ZN4PoolIA3_3RowE4takeEv", "Pool::take");
}

Test(name, constructors_and_calls)
{
	is("_ZN7AccountC2El", "Account::Account");
	is("_ZN7AccountD1Ev", "Account::~Account");
	is("_ZN6AddingclEi", "Adding::operator()");
}

Test(name, what_is_not_understood_stays)
{
	is("_ZZ4mainENKUlvE_clEv", "_ZZ4mainENKUlvE_clEv");
	is("_ZN7AccountplERKS_", "_ZN7AccountplERKS_");
	is("_ZN", "_ZN");
	is("_ZN99x", "_ZN99x");
	is("_ZN5CacheI", "_ZN5CacheI");
	is("_ZN5CacheILi16", "_ZN5CacheILi16");
	is("_ZN99999999999999999999xE", "_ZN99999999999999999999xE");
}

Test(name, a_small_buffer_is_enough_or_refused)
{
	const char *symbol = "_ZN4bank7Account8withdrawEi";

	for (size_t size = 1; size < 40; size++) {
		char buf[41];
		memset(buf, 'x', sizeof buf);
		const char *name = am_name_plain(symbol, buf, size);
		cr_expect(name == symbol || !strcmp(name, "bank::Account::withdraw"));
		cr_expect_eq(buf[size], 'x', "wrote past %zu bytes", size);
	}
}
