#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Region functions by the compilers' callbacks: recursion deeper than is followed, frames left by
# longjmp, names only of modules that have such functions; which ones are inlined, with clang.
. "$(dirname "$0")/../lib.sh"

for cc in gcc clang-14; do
	ATOMMON_CC=$cc check "$cc builds it" atommon-cc -g -O1 "$TOP/tests/prog/cc_recursion.c" -o recursion -pthread
	rm -f r.atm
	preload ATOMMON_MODE=record ATOMMON_TRACE=r.atm ATOMMON_ATOMIC=fn:descend ./recursion >out 2>err
	same "$cc: output" "$(LD_PRELOAD='' ./recursion)" "$(cat out)"
	atommon-dump --text r.atm >text
	# 64 frames of the deep call are followed, 6 of the one that is left by longjmp, 3 of the last
	same "$cc: entries" 73 "$(grep -c ' enter ' text)"
	same "$cc: every entry is left" 73 "$(grep -c ' leave-fn ' text)"
	same "$cc: three regions" 3 "$(atommon-predict r.atm | sed -n 's/.*: \([0-9]*\) regions.*/\1/p')"
	preload ATOMMON_MODE=record ATOMMON_TRACE=all.atm ATOMMON_ATOMIC='fn:*' ./recursion >out
	check "$cc: names of this program only" test "$(atommon-dump --stats all.atm | sed -n 's/.*strings \([0-9]*\).*/\1/p')" -lt 60
	same "$cc: chosen later" "3" "$(atommon-predict --atomic fn:desc* all.atm | sed -n 's/.*: \([0-9]*\) regions.*/\1/p')"
	check "$cc: says that no such function was entered" \
		grep -q 'no function that it entered' <(atommon-predict --atomic fn:nothing all.atm)
	preload ATOMMON_MODE=record ATOMMON_TRACE=none.atm ./recursion >out
	check "$cc: says that there are no entries" grep -q 'no function entries' <(atommon-predict --atomic fn:descend none.atm)
	rm -f recursion
done

# Names that fit no function are said once, at the end, by programs with threads.
said() { # said ATOMIC PROGRAM
	preload ATOMMON_ATOMIC="$1" "$2" 2>&1 >out | sed -n 's/^atommon: //p'
}
check "bank builds" atommon-cc -g -O1 "$TOP/doc/examples/bank.c" -o bank -pthread
check "bank builds without us" cc -g -O1 "$TOP/doc/examples/bank.c" -o plain -pthread
check "one thread builds" atommon-cc -g -O1 -xc - -o single <<<'int main(void) { return 0; }'
same "nothing about names that fit" "" "$(said 'fn:with*,fn:main,sections' ./bank)"
same "names that do not" "ATOMMON_ATOMIC: no function is called 'withdrw', 'b*k'" \
	"$(said 'fn:withdrw,fn:main,fn:b*k' ./bank | cut -d';' -f1)"
same "a wrong separator" "ATOMMON_ATOMIC='fn:withdraw;fn:main': expected marked|sections|fn:GLOB, comma list" \
	"$(said 'fn:withdraw;fn:main' ./bank | cut -d';' -f1,2)"
same "no function is seen at all" "ATOMMON_ATOMIC names functions, but none are seen" "$(said fn:withdraw ./plain | cut -d: -f1)"
same "a program with one thread says nothing" "" "$(said fn:withdraw ./single)"
same "nor does a shell" "ATOMMON_ATOMIC: no function is called 'x'" "$(said fn:x 'sh' <<<./bank | cut -d';' -f1)"
cat >later.c <<'EOF'
static int shared;
void later(void)
{
	shared++;
}
EOF
cat >opens.c <<'EOF'
#include <dlfcn.h>
#include <pthread.h>
static void *run(void *function)
{
	((void (*)(void))function)();
	return NULL;
}
int main(void)
{
	pthread_t t;
	void *lib = dlopen("./later.so", RTLD_NOW);
	if (!lib || pthread_create(&t, NULL, run, dlsym(lib, "later")))
		return 1;
	return pthread_join(t, NULL);
}
EOF
check "a library builds" atommon-cc -g -O1 -fPIC -shared later.c -o later.so
check "what opens it builds" atommon-cc -g -O1 opens.c -o opens -pthread -ldl
same "a function of a library that came later" "" "$(said fn:later ./opens)"

ATOMMON_CXX=clang++-14 check "a program of inline functions builds" \
	atommon-c++ -g -O2 "$TOP/tests/prog/cc_inline.cc" -o inlined -pthread
preload ATOMMON_MODE=record ATOMMON_TRACE=inline.atm ATOMMON_ATOMIC='fn:*' ./inlined >out
same "it runs as ever" "12 24" "$(cat out)"
atommon-dump --text inline.atm | sed -n 's/.* enter .*\(Account::[a-z]*\|twice\|main\|work\).*/\1/p' | sort -u >seen
same "seen are those that take a lock, are marked, or are not inline" "Account::set Account::take main work" "$(xargs <seen)"
finish
