# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# A signal at any instruction of a mutex hook, whose handler logs as well: nothing is lost, nothing is out
# of order, in rings that go round all the time and in large ones.
. "$(dirname "$0")/../lib.sh"

for buffer in 4K 64K 1M; do
	preload ATOMMON_ONLY=g_signal_locks ATOMMON_MODE=record ATOMMON_BUFFER=$buffer ATOMMON_TRACE=s.atm \
		"$PROG/g_signal_locks" "${SIGNALS:-300}" 2>count
	events=$(atommon-dump --stats s.atm | awk '$1 == "acquire" { print $2; exit }')
	same "every acquire is in the trace, ring of $buffer" "$(tail -1 count)" "$events"
	check "and the trace is legal" "$B/tests/property/stress" legal s.atm
	rm -f s.atm*
done
finish
