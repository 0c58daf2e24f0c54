#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Atomic additions whose results nobody uses commute, and those that take one off a count where it is only asked whether it was the last. The machine
# code tells which these are: functions made at random, compiled at every level, say in the trace what they do. And a region that looks at
# such a counter is still found.
# SEED (1), FUNCTIONS (60).
. "$(dirname "$0")/../lib.sh"
RANDOM=${SEED:-1}
n=${FUNCTIONS:-60}

pick() { # pick WORD...: one of them, in $REPLY
	local words=("$@")
	REPLY=${words[RANDOM % $#]}
}

noise() { # noise: a statement that keeps registers busy, in $REPLY
	pick 'sink = x;' 'if (x & 4) sink = y;' 'y += helper(x, y);' 'for (int i = 0; i < (x & 7); i++) y ^= table[i];' \
		'switch (x & 3) { case 0: y += 3; break; case 1: y = x * 5; break; case 2: sink = 7; break; default: y -= x; }' \
		'y = x > y ? x : y;' 'table[y & 7] = x;' 'd += y * 1.5;' 'if (!x) return y;' ';'
}

# One off a count. Only whether it was the last is asked; or more, in part in that way.
drop() { # drop NUMBER BEFORE BEHIND: a function
	local i=$1 before=$2 behind=$3 op last use
	pick 'atomic_fetch_sub(&v4, 1) 1' '(int)atomic_fetch_sub(&v8, 1) 1' '(int)atomic_fetch_add(&v8, -1) 1' '__sync_sub_and_fetch((int *)&v4, 1) 0' '--v4 0'
	op=${REPLY% *} last=${REPLY##* }
	pick "if (r == $last) sink = 1;" "if (r <= $last) return 5;" "sink = r == $last;" "y += r != $last;" "if (r == $last) y += helper(x, y);" \
		"if (r != $last) return y; table[x & 7] = 2;"
	use=$REPLY
	if ((RANDOM % 2)); then
		echo "NOINLINE static int last_$i(int x, int y) { $before int r = $op; $use $behind return y; }"
		return
	fi
	pick "$use" ';'
	use=$REPLY
	pick 'y += r;' 'if (r == 2) sink = 1;' "if (r > $((last + 2))) sink = 2;" 'if (r & 1) return y;' 'sink = r;' 'y += helper(r, x);' 'if (r < x) sink = 1;' \
		'if (!(r % 3)) sink = 4;' 'if ((unsigned char)r == 1) sink = 2;' 'sink = r - 1;' 'if (r == x) y += 2;'
	echo "NOINLINE static int used_$i(int x, int y) { $before int r = $op; $REPLY $use $behind return y; }"
}

generate() { # generate: gen.c
	cat <<-'C'
		#include <pthread.h>
		#include <stdatomic.h>
		#define NOINLINE __attribute__((noinline))
		static volatile int sink;
		static int table[8];
		static double d;
		static atomic_int v4 = 1000000;
		static atomic_long v8 = 1000000;
		static unsigned char v1;
		NOINLINE static int helper(int x, int y) { sink = x; return table[x & 7] + y; }
	C
	local i op use before behind
	for ((i = 0; i < n; i++)); do
		pick '(int)atomic_fetch_add(&v8, x + 1)' 'atomic_fetch_sub(&v4, 3)' 'atomic_fetch_or(&v4, x + 64)' \
			'atomic_fetch_and_explicit(&v4, ~x, memory_order_relaxed)' '(int)__atomic_add_fetch(&v1, 1, __ATOMIC_RELAXED)' \
			'(int)__sync_fetch_and_add(&v1, 5)' '(int)++v8' 'v4++'
		op=$REPLY
		noise
		before=$REPLY
		noise
		behind=$REPLY
		noise
		behind+=" $REPLY"
		if ((RANDOM % 3 == 0)); then
			drop $i "$before" "$behind"
			continue
		fi
		if ((RANDOM % 2)); then
			echo "NOINLINE static int unused_$i(int x, int y) { $before (void)$op; $behind return y; }"
			continue
		fi
		pick 'return r;' 'sink = r;' 'if (r == 3) sink = 1;' 'table[r & 7] = 1;' 'y += helper(r, x);' 'y += r;' 'd += r;'
		use=$REPLY
		# If the noise returns first, the result is used on the other side only: used all the same.
		echo "NOINLINE static int used_$i(int x, int y) { $before int r = $op; $behind $use return y; }"
	done >functions
	cat functions
	echo 'static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER;'
	echo 'static void *work(void *p) { int x = 1 + (int)(long)p;'
	sed -n 's/^NOINLINE static int \([a-z0-9_]*\).*/pthread_mutex_lock(\&m); sink = \1(x, x + 2); pthread_mutex_unlock(\&m);/p' functions
	echo 'return p; }'
	echo 'int main(void) { pthread_t t; pthread_create(&t, 0, work, (void *)2); pthread_join(t, 0); work(0); return 0; }'
}

generate >gen.c
for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	for level in -O1 -O2 -O3 -Os; do
		check "$cc $level: builds" env ATOMMON_CC=$cc atommon-cc -g $level gen.c -o gen -lpthread
		rm -f t.atm
		preload ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./gen
		atommon-dump --text t.atm | grep ' update ' >updates
		same "$cc $level: a result that is used" '' "$(grep -E ' (adds|ors|ands) .* used_' updates | head -3)"
		for what in unused last; do
			all=$(grep -v ' failed' updates | grep -c " ${what}_")
			told=$(grep -v ' failed' updates | grep -cE " (adds|ors|ands) .* ${what}_")
			check "$cc $level: most of those that are $what, $told of $all" [ $((2 * told)) -gt "$all" ]
		done
	done
done

# One thread's region adds and then looks, or uses what its additions give back; another adds in between.
cc -O1 -c "$TOP/tests/prog/field/order.c" -o order.o
for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	check "$cc: counted builds" env ATOMMON_CC=$cc atommon-cc -g -O2 "$TOP/tests/prog/field/counted.c" order.o -o counted -lpthread
	for region in look twice silent; do
		rm -f log t.atm
		preload ATOMMON_ATOMIC=fn:$region ATOMMON_LOG=log ./counted $region bad
		same "$cc: $region, live" "$([ $region = silent ] || echo found)" "$([ ! -s log ] || echo found)"
		preload ATOMMON_ATOMIC=fn:$region ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./counted $region bad
		atommon-check --atomic fn:$region t.atm >out 2>&1
		status=$?
		same "$cc: $region, offline" "$([ $region = silent ] && echo 0 || echo 1)" $status
	done
done
finish
