# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# atommon run: statuses, traces, messages, other preloads, sanitisers, signals.
. "$(dirname "$0")/../lib.sh"
export TMPDIR=$T # what is left behind there is ours

contains() { # contains NAME TEXT PART
	case $2 in
	*"$3"*) ok "$1" ;;
	*) fail "$1" "expected: $3" "actual: $(head -c 2000 <<<"$2")" ;;
	esac
}
without() { # without NAME TEXT PART
	case $2 in
	*"$3"*) fail "$1" "not expected: $3" "actual: $(head -c 2000 <<<"$2")" ;;
	*) ok "$1" ;;
	esac
}

out=$(atommon run -- "$PROG/report_lost" 2>err)
same "violation: status" 66 $?
same "stdout is the program's" "balance 90" "$out"
err=$(cat err)
contains "report" "$err" "lost update"
contains "summary" "$err" "atommon: 1 violation in 2 regions"
trace=$(sed -n 's/^atommon: trace \([^;]*\);.*/\1/p' err)
check "the trace is there" test -s "$trace"
contains "next command names it" "$err" "next      atommon-predict $trace"
if command -v atommon-dump >/dev/null; then
	contains "and can be read" "$(atommon dump --text "$trace")" "withdraw"
fi
atommon run --exitcode 9 -- "$PROG/report_lost" >/dev/null 2>&1
same "--exitcode" 9 $?
atommon run --exitcode=0 -- "$PROG/report_lost" 1 4 >/dev/null 2>&1
same "--exitcode=0: own status" 4 $?
err=$(atommon run -- "$PROG/report_fixed" 10 5 2>&1 >/dev/null)
same "no violation: own status" 5 $?
contains "no violation is said" "$err" "atommon: 0 violations in 20 regions"
same "-q: silence" "" "$(atommon run -q -- "$PROG/report_fixed" 10 2>&1 >/dev/null)"
rm -f ./*.atm
atommon run -n -- "$PROG/report_fixed" 10 >/dev/null 2>&1
same "--no-trace leaves none" "" "$(ls ./*.atm 2>/dev/null)"
atommon run -o mine.%p.atm -- "$PROG/report_fixed" 10 >/dev/null 2>&1
check "--trace" sh -c 'ls mine.*.atm'
err=$(atommon run --json -- "$PROG/report_lost" 2>&1 >/dev/null | head -1)
check "--json" python3 -c 'import json,sys; assert json.loads(sys.argv[1])["pattern"] == "lost update"' "$err"
echo 'region:withdraw' >supp
atommon run -S supp -- "$PROG/report_lost" >/dev/null 2>err
same "-S: own status" 0 $?
without "-S: no report" "$(cat err)" "lost update"

err=$(atommon run -- true 2>&1)
same "no region: own status" 0 $?
contains "no region: said" "$err" "no region was seen"
for way in "ATOMMON_REGION" "--sections" "-finstrument-functions"; do
	contains "no region: way $way" "$err" "$way"
done

cat >hello.c <<'END'
int main(void) { return 7; }
END
gcc -static -o hello-static hello.c
err=$(atommon run -- ./hello-static 2>&1)
same "static program: runs all the same" 7 $?
contains "static program: said" "$err" "statically linked"
err=$(atommon run -- ./no-such 2>&1)
same "missing program: status" 127 $?
contains "missing program: said" "$err" "'./no-such': No such file"
: >not-exec
chmod 644 not-exec
atommon run -- ./not-exec >/dev/null 2>&1
same "not executable: status" 126 $?
err=$(atommon run -- sh -c 'kill -SEGV $$' 2>&1)
same "killed by a signal: status" 139 $?
contains "killed by a signal: said" "$err" "signal 11"
atommon run -q -- sh -c 'trap "exit 23" TERM; kill -TERM $PPID; while :; do sleep 0.05; done' >/dev/null 2>&1
same "signals are handed on" 23 $?

# A preload that fails is only a warning of the loader.
echo 'not a library' >junk.so
err=$(ATOMMON_LIB=$PWD/junk.so atommon run -- sh -c 'exit 6' 2>&1 >/dev/null)
same "a library that cannot be loaded: own status" 6 $?
contains "a library that cannot be loaded: said" "$err" "was not loaded into 'sh': nothing was watched"

# other preloads stay
cat >other.c <<'END'
#include <unistd.h>
__attribute__((constructor)) static void hello(void) { write(1, "other here\n", 11); }
END
gcc -shared -fPIC -o other.so other.c
contains "another LD_PRELOAD is kept" \
	"$(LD_PRELOAD=$T/other.so atommon run -q -- "$PROG/report_fixed" 1 2>/dev/null)" "other here"

# AddressSanitizer wants to be first
if gcc -fsanitize=address -g -I"$TOP/include" -D_GNU_SOURCE -o asan "$TOP/tests/prog/report_lost.c" -pthread 2>/dev/null; then
	out=$(atommon run -- ./asan 2>err)
	same "with AddressSanitizer: status" 66 $?
	same "with AddressSanitizer: output" "balance 90" "$out"
	contains "with AddressSanitizer: report" "$(cat err)" "read balance = 100"
fi
same "no status page is left" "" "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'atommon-run-*' -newer hello.c -user "$(id -u)" 2>/dev/null | head -1)"
finish
