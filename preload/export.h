/* SPDX-License-Identifier: MIT */
/* Marks what the dynamic linker may see; exports.list has the whole list. */
#ifndef ATOMMON_PRELOAD_EXPORT_H
#define ATOMMON_PRELOAD_EXPORT_H

#define AM_EXPORT __attribute__((visibility("default")))

#endif
