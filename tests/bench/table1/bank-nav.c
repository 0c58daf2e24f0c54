/* SPDX-License-Identifier: MIT */
#define FIX 2
#include "bank.h"
