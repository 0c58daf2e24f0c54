/* SPDX-License-Identifier: MIT */
#define FIX 0
#include "bank.h"
