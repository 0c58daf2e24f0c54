#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Locks and lock-free code made by hand of atomic operations (tests/prog/field): an attempt that failed and was
# made again, or given up, breaks nothing; the mistakes of such code are found.
. "$(dirname "$0")/../lib.sh"
field=$TOP/tests/prog/field
cc -O1 -c "$field/order.c" -o order.o
cc -O1 -c "$field/turns.c" -o turns.o

build() { # build NAME OUT OPTIONS...
	local name=$1 out=$2
	shift 2
	atommon-cc -g "$@" "$field/$name.c" order.o -o "$out" -lpthread
}

reports() { # reports FUNCTION ORDER PROGRAM: how many violations are told
	rm -f log
	preload ATOMMON_ATOMIC="fn:$1" ATOMMON_LOG=log "$3" "$2" >out 2>&1
	if [ -f log ]; then grep -c 'atomicity violation' log; else echo 0; fi
}

found() { # found LABEL FUNCTION PROGRAM: told, in the bad order
	if [ "$(reports "$2" bad "$3")" -ge 1 ]; then ok "$1"; else fail "$1" "$(cat out)"; fi
}

both() { # both LABEL OPTIONS...
	local label=$1
	shift
	check "$label: try_flag builds" build try_flag wrong "$@"
	found "$label: a flag looked at, then set" work ./wrong
	check "$label: try_flag, fixed, builds" build try_flag fixed "$@" -DFIXED
	same "$label: an exchange that found the flag set" 0 "$(reports work bad ./fixed)"
	check "$label: spin_again builds" build spin_again lost "$@" -DLOST
	found "$label: a counter loaded, then stored" add ./lost
	for form in TTAS TICKET OLD BESIDE BESIDE_OLD BEFORE LOOP AGAIN; do
		check "$label: spin_again, $form, builds" build spin_again again "$@" -D$form
		same "$label: a load that is made again, $form" 0 "$(reports add bad ./again)"
		same "$label: $form gives what it should" 2 "$(cat out)"
	done
	check "$label: wide_snapshot builds" build wide_snapshot torn "$@" -DTORN
	found "$label: many words copied while they changed" snapshot,fn:publish ./torn
	check "$label: wide_snapshot, right, builds" build wide_snapshot again "$@"
	got=$(reports snapshot,fn:publish bad ./again)
	same "$label: the copy is whole" 12 "$(cat out)"
	[ "$label" = symbolic ] || same "$label: many words copied again" 0 "$got"
	check "$label: pop_again builds" atommon-cc -g "$@" "$field/pop_again.c" turns.o -o pop -lpthread
	same "$label: attempts that fail twice" 0 "$(reports pop live ./pop)"
	same "$label: pop_again gives what it should" 0 "$(cat out)"
	rm -f pop.atm
	preload ATOMMON_ATOMIC=fn:pop ATOMMON_MODE=record ATOMMON_TRACE=pop.atm ./pop >out 2>&1
	check "$label: nor are they offline" atommon-check pop.atm
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	ATOMMON_CC=$cc both $cc -O2
done
predicted() { # predicted OPTION...: status of atommon-predict for a run in a good order
	build prepared prepared --symbolic -O1 "$@" || return
	rm -f t.atm
	preload ATOMMON_ATOMIC=fn:take ATOMMON_MODE=record ATOMMON_TRACE=t.atm ./prepared good >out 2>&1
	atommon-predict t.atm >out 2>&1
	echo $?
}

if command -v clang-14 >/dev/null; then
	both symbolic --symbolic -O1
	same "an exchange that finds what was there before is not predicted to break" 0 "$(predicted)"
	same "a store in its place is" 1 "$(predicted -DLOST)"
fi
finish
