#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A plain look before an exchange that failed is in vain, live and offline; mistakes beside it, or beside an atomic one, are found.
. "$(dirname "$0")/../lib.sh"
field=$TOP/tests/prog/field
cc -O1 -c "$field/order.c" -o order.o

reports() { # reports ORDER: how many violations are told live, and whether the offline checker tells any
	rm -f log t.atm
	preload ATOMMON_ATOMIC=fn:get ATOMMON_LOG=log ./prog "$1" >out 2>&1
	n=$(grep -c 'atomicity violation' log 2>/dev/null)
	preload ATOMMON_ATOMIC=fn:get ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./prog "$1" >out 2>&1
	atommon-check t.atm >out 2>&1
	offline=$?
}

build() { # build COMPILER OPTION...
	check "$1: ${*:2} builds" env ATOMMON_CC="$1" atommon-cc -g -O1 "${@:2}" -I"$field" "$field/lazy_plain.c" order.o -o prog -lpthread
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	for how in NONE COUNT STORE AGAIN OTHER SUM; do
		build $cc -D$how
		reports bad
		case $how in
		NONE | COUNT)
			same "$cc: $how, live" 0 "${n:-0}"
			same "$cc: $how, offline" 0 $offline
			;;
		*)
			if [ "${n:-0}" -ge 1 ]; then ok "$cc: $how, live"; else fail "$cc: $how, live" "$(cat out)"; fi
			same "$cc: $how, offline" 1 $offline
			;;
		esac
		reports good
		same "$cc: $how in a good order, live" 0 "${n:-0}"
		same "$cc: $how in a good order, offline" 0 $offline
	done
	# The look is in vain, but was in the graph: the sum is found all the same.
	build $cc -DSUM -DATOMIC
	reports bad
	same "$cc: SUM beside an atomic look, offline" 1 $offline
done
finish
