/* Lengths and jumps of instructions, against objdump, on the code of this very program; and loops. */
/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

#include "atommon/inlined.h"
#include "preload/insn.h"
#include "preload_stand_in.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Test(insn, lengths_are_those_of_objdump)
{
	FILE *f = popen("objdump -d -w --no-show-raw-insn -j .text /proc/$PPID/exe 2>/dev/null", "r");
	char line[512], name[32], target[64];
	uint64_t from, before = 0;
	struct am_insn insn = {0};
	unsigned n = 0, jumps = 0;
	extern char __executable_start;

	cr_assert(f);
	while (fgets(line, sizeof line, f)) {
		if (sscanf(line, " %lx: %31s %63s", &from, name, target) < 2 || line[0] != ' ') {
			before = 0;
			continue;
		}
		if (before)
			cr_assert_eq(insn.length, from - before, "%s behind %lx, not %u", line, before, insn.length);
		before = strcmp(name, "(bad)") ? from : 0;
		if (!before)
			continue;
		const uint8_t *code = (const uint8_t *)(&__executable_start + from);
		cr_assert(am_insn_decode(code, 16, &insn), "%s", line);
		const bool is_jump = name[0] == 'j' && target[0] != '*' && strcmp(name, "jrcxz") && strcmp(name, "jecxz");
		cr_assert_eq(insn.is_jump, is_jump, "%s", line);
		if (is_jump) {
			cr_assert_eq(from + insn.length + (uint64_t)(int64_t)insn.to, strtoull(target, NULL, 16), "%s", line);
			jumps++;
		}
		n++;
	}
	pclose(f);
	cr_assert(n > 1000 && jumps > 100, "%u instructions, %u jumps", n, jumps);
}

/* call A; je out; L: call B; jne L; out: ret   and the same without the way back */
Test(insn, a_copy_in_front_of_a_loop)
{
	uint8_t loop[] = {0xe8, 0, 0, 0, 0, 0x74, 7, 0xe8, 0, 0, 0, 0, 0x75, 0xf9, 0xc3};
	const uintptr_t start = (uintptr_t)loop, a = start + 5, b = start + 12, end = start + sizeof loop;

	cr_assert(am_insn_in_inner_loop(b, a, start, end));
	cr_assert(!am_insn_in_inner_loop(a, b, start, end));
	loop[13] = 1; /* forward */
	cr_assert(!am_insn_in_inner_loop(b, a, start, end));
	loop[13] = (uint8_t)-14; /* around both */
	cr_assert(!am_insn_in_inner_loop(b, a, start, end));
}

/* Code of `n` accesses: a call each, an instruction between, the answer. */
enum { ACCESS = 16, ACCESSES = 5 };
static void put(uint8_t *code, uint32_t first, uint32_t last, bool is_unused, bool is_any)
{
	const uint8_t bytes[] = {0xe8, 0, 0, 0, 0, 0x48, 0x89, 0xc3, AM_ANSWER_CODE};
	const uint32_t answer = first | last << AM_ANSWER_BITS | (is_unused ? AM_ANSWER_UNUSED : 0) |
				(is_any ? AM_ANSWER_ANY : 0) |
				(uint32_t)AM_ANSWER_SAME << AM_ANSWER_SHIFT;

	memcpy(code, bytes, sizeof bytes);
	memcpy(code + sizeof bytes, &answer, sizeof answer);
}

Test(insn, what_the_compiler_said_counts)
{
	/* A; loop 1 { B; loop 2 { C } } loop 3 { D }; and E without an answer */
	static const struct {
		uint32_t first, last;
	} in[] = {{0, 0}, {1, 2}, {2, 2}, {3, 3}};
	/* is the row's in a loop that the column's is not in? */
	static const bool want[4][4] = {{0, 0, 0, 0}, {1, 0, 0, 1}, {1, 1, 0, 1}, {1, 1, 1, 0}};
	uint8_t code[ACCESS * ACCESSES + 1];
	const uintptr_t start = (uintptr_t)code, end = start + sizeof code;

	memset(code, 0x90, sizeof code);
	for (unsigned i = 0; i < 4; i++)
		put(code + i * ACCESS, in[i].first, in[i].last, i % 2, i < 2);
	code[4 * ACCESS] = 0xe8;
	memset(code + 4 * ACCESS + 1, 0, 4);
	code[ACCESS * ACCESSES] = 0xc3;
	for (unsigned i = 0; i < 4; i++) {
		cr_assert_eq(am_insn_is_unused(start + i * ACCESS + 5, start, end), i % 2);
		cr_assert_eq(am_insn_is_compared(start + i * ACCESS + 5, start, end), i >= 2);
		for (unsigned k = 0; k < 4; k++)
			cr_assert_eq(am_insn_in_inner_loop(start + i * ACCESS + 5, start + k * ACCESS + 5, start, end), want[i][k],
				     "%u %u", i, k);
	}
	cr_assert_eq(am_insn_answer(start + 4 * ACCESS + 5, end), 0);
	cr_assert_neq(am_insn_answer(start + 5, end), 0);
	cr_assert_eq(am_insn_answer(start, end), 0, "that of another call");
	code[8] = 0xeb; /* jmp: the answer behind it is not this one's */
	cr_assert_eq(am_insn_answer(start + 5, end), 0);
	put(code, 1, 1, false, true);
	code[15] ^= 0xff; /* another number */
	cr_assert_eq(am_insn_answer(start + 5, end), 0);
	/* padding between functions looks nearly the same */
	memcpy(code + 8, "\x0f\x1f\x84\0\0\0\0", 8);
	cr_assert_eq(am_insn_answer(start + 5, end), 0);
}

/* The number in programs that were built before there was anything to say of comparisons. */
Test(insn, an_older_answer_still_counts)
{
	const uint32_t older = 3 | 5u << AM_ANSWER_BITS | AM_ANSWER_UNUSED | UINT32_C(0x155) << 23;
	uint8_t code[ACCESS];
	const uintptr_t start = (uintptr_t)code;

	put(code, 0, 0, false, false);
	memcpy(code + ACCESS - sizeof older, &older, sizeof older);
	cr_assert_eq(am_insn_answer(start + 5, start + sizeof code), older);
	cr_assert(am_insn_is_unused(start + 5, start, start + sizeof code));
	cr_assert(!am_insn_is_compared(start + 5, start, start + sizeof code));
}

/* What follows the call `e8 0 0 0 0`, as compilers write it. */
Test(insn, a_result_that_is_only_compared_with_one)
{
	static const struct {
		const char *code;
		unsigned n;
		bool is_compared;
	} tests[] = {
		{"\x83\xf8\x01\x75\x00\xe8\0\0\0\0", 10, true},			     /* cmp $1,%eax; jne; call */
		{"\x83\xf8\x02\x75\x00\xe8\0\0\0\0", 10, false},			     /* with two */
		{"\x83\xe8\x01\x85\xc0\x7e\x00\xe8\0\0\0\0", 12, true},		     /* sub $1,%eax; test; jle */
		{"\x83\xe8\x01\x83\xf8\x01\x74\x00\xe8\0\0\0\0", 13, false},	     /* sub $1; cmp $1 */
		{"\x83\xe8\x01\x83\xe8\x01\x74\x00\xe8\0\0\0\0", 13, false},	     /* sub $1 twice */
		{"\xff\xc8\x74\x00\xe8\0\0\0\0", 9, true},			     /* dec %eax; je */
		{"\x89\xc3\xe8\0\0\0\0\x83\xfb\x01\x5b\x0f\x94\xc0\xc3", 15, true},	     /* mov %eax,%ebx; call; cmp $1,%ebx; pop; sete %al; ret */
		{"\x89\xc3\xe8\0\0\0\0\x89\xd8\x5b\xc3", 11, false},		     /* mov %eax,%ebx; call; mov %ebx,%eax; pop; ret */
		{"\x89\xc3\xe8\0\0\0\0\x83\xfb\x01\x89\xd8\x5b\xc3", 14, false},	     /* the same behind a comparison */
		{"\x89\xc7\xe8\0\0\0\0\x83\xff\x01\x31\xff\xc3", 13, false},	     /* an argument of a call */
		{"\x8d\x50\xff\x85\xd2\x74\x00\xe8\0\0\0\0", 12, false},	     /* lea -1(%rax),%edx; test; je; call: it may be an argument */
		{"\x8d\x50\xff\x85\xd2\x31\xd2\x74\x00\xe8\0\0\0\0", 14, true}, /* it is not */
		{"\x83\xf8\x01\x7a\x00\xe8\0\0\0\0", 10, false},			     /* parity */
		{"\x83\xf8\x01\x19\xc0\xe8\0\0\0\0", 10, false},			     /* sbb %eax,%eax */
		{"\x3c\x01\x75\x00\xe8\0\0\0\0", 9, false},			     /* a byte of it */
		{"\x66\x83\xf8\x01\x75\x00\xe8\0\0\0\0", 11, false},		     /* two */
		{"\x83\xf8\x01\xc3", 4, false},					     /* returned */
	};

	for (unsigned i = 0; i < sizeof tests / sizeof *tests; i++) {
		uint8_t code[32] = {0xe8};
		const uintptr_t start = (uintptr_t)code;
		memcpy(code + 5, tests[i].code, tests[i].n);
		cr_assert_eq(am_insn_is_compared(start + 5, start, start + 5 + tests[i].n), tests[i].is_compared, "%u", i);
	}
}
