/*
 * Found before libstdc++'s own (atommon-c++ puts it in the way): strings are made from their templates in
 * the program, where their accesses are seen, and not taken from the library, where they are not.
 * libstdc++ provides for this, and does so itself with _GLIBCXX_ASSERTIONS and since C++20.
 */
/* SPDX-License-Identifier: MIT */
#pragma GCC system_header
#include_next <bits/c++config.h>
#if defined(_GLIBCXX_EXTERN_TEMPLATE) && _GLIBCXX_EXTERN_TEMPLATE > 0
#undef _GLIBCXX_EXTERN_TEMPLATE
#define _GLIBCXX_EXTERN_TEMPLATE -1
#endif
