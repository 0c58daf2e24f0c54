# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Guest promise: signal handlers that lock and annotate nest correctly, and our own thread takes no
# signal of the application.
. "$(dirname "$0")/common.inc"

guest "a storm of timer signals into locks and annotations" "$PROG/g_signal" storm 1000
legal "its trace is legal" 'g_signal.*.atm'
guest "a signal blocked everywhere stays pending" "$PROG/g_signal" mask
finish
