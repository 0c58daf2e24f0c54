/* SPDX-License-Identifier: MIT */
/*
 * Functions of the C library that read or write memory for their caller, and for which no compiler has a
 * callback. Watched code calls __wrap_NAME (instrument/stub_string.c, stub_io.c) instead: with clang the pass changes
 * the call, with gcc the linker does (--wrap).
 */
#ifndef ATOMMON_STRINGS_H
#define ATOMMON_STRINGS_H

/* Those that only read, and whose result is what matters: also with --symbolic. */
#define AM_READING_FUNCTIONS(X)                                                                    \
	X(memcmp) X(bcmp) X(memchr) X(strlen) X(strnlen) X(strcmp) X(strncmp) X(strcasecmp)        \
	X(strncasecmp) X(strchr) X(strrchr) X(strstr) X(strtol) X(strtoul) X(strtoll) X(strtoull)  \
	X(strtod) X(atoi) X(atol) X(atoll) X(strspn) X(strcspn) X(strpbrk)

#define AM_STRING_FUNCTIONS(X)                                                                     \
	X(memcmp) X(bcmp) X(memchr) X(mempcpy) X(bcopy) X(bzero) X(explicit_bzero)                 \
	X(strlen) X(strnlen) X(strcmp) X(strncmp) X(strcasecmp) X(strncasecmp) X(strchr)           \
	X(strrchr) X(strstr) X(strcpy) X(stpcpy) X(strncpy) X(strcat) X(strncat) X(strdup)         \
	X(strndup) X(strtol) X(strtoul) X(strtoll) X(strtoull) X(strtod) X(atoi) X(atol) X(atoll)  \
	X(strspn) X(strcspn) X(strpbrk) X(strtok_r) X(strsep)                                      \
	X(sscanf) X(__isoc99_sscanf) X(sprintf) X(snprintf) X(vsnprintf)                           \
	X(read) X(pread) X(pread64) X(recv) X(recvfrom) X(fread) X(fgets)                          \
	X(write) X(pwrite) X(pwrite64) X(send) X(sendto) X(fwrite) X(fputs) X(puts) X(qsort)       \
	X(__memcpy_chk) X(__memmove_chk) X(__memset_chk) X(__strcpy_chk) X(__strncpy_chk)          \
	X(__strcat_chk) X(__strncat_chk) X(__stpcpy_chk) X(__mempcpy_chk) X(__sprintf_chk)         \
	X(__snprintf_chk) X(__vsnprintf_chk)

#endif
