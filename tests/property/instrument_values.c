/*
 * What the assembler of `atommon cc` says of registers against what the processor does: straight lines of
 * random instructions run with every register noted after each; equal numbers must be equal values, always.
 * usage: instrument_values [SEED [LINES]]
 */
/* SPDX-License-Identifier: MIT */
#include "cases.h"
#include "instrument/as_value.h"

#include <dlfcn.h>
#include <stdbool.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

/* %r15 holds the place for notes, and %r14 points into the frame without looking like it. */
enum { LINE = 60, NOTED = 14, PICKED = 8 };

static const char *const names[16][4] = {
	{"%rax", "%eax", "%ax", "%al"},	     {"%rcx", "%ecx", "%cx", "%cl"},	  {"%rdx", "%edx", "%dx", "%dl"},
	{"%rbx", "%ebx", "%bx", "%bl"},	     {"%rsp", "%esp", "%sp", "%spl"},	  {"%rbp", "%ebp", "%bp", "%bpl"},
	{"%rsi", "%esi", "%si", "%sil"},     {"%rdi", "%edi", "%di", "%dil"},	  {"%r8", "%r8d", "%r8w", "%r8b"},
	{"%r9", "%r9d", "%r9w", "%r9b"},     {"%r10", "%r10d", "%r10w", "%r10b"}, {"%r11", "%r11d", "%r11w", "%r11b"},
	{"%r12", "%r12d", "%r12w", "%r12b"}, {"%r13", "%r13d", "%r13w", "%r13b"}, {"%r14", "", "", ""},
	{"%r15", "", "", ""}};

/* Q, L, W, B: a register; H: a high part; I: a small number; F: a place in the frame; M: one that is there, too. CALL: what a call may change. */
static const char *const shapes[] = {
	"movq Q, Q",	"movl L, L",	"movw W, W",	"movb B, B",	"movb H, H",	 "movq $I, Q",	"movl $I, L",	 "movb $I, B",
	"movw $I, W",	"movabsq $I, Q", "leaq I(Q), Q", "leaq (Q,Q,4), Q", "leaq I(,Q,8), Q", "leal I(Q,Q), L", "leaq 0(Q), Q",
	"addq Q, Q",	"addl L, L",	"addw W, W",	"addb B, B",	"subq Q, Q",	 "andq $I, Q",	"orl $I, L",	 "xorl L, L",
	"xorq F, Q",	"addq $I, F",	"imulq Q, Q",	"imull $I, L, L", "imulq Q",	 "mull L",	"salq $I, Q",	 "shrl %cl, L",
	"sarq Q",	"rolq $I, Q",	"negq Q",	"notl L",	"incq Q",	 "decl L",	"bswap Q",	 "bswap L",
	"movzbl B, L",	"movzbl H, %ebx",	"movsbq B, Q",	"movzwl W, L",	"movslq L, Q",	 "movsbl F, L",	"movzwl F, L",	 "movslq F, Q",
	"cltq",		"cwtl",		"cqto",		"cltd",		"nop",		 "cmpq Q, Q",	"testl L, L",	 "adcq Q, Q",
	"sbbl L, L",	"cmovne Q, Q",	"cmovle L, L",	"sete B",	"setb F",	 "bsfq Q, Q",	"shldq $I, Q, Q", "btq $I, Q",
	"movq F, Q",	"movq F, Q",	"movl F, L",	"movb F, B",	"movq Q, F",	 "movl L, F",	"movw W, F",	 "movb B, F",
	"movq M, Q",	"movl L, M",	"movq Q, %xmm0", "movq %xmm0, Q", "movd %xmm0, L", "movsd %xmm0, F", "movups %xmm0, F",
	"cvtsi2sdq Q, %xmm0", "cvttsd2siq %xmm0, Q", "pxor %xmm0, %xmm0", "movss %xmm0, F", "CALL",
};

static uint64_t state;

static unsigned pick(unsigned n)
{
	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (unsigned)((state >> 20) % n);
}

/* The few shapes of this line. */
enum { FEW = 6 };
static const char *few[FEW];

static void instruction(char *out, size_t room)
{
	static const int usable[PICKED] = {AM_AS_RAX, AM_AS_RCX, AM_AS_RDX, AM_AS_RBX, AM_AS_RSI, AM_AS_RDI, 8, 13};
	static const char letters[] = "QLWB";
	static const char *const high[] = {"%ah", "%bh", "%ch", "%dh"};
	const char *s = few[pick(FEW)];
	size_t n = 0;

	if (strcmp(s, "CALL") == 0) {
		snprintf(out, room, "%s", s);
		return;
	}
	for (; *s; s++) {
		const char *kind = strchr(letters, *s);
		/* few registers and numbers, so that the same is often computed twice */
		const int reg = usable[pick(pick(4) ? 3 : PICKED)];
		if (kind)
			n += (size_t)snprintf(out + n, room - n, "%s", names[reg][kind - letters]);
		else if (*s == 'H')
			n += (size_t)snprintf(out + n, room - n, "%s", high[pick(4)]);
		else if (*s == 'I')
			n += (size_t)snprintf(out + n, room - n, "%u", 1 + pick(3));
		else if (*s == 'F')
			n += (size_t)snprintf(out + n, room - n, "%u(%%rsp)", pick(4) ? 4 * pick(4) : pick(32));
		else if (*s == 'M')
			n += (size_t)snprintf(out + n, room - n, "%u(%%r14)", 8 * pick(4));
		else
			n += (size_t)snprintf(out + n, room - n, "%c", *s == ' ' && !memchr(out, '\t', n) ? '\t' : *s);
	}
	out[n] = '\0';
}

static void note(FILE *f)
{
	for (int r = 0; r < NOTED; r++)
		fprintf(f, "\tmovq\t%s, %d(%%r15)\n", names[r][0], 8 * r);
	fprintf(f, "\tleaq\t%d(%%r15), %%r15\n", 8 * NOTED);
}

static void junk(FILE *f, int reg)
{
	fprintf(f, "\tmovabsq\t$%llu, %s\n", ((unsigned long long)pick(1u << 31) << 32) + pick(1u << 31), names[reg][0]);
}

static void write_line(FILE *f, uint64_t which, char text[LINE][64])
{
	static const int saved[] = {AM_AS_RBX, AM_AS_RBP, 12, 13, 14, 15};

	for (int i = 0; i < FEW; i++)
		few[i] = shapes[pick(sizeof shapes / sizeof *shapes)];
	fprintf(f, "\t.globl\tline%llu\nline%llu:\n", (unsigned long long)which, (unsigned long long)which);
	for (int i = 0; i < 6; i++)
		fprintf(f, "\tpushq\t%s\n", names[saved[i]][0]);
	fprintf(f, "\tsubq\t$136, %%rsp\n\tmovq\t%%rdi, %%r15\n\tleaq\t%u(%%rsp), %%r14\n", 8 * pick(3));
	for (int r = 0; r < NOTED; r++)
		if (r != AM_AS_RSP)
			junk(f, r);
	for (int i = 0; i < 16; i++)
		fprintf(f, "\tmovq\t$%u, %d(%%rsp)\n", pick(1u << 30), 8 * i);
	note(f);
	for (int i = 0; i < LINE; i++) {
		if (i && pick(2)) /* the same again may give the same */
			memcpy(text[i], text[i - 1 - (int)pick(i < 6 ? (unsigned)i : 6)], sizeof text[i]);
		else
			instruction(text[i], sizeof text[i]);
		if (strcmp(text[i], "CALL") != 0)
			fprintf(f, "\t%s\n", text[i]);
		else
			for (int r = 0; r < 12; r++)
				if (r < AM_AS_RBX || r > AM_AS_RBP)
					junk(f, r);
		note(f);
	}
	fputs("\taddq\t$136, %rsp\n", f);
	for (int i = 5; i >= 0; i--)
		fprintf(f, "\tpopq\t%s\n", names[saved[i]][0]);
	fputs("\tret\n", f);
}

static unsigned long claims;

/* Has this number stood for another value? */
static bool agrees(const struct am_as_values *v, const uint64_t *noted, bool *known, uint64_t *value, int step)
{
	for (int r = 0; r < NOTED; r++) {
		const unsigned is = v->of[r];
		if (is >= 4096 || (known[is] && value[is] != noted[r])) {
			printf("# step %d, %s: %#llx, was %#llx\n", step, names[r][0], (unsigned long long)noted[r],
			       is < 4096 ? (unsigned long long)value[is] : 0);
			return false;
		}
		known[is] = true;
		value[is] = noted[r];
	}
	return true;
}

static bool check(const uint64_t *noted, char text[LINE][64])
{
	static struct am_as_values v;
	static uint64_t value[4096];
	static bool known[4096];

	memset(known, 0, sizeof known);
	am_as_values_begin(&v);
	if (!agrees(&v, noted, known, value, -1))
		return false;
	for (int i = 0; i < LINE; i++) {
		const unsigned next = v.next;
		unsigned before[NOTED];
		memcpy(before, v.of, sizeof before);
		if (strcmp(text[i], "CALL") == 0) {
			am_as_values_call(&v);
		} else if (!am_as_values_step(&v, (struct am_as_text){text[i], strlen(text[i])})) {
			printf("# not known: %s\n", text[i]);
			return false;
		}
		for (int r = 0; r < NOTED; r++)
			claims += v.of[r] != before[r] && v.of[r] < next;
		if (!agrees(&v, noted + (i + 1) * NOTED, known, value, i)) {
			for (int j = 0; j <= i; j++)
				printf("# %s\n", text[j]);
			return false;
		}
	}
	return true;
}

static bool assemble(const char *from, const char *to)
{
	const pid_t pid = fork();
	int status;

	if (pid == 0) {
		execlp("cc", "cc", "-shared", "-Wl,-z,noexecstack", from, "-o", to, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
}

int main(int argc, char **argv)
{
	const uint64_t seed = argc > 1 ? strtoull(argv[1], NULL, 0) : 1, count = cases_wanted(argc, argv, 1000);
	char dir[] = "/tmp/values.XXXXXX", from[64], to[64], name[32];
	char(*text)[LINE][64] = calloc(count, sizeof *text);
	uint64_t noted[(LINE + 1) * NOTED], bad = 0;

	state = seed * 0x9e3779b97f4a7c15 + 1;
	printf("# seed %llu\n1..1\n", (unsigned long long)seed);
	if (!text || !mkdtemp(dir))
		return 1;
	snprintf(from, sizeof from, "%s/lines.s", dir);
	snprintf(to, sizeof to, "%s/lines.so", dir);
	FILE *f = fopen(from, "w");
	if (!f)
		return 1;
	fputs("\t.text\n", f);
	for (uint64_t i = 0; i < count; i++)
		write_line(f, i, text[i]);
	fclose(f);
	void *lines = assemble(from, to) ? dlopen(to, RTLD_NOW) : NULL;
	unlink(from);
	unlink(to);
	rmdir(dir);
	for (uint64_t i = 0; lines && i < count && !bad; i++) {
		snprintf(name, sizeof name, "line%llu", (unsigned long long)i);
		void (*run)(uint64_t *) = (void (*)(uint64_t *))dlsym(lines, name);
		run(noted);
		bad = !check(noted, text[i]);
	}
	printf("# %lu values found again\n%sok 1 - equal numbers are equal values\n", claims, lines && !bad && claims > count ? "" : "not ");
	free(text);
	return !lines || bad || claims <= count;
}
