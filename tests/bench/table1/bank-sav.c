/* SPDX-License-Identifier: MIT */
#define FIX 1
#include "bank.h"
