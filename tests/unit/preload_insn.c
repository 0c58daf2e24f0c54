/* Lengths and jumps of instructions, against objdump, on the code of this very program; and loops. */
/* SPDX-License-Identifier: MIT */
#include <criterion/criterion.h>

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
