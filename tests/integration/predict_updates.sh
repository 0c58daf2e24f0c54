#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A recorded run has every update that did something, however many failed before it: a lock that was taken in the moment
# in which another thread freed it was missing in the trace, and a prediction rested on that.
. "$(dirname "$0")/../lib.sh"
rounds=3000

taken() { # taken NAME VARIABLE: updates of it that did not fail
	preload ATOMMON_ATOMIC='fn:op_*' ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./prog "$1" 3 $rounds >out 2>&1 || return
	atommon-dump t.atm | grep -c " update .*\[$2[].]" >count.all
	atommon-dump t.atm | grep " update .*\[$2[].]" | grep -c failed >count.failed
	echo $(($(cat count.all) - $(cat count.failed)))
	rm -f t.atm
}

# Two exchanges leave all as it was, the third does not.
cat >third.c <<'EOF'
#include <stdatomic.h>
#include <pthread.h>
atomic_int word = 1;
static void *work(void *arg)
{
	for (int i = 0; i < 3; i++)
		atomic_exchange(&word, 1 + i / 2);
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, work, NULL);
	pthread_join(t, NULL);
	return word != 2;
}
EOF

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	ATOMMON_CC=$cc atommon-cc -g -O2 "$TOP/tests/prog/correct/locks.c" -o prog -lpthread
	ATOMMON_CC=$cc atommon-cc -g -O1 third.c -o third -lpthread
	preload ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./third
	same "$cc: one that does something is no repetition of those that did not" 1 \
		"$(atommon-dump t.atm | grep ' update .*\[word' | grep -vc failed)"
	same "$cc: test and set, each that got the lock is there" $((3 * rounds)) "$(taken tas busy)"
	same "$cc: an atomic_flag" $((3 * rounds)) "$(taken flag flag)"
	same "$cc: looked at before it is tried" $((3 * rounds)) "$(taken ttas busy)"
	# the lock shares its word with another variable, which is written more often
	ATOMMON_CC=$cc atommon-cc -g -O0 "$TOP/tests/prog/correct/locks.c" -o prog0 -lpthread
	preload ATOMMON_ATOMIC='fn:op_*' ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./prog0 recursive 3 100 >out 2>&1
	same "$cc: every release of a lock is there" 300 "$(atommon-dump t.atm | grep -c ' write .*\[owner[].]')"
	same "$cc: compare and exchange" $((3 * rounds)) "$(taken look_then_try owner)"
done

# Loops over data of their own do not make a region too large for the solver. One section comes after the other, by a pipe,
# which orders nothing for the predictor: failed attempts would make the run longer.
cat >long.c <<'EOF'
#include <stdatomic.h>
#include <pthread.h>
#include <unistd.h>
static int done[2];
static atomic_flag flag = ATOMIC_FLAG_INIT;
static int a, b;
static void section(void)
{
	while (atomic_flag_test_and_set(&flag))
		;
	a++;
	for (volatile int i = 0; i < 100; i++)
		;
	b++;
	atomic_flag_clear(&flag);
}
static void *work(void *arg)
{
	section();
	return write(done[1], "", 1) == 1 ? arg : NULL;
}
int main(void)
{
	pthread_t t;
	char c;
	if (pipe(done) != 0)
		return 1;
	pthread_create(&t, NULL, work, NULL);
	if (read(done[0], &c, 1) != 1)
		return 1;
	section();
	pthread_join(t, NULL);
	return a != 2;
}
EOF
check "a long region builds" atommon-cc --symbolic -g -O1 long.c -o long -lpthread
preload ATOMMON_ATOMIC='fn:section' ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./long
check "its run is longer than the limit" test "$(atommon-dump t.atm | wc -l)" -gt 600
atommon-predict --max-segment 100 t.atm >out 2>&1
same "and is decided all the same" 0 $?
atommon-predict --max-segment 5 t.atm >out 2>&1
same "one that is too long is not" 3 $?

# Locks that a program makes of one atomic step exclude: that is found out once, and not again for each pair of sections.
check "locks made by hand build with values" atommon-cc --symbolic -g -O1 "$TOP/tests/prog/correct/locks.c" -o values -lpthread
for name in tas flag look_then_try try recursive; do
	preload ATOMMON_ATOMIC='fn:op_*' ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./values $name 2 6 >out 2>&1
	atommon-predict --budget 1 t.atm >out 2>&1
	same "$name, with values: proved" 0 $?
done
finish
