#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# atommon.h: regions end however they are left; nothing to link against; no cost without the library.
. "$(dirname "$0")/../lib.sh"

# regions TRACE: begins and ends in order, one line
regions() { atommon-dump --text "$1" | awk '$3 == "begin" || $3 == "end"' | sed 's/^[0-9]* T[0-9]* //; s/\$.*//; s/"//g' | tr '\n' ',' ; }

for p in rt_marks rt_marks_cxx; do
	"$PROG/$p" >plain.out 2>plain.err
	same "$p runs without the library" 0 "$?"
	same "$p needs no symbol of it" "" "$(nm -D "$PROG/$p" | grep ' [Uu] atommon_' || true)"
	preload ATOMMON_MODE=record ATOMMON_TRACE="$p.atm" "$PROG/$p" >watched.out 2>watched.err
	check "$p: output is the same" cmp plain.out watched.out
	same "$p: silent" "" "$(cat watched.err)"
	preload "$PROG/$p" >watched.out 2>watched.err
	check "$p: output is the same in check mode" cmp plain.out watched.out
done

same "regions in C" "begin by return,end by return,begin by return,end by return,begin by goto,\
end by goto,begin by break,end by break,begin outer,begin inner,end inner,end outer,begin outer,\
begin inner,end inner,end outer,begin outer,begin inner,end inner,end outer,begin sizes,end sizes," \
	"$(regions rt_marks.atm)"
same "regions in C++" "begin withdraw,end withdraw,begin withdraw,end withdraw,begin loop,end loop,\
begin loop,end loop,begin object,end object," "$(regions rt_marks_cxx.atm)"
atommon-dump --text rt_marks.atm >text
check "a value of one byte" grep -qE 'write 0x[0-9a-f]+ size=1 value=97' text
check "a value of two bytes" grep -qE 'write 0x[0-9a-f]+ size=2 value=65534' text
check "a value of eight bytes" grep -qE 'write 0x[0-9a-f]+ size=8 value=4 ' text
check "a name" grep -qE ' name 0x[0-9a-f]+ .*item' text

# Warnings are errors with both compilers, both languages, also with everything compiled away.
for cc in gcc clang-14; do
	for opt in "" -DATOMMON_DISABLE; do
		# shellcheck disable=SC2086
		check "C, $cc $opt" $cc -std=gnu11 -O2 -Wall -Wextra -Wshadow -Werror $opt -I"$TOP/include" \
			"$TOP/tests/prog/rt_marks.c" -o c.out
		same "C, $cc $opt: output" "$("$PROG/rt_marks")" "$(./c.out)"
	done
done
for cxx in g++ clang++-14; do
	for opt in "" -DATOMMON_DISABLE; do
		# shellcheck disable=SC2086
		check "C++, $cxx $opt" $cxx -std=c++11 -O2 -Wall -Wextra -Wshadow -Werror $opt \
			-I"$TOP/include" "$TOP/tests/prog/rt_marks_cxx.cc" -o cxx.out
		same "C++, $cxx $opt: output" "$("$PROG/rt_marks_cxx")" "$(./cxx.out)"
	done
done
finish
