# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The events of every primitive, one by one: what succeeded is there, what failed is not, nested locks are
# one. Addresses are numbered in the order of their first appearance. HOOKS_UPDATE=1 rewrites the expectations.
. "$(dirname "$0")/../lib.sh"

names() { # drop header, index and site; addresses become o1, o2 ...
	awk '/^!/ { next } { sub(/ @[0-9]+.*/, ""); sub(/^[0-9]+ /, "")
		for (i = 1; i <= NF; i++) if (match($i, /0x[0-9a-f]+/)) {
			a = substr($i, RSTART, RLENGTH)
			if (!(a in name)) name[a] = "o" ++n
			sub(/0x[0-9a-f]+/, name[a], $i) }
		print }'
}
for program in g_sync g_mutex; do
	preload ATOMMON_MODE=record ATOMMON_TRACE="$T/%e.%n.atm" "$PROG/$program" >/dev/null
	atommon-dump --text --no-symbols "$T/$program.0.atm" | names >"$program.events"
	expected=$TOP/tests/golden/hooks_$program.txt
	[ "${HOOKS_UPDATE:-0}" = 1 ] && cp "$program.events" "$expected"
	check "events of $program" diff "$expected" "$program.events"
done
finish
