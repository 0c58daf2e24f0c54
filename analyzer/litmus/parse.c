/*
 * The litmus parser's frame: cursor, arena, errors, header, the order of a file's parts. The first
 * error ends the parse through one longjmp; everything lives in the arena, so nothing leaks.
 */
/* SPDX-License-Identifier: MIT */
#include "parse.h"

#include <assert.h>
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Noreturn void am_parse_fail(struct am_parser *p, struct am_lit_pos pos, const char *format, ...)
{
	va_list args;

	p->error->pos = pos;
	va_start(args, format);
	vsnprintf(p->error->message, sizeof(p->error->message), format, args);
	va_end(args);
	longjmp(p->fail, 1);
}

void *am_parse_alloc(struct am_parser *p, size_t bytes)
{
	struct am_arena *arena = p->lit->arena;

	bytes = (bytes + 15) & ~(size_t)15;
	if (!arena || arena->size - arena->used < bytes) {
		const size_t size = bytes > 65536 ? bytes : 65536;
		struct am_arena *fresh = malloc(sizeof(*fresh) + size);
		if (!fresh)
			am_parse_fail(p, p->token.pos, "out of memory");
		*fresh = (struct am_arena){ .next = arena, .size = size };
		p->lit->arena = arena = fresh;
	}
	void *block = arena->bytes + arena->used;
	arena->used += bytes;
	return memset(block, 0, bytes);
}

const char *am_parse_string(struct am_parser *p, const char *text, size_t len)
{
	char *copy = am_parse_alloc(p, len + 1);

	memcpy(copy, text, len);
	return copy;
}

/* What is left of the recursion budget: nested input must not exhaust our stack. */
void am_parse_deeper(struct am_parser *p, struct am_lit_pos pos)
{
	if (++p->depth > AM_LIT_DEPTH_MAX)
		am_parse_fail(p, pos, "nested deeper than %d levels", AM_LIT_DEPTH_MAX);
}

void am_parse_take(struct am_parser *p)
{
	p->token = am_lex_next(&p->lexer);
	if (p->token.kind == AM_TOK_BAD)
		am_parse_fail(p, p->token.pos, "%s", p->lexer.message);
}

bool am_parse_accept(struct am_parser *p, const char *text)
{
	if (!am_tok_is(&p->token, text))
		return false;
	am_parse_take(p);
	return true;
}

void am_parse_expect(struct am_parser *p, const char *text)
{
	if (am_parse_accept(p, text))
		return;
	if (p->token.kind == AM_TOK_END)
		am_parse_fail(p, p->token.pos, "expected '%s' before the end of the file", text);
	am_parse_fail(p, p->token.pos, "expected '%s' before '%.*s'", text,
		      (int)(p->token.len < 40 ? p->token.len : 40), p->token.text);
}

void am_parse_unmodelled(struct am_parser *p, struct am_lit_pos pos, const struct am_token *what)
{
	if (p->lit->unmodelled)
		return;
	p->lit->unmodelled = am_parse_string(p, what->text, what->len);
	p->lit->unmodelled_pos = pos;
}

/* Thread headers look like "P0 (" also where no init block came before. */
static bool at_thread(const struct am_lexer *lexer)
{
	size_t at = lexer->at;

	if (at >= lexer->len || lexer->source[at] != 'P')
		return false;
	size_t digits = at + 1;
	while (digits < lexer->len && isdigit((unsigned char)lexer->source[digits]))
		digits++;
	at = digits;
	while (at < lexer->len && isblank((unsigned char)lexer->source[at]))
		at++;
	return digits > lexer->at + 1 && at < lexer->len && lexer->source[at] == '(';
}

/* "C name", then comments, strings and lines of metadata, up to the init block. */
static void header(struct am_parser *p)
{
	struct am_lexer *lexer = &p->lexer;
	struct am_lit_pos open;

	if (!am_lex_skip(lexer, &open))
		am_parse_fail(p, open, "this comment does not end");
	const struct am_lit_pos pos = am_lex_pos(lexer);
	const struct am_token language = am_lex_next(lexer);
	if (!am_tok_is(&language, "C"))
		am_parse_fail(p, pos, "a litmus file begins with 'C name' (only C is supported)");
	while (lexer->at < lexer->len && isblank((unsigned char)lexer->source[lexer->at]))
		lexer->at++;
	const size_t start = lexer->at;
	while (lexer->at < lexer->len && !isspace((unsigned char)lexer->source[lexer->at]))
		lexer->at++;
	if (lexer->at == start)
		am_parse_fail(p, am_lex_pos(lexer), "expected the test's name behind 'C'");
	p->lit->name = am_parse_string(p, lexer->source + start, lexer->at - start);
	for (;;) {
		if (!am_lex_skip(lexer, &open))
			am_parse_fail(p, open, "this comment does not end");
		if (lexer->at >= lexer->len || lexer->source[lexer->at] == '{' || at_thread(lexer))
			break;
		while (lexer->at < lexer->len && lexer->source[lexer->at] != '\n')
			lexer->at++;
	}
	am_parse_take(p);
}

static void whole(struct am_parser *p)
{
	header(p);
	if (am_tok_is(&p->token, "{"))
		am_parse_init(p);
	while (p->token.kind == AM_TOK_NAME && p->token.text[0] == 'P' && p->token.len > 1 &&
	       isdigit((unsigned char)p->token.text[1]))
		am_parse_thread(p);
	if (!p->lit->n_threads)
		am_parse_fail(p, p->token.pos, "expected a thread, 'P0(...) { ... }'");
	for (uint32_t t = 0; t < p->lit->n_threads; t++)
		if (p->lit->threads[t].n_locals == UINT32_MAX)
			am_parse_fail(p, p->token.pos, "thread P%u is forked but not defined",
				      p->lit->threads[t].number);
	am_parse_settle(p);
	am_parse_final(p);
	if (p->token.kind != AM_TOK_END)
		am_parse_fail(p, p->token.pos, "expected the end of the file, found '%.*s'",
			      (int)(p->token.len < 40 ? p->token.len : 40), p->token.text);
}

static void check_size(struct am_parser *p, size_t len)
{
	const struct am_lit_pos start = { 1, 1 };

	if (len > AM_LIT_SOURCE_MAX)
		am_parse_fail(p, start, "larger than %d bytes", AM_LIT_SOURCE_MAX);
}

/* False: p->error says why. */
static bool run(struct am_parser *p, const char *file, const char *source, size_t len)
{
	struct am_lit *const lit = p->lit;

	if (setjmp(p->fail))
		return false;
	check_size(p, len);
	lit->file = am_parse_string(p, file, strlen(file));
	lit->source = am_parse_string(p, source, len);
	lit->source_len = len;
	lit->objects = am_parse_alloc(p, AM_LIT_CELLS_MAX * sizeof(*lit->objects));
	lit->cells = am_parse_alloc(p, AM_LIT_CELLS_MAX * sizeof(*lit->cells));
	lit->threads = am_parse_alloc(p, AM_LIT_THREADS_MAX * sizeof(*lit->threads));
	am_lex_start(&p->lexer, lit->source, len);
	whole(p);
	assert(lit->n_threads && lit->n_cells <= AM_LIT_CELLS_MAX);
	return true;
}

struct am_lit *am_lit_parse(const char *file, const char *source, size_t len,
			    struct am_lit_error *error)
{
	struct am_parser *p = calloc(1, sizeof(*p));
	struct am_lit *lit = calloc(1, sizeof(*lit));

	*error = (struct am_lit_error){ .pos = { 1, 1 }, .message = "out of memory" };
	if (!p || !lit) {
		free(p);
		free(lit);
		return NULL;
	}
	p->lit = lit;
	p->error = error;
	const bool is_fine = run(p, file, source, len);
	free(p);
	if (is_fine)
		return lit;
	am_lit_free(lit);
	return NULL;
}

void am_lit_free(struct am_lit *lit)
{
	if (!lit)
		return;
	for (struct am_arena *arena = lit->arena, *next; arena; arena = next) {
		next = arena->next;
		free(arena);
	}
	free(lit);
}

int am_lit_error_text(const char *file, const char *source, size_t len,
		      const struct am_lit_error *error, char *text, size_t size)
{
	size_t start = 0;

	for (uint32_t line = 1; line < error->pos.line && start < len; start++)
		if (source[start] == '\n')
			line++;
	size_t end = start;
	while (end < len && source[end] != '\n' && end - start < 300)
		end++;
	char shown[301], caret[301];
	size_t n = 0;
	for (size_t i = start; i < end; i++)
		shown[n++] = isprint((unsigned char)source[i]) || source[i] == '\t' ? source[i] : '?';
	shown[n] = 0;
	size_t k = 0;
	for (; k + 1 < error->pos.column && k < n; k++)
		caret[k] = shown[k] == '\t' ? '\t' : ' ';
	caret[k] = 0;
	return snprintf(text, size, "%s:%u:%u: error: %s\n%s\n%s^\n", file, error->pos.line,
			error->pos.column, error->message, shown, caret);
}
