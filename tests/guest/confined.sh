# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Guest promise: a program that gives something up (system calls, its root, its user, files, memory, standard error) finds only what it gave
# up gone.
. "$(dirname "$0")/common.inc"

for what in strict filter sync refuse child; do
	guest "seccomp: $what" "$PROG/g_confined" "$what"
done
legal "what came before is in the trace" 'g_confined.*.atm' 5
forget
guest "started behind a filter" "$PROG/g_confined" service
legal "and is recorded" 'g_confined.*.atm' 2
forget
mkdir empty && chmod 755 empty "$T" "$T/traces"
if [ "$(id -u)" -eq 0 ]; then
	guest "chroot" "$PROG/g_confined" chroot "$T/empty"
	guest "another user" "$PROG/g_confined" user
	legal "their traces are legal" 'g_confined.*.atm' 2
else
	skip "chroot and another user" "needs root"
fi
forget
guest "no more files" "$PROG/g_confined" files
guest "no more memory" "$PROG/g_confined" memory
guest "one thread again: a user namespace" "$PROG/g_confined" namespace
guest "descriptor 2 becomes data" "$PROG/g_confined" stderr "$T/data"
guest "descriptor 2 is a closed pipe" "$PROG/g_confined" pipe

# The same when there is something to say: not into the program's data, and no signal for it.
with ATOMMON_MODE=record ATOMMON_TRACE_MAX=64K -- "$PROG/g_confined" stderr "$T/data" >/dev/null
same "a message does not end up in the program's data" "data" "$(cat data)"
with ATOMMON_MODE=record ATOMMON_TRACE_MAX=64K -- "$PROG/g_confined" pipe >/dev/null
same "a message into a closed pipe is no signal" 0 $?
finish
