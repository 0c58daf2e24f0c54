# SPDX-License-Identifier: MIT
# atommon-litmus from outside: exit status, messages, witnesses, JSON, SMT-LIB, matrices.
. "$(dirname "$0")/../lib.sh"

L=$TOP/tests/litmus
status() { # status COMMAND...: its exit status, output in $T/out and $T/err
	"$@" >"$T/out" 2>"$T/err" </dev/null
	echo $?
}

same "0: cannot happen" 0 "$(status atommon-litmus "$L/SB.litmus")"
same "1: can happen" 1 "$(status atommon-litmus --model tso "$L/SB.litmus")"
check "a witness is printed" grep -q "read y = 0" "$T/out"
check "its final state is printed" grep -q "final 0:r0=0 1:r0=0" "$T/out"
same "2: no such file" 2 "$(status atommon-litmus nowhere.litmus)"
same "2: no file at all" 2 "$(status atommon-litmus)"
same "2: unknown option" 2 "$(status atommon-litmus --nonsense "$L/SB.litmus")"
same "2: unknown model" 2 "$(status atommon-litmus --model x86 "$L/SB.litmus")"
check "the model is quoted" grep -q "'x86'" "$T/err"
same "3: a loop can go beyond the bound" 3 "$(status atommon-litmus "$L/loop-spin.litmus")"
check "and the message says so" grep -q "bound" "$T/out"
same "0: all states need no bound" 0 "$(status atommon-litmus --model-check "$L/loop-spin.litmus")"
same "0: no run of any length" 0 "$(status atommon-litmus --model-check --property serializability "$L/loop-forever.litmus")"
same "0: the model checker is asked what it can decide" 0 "$(status atommon-litmus --model-check "$L/loop-forever.litmus")"
same "0: also of a group" 0 "$(status atommon-litmus --model-check --property atomicity "$L/loop-forever.litmus")"
same "3: but what is named is not passed over" 3 "$(status atommon-litmus --model-check --property race "$L/loop-forever.litmus")"
same "1: some run breaks the block" 1 "$(status atommon-litmus --model-check --property serializability "$L/loop-forever-broken.litmus")"
same "help" 0 "$(status atommon-litmus --help)"
same "version" 0 "$(status atommon-litmus --version)"

printf 'C bad\n{}\nP0(int *x)\n{\n\t*x = nothing;\n}\n' >bad.litmus
same "2: bad input" 2 "$(status atommon-litmus bad.litmus)"
same "file, line, column, source line and caret" \
	"$(printf "bad.litmus:5:7: error: 'nothing' is not declared\n\t*x = nothing;\n\t     ^")" "$(cat "$T/err")"
head -c 4096 /dev/urandom >noise.litmus
same "2: noise" 2 "$(status atommon-litmus noise.litmus)"
printf 'C rcu\n{}\nP0(int *x)\n{\n\tsynchronize_rcu();\n}\nexists (x=1)\n' >rcu.litmus
same "3: a grace period is not modelled" 3 "$(status atommon-litmus rcu.litmus)"
check "and named" grep -q "synchronize_rcu.*not modelled" "$T/out"
same "standard input" 0 "$(atommon-litmus - <"$L/SB.litmus" >/dev/null; echo $?)"

# Several files in one process: 50 and more, the worst status counts.
same "all files at once" 1 "$(status atommon-litmus --property all --json "$L"/[A-Z]*.litmus "$L"/[wy]*.litmus)"
lines=$(wc -l <"$T/out")
check "one object per file ($lines)" test "$lines" -ge 50
check "each is JSON" python3 -c 'import json,sys
for line in open(sys.argv[1]):
    o = json.loads(line)
    assert o["status"] in (0, 1, 3) and o["verdicts"], o["file"]' "$T/out"

# Yang et al., Fig. 5, digit by digit, and their interleaving.
atommon-litmus --matrix "$L/yang-4.litmus" >"$T/out"
same "the matrix of the paper" "0X111111 X0111111 00011000 00001000 00000000 00111011 00111001 00111000" \
	"$(sed -n '/^ *[1-8]  *[01X] /p' "$T/out" | awk '{ $1 = ""; gsub(/ /, ""); printf "%s%s", sep, $0; sep = " " }')"
check "the interleaving of the paper" grep -q "one interleaving: 1 2 6 7 8 3 4 5" "$T/out"
atommon-litmus --explain "$L/CoRW1.litmus" >"$T/out"
check "an explanation names rules" grep -q "read-value" "$T/out"
same "without program order it can happen" 1 "$(status atommon-litmus --without program-order "$L/SB.litmus")"
same "unknown rule" 2 "$(status atommon-litmus --without gravity "$L/SB.litmus")"

# The dumped query means the same to the solver's own front end.
if command -v cvc5 >/dev/null; then
	atommon-litmus --smt2 q.smt2 "$L/Inc.litmus" >/dev/null
	same "SMT-LIB: can is sat" sat "$(cvc5 q.smt2 2>/dev/null | head -1)"
	atommon-litmus --smt2 q.smt2 "$L/SB.litmus" >/dev/null
	same "SMT-LIB: cannot is unsat" unsat "$(cvc5 q.smt2 2>/dev/null | head -1)"
fi
for engine in smt enumerate; do
	same "race by $engine" 1 "$(status atommon-litmus --engine $engine --property race "$L/yang-1-program2.litmus")"
	same "no race by $engine" 0 "$(status atommon-litmus --engine $engine --property race "$L/yang-1-program1.litmus")"
	same "broken block by $engine" 1 "$(status atommon-litmus --engine $engine --property atomicity "$L/yang-2.litmus")"
	check "it is named" grep -q "block deposit (P0, line [0-9]*) can be broken" "$T/out"
	same "fixed block by $engine" 0 "$(status atommon-litmus --engine $engine --property atomicity "$L/yang-2-fixed.litmus")"
	same "assertion by $engine" 1 "$(status atommon-litmus --engine $engine --property assert "$L/chaudhuri-1.litmus")"
done
finish
