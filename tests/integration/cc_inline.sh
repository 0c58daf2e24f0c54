#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Watched code that has the fast path of an access in itself (clang) tells the same as code that calls for each: the
# same events and regions, and the right lines. Random steps of three threads in a given order, built both ways; SEEDS (12) orders
# of STEPS (400). So does a program whose layout of the thread's view is not the library's.
. "$(dirname "$0")/../lib.sh"
plain=$TOP/tests/prog/plain
export ATOMMON_CC=clang-14
command -v clang-14 >/dev/null || { ok "no clang-14 here"; finish; }

# What the program prints, events, regions. Which of the violations are told depends on the order of what nothing orders. The
# accesses in reports go to ../lines, with their function and line.
told() { # told ATOMIC SEED
	rm -f log
	preload ATOMMON_ATOMIC="$1" ATOMMON_LOG=log ATOMMON_VERBOSE=1 ./drawn "$2" "${STEPS:-400}" 2>&1
	sed -nE 's/.*[ :]([0-9]+ events, [0-9]+ regions).*/\1/p' log
	sed -nE 's/^.*▸ *(read|write) .* ([a-z0-9]+\(\) drawn.c:[0-9]+).*/\1 \2/p' log >>../lines
}

# Of each access in the source the same.
awk '/^ACT\(/ { split($0, part, /[()]/); f = part[2] }
	/^static.* choose\(/ { f = "choose" }
	/return \*p;/ { print "read get() drawn.c:" NR }
	/^\t\*p =/ { print "write set() drawn.c:" NR }
	/^\t.*AS\(/ && !/define/ {
		if (!/\) = /) print "read " f "() drawn.c:" NR
		if (/\) \+?= /) print "write " f "() drawn.c:" NR
	}' "$plain/drawn.c" | sort -u >source
same "the source's accesses" 32 "$(wc -l <source)"

check "what orders the steps builds" cc -O2 -c "$plain/drawn_order.c" -o order.o
build() { # build NAME OPTION...: leaves ./NAME/drawn
	local name=$1
	shift
	mkdir -p "$name"
	check "$name: builds" atommon-cc -g "$@" "$plain/drawn.c" order.o -o "$name/drawn" -lpthread
}
ATOMMON_CC_CALLS=1 build calls -O2
build inline -O2
build one -O1
build pie -O2 -fno-pie -no-pie
build lto -O2 -flto -fuse-ld=lld
build thin -O2 -flto=thin -fuse-ld=lld
build small -Os
build none -O0

# How a program is built: its watched code calls for plain accesses, or asks where it must.
calls() { objdump -d "$1/drawn" | grep -cE 'call.*__tsan_(read|write|read_write)[1248]@'; }
same "no calls for plain accesses" 0 "$(calls inline)"
# Where each lazy access is made it takes its address: in loops.
check "in loops there is the fast path" test "$(objdump -d inline/drawn | grep -cE 'lea +0x0\(%rip\)')" -ge 12
check "elsewhere a call" test "$(objdump -dr --no-show-raw-insn inline/drawn | grep -cE 'call +\*')" -ge 12
same "which is bound at the start" "0 yes" "$(readelf -rW inline/drawn | grep -c 'JUMP_SLO.* __atommon_') $(readelf -rW inline/drawn |
	grep -q 'GLOB_DAT.* __atommon_read' && echo yes)"
check "without optimisation, there are" test "$(calls none)" -gt 0
same "where code is to be small, calls that keep registers" "0 0" "$(calls small) $(objdump -d small/drawn | grep -cE 'lea +0x0\(%rip\)')"

# Of an atomic or volatile access the compiler says itself what the library would ask the code behind it (cc_commute, cc_retry).
for access in '__atomic_fetch_add(&n, 1, 0)' '*(volatile int *)&n'; do
	echo "int n, m[9]; int f(int i) { m[i] = 3; $access; return m[i + 1]++; }" >looked.c
	atommon-cc -O2 -c looked.c -o looked.o
	same "beside $access: no calls of the library, an answer" "0 1" "$(objdump -dr looked.o | grep -cE '__tsan_(write|read_write)4') \
$(objdump -d looked.o | grep -cE 'nopl .*\(%rbx,%rcx,1\)')"
done
# A way into a loop past its start: what is a loop is not the compiler's to say.
echo 'int n; int f(int i) { if (i & 1) goto in; do { n += 3; in: i -= __atomic_load_n(&n, 2); } while (i > 0); return i; }' >looked.c
atommon-cc -O2 -c looked.c -o looked.o
same "a loop with two entries: calls, no answer" "2 0" "$(objdump -dr looked.o | grep -cE '__tsan_(read|write|read_write)4') \
$(objdump -d looked.o | grep -cE 'nopl .*\(%rbx,%rcx,1\)')"

# A layout that the preload library does not have any more: the stub library's makes it ask.
mkdir old
atommon-cc -g -O2 -c "$plain/drawn.c" -o old/drawn.o
objcopy --redefine-sym __atommon_view3=__atommon_view2 old/drawn.o
check "a program of an old layout builds" atommon-cc old/drawn.o order.o -o old/drawn -lpthread

lines() { # lines BUILT: those of its reports are where such an access is
	same "$1: lines are right" "" "$(sort -u lines | comm -23 - source | head -5)"
	check "$1: of most accesses, and inlined functions" \
		test "$(sort -u lines | wc -l)" -ge 20 -a "$(grep -cE 'read get|write set' lines)" -ge 4
	rm lines
}
differ=0
for built in inline old; do
	for atomic in fn:region sections fn:region,sections; do
		for ((seed = 1; seed <= ${SEEDS:-12}; seed++)); do
			(cd calls && told $atomic $seed) >want
			mv lines lines.calls
			(cd $built && told $atomic $seed) >got
			cat lines >>lines.$built && rm lines
			# Who asks more often may log a mark more.
			[ $built = old ] && sed -i -E 's/[0-9]+ events/some events/' want got
			cmp -s want got && continue
			differ=$((differ + 1))
			fail "$built, $atomic, seed $seed: as by calls" "$(diff want got)"
		done
	done
	same "$built: all as by calls" 0 $differ
	mv lines.$built lines
	lines $built
done
for built in one pie lto thin small; do
	for atomic in fn:region sections; do
		same "$built, $atomic: as by calls" "$(cd calls && told $atomic 3)" "$(cd $built && told $atomic 3)"
	done
done
check "recorded: the same accesses" test "$(
	for built in calls inline; do
		(cd $built && preload ATOMMON_MODE=record ATOMMON_TRACE=t.atm ATOMMON_ATOMIC=fn:region ./drawn 7 200 >/dev/null 2>&1
			atommon-dump --text t.atm | grep -cE '^[0-9]+ T[0-9]+ (read|write|update) .* drawn\.c:')
	done | uniq | wc -l
)" -eq 1

# Not preloaded, and loaded while the program runs.
same "not watched" "$(./calls/drawn 1 100)" "$(./inline/drawn 1 100)"
cat >late.c <<'END'
#include <dlfcn.h>
int main(void)
{
	void *lib = dlopen("./libnew.so", RTLD_NOW);
	int (*f)(void) = lib ? (int (*)(void))dlsym(lib, "f") : 0;
	return f ? f() : 3;
}
END
echo 'int n[4]; __attribute__((noinline)) int g(int *p) { return p[1]++; } int f(void) { return g(n) + g(n); }' >new.c
check "a library builds" atommon-cc -O2 -shared -fPIC new.c -o libnew.so
check "a plain program builds" cc late.c -o late -ldl
./late
same "a library that is loaded late" 1 $?
preload ATOMMON_ATOMIC=fn:f ATOMMON_LOG=late.log ./late
same "and is watched" 1 $?

# A function asks whether it is a region until it is known that it is not: each has a byte for that.
cat >entered.c <<'END'
#include <stdio.h>
extern unsigned char __start_atommon_is_none[], __stop_atommon_is_none[];
int n;
__attribute__((noinline)) void region(int i) { n += i; }
__attribute__((noinline)) void other(int i) { n -= i; }
__attribute__((noinline)) void never(int i) { n *= i; }
int main(int argc, char **argv)
{
	int known = 0;
	(void)argv;
	for (int i = 0; i < 3; i++)
		argc > 5 ? never(i) : argc > 4 ? other(i) : (region(i), other(i));
	for (unsigned char *p = __start_atommon_is_none; p < __stop_atommon_is_none; p++)
		known += *p;
	printf("%d of %d\n", known, (int)(__stop_atommon_is_none - __start_atommon_is_none));
	return 0;
}
END
check "a program that shows it builds" atommon-cc -O2 entered.c -o entered
same "not watched: nothing is known" "0 of 4" "$(./entered)"
same "main and other are no regions" "2 of 4" "$(preload ATOMMON_ATOMIC=fn:region ATOMMON_LOG=none ./entered)"
same "nor is any, if none is named" "3 of 4" "$(preload ATOMMON_ATOMIC=sections ATOMMON_LOG=none ./entered)"
same "and region was entered 3 times" 3 "$(preload ATOMMON_ATOMIC=fn:region ATOMMON_MODE=record ATOMMON_TRACE=e.atm ./entered >/dev/null
	atommon-dump --text e.atm | grep -c ' enter ')"

# An address that no program has: the fault is the program's own.
cat >fault.c <<'END'
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
static void caught(int s, siginfo_t *i, void *c)
{
	(void)s, (void)c;
	printf("%lx\n", (unsigned long)i->si_addr);
	exit(0);
}
__attribute__((noinline)) long look(const long *p) { return *p; }
int main(int argc, char **argv)
{
	struct sigaction a = {.sa_sigaction = caught, .sa_flags = SA_SIGINFO};
	sigaction(SIGSEGV, &a, 0);
	return argc < 2 ? 0 : (int)look((const long *)strtoul(argv[1], 0, 16));
}
END
check "a program that faults builds" atommon-cc -O2 fault.c -o fault
for address in 10 7ffffffff008 ffff800000001000 fffffffffffffff8; do
	same "a fault at $address" $address "$(preload ATOMMON_ATOMIC=fn:look ./fault $address)"
done
finish
