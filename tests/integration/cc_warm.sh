#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Regions leave no record until they matter: a mistake that comes after many regions that went well is
# found all the same, with the locks that the broken region took before, and nothing else is reported.
. "$(dirname "$0")/../lib.sh"

run() { # run MODE ROUNDS [SETTING]...: how many violations; the report is in `log`
	local mode=$1 rounds=$2
	shift 2
	rm -f log
	preload ATOMMON_ATOMIC=fn:withdraw,fn:session ATOMMON_LOG=log "$@" ./warm "$mode" "$rounds" >out 2>&1
	grep -c 'atomicity violation' log 2>/dev/null || echo 0
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/warm.c" -o warm -lpthread
	for rounds in 0 1 1000; do
		same "$cc, $rounds rounds: a lock that is held" 0 "$(run good $rounds | tail -1)"
		for mode in bad nested outside; do
			same "$cc, $rounds rounds, $mode: found" 1 "$(run $mode $rounds)"
			same "$cc, $rounds rounds, $mode: the release that lets others in is named" 1 \
				"$(tr '\n' ' ' <log | tr -s ' ' |
					grep -cE 'Hold lock from step [0-9]+ to step [0-9]+: the release at step [0-9]+ \(withdraw\(\) warm.c:32\)')"
		done
	done
	same "$cc: the twin agrees" "1 0" "$(run bad 300 ATOMMON_VERIFY=1) $(grep -c disagree log)"
	# Nor do atomic and volatile accesses make a region matter.
	check "$cc: exact builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/exact.c" -o exact -lpthread
	for what in store add swap load volatile mixed; do
		preload ATOMMON_ATOMIC=fn:region ATOMMON_VERBOSE=1 ./exact $what >out 2>&1
		check "$cc: a region with one $what leaves no record" grep -qE ' [0-9]{1,2} events, [0-9] regions' out
	done
done
finish
