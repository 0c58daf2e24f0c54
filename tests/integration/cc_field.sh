#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Mistakes that real programs made, each as a small program without annotations (tests/prog/field): found
# live when the order is forced, predicted from a run in which nothing went wrong, and with -DFIXED
# silent and proved.
. "$(dirname "$0")/../lib.sh"
field=$TOP/tests/prog/field
cc -O1 -c "$field/order.c" -o order.o

build() { # build NAME OUT OPTIONS...
	local source=$field/$1.c wrapper=atommon-cc out=$2
	shift 2
	[ -f "$source" ] || {
		source=${source}c
		wrapper=atommon-c++
	}
	$wrapper -g "$@" "$source" order.o -o "$out" -lpthread
}

reports() { # reports FUNCTION ORDER PROGRAM: how many violations are told
	rm -f log
	preload ATOMMON_ATOMIC="fn:$1" ATOMMON_LOG=log "$3" "$2" >out 2>&1
	grep -c 'atomicity violation' log 2>/dev/null || echo 0
}

live() { # live LABEL NAME FUNCTION OPTIONS...
	local label=$1 name=$2 function=$3 n
	shift 3
	check "$label: $name builds" build "$name" wrong "$@"
	n=$(reports "$function" bad ./wrong | head -1)
	if [ "$n" -ge 1 ]; then ok "$label: $name is found"; else fail "$label: $name is found" "$(cat out)"; fi
	same "$label: $name in a good order" 0 "$(reports "$function" good ./wrong | head -1)"
	check "$label: $name, fixed, builds" build "$name" fixed "$@" -DFIXED
	same "$label: $name, fixed" 0 "$(reports "$function" free ./fixed | head -1)"
	same "$label: $name, fixed, in a good order" 0 "$(reports "$function" good ./fixed | head -1)"
}

predict() { # predict NAME FUNCTION STATUS: of the wrong one; the fixed one is proved
	build "$1" wrong --symbolic -O1
	build "$1" fixed --symbolic -O1 -DFIXED
	for p in wrong fixed; do
		rm -f $p.atm
		preload ATOMMON_ATOMIC="fn:$2" ATOMMON_MODE=record ATOMMON_TRACE=$p.atm ./$p good >out 2>&1
	done
	atommon-check wrong.atm >out 2>&1
	same "$1: nothing happened in the recorded run" 0 $?
	atommon-predict wrong.atm >out 2>&1
	same "$1: predicted from it" "$3" $?
	[ "$3" = 0 ] || check "$1: with a witness" grep -q 'predicted (model' out
	atommon-predict fixed.atm >out 2>&1
	same "$1: fixed" 0 $?
	check "$1: all its regions are proved" grep -q '[1-9][0-9]* proved, 0 undecided' out
}

# name:function:status of atommon-predict. In a serial run of those with 0 the second thread does something
# else (it finds what the first one made, or writes elsewhere), so that no schedule of these events breaks.
programs="log_buffer:log_line:0 log_race:log_line:1 binlog_order:change_row:1 rotate:rotate:1
	null_fifo:consume:1 bandwidth:session_init:1 text_frame:paint:1 proc_info:show:1
	string_buffer:append:1 upgrade:raise_limit:1 lazy_init:instance:0 ticket_sem:sell:1
	refcount_atomic:release:1 list_push:push:1 registry:lookup:0 account:audit:1
	conn_pool:pool_get:1 first_context:new_context:1 domain_list:suspend:1 bounded:put:1
	buffer_pin:read_buffer:1"

# Through functions of the C library, which --symbolic does not follow; and one whose second thread chooses
# by what the first one did.
strings="incr:add_delta claim:claim lru:get"

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	cxx=${cc/gcc/g++}
	for program in $programs $strings; do
		IFS=: read -r name function _ <<<"$program"
		ATOMMON_CC=$cc ATOMMON_CXX=${cxx/clang/clang++} live $cc "$name" "$function" -O2
	done
done
if command -v clang-14 >/dev/null; then
	for program in $programs; do
		IFS=: read -r name function status <<<"$program"
		live symbolic "$name" "$function" --symbolic -O1
		predict "$name" "$function" "$status"
	done
fi
finish
