# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# The same run told live and offline: same violation, same id; SARIF; the helper's protocol.
. "$(dirname "$0")/../lib.sh"

contains() { # contains NAME TEXT PART
	case $2 in
	*"$3"*) ok "$1" ;;
	*) fail "$1" "expected: $3" "actual: $(head -c 2000 <<<"$2")" ;;
	esac
}

live=$(preload ATOMMON_MODE=both ATOMMON_TRACE=t.atm "$PROG/report_lost" 2>&1 >/dev/null)
offline=$(atommon check t.atm)
same "offline: status" 1 $?
contains "offline: the same lost update" "$offline" "read balance = 100"
steps() { grep -oE '(AV-[0-9a-f]{8}|^ +[0-9]+ +[^ ]+ +[a-z]+ [a-z_]+( = [0-9]+)?)' <<<"$1" | sort -u; }
same "live and offline tell the same steps and id" "$(steps "$live")" "$(steps "$offline")"
atommon check --format sarif t.atm >s.sarif
check "SARIF from a recorded run" python3 - s.sarif <<'END'
import json, sys
d = json.load(open(sys.argv[1]))
r, = d["runs"][0]["results"]
assert r["ruleId"] == "observed" and r["level"] == "error"
at = r["locations"][0]["physicalLocation"]
assert at["artifactLocation"]["uri"].endswith("report_lost.c") and at["region"]["startLine"] > 0
flows = r["codeFlows"][0]["threadFlows"]
assert len(flows) == 2
for f in flows:
    order = [l["executionOrder"] for l in f["locations"]]
    assert order == sorted(order)
END

# ---- atommon-symbolize
p=$PROG/report_lost
address=$(nm "$p" | sed -n 's/^0*\([0-9a-f]*\) . balance$/\1/p')
main=$(nm "$p" | sed -n 's/^0*\([0-9a-f]*\) T main$/\1/p')
out=$(printf '1 d %s - %s\n2 c %s - %s\n' "$address" "$p" "$main" "$p" | atommon-symbolize)
contains "a variable" "$out" "1 s $address 8 balance"
contains "a function" "$out" "main	"
same "each answer ends" "1 . 2 ." "$(grep '\.$' <<<"$out" | tr '\n' ' ' | sed 's/ $//')"
out=$(printf '3 d %s 00ff %s\n' "$address" "$p" | atommon-symbolize)
same "another build-id: no names" "3 ." "$out"
out=$(printf 'nonsense\n4\n5 c\n6 c zz - x\n7 c 10 - /no/such\n8 x 10 - /no/such\n' | atommon-symbolize)
same "nonsense is answered and survived" 6 "$(grep -c '\.$' <<<"$out")"
head -c 200000 /dev/urandom | atommon-symbolize >/dev/null 2>&1
same "random bytes are survived" 0 $?
finish
