# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Guest promise: lives and deaths of threads and processes are what they are without us.
. "$(dirname "$0")/common.inc"

guest "10,000 short threads in sequence" "$PROG/g_threads" sequence 10000
legal "their trace is legal" 'g_threads.*.atm'
forget
guest "1,000 threads at once" "$PROG/g_threads" live 1000
legal "their trace is legal" 'g_threads.*.atm'
forget
guest "pthread_exit from main" "$PROG/g_threads" mainexit
guest "exit from a thread" "$PROG/g_threads" exit
guest "_exit from a thread" "$PROG/g_threads" _exit
guest "quick_exit from a thread" "$PROG/g_threads" quick
guest "abort from a thread" "$PROG/g_threads" abort
guest "exit while detached threads wait" "$PROG/g_threads" detach 20
guest "exit while threads lock all the time" "$PROG/g_threads" busy 12
guest "locks in destructors of thread-specific data" "$PROG/g_threads" tsd 3
guest "the smallest stack" "$PROG/g_threads" smallstack
guest "tryjoin, timedjoin, clockjoin" "$PROG/g_threads" timedjoin
legal "every trace is legal" 'g_threads.*.atm' 10
forget
guest "locks in the very last round of destructors" "$PROG/g_threads" tsd
finish
