#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Locks, semaphores and events made of futexes (tests/prog/futex): used rightly they are silent, live, offline and in predictions; with a
# mistake in what they guard (names that end in _torn, _beside) they are reported. gcc and clang. RUNS (2) each.
. "$(dirname "$0")/../lib.sh"
source=$TOP/tests/prog/futex

build() { # build COMPILER FILE: makes ./prog
	case $2 in
	*.cc)
		local cxx=${1/gcc/g++}
		ATOMMON_CXX=${cxx/clang/clang++} atommon-c++ -std=gnu++20 -g -O2 "$source/$2" -o prog -lpthread
		;;
	*) ATOMMON_CC=$1 atommon-cc -g -O2 "$source/$2" -o prog -lpthread ;;
	esac
}

# The semaphores of libstdc++ 12 can miss a wake (its bug 104928) and sleep for ever: then once more.
awake() { # awake VAR=VALUE... ./prog...: its status
	local try status
	for try in 1 2 3; do
		timeout 20 env LD_PRELOAD="$LIB" ATOMMON_ATOMIC='fn:*op_*' "$@" >out 2>&1
		status=$?
		[ $status -ne 124 ] && break
		echo "# try $try of ${*:2} sleeps for ever" >&2
	done
	return $status
}

live() { # live CASE: its status and whether it was reported
	rm -f log
	awake ATOMMON_LOG=log ./prog "$1" 3 60
	echo "$? $([ -s log ] && echo reported || echo silent)"
}

record() { # record CASE THREADS ROUNDS: makes t.atm
	rm -f t.atm
	awake ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./prog "$1" "$2" "$3"
}

right() { # right LABEL CASE
	local said
	for ((run = 0; run < ${RUNS:-2}; run++)); do
		said=$(live "$2")
		[ "$said" = "0 silent" ] || break
	done
	if [ "$said" = "0 silent" ]; then ok "$1, live"; else fail "$1, live" "$said" "$(head -20 log 2>/dev/null)"; fi
	record "$2" 3 60
	if atommon-check t.atm >out 2>&1; then ok "$1, offline"; else fail "$1, offline" "$(head -20 out)"; fi
	record "$2" 3 8
	atommon-predict t.atm >out 2>&1
	if [ $? -ne 1 ]; then ok "$1, predictions"; else fail "$1, predictions" "$(head -20 out)"; fi
}

wrong() { # wrong LABEL CASE: found, in one run of several at least; so much depends on the order
	local said found=
	for ((run = 0; run < 80; run++)); do
		said=$(live "$2")
		[ "$said" = "0 reported" ] && break
	done
	same "$1, live" "0 reported" "$said"
	for ((run = 0; run < 80; run++)); do
		record "$2" 3 60
		atommon-check t.atm >out 2>&1
		[ $? -eq 1 ] && found=yes && break
	done
	same "$1, offline" yes "$found"
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	for file in locks.c library.cc; do
		check "$cc: $file builds" build $cc $file
		for name in $(./prog); do
			case $name in
			*_torn | *_beside) wrong "$cc, $name" "$name" ;;
			*) right "$cc, $name" "$name" ;;
			esac
		done
	done
done
finish
