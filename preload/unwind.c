/*
 * A reader of call-frame information for x86-64 (DWARF 5 §6.4; the .eh_frame variant is described in
 * the Linux Standard Base). Finds the description of a pc by the sorted index that _dl_find_object
 * names without a lock, runs its little program, and steps to the caller. Runs in hooks and signal
 * handlers, on the slow path only. Must never follow a pointer that is not in this stack or in a
 * loaded module's tables: what it does not understand ends the walk.
 */
/* SPDX-License-Identifier: MIT */
#include "preload/unwind.h"

#include <stdbool.h>
#include <string.h>

#include "preload/real.h"

enum { RBP = 6, RSP = 7, RIP = 16, REGS = 17, REMEMBER = 4, STACK_SPAN = 256 << 20 };
enum rule_kind { SAME, UNDEFINED, OFFSET, VAL_OFFSET, REGISTER, EXPRESSION, VAL_EXPRESSION };

struct rule {
	enum rule_kind kind;
	int64_t value;	     /* offset from the CFA, or register */
	const uint8_t *expr; /* length (uleb), then operations */
};

struct rules {
	struct rule reg[REGS];
	int64_t cfa_reg, cfa_offset;
	const uint8_t *cfa_expr;
};

struct cursor {
	uintptr_t reg[REGS];
	uintptr_t low, top; /* readable part of the stack */
	bool is_exact_pc;   /* pc is not a return address (signal frame) */
	bool is_at_start;   /* the walk ended where the thread began */
};

struct description {
	uintptr_t start, end;
	int64_t data_align;
	uint64_t code_align;
	const uint8_t *cie_program, *cie_end, *program, *program_end;
	uint8_t encoding;
	bool is_signal;
};

static uint64_t uleb(const uint8_t **p)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = *(*p)++;
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	return v;
}

static int64_t sleb(const uint8_t **p)
{
	uint64_t v = 0;
	unsigned shift = 0;
	uint8_t b;

	do {
		b = *(*p)++;
		if (shift < 64)
			v |= (uint64_t)(b & 0x7f) << shift;
		shift += 7;
	} while (b & 0x80);
	if (shift < 64 && b & 0x40)
		v |= ~UINT64_C(0) << shift;
	return (int64_t)v;
}

#define FETCH(type, p)                                                                             \
	({                                                                                         \
		type v_;                                                                           \
		memcpy(&v_, *(p), sizeof v_);                                                      \
		*(p) += sizeof v_;                                                                 \
		v_;                                                                                \
	})

/* A pointer in one of the DW_EH_PE encodings; false on those that x86-64 does not use. */
static bool encoded(const uint8_t **p, uint8_t encoding, uintptr_t data_base, uintptr_t *out)
{
	const uintptr_t at = (uintptr_t)*p;
	uintptr_t v;

	switch (encoding & 0x0f) {
	case 0x00:
	case 0x04:
	case 0x0c:
		v = FETCH(uint64_t, p);
		break;
	case 0x02:
		v = FETCH(uint16_t, p);
		break;
	case 0x03:
		v = FETCH(uint32_t, p);
		break;
	case 0x0a:
		v = (uintptr_t)(intptr_t)FETCH(int16_t, p);
		break;
	case 0x0b:
		v = (uintptr_t)(intptr_t)FETCH(int32_t, p);
		break;
	default:
		return false;
	}
	switch (encoding & 0x70) {
	case 0x00:
		break;
	case 0x10:
		v += at;
		break;
	case 0x30:
		v += data_base;
		break;
	default:
		return false;
	}
	*out = v;
	return !(encoding & 0x80);
}

static bool parse_cie(const uint8_t *cie, struct description *d)
{
	const uint32_t length = FETCH(uint32_t, &cie);
	const uint8_t *end = cie + length;

	if (length == 0 || length == UINT32_MAX || FETCH(uint32_t, &cie) != 0)
		return false;
	const uint8_t version = *cie++;
	const char *augmentation = (const char *)cie;
	if ((version != 1 && version != 3) || augmentation[0] != 'z')
		return false;
	cie += strlen(augmentation) + 1;
	d->code_align = uleb(&cie);
	d->data_align = sleb(&cie);
	if ((version == 1 ? *cie++ : uleb(&cie)) != RIP)
		return false;
	const uint64_t aug_length = uleb(&cie);
	d->cie_program = cie + aug_length;
	d->cie_end = end;
	d->encoding = 0;
	for (const char *a = augmentation + 1; *a; a++) {
		uintptr_t ignored;
		switch (*a) {
		case 'R':
			d->encoding = *cie++;
			break;
		case 'P': {
			const uint8_t encoding = *cie++ & 0x7f;
			if (!encoded(&cie, encoding, 0, &ignored))
				return false;
			break;
		}
		case 'L':
			cie++;
			break;
		case 'S':
			d->is_signal = true;
			break;
		default:
			return false;
		}
	}
	return true;
}

static bool parse_fde(const uint8_t *fde, struct description *d)
{
	const uint32_t length = FETCH(uint32_t, &fde);
	const uint8_t *end = fde + length, *id = fde;

	if (length == 0 || length == UINT32_MAX)
		return false;
	const uint32_t back = FETCH(uint32_t, &fde);
	if (back == 0 || !parse_cie(id - back, d) || !encoded(&fde, d->encoding, 0, &d->start) ||
	    !encoded(&fde, d->encoding & 0x0f, 0, &d->end))
		return false;
	d->end += d->start;
	const uint64_t aug_length = uleb(&fde);
	d->program = fde + aug_length;
	d->program_end = end;
	return true;
}

/* Binary search in the index: pairs of (function start, description), relative to the index. */
static bool describe(uintptr_t pc, struct description *d)
{
	const uint8_t *index = am_real_eh_index((const void *)pc), *p = index;
	uintptr_t frames, count;

	memset(d, 0, sizeof *d);
	if (!p || p[0] != 1 || p[3] != 0x3b)
		return false;
	const uint8_t frames_encoding = p[1], count_encoding = p[2];
	p += 4;
	if (!encoded(&p, frames_encoding, (uintptr_t)index, &frames) ||
	    !encoded(&p, count_encoding, (uintptr_t)index, &count) || count == 0)
		return false;
	const int64_t wanted = (int64_t)(pc - (uintptr_t)index);
	size_t low = 0, high = count;
	while (high - low > 1) {
		const size_t mid = low + (high - low) / 2;
		int32_t start;
		memcpy(&start, p + mid * 8, sizeof start);
		if (start <= wanted)
			low = mid;
		else
			high = mid;
	}
	int32_t offset;
	memcpy(&offset, p + low * 8 + 4, sizeof offset);
	return parse_fde(index + offset, d) && pc >= d->start && pc < d->end;
}

bool am_unwind_function(uintptr_t pc, uintptr_t *start, uintptr_t *end)
{
	struct description d;

	if (!describe(pc, &d))
		return false;
	*start = d.start;
	*end = d.end;
	return true;
}

static bool read_stack(const struct cursor *c, uintptr_t at, uintptr_t *out)
{
	if (at < c->low || at + sizeof *out > c->top || at % sizeof *out)
		return false;
	*out = *(const uintptr_t *)at;
	return true;
}

static bool evaluate(const struct cursor *c, const uint8_t *p, uintptr_t initial, bool has_initial,
		     uintptr_t *out)
{
	uintptr_t stack[16];
	unsigned n = 0;
	const uint64_t length = uleb(&p);
	const uint8_t *end = p + length;

	if (has_initial)
		stack[n++] = initial;
	while (p < end) {
		const uint8_t op = *p++;
		if (n >= 15)
			return false;
		if (op >= 0x30 && op <= 0x4f) { /* lit0.. */
			stack[n++] = op - 0x30u;
		} else if (op >= 0x70 && op <= 0x80) { /* breg0..breg16 */
			const int64_t offset = sleb(&p);
			stack[n++] = c->reg[op - 0x70] + (uintptr_t)offset;
		} else if (op == 0x08) {
			stack[n++] = *p++;
		} else if (op == 0x09) {
			stack[n++] = (uintptr_t)(intptr_t)(int8_t)*p++;
		} else if (op == 0x0a) {
			stack[n++] = FETCH(uint16_t, &p);
		} else if (op == 0x0b) {
			stack[n++] = (uintptr_t)(intptr_t)FETCH(int16_t, &p);
		} else if (op == 0x10) {
			stack[n++] = uleb(&p);
		} else if (op == 0x11) {
			stack[n++] = (uintptr_t)sleb(&p);
		} else if (op == 0x06) { /* deref */
			if (n < 1 || !read_stack(c, stack[n - 1], &stack[n - 1]))
				return false;
		} else if (op == 0x23) { /* plus_uconst */
			if (n < 1)
				return false;
			stack[n - 1] += uleb(&p);
		} else if (n >= 2) {
			const uintptr_t b = stack[--n], a = stack[n - 1];
			switch (op) {
			case 0x1a:
				stack[n - 1] = a & b;
				break;
			case 0x1c:
				stack[n - 1] = a - b;
				break;
			case 0x21:
				stack[n - 1] = a | b;
				break;
			case 0x22:
				stack[n - 1] = a + b;
				break;
			case 0x24:
				stack[n - 1] = b < 64 ? a << b : 0;
				break;
			case 0x25:
				stack[n - 1] = b < 64 ? a >> b : 0;
				break;
			case 0x2a:
				stack[n - 1] = (intptr_t)a >= (intptr_t)b;
				break;
			default:
				return false;
			}
		} else {
			return false;
		}
	}
	if (n < 1)
		return false;
	*out = stack[n - 1];
	return true;
}

static void set_rule(struct rules *r, uint64_t reg, enum rule_kind kind, int64_t value,
		     const uint8_t *expr)
{
	if (reg < REGS)
		r->reg[reg] = (struct rule){kind, value, expr};
}

/* Run a program until it describes locations beyond pc. */
static bool run(const struct description *d, const uint8_t *p, const uint8_t *end, uintptr_t pc,
		struct rules *r, const struct rules *initial)
{
	struct rules saved[REMEMBER];
	unsigned n_saved = 0;
	uintptr_t at = d->start;

	while (p < end && at <= pc) {
		const uint8_t op = *p++;
		const uint8_t low = op & 0x3f;
		uint64_t reg;
		switch (op & 0xc0) {
		case 0x40:
			at += low * d->code_align;
			continue;
		case 0x80:
			set_rule(r, low, OFFSET, (int64_t)uleb(&p) * d->data_align, NULL);
			continue;
		case 0xc0:
			if (low < REGS)
				r->reg[low] = initial->reg[low];
			continue;
		}
		switch (op) {
		case 0x00: /* nop */
			break;
		case 0x01: /* set_loc */
			if (!encoded(&p, d->encoding, 0, &at))
				return false;
			break;
		case 0x02:
			at += FETCH(uint8_t, &p) * d->code_align;
			break;
		case 0x03:
			at += FETCH(uint16_t, &p) * d->code_align;
			break;
		case 0x04:
			at += FETCH(uint32_t, &p) * d->code_align;
			break;
		case 0x05: /* offset_extended */
			reg = uleb(&p);
			set_rule(r, reg, OFFSET, (int64_t)uleb(&p) * d->data_align, NULL);
			break;
		case 0x06: /* restore_extended */
			reg = uleb(&p);
			if (reg < REGS)
				r->reg[reg] = initial->reg[reg];
			break;
		case 0x07:
			set_rule(r, uleb(&p), UNDEFINED, 0, NULL);
			break;
		case 0x08:
			set_rule(r, uleb(&p), SAME, 0, NULL);
			break;
		case 0x09:
			reg = uleb(&p);
			set_rule(r, reg, REGISTER, (int64_t)uleb(&p), NULL);
			break;
		case 0x0a: /* remember_state */
			if (n_saved == REMEMBER)
				return false;
			saved[n_saved++] = *r;
			break;
		case 0x0b: /* restore_state */
			if (n_saved == 0)
				return false;
			*r = saved[--n_saved];
			break;
		case 0x0c: /* def_cfa */
			r->cfa_reg = (int64_t)uleb(&p);
			r->cfa_offset = (int64_t)uleb(&p);
			r->cfa_expr = NULL;
			break;
		case 0x0d:
			r->cfa_reg = (int64_t)uleb(&p);
			r->cfa_expr = NULL;
			break;
		case 0x0e:
			r->cfa_offset = (int64_t)uleb(&p);
			break;
		case 0x0f: /* def_cfa_expression */
		case 0x10: /* expression */
		case 0x16: /* val_expression */
			reg = op == 0x0f ? REGS : uleb(&p);
			if (op == 0x0f)
				r->cfa_expr = p;
			else
				set_rule(r, reg, op == 0x10 ? EXPRESSION : VAL_EXPRESSION, 0, p);
			const uint64_t skip = uleb(&p);
			p += skip;
			break;
		case 0x11: /* offset_extended_sf */
			reg = uleb(&p);
			set_rule(r, reg, OFFSET, sleb(&p) * d->data_align, NULL);
			break;
		case 0x12: /* def_cfa_sf */
			r->cfa_reg = (int64_t)uleb(&p);
			r->cfa_offset = sleb(&p) * d->data_align;
			r->cfa_expr = NULL;
			break;
		case 0x13:
			r->cfa_offset = sleb(&p) * d->data_align;
			break;
		case 0x14: /* val_offset */
			reg = uleb(&p);
			set_rule(r, reg, VAL_OFFSET, (int64_t)uleb(&p) * d->data_align, NULL);
			break;
		case 0x15:
			reg = uleb(&p);
			set_rule(r, reg, VAL_OFFSET, sleb(&p) * d->data_align, NULL);
			break;
		case 0x2e: /* GNU_args_size */
			uleb(&p);
			break;
		case 0x2f: /* GNU_negative_offset_extended */
			reg = uleb(&p);
			set_rule(r, reg, OFFSET, -(int64_t)uleb(&p) * d->data_align, NULL);
			break;
		default:
			return false;
		}
	}
	return true;
}

/* To the caller. `slot` is where its return address was found, 0 if in a register. */
static bool step(struct cursor *c, uintptr_t *cfa, uintptr_t *slot)
{
	struct description d;
	struct rules initial, r;
	struct cursor next = *c;
	const uintptr_t pc = c->reg[RIP] - !c->is_exact_pc;

	memset(&initial, 0, sizeof initial);
	initial.cfa_reg = RSP;
	if (!describe(pc, &d) || !run(&d, d.cie_program, d.cie_end, UINTPTR_MAX, &initial, &initial))
		return false;
	r = initial;
	if (!run(&d, d.program, d.program_end, pc, &r, &initial))
		return false;
	if (r.cfa_expr) {
		if (!evaluate(c, r.cfa_expr, 0, false, cfa))
			return false;
	} else if (r.cfa_reg >= 0 && r.cfa_reg < RIP) {
		*cfa = c->reg[r.cfa_reg] + (uintptr_t)r.cfa_offset;
	} else {
		return false;
	}
	/* The stack grows down: a caller's frame lies above. A signal frame may change stacks; the
	 * walk ends there, for the bounds are those of one stack. */
	if (*cfa <= c->reg[RSP] || *cfa > c->top || d.is_signal)
		return false;
	*slot = 0;
	for (unsigned i = 0; i < REGS; i++) {
		const struct rule *rule = &r.reg[i];
		uintptr_t at;
		switch (rule->kind) {
		case SAME:
			break;
		case UNDEFINED:
			if (i == RIP) {
				c->is_at_start = true;
				return false;
			}
			break;
		case OFFSET:
			at = *cfa + (uintptr_t)rule->value;
			if (!read_stack(c, at, &next.reg[i]))
				return false;
			if (i == RIP)
				*slot = at;
			break;
		case VAL_OFFSET:
			next.reg[i] = *cfa + (uintptr_t)rule->value;
			break;
		case REGISTER:
			if (rule->value < 0 || rule->value >= REGS)
				return false;
			next.reg[i] = c->reg[rule->value];
			break;
		case EXPRESSION:
			if (!evaluate(c, rule->expr, *cfa, true, &at) ||
			    !read_stack(c, at, &next.reg[i]))
				return false;
			break;
		case VAL_EXPRESSION:
			if (!evaluate(c, rule->expr, *cfa, true, &next.reg[i]))
				return false;
			break;
		}
	}
	if (r.reg[RIP].kind == SAME || next.reg[RIP] < 4096)
		return false;
	next.reg[RSP] = *cfa;
	next.is_exact_pc = false;
	*c = next;
	return true;
}

/* Registers of this very instruction; the description of the function it lies in leads on. */
static inline __attribute__((always_inline)) void begin_here(struct cursor *c, uintptr_t top)
{
	__asm__ volatile("leaq 0(%%rip), %%rax\n\t"
			 "movq %%rax, 128(%0)\n\t"
			 "movq %%rbx, 24(%0)\n\t"
			 "movq %%rbp, 48(%0)\n\t"
			 "movq %%rsp, 56(%0)\n\t"
			 "movq %%r12, 96(%0)\n\t"
			 "movq %%r13, 104(%0)\n\t"
			 "movq %%r14, 112(%0)\n\t"
			 "movq %%r15, 120(%0)\n\t"
			 :
			 : "r"(c->reg)
			 : "rax", "memory");
	c->low = c->reg[RSP];
	c->top = top;
}

__attribute__((noinline)) bool am_unwind_is_whole(uintptr_t top)
{
	enum { FRAMES = 1000 };
	struct cursor c = {.is_exact_pc = true};
	uintptr_t cfa, slot;

	begin_here(&c, top);
	if (c.low >= top || top - c.low > STACK_SPAN)
		return false;
	for (unsigned i = 0; i < FRAMES && step(&c, &cfa, &slot); i++)
		;
	return c.is_at_start;
}

__attribute__((noinline)) size_t am_unwind(uintptr_t cfa, uintptr_t top, struct am_frame *out,
					   size_t max)
{
	struct cursor c = {.is_exact_pc = true};
	uintptr_t frame_cfa, slot;
	size_t n = 0;

	begin_here(&c, top);
	if (cfa < c.low || cfa >= top || top - c.low > STACK_SPAN)
		return 0;
	for (unsigned own = 0; n < max; own++) {
		if (!step(&c, &frame_cfa, &slot) || (n == 0 && (frame_cfa > cfa || own > 16)))
			break;
		if (n > 0 || frame_cfa == cfa)
			out[n++] = (struct am_frame){c.reg[RIP], slot};
	}
	return n;
}
