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

# A first look that another thread tells in its place can slip through, in about one run of a hundred
# (doc/limits.md): what is reported must be so three times.
TRIES=3

live() { # live CASE ATOMIC: nothing is told; 1: it is
	rm -f log
	preload ATOMMON_ATOMIC="$2" ATOMMON_LOG=log ./prog "$1" 3 40 >out 2>&1 || return 2
	[ ! -s log ]
}

offline() { # offline CASE ATOMIC
	rm -f t.atm
	preload ATOMMON_ATOMIC="$2" ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./prog "$1" 3 40 >out 2>&1 || return 2
	atommon-check --atomic "$2" t.atm >log 2>&1
}

unpredicted() { # unpredicted CASE: no other schedule of a short run is said to break
	rm -f t.atm
	preload ATOMMON_ATOMIC='fn:*op_*' ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./prog "$1" 2 6 >out 2>&1
	atommon-predict t.atm >log 2>&1
	[ $? -ne 1 ]
}

quiet() { # quiet LABEL COMMAND...: one of TRIES runs succeeds, and no program fails
	local label=$1 status
	shift
	for ((try = 0; try < TRIES; try++)); do
		"$@"
		status=$?
		[ $status -eq 1 ] || break
	done
	if [ $status -eq 0 ]; then ok "$label"; else fail "$label" "status $status" "$(head -20 log 2>/dev/null)"; fi
}

silent() { # silent LABEL CASE ATOMIC: the program is right, and nothing is told
	for ((run = 0; run < ${RUNS:-1}; run++)); do quiet "$1, live" live "$2" "$3"; done
	[ "$3" = sections ] || quiet "$1, offline" offline "$2" "$3"
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	for file in locks.c lockfree.c handover.c modern.cc; do
		check "$cc: $file builds" build $cc $file
		for name in $(./prog); do
			for atomic in 'fn:*op_*' sections; do
				silent "$cc, $name, $atomic" "$name" "$atomic"
			done
			[ $cc-$file != "gcc-${file%.c}.c" ] || quiet "$cc, $name, predictions" unpredicted "$name"
		done
	done
done
finish
