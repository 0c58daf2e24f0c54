#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A signal handler that takes locks and accesses memory, between any two instructions of a region and of
# our hooks in it: the program is right, and nothing is reported. ROUNDS (4) regions each.
. "$(dirname "$0")/../lib.sh"

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/stepped.c" -o stepped -lpthread
	for atomic in sections fn:step,sections fn:step,fn:handler_work; do
		for stride in 53 61 67; do # where the handler comes in our own code moves with that
			rm -f log
			same "$cc, $atomic, $stride: handled" handled "$(preload ATOMMON_ATOMIC=$atomic ATOMMON_LOG=log \
				./stepped "${ROUNDS:-4}" $stride 2>&1 | tail -1)"
			same "$cc, $atomic, $stride: nothing is reported" 0 "$(cat log 2>/dev/null | grep -c 'atomicity violation')"
		done
	done
done
finish
