#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Dropping a reference that is not the last commutes with what others add to the count and take off it, live and offline; mistakes beside it are found.
. "$(dirname "$0")/../lib.sh"
field=$TOP/tests/prog/field
cc -O1 -c "$field/order.c" -o order.o

reports() { # reports ORDER: how many violations are told live, and whether the offline checker tells any
	rm -f log t.atm
	preload ATOMMON_ATOMIC=fn:hand_over,fn:receive ATOMMON_LOG=log ./prog "$1" >out 2>&1
	n=$(grep -c 'atomicity violation' log 2>/dev/null)
	preload ATOMMON_ATOMIC=fn:hand_over,fn:receive ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./prog "$1" >out 2>&1
	atommon-check t.atm >out 2>&1
	offline=$?
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	for how in NONE DROPPED BORROWED LOOK TELL SUM; do
		check "$cc: $how builds" env ATOMMON_CC=$cc atommon-cc -g -O1 -D$how -I"$field" "$field/kept_reference.c" order.o -o prog -lpthread
		reports bad
		case $how in
		NONE | DROPPED)
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
done
finish
