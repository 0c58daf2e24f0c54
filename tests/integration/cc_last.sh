#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the last owner of an object does is no step of its region, live and offline; mistakes beside it are found.
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
	for mistake in NONE SUM EARLY; do
		check "$cc: $mistake builds" env ATOMMON_CC=$cc atommon-cc -g -O1 -D$mistake -I"$field" "$field/last_owner.c" order.o -o prog -lpthread
		reports bad
		case $mistake in
		NONE)
			same "$cc: the last owner parts, live" 0 "${n:-0}"
			same "$cc: the last owner parts, offline" 0 $offline
			check "$cc: it was told to be the last" bash -c 'atommon-dump --text t.atm | grep -q "update.* last "'
			;;
		*)
			if [ "${n:-0}" -ge 1 ]; then ok "$cc: $mistake, live"; else fail "$cc: $mistake, live" "$(cat out)"; fi
			same "$cc: $mistake, offline" 1 $offline
			;;
		esac
		reports good
		same "$cc: $mistake in a good order, live" 0 "${n:-0}"
	done
done
finish
