#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A block that comes back at the same address is another variable, whatever function gives it and takes it: no report.
. "$(dirname "$0")/../lib.sh"
kinds="malloc calloc realloc reallocarray aligned_alloc memalign posix_memalign mmap new new_array new_aligned"

try() { # try NAME OPTION...
	local name=$1 same=0 status
	shift
	check "$name: builds" atommon-c++ "$@" -std=c++17 -g -O1 "$TOP/tests/prog/plain/renewed.cc" -o renewed -lpthread
	for kind in $kinds; do
		for bytes in 4096 65536 1000000; do
			rm -f log
			preload ATOMMON_ATOMIC=fn:region ATOMMON_LOG=log ATOMMON_EXITCODE=66 ./renewed $kind $bytes >out 2>&1
			status=$?
			[ $status -eq 0 ] && same=$((same + 1))
			[ $status -eq 2 ] && status=0
			same "$name, $kind of $bytes bytes" "0 done" "$status $(cat out log 2>/dev/null)"
		done
	done
	preload ATOMMON_ATOMIC=fn:region ATOMMON_LOG=log ATOMMON_EXITCODE=66 ./renewed kept 4096 >out 2>&1
	same "$name, a block that is kept is reported" 66 $?
	echo "# $name: $same of 33 at the same address"
	check "$name: most were at the same address" test $same -ge 20
}
for cxx in g++ clang++-14; do
	command -v $cxx >/dev/null || continue
	ATOMMON_CXX=$cxx try $cxx
done
command -v clang++-14 >/dev/null && try symbolic --symbolic
finish
