/* Concrete meaning of the symbolic operations, against C where C defines it. */
/* SPDX-License-Identifier: MIT */
#include "atommon/expr.h"

#include <criterion/criterion.h>
#include <stdlib.h>

static uint64_t ev(enum am_op op, unsigned w, uint64_t a, uint64_t b)
{
	return am_op_eval(op, w, w, a, b, 0);
}

static bool agrees_with_c(uint32_t a, uint32_t b)
{
	const int32_t sa = (int32_t)a, sb = (int32_t)b;
	bool ok = ev(AM_OP_ADD, 32, a, b) == a + b && ev(AM_OP_SUB, 32, a, b) == a - b &&
		  ev(AM_OP_MUL, 32, a, b) == a * b;

	if (b) {
		ok &= ev(AM_OP_UDIV, 32, a, b) == a / b && ev(AM_OP_UREM, 32, a, b) == a % b;
		if (!(sa == INT32_MIN && sb == -1))
			ok &= ev(AM_OP_SDIV, 32, a, b) == (uint32_t)(sa / sb) &&
			      ev(AM_OP_SREM, 32, a, b) == (uint32_t)(sa % sb);
	}
	if (b < 32)
		ok &= ev(AM_OP_SHL, 32, a, b) == a << b && ev(AM_OP_LSHR, 32, a, b) == a >> b &&
		      ev(AM_OP_ASHR, 32, a, b) == (uint32_t)(sa >> b);
	ok &= am_op_eval(AM_OP_SLT, 1, 32, a, b, 0) == (sa < sb);
	ok &= am_op_eval(AM_OP_ULE, 1, 32, a, b, 0) == (a <= b);
	ok &= am_op_eval(AM_OP_SEXT, 64, 32, a, 0, 0) == (uint64_t)(int64_t)sa;
	ok &= am_op_eval(AM_OP_TRUNC, 8, 32, a, 0, 0) == (uint8_t)a;
	return ok;
}

Test(expr, thirty_two_bits_agree_with_c)
{
	srand(2);
	for (int i = 0; i < 200000; i++) {
		const uint32_t a = (uint32_t)rand() * 2654435761u;
		const uint32_t b = i & 1 ? (uint32_t)rand() % 40 : (uint32_t)rand() * 97u;
		if (!agrees_with_c(a, b))
			cr_assert_fail("a=%u b=%u", a, b);
	}
}

Test(expr, corner_cases_are_those_of_smt_lib)
{
	cr_assert_eq(ev(AM_OP_UDIV, 8, 5, 0), 255);
	cr_assert_eq(ev(AM_OP_UREM, 8, 5, 0), 5);
	cr_assert_eq(ev(AM_OP_SDIV, 8, 5, 0), 255);
	cr_assert_eq(ev(AM_OP_SDIV, 8, 0xfb, 0), 1);
	cr_assert_eq(ev(AM_OP_SDIV, 8, 0x80, 0xff), 0x80);
	cr_assert_eq(ev(AM_OP_SREM, 8, 0x80, 0xff), 0);
	cr_assert_eq(ev(AM_OP_SDIV, 64, (uint64_t)INT64_MIN, UINT64_MAX), (uint64_t)INT64_MIN);
	cr_assert_eq(ev(AM_OP_SHL, 8, 1, 8), 0);
	cr_assert_eq(ev(AM_OP_ASHR, 8, 0x80, 9), 0xff);
	cr_assert_eq(am_op_eval(AM_OP_CONCAT, 16, 8, 0xab, 0xcd, 0), 0xabcd);
	cr_assert_eq(am_op_eval(AM_OP_EXTRACT, 4, 32, 0xabcd, 8, 0), 0xb);
	cr_assert_eq(am_op_eval(AM_OP_ITE, 8, 1, 1, 3, 4), 3);
	cr_assert_eq(am_op_eval(AM_OP_ITE, 8, 1, 0, 3, 4), 4);
}
