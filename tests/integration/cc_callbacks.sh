#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Each callback of each compiler arrives: a program with one access of every kind is recorded, and
# every one must be in the trace with its kind and bytes.
. "$(dirname "$0")/../lib.sh"
src=$TOP/tests/prog/plain/callbacks.c

# "symbol kind bytes" of every access to a global variable; accesses to one variable in pieces add up.
accesses() { # accesses TRACE PROGRAM
	atommon-dump --text "$1" >dump
	{
		sed -nE 's/^!module 0 base=(0x[0-9a-f]+).*/base \1/p' dump
		nm -S "$2" | awk 'NF == 4 && $3 ~ /[BbDd]/ { print "symbol", $1, $2, $4 }'
		sed -nE 's/^[0-9]+ T[0-9]+ (read|write|update) (0x[0-9a-f]+) (.*)/access \1 \2 \3/p' dump
	} | python3 -c '
import re, sys
base, symbols, seen = 0, [], {}
for line in sys.stdin:
    f = line.split()
    if f[0] == "base":
        base = int(f[1], 16)
    elif f[0] == "symbol":
        symbols.append((int(f[1], 16), int(f[2], 16), f[3]))
    else:
        at = int(f[2], 16) - base
        size = re.search(r"size=(\d+)", line)
        for start, length, name in symbols:
            if start <= at < start + length:
                key = (name, f[1])
                seen.setdefault(key, set()).update(range(at, at + int(size.group(1) if size else 1)))
for (name, kind), places in sorted(seen.items()):
    print(name, kind, len(places))'
}

cat >expected <<'END'
aa1 update 1
aa2 update 2
aa4 update 4
aa8 update 8
ac4 update 4
af4 read 4
al1 read 1
al2 read 2
al4 read 4
al8 read 8
an4 update 4
ao4 update 4
as1 write 1
as2 write 2
as4 write 4
as8 write 8
ax4 update 4
copy_from read 100
copy_to write 100
cpy_from read 64
cpy_to write 64
move_from read 64
move_to write 64
pr read 14
pw write 14
r1 read 1
r16 read 16
r2 read 2
r4 read 4
r8 read 8
set_to write 64
u1 read 1
u1 write 1
u2 read 2
u2 write 2
u4 read 4
u4 write 4
u8 read 8
u8 write 8
vr4 read 4
vw4 write 4
w1 write 1
w16 write 16
w2 write 2
w4 write 4
w8 write 8
ae4 update 4
ana4 update 4
pr16 read 16
pw16 write 16
pu read 14
pu write 14
vr1 read 1
vr2 read 2
vr8 read 8
vw1 write 1
vw2 write 2
vw8 write 8
vu8 read 8
vu8 write 8
aa16 update 16
ac16 update 16
as16 write 16
ax16 update 16
END
sort -o expected expected
result='1 1 1 1 1 1 1 0 1
1 4294967295 1 1 1
1 1 1 1 1'

try() { # try NAME FLAGS...
	local name=$1 missing
	shift
	check "$name: builds" atommon-cc "$@" -g -mcx16 "$src" -o callbacks -latomic
	same "$name: runs by itself" "$result" "$(./callbacks)"
	same "$name: runs watched" "$result" \
		"$(preload ATOMMON_MODE=record ATOMMON_TRACE="$name.atm" ./callbacks 2>&1)"
	missing=$(comm -23 expected <(accesses "$name.atm" callbacks | sort))
	same "$name: every access is in the trace" "" "$missing"
	case $name in # others load 128 bits by libatomic
	gcc* | clang-19*) check "$name: a load of 128 bits" grep -qx "al16 read 16" <(accesses "$name.atm" callbacks) ;;
	esac
}

for cc in gcc clang-14 clang-16 clang-19; do
	command -v $cc >/dev/null || continue
	ATOMMON_CC=$cc try "$cc-O2" -O2
	case $cc in gcc | clang-14) ATOMMON_CC=$cc try "$cc-O0" -O0 ;; esac
done
command -v clang-14 >/dev/null && try symbolic-O1 --symbolic -O1

# String functions: the same results, unwatched, checked and recorded, and their accesses in the trace.
cc -O1 "$TOP/tests/prog/plain/strings.c" -o plain
strings() { # strings NAME FLAGS...
	local name=$1
	shift
	check "$name: strings build" atommon-cc "$@" -g "$TOP/tests/prog/plain/strings.c" -o strings
	same "$name: string functions by themselves" "$(./plain)" "$(./strings)"
	same "$name: checked" "$(./plain)" "$(preload ATOMMON_ATOMIC=fn:main ./strings 2>&1)"
	same "$name: recorded" "$(./plain)" "$(preload ATOMMON_MODE=record ATOMMON_TRACE=s.atm ./strings 2>&1)"
	same "$name: and are seen" "a read a write b read b write " \
		"$(accesses s.atm strings | awk '$1 ~ /^[ab]$/ && $3 >= 13 { printf "%s %s ", $1, $2 }')"
	rm -f s.atm
}
for cc in gcc clang-14 clang-19; do
	command -v $cc >/dev/null || continue
	ATOMMON_CC=$cc strings $cc-O0 -O0
	ATOMMON_CC=$cc strings $cc-fortified -O2 -D_FORTIFY_SOURCE=2
done
# A clang that no pass is here for.
if command -v clang-14 >/dev/null; then
	mkdir bare && cp -r "$B/bin" "$B/lib" bare && rm -f bare/lib/atommon/*-14.so
	for level in -O0 "-O2 -D_FORTIFY_SOURCE=2"; do
		# shellcheck disable=SC2086
		PATH=$T/bare/bin:$PATH ATOMMON_CC=clang-14 strings "clang-14 $level without a pass" $level
	done
	rm -rf bare
fi

# Arguments of every class arrive in the watched version of a function.
arguments() { # arguments NAME FLAGS...
	local name=$1
	shift
	check "$name: builds" atommon-cc "$@" -g -Wno-psabi -mavx "$TOP/tests/prog/plain/arguments.c" -o arguments
	same "$name: by itself" "$arguments_result" "$(./arguments)"
	same "$name: checked" "$arguments_result" "$(preload ATOMMON_ATOMIC='fn:*' ./arguments 2>&1)"
	same "$name: recorded" "$arguments_result" "$(preload ATOMMON_MODE=record ATOMMON_TRACE=a.atm ./arguments 2>&1)"
	rm -f a.atm
}
if grep -q ' avx ' /proc/cpuinfo; then
	cc -O1 -Wno-psabi -mavx "$TOP/tests/prog/plain/arguments.c" -o plain
	arguments_result=$(./plain)
	for cc in gcc clang-14 clang-16 clang-19; do
		command -v $cc >/dev/null || continue
		for level in -O0 -O1 -O3; do ATOMMON_CC=$cc arguments "$cc$level arguments" $level; done
	done
	command -v clang-14 >/dev/null && arguments "symbolic arguments" --symbolic -O1
fi

# C++, and functions that are left by a throw, a longjmp or a tail call, coroutines: every entry has its exit.
cxx_result="8 2 6 1 16 16 4 1 33 3"
control_flow() { # control_flow NAME FLAGS...
	local name=$1 missing
	shift
	check "$name: builds" atommon-c++ "$@" -g "$TOP/tests/prog/plain/callbacks.cc" -o control
	same "$name: runs by itself" "$cxx_result" "$(./control)"
	same "$name: checked" "$cxx_result" "$(preload ATOMMON_ATOMIC='fn:*' ./control 2>&1)"
	same "$name: recorded" "$cxx_result" \
		"$(preload ATOMMON_MODE=record ATOMMON_TRACE=c.atm ATOMMON_ATOMIC='fn:*' ./control 2>&1)"
	accesses c.atm control >seen
	missing=$(for each in after_throw before frames made tail_count; do
		grep -q "^$each read 8" seen && grep -q "^$each write 8" seen || echo "$each"
	done)
	same "$name: the accesses are there" "" "$missing"
	same "$name: every entry is left" "$(grep -c ' enter ' dump)" "$(grep -c ' leave-fn ' dump)"
	same "$name: no region is left open" 0 "$(awk '/ enter / { n++ } / leave-fn / { n-- } END { print n }' dump)"
	for f in throws:4 catches:1 jumps:4 tail_one:3 tail_two:3; do
		same "$name: entries of ${f%:*}" "${f#*:}" "$(grep ' enter ' dump | grep -cE "[^a-z_]${f%:*}([^a-z_]|\$)")"
	done
	rm -f c.atm
}
for cc in g++ clang++-14 clang++-16 clang++-19; do
	command -v $cc >/dev/null || continue
	case $cc in clang++-14) std=-std=c++17 ;; *) std=-std=c++20 ;; esac
	for level in -O0 -O2; do
		ATOMMON_CXX=$cc control_flow "$cc$level" $level $std
	done
done
command -v clang++-14 >/dev/null && control_flow "symbolic C++" --symbolic -O1 -std=c++17
finish
