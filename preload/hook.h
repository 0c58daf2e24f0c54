/* SPDX-License-Identifier: MIT */
/* What every hook of a synchronisation primitive includes; see log.h for the shape of a hook. */
#ifndef ATOMMON_PRELOAD_HOOK_H
#define ATOMMON_PRELOAD_HOOK_H

#include "preload/export.h"
#include "preload/log.h"
#include "preload/real.h"

#endif
