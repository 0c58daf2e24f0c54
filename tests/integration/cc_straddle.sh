#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Accesses that are not aligned and lie across two words count byte by byte: with callbacks, with calls that keep registers and
# in line, and by values.
. "$(dirname "$0")/../lib.sh"

try() { # try NAME OPTION...
	local name=$1
	shift
	check "$name: builds" atommon-cc "$@" -g "$TOP/tests/prog/plain/straddle.c" -o straddle -lpthread
	for mode in first last before behind; do
		rm -f log
		preload ATOMMON_ATOMIC='fn:update_*' ATOMMON_LOG=log ./straddle $mode >out 2>&1
		same "$name, $mode: output" "1 1 1" "$(cat out)"
		case $mode in first | last) expected='update_across update_small update_wide' ;; *) expected= ;; esac
		same "$name, $mode: reported" "$expected" \
			"$(sed -nE 's/.*Region "(update_[a-z]*)" was not atomic.*/\1/p' log 2>/dev/null | sort | xargs)"
	done
}
for cc in gcc clang-14 clang-16 clang-19; do
	command -v $cc >/dev/null || continue
	for level in -O0 -O2 -Os; do ATOMMON_CC=$cc try "$cc $level" $level; done
done
command -v clang-14 >/dev/null && try symbolic --symbolic -O1
finish
