#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A thread whose accesses concerned nobody before the first region of the process is seen from then on.
. "$(dirname "$0")/../lib.sh"

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	for level in -O0 -O2; do
		check "$cc $level: builds" atommon-cc $level -g "$TOP/tests/prog/plain/early.c" -o early -lpthread
		rm -f log
		preload ATOMMON_ATOMIC=fn:first_region ATOMMON_LOG=log ./early >out 2>&1
		same "$cc $level: violations" 1 "$(grep -c 'atomicity violation' log)"
	done
done
finish
