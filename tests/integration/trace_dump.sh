#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# atommon-dump: forms, filters, errors, broken pipe.
# shellcheck source=tests/lib.sh
. "$(dirname "$0")/../lib.sh"
D=atommon-dump

cat >a.std <<'STD'
main|fork(worker)|1
main|begin(withdraw)|2
main|acq(m)|3
main|r(balance)|4
main|rel(m)|5
worker|acq(m)|6
worker|w(balance)|7
worker|rel(m)|8
main|acq(m)|9
main|w(balance)|10
main|rel(m)|11
main|end(withdraw)|12
main|join(worker)|13
STD
check "STD becomes a trace" $D --atm -o a.atm a.std
check "the trace becomes text" $D -o a.txt a.atm
check "the text becomes a trace" $D --atm -o b.atm a.txt
check "which is the same trace" cmp a.atm b.atm
same "STD in, STD out" "$(cat a.std)" "$($D --std a.std)"
same "STD of the trace" "$(cut -d'|' -f2- a.std | sed 's/worker/T1/')" "$($D --std a.atm | cut -d'|' -f2-)"
same "filter by name" 3 "$($D --object balance a.atm | grep -cE '^[0-9]+ T[01] (read|write) ')"
same "filter by address" 3 "$($D --object 0x100000000044 a.atm | grep -cE '^[0-9]+ T[01] (read|write) ')"
same "filter by region" 2 "$($D --object withdraw a.atm | grep -cE '^[0-9]')"
same "filter by thread" 3 "$($D --thread T1 a.atm | grep -cE '^[0-9]')"
same "the first two events" 2 "$($D --head 2 a.atm | grep -cE '^[0-9]')"
check "JSON is JSON" python3 -c 'import json,sys
rows = [json.loads(line) for line in sys.stdin]
assert sum(r["type"] == "event" for r in rows) == 15' < <($D --json a.atm)
check "statistics name the lock" grep -qE '^  0x100000000000 +3 +0 +0 +2  m$' <($D --stats a.atm)
printf '0 T0 begin "na\xc3\xa4\xff" @0\n' >utf8.txt
check "names that are no UTF-8 are valid JSON" python3 -c 'import json,sys
assert any(json.loads(line).get("object") == "na\u00e4?" for line in sys.stdin.buffer)' < <($D --json utf8.txt)
$D a.atm 2>err | head -1 >/dev/null
same "a broken pipe is quiet" "" "$(cat err)"
$D --stats - <a.atm >/dev/null 2>err
same "standard input" "0 " "$? $(cat err)"

# shellcheck disable=SC2016
awk '/^    !atommon-trace/,/ lost - /' "$TOP/doc/trace-format.md" | sed 's/^    //' >doc.txt
same "the example of the documentation reads" 9 "$($D doc.txt | grep -cE '^[0-9]+ T[01] ')"

refuses() { # refuses NAME PATTERN ARGUMENT...
	local name=$1 pattern=$2 status
	shift 2
	$D "$@" >/dev/null 2>err
	status=$?
	if [ $status -eq 2 ] && grep -qE "$pattern" err; then ok "$name"; else fail "$name" "status $status" "$(cat err)"; fi
}
refuses "a missing file" "cannot open 'none.atm'" none.atm
refuses "a directory" "cannot be read: Is a directory" /tmp
refuses "no file at all" "expected one trace"
refuses "a bad number" "expected a number, got 'x'" --head x a.atm
refuses "a bad list" "expected a list" --thread 3- a.atm
refuses "an unknown option" "unrecognized option" --nonsense a.atm
printf '\x00' | dd of=b.atm bs=1 seek=100 conv=notrunc 2>/dev/null
refuses "a damaged chunk, with offset and reason" "b.atm: offset 64: .*checksum does not match" b.atm
head -c 30 a.atm >c.atm
refuses "a cut header" "offset 8: the header is cut" c.atm
echo "0 T0 acquire 0x10 @0
1 T0 jump 0x10 @0" >bad.txt
refuses "a bad line" "bad.txt: line 2: unknown event" bad.txt
echo "T0|hop(x)|1" >bad.std
refuses "a bad operation" "bad.std: line 1: unknown operation" bad.std
refuses "an unwritable output" "cannot create" -o /nonexistent/x a.atm
if [ -w /dev/full ]; then refuses "a full disk" "cannot write" -o /dev/full a.atm; fi
finish
