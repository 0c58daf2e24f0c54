/*
 * The error that section 3 of the paper warns of, built on purpose: a completed transaction is
 * deleted. This checks that the example notices it. (All of scg_region.c is compiled into this test,
 * so the library's own copy is not linked.)
 */
/* SPDX-License-Identifier: MIT */
#define AM_SCG_DELETE_COMPLETED
#include "analyzer/core/scg_region.c"

#include "checker_text.h"

#include <criterion/criterion.h>

Test(deletion, the_example_of_section_3_is_missed_by_the_error)
{
	cr_expect_eq(text_check(TEXT_SECTION_3, AM_CONFLICTS_DATA).first, 0);
	cr_expect_eq(text_full(TEXT_SECTION_3, AM_CONFLICTS_DATA), 9);
	cr_expect_eq(text_oracle(TEXT_SECTION_3, AM_CONFLICTS_DATA), 9);
}

Test(deletion, a_direct_cycle_is_still_found_by_the_error)
{
	const char *direct = "T1:begin(m) T2:begin(m) T1:w(V1) T2:w(V2) T1:r(V2) T2:r(V1)";
	cr_expect_eq(text_check(direct, AM_CONFLICTS_DATA).first, 6);
}
