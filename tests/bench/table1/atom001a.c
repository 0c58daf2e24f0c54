/* SPDX-License-Identifier: MIT */
#define FIXED 1
#include "log.h"
