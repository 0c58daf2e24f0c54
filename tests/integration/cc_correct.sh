#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Correct programs stay silent (tests/prog/correct): locks made by hand, lock-free code, data that goes from thread to
# thread, what C++ offers. Functions (live and offline) and critical sections (live) as regions, gcc and clang. RUNS (1) each.
. "$(dirname "$0")/../lib.sh"
correct=$TOP/tests/prog/correct

build() { # build COMPILER FILE: makes ./prog
	case $2 in
	*.cc)
		local cxx=${1/gcc/g++}
		ATOMMON_CXX=${cxx/clang/clang++} atommon-c++ -std=gnu++20 -g -O2 "$correct/$2" -o prog -lpthread
		;;
	*) ATOMMON_CC=$1 atommon-cc -g -O2 "$correct/$2" -o prog -lpthread ;;
	esac
}

silent() { # silent LABEL CASE ATOMIC: the program is right, and nothing is told
	local status
	for ((run = 0; run < ${RUNS:-1}; run++)); do
		rm -f log
		preload ATOMMON_ATOMIC="$3" ATOMMON_LOG=log ./prog "$2" 3 40 >out 2>&1
		status=$?
		if [ $status -ne 0 ] || [ -s log ]; then
			fail "$1, live" "status $status" "$(head -20 log 2>/dev/null)"
			return
		fi
	done
	ok "$1, live"
	[ "$3" != sections ] || return 0
	rm -f t.atm
	preload ATOMMON_ATOMIC="$3" ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./prog "$2" 3 40 >out 2>&1
	if atommon-check --atomic "$3" t.atm >out 2>&1; then ok "$1, offline"; else fail "$1, offline" "$(head -20 out)"; fi
}

unpredicted() { # unpredicted LABEL CASE: no other schedule of a short run is said to break
	rm -f t.atm
	preload ATOMMON_ATOMIC='fn:*op_*' ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./prog "$2" 2 6 >out 2>&1
	atommon-predict t.atm >out 2>&1
	if [ $? -ne 1 ]; then ok "$1, predictions"; else fail "$1, predictions" "$(head -20 out)"; fi
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	for file in locks.c lockfree.c handover.c counters.c modern.cc; do
		check "$cc: $file builds" build $cc $file
		for name in $(./prog); do
			for atomic in 'fn:*op_*' sections; do
				silent "$cc, $name, $atomic" "$name" "$atomic"
			done
			[ $cc-$file != "gcc-${file%.c}.c" ] || unpredicted "$cc, $name" "$name"
		done
	done
done
finish
