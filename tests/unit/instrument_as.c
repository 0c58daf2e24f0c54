/* Which callbacks the assembler of `atommon cc` takes together, and which it must not. */
/* SPDX-License-Identifier: MIT */
#include "instrument/as_pair.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static size_t pairs_of(const char *text)
{
	struct am_as_pairs p;

	cr_assert(am_as_pairs_find(text, &p));
	const size_t n = p.n;
	for (size_t i = 0; i < n; i++)
		cr_assert(strncmp(p.v[i].read, "\tcall\t", 6) == 0 && strstr(p.v[i].read, "__tsan_") < p.v[i].write &&
			  strncmp(p.v[i].write, "\tcall\t", 6) == 0);
	free(p.v);
	return n;
}

/* "insn|.directive|label:" as gcc would write it: tabs before instructions, and before their operands. */
static void lines(char *out, const char *in)
{
	char *p = out + strlen(out);
	bool is_first = true, in_name = true;

	for (; *in; in++) {
		const size_t n = strcspn(in, "|");
		if (is_first && in[0] != '#' && in[n - 1] != ':')
			*p++ = '\t';
		in_name = is_first ? *in != '.' : in_name;
		is_first = *in == '|';
		*p++ = is_first ? '\n' : in_name && *in == ' ' ? '\t' : *in;
		in_name = in_name && *in != ' ';
	}
	*p++ = '\n';
	*p = '\0';
}

static size_t pairs(const char *before, const char *source, const char *read, const char *between, const char *write)
{
	char text[4096] = "\t.file\t\"x.c\"\n\t.text\nf:\n\t.cfi_startproc\n", body[1024];

	snprintf(body, sizeof body, "%s%s%s|call %s%s%s|%s|call %s", before, *before ? "|" : "", source, read, *between ? "|" : "",
		 between, source, write);
	lines(text, body);
	return pairs_of(text);
}

#define FRAME "pushq %rbp|movq %rsp, %rbp|.cfi_def_cfa_register 6"

static void all(const char *before, const char *source, const char *const *between, size_t expected)
{
	for (; *between; between++)
		cr_expect_eq(pairs(before, source, "__tsan_read4@PLT", *between, "__tsan_write4@PLT"), expected, "%s, %s: %s", source,
			     *between, expected ? "not taken together" : "taken together");
}

Test(as_pair, an_address_in_each_form)
{
	static const char *const forms[] = {"movq %rbx, %rdi", "leaq 4(%rbx), %rdi", "leaq (%rbx,%r12,4), %rdi",
		"leaq x+8(%rip), %rdi", "movl $x, %edi", "movabsq $x, %rdi", "movq x@GOTPCREL(%rip), %rdi",
		"movq 8(%rsp), %rdi", "movq 8(%rsp), %rax|addq $4, %rax|movq %rax, %rdi",
		"movslq 8(%rsp), %rax|leaq 0(,%rax,8), %rdx|leaq x(%rip), %rax|addq %rdx, %rax|movq %rax, %rdi",
		"movq %fs:0, %rax|addq $x@tpoff, %rax|movq %rax, %rdi", "movl %ebx, %eax|cltq|imulq $24, %rax, %rdi"};

	for (size_t i = 0; i < sizeof forms / sizeof *forms; i++)
		all("", forms[i], (const char *const[]){"", "addl $1, %eax", NULL}, 1);
	all(FRAME, "movq -24(%rbp), %rdi", (const char *const[]){"", "movl %eax, -28(%rbp)", NULL}, 1);
}

Test(as_pair, what_may_stand_between)
{
	all("", "movq %rbx, %rdi",
	    (const char *const[]){"", "movl (%rbx), %eax|leal 1(%rax), %ebp", "cltd|idivl %ebp", "sall %cl, %eax", ".loc 1 2 3 view .LVU3",
				  ".LVL3:", ".LBB12:|.LBE12:", "movsd (%rbx), %xmm0|addsd %xmm1, %xmm0|movsd %xmm0, 8(%rsp)",
				  "cmpl %eax, %edx|cmovle %eax, %ebp", "sete %al|movzbl %al, %eax", "# a comment",
				  "orl %eax, %ebp # tmp99", "movl %eax, (%rbx)", "vaddsd (%rbx), %xmm0, %xmm0", "mulq %rcx", NULL},
	    1);
}

Test(as_pair, what_changes_the_address)
{
	all("", "movq %rbx, %rdi",
	    (const char *const[]){"addq $4, %rbx", "movb $1, %bl", "movb $1, %bh", "movw $1, %bx", "movl %ebx, %ebx", "incq %rbx",
				  "leaq 8(%rbx), %rbx", "cmovne %rax, %rbx", "sete %bl", "bsfq %rax, %rbx", "movd %xmm0, %ebx",
				  "movq %xmm0, %rbx", "cvttsd2siq %xmm0, %rbx", "movzbl %bl, %ebx", "imulq $3, %rbx, %rbx",
				  "adcq $0, %rbx", "bswap %rbx", "shlx %rax, %rbx, %rbx", "salq %rbx", NULL},
	    0);
	/* a part is not the whole, though it be set to the same again */
	all("", "movb $1, %bl|movq %rbx, %rdi", (const char *const[]){"addq $256, %rbx", NULL}, 0);
	/* flags are part of it */
	all("", "movq %r12, %rax|cmovne %r13, %rax|movq %rax, %rdi", (const char *const[]){"cmpl %ecx, %edx", NULL}, 0);
	all("", "movq %r12, %rax|adcq %r13, %rax|movq %rax, %rdi", (const char *const[]){"cmpl %ecx, %edx", NULL}, 0);
	/* and how wide it is */
	cr_expect_eq(pairs("", "movq %rbx, %rdi|bswap %rdi", "__tsan_read4", "movq %rbx, %rdi|bswap %edi|call __tsan_write4", "g"), 0);
	all("movl 8(%rsp), %eax", "movq 8(%rsp), %rdi", (const char *const[]){"movl %eax, 12(%rsp)", NULL}, 0);
	/* in registers that a call or an instruction may change without naming them */
	all("", "movq %rcx, %rdi", (const char *const[]){"", NULL}, 0);
	all("", "movq %r11, %rdi", (const char *const[]){"", NULL}, 0);
	cr_expect_eq(pairs("", "movzbl %bl, %edi", "__tsan_read4", "movzbl %bh, %edi|call __tsan_write4", "g"), 0);
	cr_expect_eq(pairs("", "movl %ebx, %edi", "__tsan_read4", "movq %rbx, %rdi|call __tsan_write4", "g"), 0);
	cr_expect_eq(pairs("", "leaq (%rbx), %rdi", "__tsan_read4", "leaq (,%rbx,1), %rdi|call __tsan_write4", "g"), 0);
	cr_expect_eq(pairs("", "leaq x(%rip), %rdi", "__tsan_read4", "leaq y(%rip), %rdi|call __tsan_write4", "g"), 0);
	cr_expect_eq(pairs("", "movq %rbx, %rax|cltq|movq %rax, %rdi", "__tsan_read4", "movq %rbx, %rdi|call __tsan_write4", "g"), 0);
}

Test(as_pair, what_ends_a_straight_line)
{
	all("", "movq %rbx, %rdi",
	    (const char *const[]){".L3:", "f.cold:", "1:", ".LVLx:", "jmp .L3", "je .L3", "call f", "call *%rax", "call __tsan_read8@PLT",
				  "call __tsan_volatile_read4@PLT", "call __tsan_atomic32_load@PLT", "call __tsan_read_range@PLT",
				  "#APP|# 3 \"x.c\" 1|#NO_APP", "#APP|nop|#NO_APP", "rep stosq", "movsq", "movsd", "stosb", "lock addl $1, (%rax)",
				  "cmpxchgl %eax, (%rdx)", "xchgl %eax, (%rdx)", "xchgq %rbx, %rax", "xaddl %eax, (%rdx)", "pushq %rax",
				  "popq %rbx", "leave", "ret", "syscall", "cpuid", "mulx %rax, %rbx, %rcx", "pcmpestri $3, %xmm0, %xmm1",
				  "maskmovdqu %xmm0, %xmm1", "vpgatherdd %ymm1, (%rax,%ymm2), %ymm3", "xchg %ax, %ax", "endbr64", "fldt (%rbx)",
				  ".byte 0x66", ".p2align 4", ".section .text.unlikely", "addl $1, %eax; addq $1, %rbx", "unheard %eax", NULL},
	    0);
}

Test(as_pair, a_value_in_memory_is_the_same_in_the_frame_while_nothing_stores_there)
{
	static const char *const stores[] = {"movq %rax, 8(%rsp)", "movb %al, 15(%rsp)", "movl $0, 6(%rsp)", "addq $4, 8(%rsp)", "movq %rax, (%rbx)",
		"movq %rax, x(%rip)", "movq %rax, 8(%rsp,%rcx)", "movups %xmm0, (%rsp)", "movsd %xmm0, 1(%rsp)", "sete 8(%rsp)",
		"subq $8, %rsp", "movl %eax, %fs:4", "leaq -8(%rsp), %rsp", NULL};
	static const char *const others[] = {"movq %rax, 16(%rsp)", "movl %eax, 4(%rsp)", "movsd %xmm0, (%rsp)", "cmpq %rax, 8(%rsp)", NULL};

	all("", "movq 8(%rsp), %rdi", stores, 0);
	all("", "movq 8(%rsp), %rdi", others, 1);
	all("", "movq 8(%rbx), %rdi", (const char *const[]){"", NULL}, 0);
	all("", "movq 8(%rbp), %rdi", (const char *const[]){"", NULL}, 0);
	all(FRAME "|.cfi_endproc|g:|.cfi_startproc", "movq 8(%rbp), %rdi", (const char *const[]){"", NULL}, 0);
	all("", "movq x(%rip), %rdi", (const char *const[]){"", NULL}, 0);
	all("", "movq %fs:8, %rdi", (const char *const[]){"", NULL}, 0);
}

Test(as_pair, only_plain_accesses_of_one_size_called_in_one_way)
{
	static const char *const no[][2] = {{"__tsan_read4", "__tsan_write8"}, {"__tsan_read1", "__tsan_write16"},
		{"__tsan_read4@PLT", "__tsan_write4"}, {"*__tsan_read4@GOTPCREL(%rip)", "__tsan_write4@PLT"},
		{"__tsan_volatile_read4", "__tsan_volatile_write4"}, {"__tsan_volatile_read4", "__tsan_write4"},
		{"__tsan_read4", "__tsan_volatile_write4"}, {"__tsan_read_range", "__tsan_write_range"}, {"__tsan_write4", "__tsan_read4"},
		{"__tsan_write4", "__tsan_write4"}, {"__tsan_vptr_read", "__tsan_vptr_update"}, {"__tsan_read4_pc", "__tsan_write4_pc"}};
	char text[256], name[2][64];

	for (size_t i = 0; i < sizeof no / sizeof *no; i++)
		cr_expect_eq(pairs("", "movq %rbx, %rdi", no[i][0], "nop", no[i][1]), 0, "%s, %s", no[i][0], no[i][1]);
	for (int bytes = 1; bytes <= 16; bytes *= 2) {
		snprintf(name[0], sizeof *name, "*__tsan_read%d@GOTPCREL(%%rip)", bytes);
		snprintf(name[1], sizeof *name, "*__tsan_write%d@GOTPCREL(%%rip)", bytes);
		cr_expect_eq(pairs("", "movq %rbx, %rdi", name[0], "nop", name[1]), 1, "%s", name[0]);
	}
	/* One read, two writes: the first is the pair's. Two reads: the second is. */
	cr_expect_eq(pairs("", "movq %rbx, %rdi", "__tsan_read4", "movq %rbx, %rdi|call __tsan_write4", "__tsan_write4"), 1);
	cr_expect_eq(pairs("", "movq %rbx, %rdi", "__tsan_read4", "movq %rbx, %rdi|call __tsan_read4", "__tsan_write4"), 1);
	/* Not as gcc begins. */
	snprintf(text, sizeof text, "f:\n\tmovq\t%%rbx, %%rdi\n\tcall\t__tsan_read4\n\tmovq\t%%rbx, %%rdi\n\tcall\t__tsan_write4\n");
	cr_expect_eq(pairs_of(text), 0);
	cr_expect_eq(pairs_of(""), 0);
	cr_expect_eq(pairs_of("\t.file\t\"x.c\""), 0);
}
