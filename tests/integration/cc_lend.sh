#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Regions that read the same memory, and are all open: that is nothing to tell (filter.h, 9). But whoever writes there, or
# gives it back, comes behind each of them, whichever read first.
. "$(dirname "$0")/../lib.sh"

run() { # run MODE READER [PROGRAM]: "status violations", and the events in $events
	rm -f log
	preload ATOMMON_ATOMIC=fn:look,fn:change,fn:fill ATOMMON_VERBOSE=1 ATOMMON_VERIFY=1 ATOMMON_LOG=log ./"${3:-lend}" "$1" "$2" >out 2>&1
	status=$?
	events=$(sed -nE 's/^atommon: ([0-9]+) events.*/\1/p' log)
	found="$status $(grep -c 'atomicity violation' log)$(grep disagree log)"
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/lend.c" -o lend -lpthread
	check "$cc: builds with more words than are remembered" atommon-cc -O1 -g -DWORDS=9000 "$TOP/tests/prog/plain/lend.c" -o many -lpthread
	for reader in 0 1 2 3; do
		run shared $reader many
		same "$cc, many shared, reader $reader: nothing is reported" "0 0" "$found"
		run other $reader many
		same "$cc, many other, reader $reader: is reported" "0 1" "$found"
		for mode in shared filled; do
			run $mode $reader
			same "$cc, $mode, reader $reader: nothing is reported" "0 0" "$found"
			check "$cc, $mode, reader $reader: there is little to tell, $events events" test "${events:-1000}" -lt 120
		done
		for mode in again other freed patched; do
			run $mode $reader
			same "$cc, $mode, reader $reader: is reported" "0 1" "$found"
		done
	done
done
finish
