#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Table 1 of Wang et al. on our own programs in the manner of theirs: built with `atommon cc --symbolic`,
# recorded once in a run in which nothing went wrong, predicted with every model. usage: table1.sh BUILD_DIR
set -eu
B=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
PATH=$B/bin:$PATH

record() { # record NAME PROGRAM [ARG]: until a run is serial
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		rm -f "$T/$1.atm"
		LD_PRELOAD=$B/lib/libatommon.so ATOMMON_MODE=record ATOMMON_TRACE=$T/$1.atm "$T/$2" ${3:+"$3"} >/dev/null || continue
		atommon-check "$T/$1.atm" >/dev/null 2>&1 && return
	done
	echo "table1: no serial run of $1" >&2
	exit 1
}

stats() { # stats NAME MODEL: whole regions too under ctp, candidates alone under the others
	local only=()
	[ "$2" = ctp ] || only=(--region "no such region")
	atommon-predict --model "$2" --three --max-segment 100000 "${only[@]}" "$T/$1.atm" 2>&1 || true
}

get() { sed -n "s/.*$2 \([0-9.]*\).*/\1/p" <<<"$1" | tail -1; }

row() { # row NAME
	local ctp sync value avp
	ctp=$(stats "$1" ctp)
	sync=$(stats "$1" sync)
	value=$(stats "$1" value)
	avp=$(stats "$1" avp)
	printf '%-11s %6s %5s %6s/%-7s %7s %9s %8s %7s %7s %7s %7s %8s %7s\n' "$1" "$(get "$ctp" threads)" \
		"$(get "$ctp" ', shared')" "$(get "$ctp" "solver's events")" "$(get "$ctp" '  events')" \
		"$(sed -n 's/^atommon-predict: \([0-9]*\) regions.*/\1/p' <<<"$ctp" | tail -1)" \
		"$(get "$ctp" 'three-access candidates')" "$(get "$ctp" 'after must-happen-before')" \
		"$(get "$ctp" 'of these feasible')" "$(get "$value" 'of these feasible')" "$(get "$avp" 'of these feasible')" \
		"$(get "$sync" 'of these feasible')" "$(get "$ctp" 'time')" "$(get "$ctp" 'after nested locks')"
}

printf '%-11s %6s %5s %6s/%-7s %7s %9s %8s %7s %7s %7s %7s %8s %7s\n' program threads svars simpl. original \
	regions candid. hb-cand. ctp value avp sync seconds 'no data'
for name in atom001 atom001a atom002 atom002a bank-av bank-sav bank-nav; do
	atommon-cc --symbolic -O1 -g -D_GNU_SOURCE -I"$here/../../include" -I"$here/table1" -o "$T/$name" "$here/table1/$name.c" -pthread
	case $name in
	bank-*)
		for n in ${TELLERS:-2 4 6 8}; do
			record "$name-$n" "$name" "$n"
			row "$name-$n"
		done
		;;
	*)
		record "$name" "$name"
		row "$name"
		;;
	esac
done
