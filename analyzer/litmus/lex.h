/* SPDX-License-Identifier: MIT */
/* Tokens of a litmus file, with line and column. Outside of thread bodies (* ... *) is a comment. */
#ifndef ATOMMON_LITMUS_LEX_H
#define ATOMMON_LITMUS_LEX_H

#include "ast.h"

enum am_tok {
	AM_TOK_END,
	AM_TOK_NAME,
	AM_TOK_NUMBER,
	AM_TOK_STRING,
	AM_TOK_PUNCT,
	AM_TOK_BAD, /* see the lexer's message */
};

struct am_token {
	enum am_tok kind;
	struct am_lit_pos pos;
	const char *text;
	size_t len;
	uint64_t number;
	bool is_unsigned, is_long; /* of a number: suffix or size */
	bool glued;		   /* no blank before it */
};

struct am_lexer {
	const char *source;
	size_t len, at, line_start;
	uint32_t line;
	bool in_body;
	const char *message; /* of AM_TOK_BAD */
};

void am_lex_start(struct am_lexer *lexer, const char *source, size_t len);
struct am_token am_lex_next(struct am_lexer *lexer);
/* Skips blanks and comments. False: a comment does not end. */
bool am_lex_skip(struct am_lexer *lexer, struct am_lit_pos *open);
struct am_lit_pos am_lex_pos(const struct am_lexer *lexer);

static inline bool am_tok_is(const struct am_token *token, const char *text)
{
	size_t i = 0;

	while (i < token->len && text[i] && text[i] == token->text[i])
		i++;
	return (token->kind == AM_TOK_PUNCT || token->kind == AM_TOK_NAME) && i == token->len &&
	       !text[i];
}

#endif
