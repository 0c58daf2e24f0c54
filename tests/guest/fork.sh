# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Guest promise: fork, vfork, spawn and exec are what they are without us; each process that lives on has its
# own trace.
. "$(dirname "$0")/common.inc"

guest "fork in a thread" "$PROG/g_fork" thread
legal "parent and child leave legal traces" 'g_fork.*.atm' 2
forget
guest "fork without exec that goes on locking" "$PROG/g_fork" lock
legal "parent and child leave legal traces" 'g_fork.*.atm' 2
forget
guest "a fork bomb of 200" "$PROG/g_fork" bomb 200
legal "all 201 leave legal traces" 'g_fork.*.atm' 201
forget
guest "vfork: what the child does in our memory" "$PROG/g_fork" vfork
legal "parent and child leave legal traces" 'g_fork.*.atm' 2
forget
guest "posix_spawn, system, popen" "$PROG/g_fork" spawn
guest "a chain of execs" "$PROG/g_fork" exec 7
legal "the preload carried over: every image left a legal trace" 'g_fork.*.atm' 8
guest "all descriptors closed" "$PROG/g_fork" closefds
guest "a daemon" "$PROG/g_fork" daemon
forget
guest "daemon() of libc" "$PROG/g_fork" libc-daemon
legal "all three leave legal traces" 'g_fork.*.atm' 3
forget
with ATOMMON_MODE=record -- "$PROG/g_fork" libc-daemon >/dev/null
same "and no rings: the one that left had ended its trace" "" "$(compgen -G "$T/traces/*.ring")"

# ATOMMON_ONLY decides who is watched along the chain.
forget
with ATOMMON_MODE=record ATOMMON_ONLY='other,g_thr*' -- "$PROG/g_fork" exec 3 >/dev/null
same "ATOMMON_ONLY leaves other programs alone" "" "$(ls "$T/traces")"
with ATOMMON_MODE=record ATOMMON_ONLY='other,g_f?rk' -- "$PROG/g_fork" exec 3 >/dev/null
same "and watches those that it names" 4 "$(compgen -G "$T/traces/*.atm" | wc -l)"

# What we keep open is out of the way, and no child inherits it.
same "children inherit no descriptor of ours" "$(alone sh -c 'ls /proc/self/fd | wc -l')" \
	"$(with ATOMMON_MODE=record ATOMMON_ONLY=sh -- sh -c 'ls /proc/self/fd | wc -l')"
finish
