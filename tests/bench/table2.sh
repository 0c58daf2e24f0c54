#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Table I of Sinha et al. on our own programs in the manner of theirs: access-level traces, model avp.
# 'broken' counts regions that were broken in the recorded run too. usage: table2.sh BUILD_DIR
set -eu
B=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
PATH=$B/bin:$PATH
budget=${BUDGET:-30000}  # thousands of steps per region: about 10 s
total=${TOTAL:-60000}  # of a whole row: about 20 s; regions beyond it are undecided

num() { sed -n "s/.*$2 \([0-9.]*\).*/\1/p" <<<"$1" | head -1; }

broken() { # predicted, further instances, and seen in the recorded run
	awk '/^atommon-predict: [0-9]+ regions/ {
		for (i = 1; i < NF; i++)
			if ($(i + 1) == "predicted" || $(i + 1) == "more" || ($(i + 1) == "broken" && $(i + 2) == "in"))
				n += $i
		print n + 0
	}' <<<"$1"
}

row() { # row NAME EVENTS SCENARIO OPTIONS...
	local name=$1 events=$2 scenario=$3 out begin end size statics
	shift 3
	begin=$(date +%s.%N)
	out=$(timeout "${LIMIT:-600}" atommon-predict --model avp --atomic "$atomic" --stats --budget "$budget" --total "$total" "$@" "$T/$name.atm" 2>&1 || true)
	end=$(date +%s.%N)
	if ! grep -q 'segments' <<<"$out"; then
		printf '%-11s %6s  %-22s  stopped after %s s\n' "$name" "$events" "$scenario" "${LIMIT:-600}"
		return
	fi
	size=$(num "$out" 'events in each')
	statics=$(sed -n 's/.*proved: too few shared accesses \([0-9]*\), must-happen-before \([0-9]*\), locks \([0-9]*\), static check \([0-9]*\).*/\1 \2 \3 \4/p' <<<"$out" |
		awk '{ print $1 + $2 + $3 + $4 }')
	printf '%-11s %6s  %-22s %5s %8s %6s %6s %5s %5s %10s %8.2f\n' "$name" "$events" "$scenario" \
		"$(sed -n 's/^atommon-predict: \([0-9]*\) regions.*/\1/p' <<<"$out")" "$size" "$statics" \
		"$(sed -n 's/.*break[^,]*, \([0-9]*\) proved.*/\1/p' <<<"$out")" \
		"$(broken "$out")" \
		"$(sed -n 's/.*proved, \([0-9]*\) undecided.*/\1/p' <<<"$out")" \
		"$(num "$out" 'interleavings')" "$(awk "BEGIN { print $end - $begin }")"
}

printf '%-11s %6s  %-22s %5s %8s %6s %6s %5s %5s %10s %8s\n' program events scenario regions segment \
	static proved broken undec. interleav. seconds
# NAME:ARGUMENTS:METHODS. Regions are the outermost critical sections, then the methods (functions
# of several sections, some of which can be broken).
for spec in 'conpool:3 2:fn:use' 'barrier:9:fn:meet' 'account:10:fn:order,fn:transfer' 'philo::fn:dine' \
	'synchbench:15 10:fn:call' 'daisy:2:marked' 'elevator:3:fn:stop_at' 'tsp:3:fn:offer'; do
	IFS=: read -r name arguments methods <<<"$spec"
	atommon-cc -O1 -g -D_GNU_SOURCE -I"$here/../../include" -o "$T/$name" "$here/table2/$name.c" -pthread
	# shellcheck disable=SC2086
	LD_PRELOAD=$B/lib/libatommon.so ATOMMON_MODE=record ATOMMON_ATOMIC="marked,fn:*" \
		ATOMMON_TRACE=$T/$name.atm "$T/$name" $arguments >/dev/null
	events=$(atommon-dump --stats "$T/$name.atm" | sed -n 's/^ *events \([0-9]*\).*/\1/p' | head -1)
	for atomic in sections "$methods"; do
		echo "-- regions: $atomic"
		row "$name" "$events" "no TAS" --no-segments --no-static --engine dpor
		row "$name" "$events" "TAS" --no-static --engine dpor
		row "$name" "$events" "TAS, static, 5 switches" --engine dpor --context-bound 5
		row "$name" "$events" "TAS, static" --engine dpor
		row "$name" "$events" "TAS, static, solver" --engine auto
	done
done
