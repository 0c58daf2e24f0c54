# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Guest promise: byte-identical output, error output and status when there is nothing to report; the
# return value and errno of every hook are those of the real call.
. "$(dirname "$0")/common.inc"

guest "every mutex kind returns what it returns" "$PROG/g_mutex"
forget
guest "every other primitive returns what it returns" "$PROG/g_sync"
guest "C11 threads return what they return" "$PROG/g_c11"
legal "the trace of C11 threads is legal" 'g_c11.*.atm'
guest "the C++ standard library behaves" "$PROG/g_cxx"
legal "the trace of the C++ program is legal" 'g_cxx.*.atm'

guest "600 read locks held twice over, 600 named semaphores opened twice" "$PROG/g_many" 600
legal "nested read locks and second opens are no events" 'g_many.*.atm'
same "600 read locks, 600 write locks, 600 named semaphores" "1200 acquire 1200 release 1200 init 1200 destroy" \
	"$(atommon-dump --text --no-symbols "$(compgen -G "$T/traces/g_many.*.atm" | head -1)" |
		awk '{ n[$3]++ } END { print n["acquire"], "acquire", n["release"], "release", n["init"], "init",
			n["destroy"], "destroy" }')"

# Ends that are not returns.
guest "a program that fails" sh -c 'echo out; echo err >&2; exit 3'
guest "a program that is killed" sh -c 'kill -TERM $$'
guest "a program that cannot be run" env /nonexistent/program
finish
