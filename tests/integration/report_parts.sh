#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Members and elements of globals have names in reports, live and offline, with DWARF of gcc and clang.
. "$(dirname "$0")/../lib.sh"

for cc in gcc 'gcc -gdwarf-4' clang-14 'clang-14 -gdwarf-4'; do
	check "$cc builds it" $cc -g -O1 -I"$TOP/include" "$TOP/tests/prog/report_parts.c" -o parts -pthread
	rm -f p.atm
	preload ATOMMON_MODE=both ATOMMON_TRACE=p.atm ./parts 2>live
	atommon-check p.atm >offline
	for kind in live offline; do
		check "$cc: $kind: a member of an element" grep -q 'read bank\.account\[2\]\.balance' $kind
		check "$cc: $kind: an element of a member" grep -q 'write bank\.account\[2\]\.history\[1\]\[2\]' $kind
		check "$cc: $kind: the lock" grep -q 'acquire bank\.account\[2\]\.lock$\|acquire bank\.account\[2\]\.lock ' $kind
		check "$cc: $kind: and how to mend it" grep -q 'Hold bank\.account\[2\]\.lock from step' $kind
	done
	atommon-check --json p.atm >json
	check "$cc: the part is in the JSON" grep -q '"part":"\.account\[2\]\.balance"' json
	echo 'var:bank.account*.balance' >suppressions
	same "$cc: a suppression by part" '"region":"append"' \
		"$(atommon-check --json --suppressions suppressions p.atm | grep -o '"region":"[a-z]*"' | head -1)"
done
finish
