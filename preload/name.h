/* SPDX-License-Identifier: MIT */
/* Names of functions as people write them. */
#ifndef ATOMMON_PRELOAD_NAME_H
#define ATOMMON_PRELOAD_NAME_H

#include <stddef.h>

/* The qualified name in a symbol of the Itanium C++ ABI, without parameters, template arguments and
 * anonymous namespaces: "_ZN4bank7AccountIlE8withdrawEi" is bank::Account::withdraw. A symbol that is
 * none, or that is not understood, is returned as it is. The result is `symbol` or `buf`. */
const char *am_name_plain(const char *symbol, char *buf, size_t size);

#endif
