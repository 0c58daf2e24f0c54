/* Characters to tokens. Reads only inside [source, source + len); no state but the cursor. */
/* SPDX-License-Identifier: MIT */
#include "lex.h"

#include <ctype.h>
#include <string.h>

void am_lex_start(struct am_lexer *lexer, const char *source, size_t len)
{
	*lexer = (struct am_lexer){ .source = source, .len = len, .line = 1 };
}

static int peek(const struct am_lexer *lexer, size_t ahead)
{
	return lexer->at + ahead < lexer->len ? (unsigned char)lexer->source[lexer->at + ahead] : -1;
}

static void advance(struct am_lexer *lexer)
{
	if (lexer->at < lexer->len && lexer->source[lexer->at++] == '\n') {
		lexer->line++;
		lexer->line_start = lexer->at;
	}
}

struct am_lit_pos am_lex_pos(const struct am_lexer *lexer)
{
	return (struct am_lit_pos){ lexer->line, (uint32_t)(lexer->at - lexer->line_start) + 1 };
}

/* A comment from `open` (two characters) to `close`; OCaml's nest. */
static bool comment(struct am_lexer *lexer, const char *close, bool nests)
{
	unsigned depth = 1;

	advance(lexer);
	advance(lexer);
	while (depth) {
		const int c = peek(lexer, 0), d = peek(lexer, 1);
		if (c < 0)
			return false;
		if (c == close[0] && d == close[1]) {
			depth--;
			advance(lexer);
		} else if (nests && c == '(' && d == '*') {
			depth++;
			advance(lexer);
		}
		advance(lexer);
	}
	return true;
}

bool am_lex_skip(struct am_lexer *lexer, struct am_lit_pos *open)
{
	for (;;) {
		const int c = peek(lexer, 0), d = peek(lexer, 1);

		*open = am_lex_pos(lexer);
		if (c >= 0 && isspace(c)) {
			advance(lexer);
		} else if (c == '/' && d == '/') {
			while (peek(lexer, 0) >= 0 && peek(lexer, 0) != '\n')
				advance(lexer);
		} else if (c == '/' && d == '*') {
			if (!comment(lexer, "*/", false))
				return false;
		} else if (c == '(' && d == '*' && !lexer->in_body) {
			if (!comment(lexer, "*)", true))
				return false;
		} else {
			return true;
		}
	}
}

static struct am_token bad(struct am_lexer *lexer, struct am_lit_pos pos, const char *message)
{
	lexer->message = message;
	return (struct am_token){ .kind = AM_TOK_BAD, .pos = pos, .text = "", .len = 0 };
}

static struct am_token number(struct am_lexer *lexer, struct am_token token)
{
	unsigned base = 10;
	bool overflow = false, any = false;

	if (peek(lexer, 0) == '0' && (peek(lexer, 1) == 'x' || peek(lexer, 1) == 'X')) {
		base = 16;
		advance(lexer);
		advance(lexer);
	} else if (peek(lexer, 0) == '0' && peek(lexer, 1) >= '0' && peek(lexer, 1) <= '7') {
		base = 8;
	}
	for (int c = peek(lexer, 0); c >= 0 && isxdigit(c); c = peek(lexer, 0)) {
		const unsigned digit =
			(unsigned)(isdigit(c) ? c - '0' : tolower(c) - 'a' + 10);
		if (digit >= base)
			break;
		overflow |= __builtin_mul_overflow(token.number, (uint64_t)base, &token.number);
		overflow |= __builtin_add_overflow(token.number, (uint64_t)digit, &token.number);
		any = true;
		advance(lexer);
	}
	for (int c = tolower(peek(lexer, 0)); c == 'u' || c == 'l'; c = tolower(peek(lexer, 0))) {
		token.is_unsigned |= c == 'u';
		token.is_long |= c == 'l';
		advance(lexer);
	}
	if (!any)
		return bad(lexer, token.pos, "a number needs digits");
	if (overflow)
		return bad(lexer, token.pos, "this number does not fit 64 bits");
	if (peek(lexer, 0) >= 0 && (isalnum(peek(lexer, 0)) || peek(lexer, 0) == '_'))
		return bad(lexer, am_lex_pos(lexer), "a number ends in something else");
	token.kind = AM_TOK_NUMBER;
	token.len = lexer->at - (size_t)(token.text - lexer->source);
	return token;
}

static size_t punctuation(const struct am_lexer *lexer)
{
	static const char *const longer[] = { "<<=", ">>=", "...", "/\\", "\\/", "==", "!=", "<=",
					      ">=", "&&", "||", "<<", ">>", "+=", "-=", "*=",
					      "/=", "%=", "&=", "|=", "^=", "++", "--", "->",
					      "=>", "<>" };

	for (size_t i = 0; i < sizeof(longer) / sizeof(*longer); i++) {
		const size_t n = strlen(longer[i]);
		if (lexer->len - lexer->at >= n &&
		    !memcmp(lexer->source + lexer->at, longer[i], n))
			return n;
	}
	return 1;
}

struct am_token am_lex_next(struct am_lexer *lexer)
{
	const size_t before = lexer->at;
	struct am_lit_pos open;

	if (!am_lex_skip(lexer, &open))
		return bad(lexer, open, "this comment does not end");
	struct am_token token = { .pos = am_lex_pos(lexer),
				  .text = lexer->source + lexer->at,
				  .glued = lexer->at == before };
	const int c = peek(lexer, 0);

	if (c < 0) {
		token.kind = AM_TOK_END;
		return token;
	}
	if (isdigit(c))
		return number(lexer, token);
	if (isalpha(c) || c == '_') {
		while (peek(lexer, 0) >= 0 && (isalnum(peek(lexer, 0)) || peek(lexer, 0) == '_'))
			advance(lexer);
		token.kind = AM_TOK_NAME;
	} else if (c == '"') {
		advance(lexer);
		while (peek(lexer, 0) >= 0 && peek(lexer, 0) != '"' && peek(lexer, 0) != '\n')
			advance(lexer);
		if (peek(lexer, 0) != '"')
			return bad(lexer, token.pos, "this string does not end on its line");
		advance(lexer);
		token.kind = AM_TOK_STRING;
	} else if (strchr("{}()[];,:=<>+-*/%&|^!~?.\\", c)) {
		for (size_t n = punctuation(lexer); n; n--)
			advance(lexer);
		token.kind = AM_TOK_PUNCT;
	} else {
		advance(lexer);
		return bad(lexer, token.pos, "this character has no meaning here");
	}
	token.len = lexer->at - (size_t)(token.text - lexer->source);
	return token;
}
