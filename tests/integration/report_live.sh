# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Live reports: what is printed, when nothing is, settings, helper process, several processes.
. "$(dirname "$0")/../lib.sh"

contains() { # contains NAME TEXT PART
	case $2 in
	*"$3"*) ok "$1" ;;
	*) fail "$1" "expected: $3" "actual: $(head -c 3000 <<<"$2")" ;;
	esac
}
id_of() { sed -n 's/.*violation \(AV-[0-9a-f]*\),.*/\1/p' | head -1; }

# ---- one violation, told whole
out=$(preload LC_ALL=C.UTF-8 "$PROG/report_lost" 2>err)
same "stdout is the program's" "balance 90" "$out"
err=$(cat err)
contains "names the region and the mistake" "$err" 'Region "withdraw" was not atomic: lost update.'
contains "names the variable and its value" "$err" "read balance = 100"
contains "names the line" "$err" "withdraw() report_lost.c:"
contains "names the thread" "$err" 'T1 "teller", created by T0 at main() report_lost.c:'
contains "says what to change" "$err" "Hold bank_lock from step 2 to step 9"
contains "gives the suppression" "$err" "suppress  id:AV-"
longest=$(python3 -c 'print(max(len(l.rstrip("\n")) for l in open("err", encoding="utf-8")))')
check "at most 100 columns (has $longest)" [ "$longest" -le 100 ]
check "no colour off a terminal" sh -c '! grep -q "$(printf "\033")" err'
preload LC_ALL=C "$PROG/report_lost" 2>ascii >/dev/null
check "plain ASCII in a plain locale" sh -c '! LC_ALL=C grep -q "[^ -~]" ascii'
id=$(id_of <err)

# ---- nothing found, nothing said
out=$(preload "$PROG/report_fixed" 1000 7 2>err)
same "correct program: status untouched" 7 $?
same "correct program: stdout" "balance 100" "$out"
same "correct program: silence" "" "$(cat err)"

# ---- the id is stable
for i in 1 2 3; do
	other=$(preload "$PROG/report_lost" $((i * 10)) 2>&1 >/dev/null | id_of)
	same "run $i: the same id" "$id" "$other"
done
sed 's/^static void withdraw/\n\n\n\n&/' "$TOP/tests/prog/report_lost.c" >moved.c
check "rebuild" gcc -I"$TOP/include" -D_GNU_SOURCE -g -O0 -o moved moved.c -pthread
other=$(preload ./moved 2>&1 >/dev/null | id_of)
same "rebuilt, lines moved, not optimised: the same id" "$id" "$other"

# ---- regions without annotation
err=$(preload ATOMMON_ATOMIC=sections "$PROG/report_sections" 2>&1)
contains "sections: named after the function" "$err" 'Region "section@insert_pair" was not atomic: split critical section.'
check "build with -finstrument-functions" gcc -g -finstrument-functions -o fn "$TOP/tests/prog/report_fn.c" -pthread
err=$(preload ATOMMON_ATOMIC=fn:ta* ./fn 2>&1)
contains "functions: the function is the region" "$err" 'Region "take" was not atomic: split critical section.'
same "functions: others are not" "" "$(preload ATOMMON_ATOMIC=fn:pop ./fn 2>&1)"
same "annotations count only when asked for" "" \
	"$(preload ATOMMON_ATOMIC=fn:none "$PROG/report_lost" 2>&1 >/dev/null | grep -v 'names functions, but none are seen')"
err=$(preload ATOMMON_ATOMIC=marked,fn:none "$PROG/report_lost" 2>&1 >/dev/null)
contains "annotations and functions" "$err" 'Region "withdraw"'

# ---- control
preload ATOMMON_EXITCODE=66 "$PROG/report_lost" >out 2>/dev/null
same "ATOMMON_EXITCODE" 66 $?
same "ATOMMON_EXITCODE loses no output" "balance 90" "$(cat out)"
preload ATOMMON_EXITCODE=66 "$PROG/report_fixed" 10 5 >/dev/null 2>&1
same "ATOMMON_EXITCODE without a violation" 5 $?
same "ATOMMON_LOG=none" "" "$(preload ATOMMON_LOG=none "$PROG/report_lost" 2>&1 >/dev/null)"
preload ATOMMON_LOG=log.%e.%p "$PROG/report_lost" >/dev/null 2>err
same "ATOMMON_LOG=file: stderr is silent" "" "$(cat err)"
contains "ATOMMON_LOG=file" "$(cat log.report_lost.*)" "$id"
err=$(preload ATOMMON_LOG=/no/such/dir/x "$PROG/report_lost" 2>&1 >/dev/null)
contains "ATOMMON_LOG that cannot be opened: stderr" "$err" "$id"
err=$(preload ATOMMON_VERBOSE=1 "$PROG/report_lost" 50 2>&1 >/dev/null)
contains "repeats are counted" "$err" "50 times in all"
same "and told in full once" 1 "$(grep -c 'atomicity violation' <<<"$err")"
contains "summary" "$err" "1 violation (49 repeats, 0 suppressed)"
err=$(preload ATOMMON_MAX_REPORTS=0 "$PROG/report_lost" 2>&1 >/dev/null)
contains "ATOMMON_MAX_REPORTS=0" "$err" "not reported in full"
err=$(preload ATOMMON_VERBOSE=2 "$PROG/report_fixed" 1 2>&1 >/dev/null)
contains "ATOMMON_VERBOSE=2 shows settings" "$err" "ATOMMON_ON_VIOLATION=continue"
err=$(preload ATOMMON_VERIFY=1 "$PROG/report_lost" 200 2>&1 >/dev/null)
same "ATOMMON_VERIFY: the checkers agree" 0 "$(grep -c disagree <<<"$err")"
preload ATOMMON_VERIFY=1 "$PROG/report_fixed" 2000 >/dev/null 2>err
same "ATOMMON_VERIFY on a correct program" "" "$(cat err)"
preload ATOMMON_ON_VIOLATION=abort "$PROG/report_lost" >/dev/null 2>&1
same "ATOMMON_ON_VIOLATION=abort" 134 $?
preload ATOMMON_ON_VIOLATION=trap "$PROG/report_lost" >/dev/null 2>&1
same "ATOMMON_ON_VIOLATION=trap" 133 $?
env LD_PRELOAD="$LIB" ATOMMON_ON_VIOLATION=stop "$PROG/report_lost" 2000 >out 2>err &
pid=$!
for _ in $(seq 500); do
	state=$(sed 's/.*) \(.\).*/\1/' "/proc/$pid/stat" 2>/dev/null)
	[ "$state" = T ] && break
	sleep 0.02
done
same "ATOMMON_ON_VIOLATION=stop stops" T "$state"
contains "and says how to attach" "$(cat err)" "gdb -p $pid"
kill -CONT "$pid"
wait "$pid"
same "and goes on" 0 $?

# ---- suppressions
printf '# known\nregion:other\nvar:balance until=2999-01-01 see the design\nnonsense\n' >supp
err=$(preload ATOMMON_SUPPRESSIONS=supp:missing ATOMMON_VERBOSE=1 ATOMMON_EXITCODE=66 "$PROG/report_lost" 2>&1 >/dev/null)
same "suppressed: own status" 0 $?
check "suppressed: no report" sh -c '! echo "$1" | grep -q "atomicity violation"' _ "$err"
contains "bad line is named" "$err" "supp:4: expected region:"
contains "unused one is named" "$err" "supp:2: region:other: never matched"
contains "missing file is named" "$err" "'missing': No such file"
printf 'id:%s\n' "$id" >supp
same "suppressed by id" "" "$(preload ATOMMON_SUPPRESSIONS=supp "$PROG/report_lost" 2>&1 >/dev/null)"

# ---- JSON
preload ATOMMON_FORMAT=json ATOMMON_VERBOSE=1 "$PROG/report_lost" 5 2>json >/dev/null
check "JSON lines are valid and complete" python3 - "$TOP/doc/report.schema.json" json <<'END'
import json, sys
schema = json.load(open(sys.argv[1]))
lines = [json.loads(l) for l in open(sys.argv[2])]
assert [l["type"] for l in lines] == ["violation", "repeats", "summary"], lines
try:
    import jsonschema
    for l in lines:
        jsonschema.validate(l, schema)
except ImportError:
    for l in lines:
        for field in schema["$defs"][l["type"]]["required"]:
            assert field in l, field
assert lines[1]["count"] == 5
END

# ---- the helper process
same "the host sees no child" "signals 0, wait none" \
	"$(preload ATOMMON_LOG="$T/children.log" "$PROG/report_children" 0 "$T/children.log" 2>/dev/null | head -1)"
contains "though names were found" "$(cat children.log)" "report_children.c:"
# Those that are there now are other tests', or on their way out.
helpers=$(ps -eo pid=,args= | awk -v helper="$B/bin/atommon-symbolize" '$2 == helper { print $1 }')
for _ in $(seq 300); do
	left=
	for pid in $helpers; do kill -0 "$pid" 2>/dev/null && left="$left $pid"; done
	[ -z "$left" ] && break
	read -rt 0.1 <> <(:)
done
same "no helper is left behind" "" "$left"
err=$(preload ATOMMON_SYMBOLIZER= "$PROG/report_lost" 2>&1 >/dev/null)
contains "no helper: module and offset" "$err" "report_lost+0x"
err=$(preload ATOMMON_SYMBOLIZER=/no/such "$PROG/report_lost" 2>&1 >/dev/null)
contains "missing helper: module and offset" "$err" "report_lost+0x"
err=$(preload ATOMMON_SYMBOLIZER=/bin/true "$PROG/report_lost" 2>&1 >/dev/null)
contains "dying helper: module and offset" "$err" "report_lost+0x"
printf '#!/bin/sh\nwhile read -r line; do echo "garbage $line"; echo "1 f x"; echo; done\n' >liar
chmod +x liar
err=$(preload ATOMMON_SYMBOLIZER="$T/liar" "$PROG/report_lost" 2>&1 >/dev/null)
contains "lying helper: module and offset" "$err" "report_lost+0x"
printf '#!/bin/sh\nexec sleep 30\n' >sleeper
chmod +x sleeper
out=$(preload ATOMMON_SYMBOLIZER="$T/sleeper" "$PROG/report_lost" 2>err)
same "slow helper: the program goes on" "balance 90" "$out"
contains "slow helper: module and offset" "$(cat err)" "report_lost+0x"

# ---- several processes, one log
preload ATOMMON_LOG="$T/many" "$PROG/report_children" 20 >out 2>&1
contains "children have their own statuses" "$(cat out)" "reaped 20"
same "a report from each process" 21 "$(grep -c 'atomicity violation' many)"
whole=$(awk '/atomicity violation/ { open++; if (open > 1) bad++ } /^  suppress / { open-- } END { print bad + 0 }' many)
same "none inside another" 0 "$whole"
preload "$PROG/report_children" 20 2>&1 >/dev/null | cat >many2
whole=$(awk '/atomicity violation/ { open++; if (open > 1) bad++ } /^  suppress / { open-- } END { print bad + 0 }' many2)
same "also through a pipe" "21 0" "$(grep -c 'atomicity violation' many2) $whole"

# ---- descriptor 2 is somebody else's
preload sh -c 'exec 2>&-; exec "$0" >/dev/null' "$PROG/report_lost"
same "closed stderr: status" 0 $?
finish
