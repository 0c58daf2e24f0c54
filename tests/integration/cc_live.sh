#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Programs without any annotation, built by the compiler wrapper, watched live with fn: globs: what
# is broken is found, what is right is not reported.
. "$(dirname "$0")/../lib.sh"
plain=$TOP/tests/prog/plain

reports() { # reports GLOB PROGRAM ARGS...: how many violations are told
	local glob=$1 program=$2
	shift 2
	preload ATOMMON_ATOMIC="$glob" ATOMMON_LOG=log "./$program" "$@" >out 2>&1
	grep -c 'atomicity violation' log 2>/dev/null
	rm -f log
}
found() { # found NAME GLOB PROGRAM ARGS...
	local name=$1 n
	shift
	n=$(reports "$@")
	if [ "${n:-0}" -ge 1 ]; then ok "$name"; else fail "$name" "no report" "$(cat out)"; fi
}
silent() { # silent NAME GLOB PROGRAM ARGS...
	local name=$1 n
	shift
	n=$(reports "$@")
	if [ "${n:-0}" -eq 0 ]; then ok "$name"; else fail "$name" "$n reports" "$(cat out)"; fi
}

# A heap block is called by where it was allocated, however long before: by malloc, and behind operator new.
heap() { # heap NAME WRAPPER...
	local n=$1 name
	shift
	check "$n: heap builds" "$@" "$plain/heap.c" -o heap -lpthread
	rm -f log
	preload ATOMMON_ATOMIC=fn:withdraw ATOMMON_LOG=log ./heap >out 2>&1
	for name in 'read block@open_account+8' 'Hold block@open_account+16' 'allocated by T0'; do
		check "$n: $name" grep -qF "$name" log
	done
	rm -f log
}

suite() { # suite NAME WRAPPER-FLAGS...
	local n=$1 example
	shift
	for example in bank cache; do
		check "$n: $example builds without annotations" atommon-cc "$@" -g -I "$plain" \
			-I "$TOP/tests/prog" "$TOP/tests/prog/$example.c" -o $example -lpthread
	done
	heap "$n" atommon-cc "$@" -g
	heap "$n, C++" atommon-c++ "$@" -g -x c++
	check "$n: quiet builds" atommon-cc "$@" -g "$plain/quiet.c" -o quiet -lpthread
	check "$n: gate builds" atommon-cc "$@" -g "$plain/gate.c" -o gate -lpthread
	silent "$n: sections beneath a lock that is held for good" sections gate
	found "$n: one of them is broken" sections gate broken
	found "$n: the bank's lost update is found" fn:withdraw bank --order bad
	silent "$n: the bank in a good order" fn:withdraw bank --order good
	silent "$n: the bank, fixed" fn:withdraw bank --fixed --threads 4 --size 200
	found "$n: a glob names the function" 'fn:with*' bank --order bad
	silent "$n: no function is named" marked bank --order bad
	found "$n: check, then insert" fn:get cache --order bad
	silent "$n: check, then insert, fixed" fn:get cache --fixed --threads 4 --size 50
	silent "$n: neighbouring bytes" 'fn:region_*' quiet bytes
	silent "$n: a reused heap block" 'fn:region_*' quiet heap
	silent "$n: buffers handed over through a queue" 'fn:region_*' quiet handover
	silent "$n: reused thread stacks" 'fn:region_*' quiet private
	found "$n: a single byte" 'fn:region_*' quiet byte
	found "$n: overlapping bytes of different sizes" 'fn:region_*' quiet overlap
	found "$n: a local variable that another thread changes" 'fn:region_*' quiet stack
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	ATOMMON_CC=$cc suite "$cc" -O2
done
# Two versions of a function have one name, also where only the symbol table tells it.
for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	ATOMMON_CC=$cc check "$cc: builds without debug information" atommon-cc -O2 -I "$plain" -I "$TOP/tests/prog" \
		"$TOP/tests/prog/bank.c" -o bank -lpthread
	preload ATOMMON_ATOMIC=fn:withdraw ATOMMON_LOG=log ./bank --order bad >out 2>&1
	check "$cc: the function is named as in the source" grep -q 'withdraw()' log
	same "$cc: and so are the others" "" "$(grep -F '.atommon' log)"
	rm -f log
done
# Beside other allocators, in both orders.
for allocator in libjemalloc.so.2 libtcmalloc_minimal.so.4 libmimalloc.so.2; do
	path=$(ldconfig -p | sed -nE "s/.*$allocator .*=> //p" | head -1)
	[ -n "$path" ] || continue
	for preloads in "$LIB $path" "$path $LIB"; do
		same "the same result beside $allocator" 3353600 \
			"$(ATOMMON_ATOMIC='fn:region_*' LD_PRELOAD="$preloads" ./quiet handover 2>&1)"
	done
done
command -v clang-14 >/dev/null && suite symbolic --symbolic -O1
finish
