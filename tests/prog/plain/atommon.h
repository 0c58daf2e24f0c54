/* Stands in for atommon.h where an example is to be built without any annotation. */
/* SPDX-License-Identifier: MIT */
#ifndef ATOMMON_PLAIN_H
#define ATOMMON_PLAIN_H

#define ATOMMON_REGION(name)
#define ATOMMON_LOAD(lvalue) (lvalue)
#define ATOMMON_STORE(lvalue, value) ((lvalue) = (value))
#define atommon_begin(name) ((void)0)
#define atommon_end() ((void)0)
#define atommon_read(p, n) ((void)0)
#define atommon_write(p, n) ((void)0)
#define atommon_name(p, n, name) ((void)0)

#endif
