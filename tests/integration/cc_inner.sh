#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Functions in functions that are regions: they leave no record if nothing is logged in them, a report names those that are open, and the
# outermost ends where it ends.
. "$(dirname "$0")/../lib.sh"

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -g "$TOP/tests/prog/plain/inner.c" -o inner -lpthread
	for mode in calm first second jumped spawned behind sunk aside after; do
		rm -f log
		globs=fn:outer,fn:first,fn:second,fn:twig,fn:leaf,fn:jump,fn:half,fn:sunk,fn:sink,fn:child,fn:handle
		preload ATOMMON_ATOMIC=$globs ATOMMON_VERBOSE=1 ATOMMON_LOG=log ./inner $mode >out 2>&1
		echo "# $cc, $mode: $(grep -h ' events, ' log out)"
		same "$cc, $mode: output" "$(./inner $mode)" "$(head -1 out)"
		[ $mode = sunk ] || check "$cc, $mode: few records" grep -qhE ' [0-9]{1,2} events, [0-9] regions' log out
		case $mode in
		calm | behind | sunk | aside | after) same "$cc, $mode: silent" 0 "$(grep -c 'atomicity violation' log)" ;;
		*) check "$cc, $mode: reported" grep -q 'Region "outer" was not atomic' log ;;
		esac
		case $mode in
		first | jumped | spawned) names=first ;;
		second) names="first second" ;;
		*) names= ;;
		esac
		same "$cc, $mode: inner ones" "$names" "$(sed -n 's/.*inside it, nested: "\(.*\)"/\1/p' log | sort -u | xargs)"
	done
done
finish
