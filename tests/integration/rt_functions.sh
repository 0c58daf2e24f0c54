#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# ATOMMON_ATOMIC=fn:GLOB with -finstrument-functions: only the named functions are regions.
. "$(dirname "$0")/../lib.sh"

# entered GLOBS: names of the functions entered and left, in order
entered() {
	rm -f f.atm
	preload ATOMMON_MODE=record ATOMMON_TRACE=f.atm ATOMMON_ATOMIC="$1" ./functions >out 2>err
	same "$1: output" "$(LD_PRELOAD='' ./functions)" "$(cat out)"
	same "$1: silent" "" "$(cat err)"
	atommon-dump --text f.atm >text
	same "$1: every enter has its leave" "$(grep -c ' enter ' text)" "$(grep -c ' leave-fn ' text)"
	entered=$(grep -c ' enter ' text)
}

for cxx in g++ clang++-14; do
	check "$cxx builds it" $cxx -g -O1 -finstrument-functions \
		"$TOP/tests/prog/rt_functions.cc" -o functions -pthread
	entered marked
	same "$cxx: no function without a glob" 0 "$entered"
	entered 'fn:plain_function'
	same "$cxx: a C function" 1 "$entered"
	entered 'fn:bank::account::withdraw'
	same "$cxx: a member function by its plain name" 1 "$entered"
	entered 'fn:bank::*,fn:plain_*'
	same "$cxx: globs" 2 "$entered"
	entered 'fn:nothing_like_this'
	same "$cxx: a glob that matches nothing" 0 "$entered"
	# A template that is handed a lambda has the lambda's function in its symbol, and the lambda itself, too.
	cat >handed.cc <<-'END'
		int n;
		template <class F> __attribute__((noinline)) void call(F f) { f(); }
		namespace bank { __attribute__((noinline)) void deposit(int by) { call([by]() __attribute__((noinline)) { n += by; }); } }
		int main() { bank::deposit(1); return n - 1; }
	END
	check "$cxx builds a template that is handed a lambda" $cxx -g -O1 -finstrument-functions handed.cc -o functions -pthread
	entered 'fn:*deposit*'
	same "$cxx: only the function itself, not those that are handed something of it" 1 "$entered"
	entered 'fn:*'
	same "$cxx: all functions" 4 "$entered"
	rm -f functions
done
finish
