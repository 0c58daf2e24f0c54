#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Memory that a region moves onto itself, or has made larger: of the part that is read and written only the write is remembered, and it stands for both. Each
# word of it, and those at both ends, with another thread that reads or writes it, before the region does or behind.
. "$(dirname "$0")/../lib.sh"

reports() { # reports ARGUMENT...: how many violations
	rm -f log
	preload ATOMMON_ATOMIC=fn:step ATOMMON_LOG=log ./moved "$@" >out 2>&1
	cat log out 2>/dev/null | grep -c 'atomicity violation'
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/moved.c" -o moved -lpthread
	wrong=() alarms=()
	for way in up down; do
		for when in early late; do
			for kind in read write; do
				for word in 0 1 2 50 98 99 100 101; do
					only_read=$([ $way = up ] && echo 0 || echo 100)
					expected=1
					[ $word = 101 ] && expected=0
					[ $word = "$only_read" ] && [ $kind = read ] && expected=0
					told=$(reports $way $when $kind $word)
					[ "$told" = $expected ] || wrong+=("$way $when $kind $word: $told, expected $expected;")
				done
			done
		done
	done
	for word in 0 50 100; do
		told=$(reports up late write $word after)
		[ "$told" = 0 ] || alarms+=("up late write $word after: $told;")
	done
	# A block that stays where it is, and that nobody else had, is the same as before.
	for when in early late; do
		for kind in read write; do
			told=$(reports grow $when $kind 50)
			[ "$told" = 1 ] || wrong+=("grow $when $kind 50: $told;")
			grep -q moved out && wrong+=("grow: the block was moved;")
		done
	done
	told=$(reports grow late write 50 after)
	[ "$told" = 0 ] || alarms+=("grow late write 50 after: $told;")
	same "$cc: what another thread did to each word counts" "" "${wrong[*]-}"
	same "$cc: nothing is said of one that comes afterwards" "" "${alarms[*]-}"
done
finish
