#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A thread whose accesses concerned nobody before the first region of the process is seen from then on.
. "$(dirname "$0")/../lib.sh"

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	for level in -O0 -O2; do
		check "$cc $level: builds" atommon-cc $level -g "$TOP/tests/prog/plain/early.c" -o early -lpthread
		for what in global stack; do
			rm -f log
			same "$cc $level, $what: runs" 1 "$(preload ATOMMON_ATOMIC=fn:first_region ATOMMON_LOG=log ./early $what 2>&1)"
			same "$cc $level, $what: violations" 1 "$(cat log 2>/dev/null | grep -c 'atomicity violation')"
		done
	done
done
finish
