/* Every string function that watched code calls through a version of our own, with its result. */
/* SPDX-License-Identifier: MIT */
#define _GNU_SOURCE 1
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

char a[64], b[64];
const char *volatile word = "Hello, World";
volatile size_t five = 5;
volatile int comma = ',';

static int format(char *to, size_t room, const char *how, ...)
{
	va_list args;

	va_start(args, how);
	const int n = vsnprintf(to, room, how, args);
	va_end(args);
	return n;
}

static int sign(int n)
{
	return (n > 0) - (n < 0);
}

int main(void)
{
	char *end;

	printf("%s ", strcpy(a, word));
	printf("%s\n", stpcpy(b, word) == b + 12 ? b : "wrong");
	printf("%d %d %d\n", sign(strcmp(a, b)), sign(strncmp(a, "Help", five - 1)), sign(strcasecmp(a, "HELLO, WORLD")));
	printf("%d %d %d\n", sign(strncasecmp(a, "hELL!", five)), sign(memcmp(a, b, five)), bcmp(a, "Hellx", five) != 0);
	printf("%zu %zu %zu\n", strlen(a), strnlen(a, five), strnlen(a, 60));
	printf("%s %s %s\n", strchr(a, comma), strrchr(a, 'o'), strchr(a, '#') ? "wrong" : "none");
	printf("%s %s\n", strstr(a, "Wor"), strstr(a, "War") ? "wrong" : "none");
	printf("%s\n", (char *)memchr(a, comma, sizeof a));
	memset(b, 'x', sizeof b - 1);
	printf("%s\n", strncpy(b, word, five));
	printf("%s ", strcat(a, "!"));
	printf("%s\n", strncat(a, word, five));
	printf("%d\n", mempcpy(b, word, five) == b + five);
	bcopy(a, b, five);
	bzero(a, five);
	explicit_bzero(a + five, 1);
	printf("%d %d %.5s\n", a[0], a[5], b);
	char *copy = strdup(word), *part = strndup(word, five);
	printf("%s %s\n", copy, part);
	free(copy);
	free(part);
	errno = 0;
	printf("%ld ", strtol(" -12x", &end, 10));
	printf("%s %lu %lld ", end, strtoul("0x1f", NULL, 0), strtoll("77", NULL, 8));
	printf("%llu %g\n", strtoull("99", &end, 10), strtod("2.5e1,", NULL));
	printf("%d %ld %lld\n", atoi("42nd"), atol("-1"), atoll("no"));
	const long big = strtol("99999999999999999999", NULL, 10);
	printf("%ld %d\n", big, errno == ERANGE);
	printf("%d ", snprintf(a, five, "%s-%d", word, 3));
	puts(a);
	printf("%d ", sprintf(a, "%d%s%c", 7, word, '.'));
	puts(a);
	printf("%d ", format(a, 20, "%s %.1f", word, 1.5));
	puts(a);
	return 0;
}
