#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A thread that waits for a lock made by hand looks at it between any two instructions of its release, those of our
# callback included: the lock is right, and nothing is reported. And a third thread comes to what one is about to tell of another. STRIDE (23): every so many instructions; three times
# as many where much is told.
. "$(dirname "$0")/../lib.sh"
plain=$TOP/tests/prog/plain
cc -O1 -c "$plain/between_pace.c" -o pace.o

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	check "$cc: builds" env ATOMMON_CC=$cc atommon-cc -O2 -g "$plain/between.c" pace.o -o between -lpthread
	for form in flag ticket taken; do
		stride=${STRIDE:-23}
		[ $form != taken ] || stride=$((3 * stride))
		rm -f log
		preload ATOMMON_ATOMIC='fn:add_*' ATOMMON_LOG=log ./between $form $stride >out 2>&1
		check "$cc, $form: there are instructions between which to look" grep -q 'right, [0-9][0-9]' out
		same "$cc, $form: nothing is reported" '' "$(head -20 log 2>/dev/null)"
		rm -f t.atm
		preload ATOMMON_ATOMIC='fn:add_*' ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./between $form $stride >out 2>&1
		check "$cc, $form: nor offline" atommon-check t.atm
	done
done
finish
