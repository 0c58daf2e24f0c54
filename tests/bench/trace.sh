#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The merge and the coding of chunks, alone: million records per CPU second, bytes per event.
# Environment: BENCH_QUICK=1 short runs.
set -eu
build=${ATOMMON_BUILD:?run this through make bench, or set ATOMMON_BUILD}
cd "$(dirname "$0")/../.."
mkdir -p "$build/bench"
${CC:-gcc} -std=gnu17 -O2 -DNDEBUG -D_GNU_SOURCE -Iinclude -I. -o "$build/bench/trace-bench" tests/bench/trace.c \
	"$build/libcore.a" -l:liblz4.a
rounds=400
[ "${BENCH_QUICK:-0}" = 1 ] && rounds=20
"$build/bench/trace-bench" "$rounds"
