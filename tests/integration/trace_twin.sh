#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The format as documented: a reader written from doc/trace-format.md alone sees the same events.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
twin() { python3 "$TOP/tests/integration/trace_twin.py" "$1"; }
# index, thread, event, object, site, as the twin prints them
library() {
	atommon-dump --no-symbols "$1" | grep '^[0-9]' | sed -E 's/ assume / branch /' | awk '{
		object = $4; site = "@0"
		for (i = 4; i <= NF; i++) if ($i ~ /^@[0-9]+$/) site = $i
		if (object ~ /^T[0-9]+$/) object = sprintf("0x%x", substr(object, 2))
		else if (match($0, /\$[0-9]+/) && ($3 == "begin" || $3 == "end")) object = sprintf("0x%x", substr($0, RSTART + 1, RLENGTH - 1))
		else if (object !~ /^0x/) object = "-"
		print $1, $2, $3, object, site }'
}
# per thread: the order between threads has several right answers
by_thread() { awk '{ $1 = ""; if ($4 == "-" || $3 == "expr" || $3 == "branch") $4 = "-"; print }' | sort -s -k1,1; }

cat >a.std <<'STD'
main|fork(worker)|1
main|begin(withdraw)|2
main|acq(m)|3
main|r(balance)|4
main|rel(m)|5
worker|acq(m)|6
worker|w(balance)|7
worker|rel(m)|8
main|end(withdraw)|12
main|join(worker)|13
STD
atommon-dump --atm -o a.atm a.std
same "an ordered trace" "$(library a.atm)" "$(twin a.atm)"

if [ -e "$LIB" ] && [ -x "$PROG/g_sync" ]; then
	preload ATOMMON_MODE=record ATOMMON_TRACE=r.atm "$PROG/g_sync" >/dev/null 2>&1
	same "a recorded trace, thread by thread" "$(library r.atm | by_thread | md5sum)" "$(twin r.atm | by_thread | md5sum)"
	same "and all of its events" "$(library r.atm | wc -l)" "$(twin r.atm | wc -l)"
fi
finish
