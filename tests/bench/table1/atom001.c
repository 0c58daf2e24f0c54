/* SPDX-License-Identifier: MIT */
#define FIXED 0
#include "log.h"
