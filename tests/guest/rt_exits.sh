#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# However a process ends: output and status are its own, the trace holds all that was logged.
. "$(dirname "$0")/../lib.sh"

# events TRACE KIND: how many events of that kind
events() { atommon-dump --stats "$1" | awk -v k="$2" '$1 == k { print $2; exit }'; }

# ends HOW ACQUIRES...: run it with and without the preload; the traces, in order of their making,
# hold that many acquires
ends() {
	local how=$1 plain watched found=
	shift
	rm -f ./*.atm ./*.ring
	{ timeout 60 "$PROG/rt_exit" "$how" >plain.out 2>plain.err; } 2>/dev/null
	plain=$?
	{
		timeout 60 env LD_PRELOAD="$LIB" ATOMMON_ONLY=rt_exit ATOMMON_MODE=record \
			ATOMMON_TRACE=t.%n.atm "$PROG/rt_exit" "$how" >watched.out 2>watched.err
	} 2>/dev/null
	watched=$?
	same "$how: status" "$plain" "$watched"
	check "$how: output" cmp plain.out watched.out
	same "$how: nothing on stderr" "" "$(cat watched.err)"
	for t in t.*.atm; do
		[ -e "$t" ] && found="$found $(events "$t" acquire)"
	done
	same "$how: acquires in the traces" " $*" "$found"
	case $how in
	abort | *kill) ;;
	*) same "$how: no ring file stays" "" "$(ls ./*.ring 2>/dev/null)" ;;
	esac
}

ends single 1000
ends return 2000
ends live_return 2000
ends exit 2000
ends _exit 2000
ends live__exit 2000
ends _Exit 2000
ends quick_exit 2000
ends abort 2000
ends kill 2000
ends live_kill 2000
ends thread_exit 3001
ends pthread_exit 3000
ends exec 2000 20
ends exec_clean 2000 20
ends exec_fails 3000
ends fork_exit 2000 1000
ends fork_child 2000 1000
ends vfork 3000

# The same in check mode: nothing printed, nothing left.
rm -f ./*.atm ./*.ring
for how in single return live__exit quick_exit thread_exit pthread_exit exec fork_child vfork; do
	timeout 60 "$PROG/rt_exit" "$how" >plain.out 2>&1
	plain=$?
	timeout 60 env LD_PRELOAD="$LIB" "$PROG/rt_exit" "$how" >watched.out 2>&1
	same "check mode, $how: status" "$plain" "$?"
	check "check mode, $how: output" cmp plain.out watched.out
done
same "check mode leaves no file" "plain.err plain.out watched.err watched.out" "$(echo *)"
finish
