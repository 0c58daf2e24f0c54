#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# A process that ends loses no report, however long names and the log take: a helper that answers slowly costs names,
# and a lock on the log that nobody gives back costs little time. Nor if it ends by the assertion that the violation broke.
. "$(dirname "$0")/../lib.sh"

run() { # run [VAR=VALUE...]: its status, reports, summaries
	rm -f log
	preload ATOMMON_ATOMIC=fn:step ATOMMON_LOG=log ATOMMON_VERBOSE=1 ATOMMON_MAX_REPORTS=20 "$@" \
		./handover 1 4 400 open >out 2>&1
	echo "$? $(grep -c 'atomicity violation' log) $(grep -c ' threads, 0 lost, ' log)"
}

check "builds" atommon-cc -O2 -g "$TOP/tests/prog/plain/handover.c" -o handover -lpthread
# Each answer comes soon enough, all of them together do not.
cat >slow <<'EOF'
#!/usr/bin/env bash
while read -r number rest; do
	read -rt 0.7 <> <(:)
	printf '%s .\n' "$number"
done
EOF
chmod +x slow
same "a slow helper: every report is there, and the summary" "0 20 1" "$(run ATOMMON_SYMBOLIZER="$T/slow")"

exec 9<"$LIB"
check "the log's lock is held" flock 9
got=$(run)
exec 9<&-
same "a lock that nobody gives back: every report is there" "0 20 1" "$got"

field=$TOP/tests/prog/field
cc -O1 -c "$field/order.c" -o order.o
# aborts OPTION...: its status without us, with us, and how many reports
aborts() {
	atommon-cc -O1 -g "$@" "$field/assertion.c" order.o -o assertion -lpthread || return
	./assertion bad >plain 2>&1
	local status=$?
	rm -f log
	preload ATOMMON_ATOMIC=fn:twice ATOMMON_LOG=log ./assertion bad >out 2>&1
	echo "$status $? $(cmp plain out >/dev/null && echo same) $(grep -c 'atomicity violation' log)"
}
same "an assertion fails: it is told what broke it" "134 134 same 1" "$(aborts 2>/dev/null)"
same "abort" "134 134 same 1" "$(aborts -DABORT 2>/dev/null)"
same "one that is survived" "0 0 same 1" "$(aborts -DCAUGHT 2>/dev/null)"
finish
