#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Whatever the data is made of, C or libstdc++, its accesses are seen (tests/prog/plain/kinds.cc). The functions that link
# nodes in libstdc++'s stead make the same trees and rings as its own (containers.cc).
. "$(dirname "$0")/../lib.sh"
plain=$TOP/tests/prog/plain

build() { # build COMPILER SOURCE OPTIONS...: makes ./SOURCE
	local cxx=${1/gcc/g++} name=$2
	shift 2
	ATOMMON_CXX=${cxx/clang/clang++} atommon-c++ -std=c++17 -g -I"$TOP/include" "$@" "$plain/$name.cc" -o "$name" -lpthread
}

reports() { # reports NUMBER wrong|right: how many violations are told
	rm -f log
	preload ATOMMON_ATOMIC=fn:region ATOMMON_LOG=log ./kinds "$1" "$2" >out 2>&1 || echo failed
	[ -f log ] && grep -c 'atomicity violation' log
}

seen() { # seen LABEL: every kind is found when it is wrong, and silent when it is right
	local missed="" told="" i=0
	while read -r name; do
		[[ $(reports $i wrong) =~ ^[1-9] ]] || missed+="$name; "
		[ -z "$(reports $i right)" ] || told+="$name; "
		i=$((i + 1))
	done < <(./kinds)
	check "$1: there are kinds" test $i -gt 45
	same "$1: every kind is seen" "" "$missed"
	same "$1: nothing is told of the right ones" "" "$told"
}

# Each compiler with another level, and the fortified forms with the one that makes moves of them.
for form in gcc:-O2:-D_FORTIFY_SOURCE=2 clang-14:-O0; do
	IFS=: read -r cc level more <<<"$form"
	command -v $cc >/dev/null || continue
	# shellcheck disable=SC2086
	check "$cc $level: builds" build $cc kinds $level $more
	seen "$cc $level"
done

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	check "$cc: containers build" build $cc containers -O1 -ldl
	same "$cc: the functions are ours" 11 "$(nm containers | grep -c ' __wrap__Z')"
	seed=$RANDOM
	same "$cc: the same shapes" "the same, seed $seed" "$(./containers $seed 400)"
	same "$cc: watched too" "the same, seed $seed" "$(preload ATOMMON_ATOMIC=fn:main ./containers $seed 20 2>&1)"
done
finish
