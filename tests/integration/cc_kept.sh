#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Fields of one word that regions of one thread access one after the other: what a cell cannot hold is kept (filter.h, 10). That is
# nothing to tell as long as nobody else comes; whoever does comes behind each of these regions, and behind no other.
. "$(dirname "$0")/../lib.sh"

run() { # run MODE PROGRAM: "status violations", and the events in $events
	rm -f log
	preload ATOMMON_ATOMIC='fn:hold,fn:meet,fn:rival,fn:read_*,fn:write_*' ATOMMON_VERBOSE=1 ATOMMON_VERIFY=1 ATOMMON_LOG=log ./"$2" "$1" >out 2>&1
	status=$?
	events=$(sed -nE 's/^atommon: ([0-9]+) events.*/\1/p' log)
	found="$status $(grep -c 'atomicity violation' log)$(grep disagree log)"
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -fno-tree-vectorize -g "$TOP/tests/prog/plain/kept.c" -o kept -lpthread
	check "$cc: builds with more words than are remembered" \
		atommon-cc -O1 -fno-tree-vectorize -g -DSTRUCTS=12000 "$TOP/tests/prog/plain/kept.c" -o many -lpthread
	for program in kept many; do
		for mode in quiet before; do
			run $mode $program
			same "$cc, $program, $mode: nothing is reported" "0 0" "$found"
		done
		for mode in reads writes both bytes freed; do
			run $mode $program
			same "$cc, $program, $mode: is reported" "0 1" "$found"
		done
	done
	for mode in reads writes both bytes; do
		run $mode kept
		check "$cc, $mode: it is told where the kept access was made" grep -qE '▸ (read|write) block.* (read_first|write_first|write_byte)\(\) kept.c' log
	done
	run quiet kept
	check "$cc: there is little to tell, $events events" test "${events:-1000}" -lt 300
done
finish
