# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Guest promise: cancellation inside blocking calls. The mutex of a cancelled wait is held again while
# the cleanup handlers run, and the trace says so.
. "$(dirname "$0")/common.inc"

for where in cond timed sem join once async state; do
	guest "cancelled: $where" "$PROG/g_cancel" $where
	legal "cancelled: $where: legal trace" 'g_cancel.*.atm'
	if [ $where = cond ]; then
		trace=$(compgen -G "$T/traces/g_cancel.*" | head -1)
		same "every cancelled wait has its wake" "20 wait 20 wake" \
			"$(atommon-dump --text "$trace" | awk '{ n[$3]++ } END { print n["wait"], "wait", n["wake"], "wake" }')"
	fi
	forget
done
finish
