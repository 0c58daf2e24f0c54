#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# An access of 16 bytes outside regions, which lies in two or three words, is seen whichever of them a region has.
. "$(dirname "$0")/../lib.sh"

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O2 -g "$TOP/tests/prog/plain/vector.c" -o vector -lpthread
	for place in '0 0' '0 1' '8 0' '8 1' '3 0' '3 1' '3 2'; do
		rm -f log
		# shellcheck disable=SC2086
		preload ATOMMON_ATOMIC=fn:fill,fn:look ATOMMON_LOG=log ./vector $place >out 2>&1
		same "$cc, $place: violations" 1 "$(grep -c 'atomicity violation' log)"
	done
	rm -f log
	preload ATOMMON_ATOMIC=fn:fill,fn:look ATOMMON_LOG=log ./vector 0 2 >out 2>&1
	check "$cc, beside it: none" [ ! -s log ]
done
finish
