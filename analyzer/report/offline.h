/* SPDX-License-Identifier: MIT */
/* Names for reports of the offline tools: the symbols of analyzer/trace behind the interface that
 * reports use. Never part of the preload library. */
#ifndef AM_REPORT_OFFLINE_H
#define AM_REPORT_OFFLINE_H

#include "atommon/report.h"

struct am_symbols;

struct am_symbolizer am_offline_symbolizer(struct am_symbols *symbols);

#endif
