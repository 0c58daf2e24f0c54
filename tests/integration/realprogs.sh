# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Programs that nobody here wrote come to the same result under the preload, small loads; those that are not
# installed are left out. The full loads, servers and timings: make bench.
. "$(dirname "$0")/../lib.sh"

REALPROGS='^(pigz|pbzip2|xz|zstd|memcached|redis-server|stress-ng|z3|c[+][+]|python3|git|sqlite3|x264|ld.lld|node|java)$' \
	REALPROGS_MB=2 REALPROGS_RUNS=1 REALPROGS_WAYS='' "$TOP/tests/bench/realprogs.sh" "$B" >table 2>notes
while read -r program result events _; do
	[ "$program" = program ] && continue
	if [ "$result" = same ] && [ "$events" -gt 0 ]; then
		ok "$program: the same result, $events events"
	else
		fail "$program: $result, $events events" "$(grep "^# $program" notes | head -3)" "$(head -c 500 notes)"
	fi
done <table
[ -s table ] || fail "no program ran" "$(head -c 500 notes)"
same "every trace is legal" "" "$(grep 'NOT LEGAL' notes | head -3)"
finish
