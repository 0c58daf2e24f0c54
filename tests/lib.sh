# SPDX-License-Identifier: MIT
# shellcheck shell=bash disable=SC2034
# Sourced by test scripts: TAP output, a scratch directory, the preload in the child only.
set -u
B=${ATOMMON_BUILD:?run this through scripts/run-tests, or set ATOMMON_BUILD}
TOP=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
LIB=$B/lib/libatommon.so
PROG=$B/tests/prog
PATH=$B/bin:$PATH
export LC_ALL=C.UTF-8 # reports are plain ASCII in a plain locale
T=$(mktemp -d)
trap 'rm -rf "$T"' EXIT
cd "$T" || exit 1
count=0
failures=0

ok() { # ok NAME: the test passed
	count=$((count + 1))
	echo "ok $count - $1"
}

fail() { # fail NAME [DETAIL...]
	count=$((count + 1))
	failures=$((failures + 1))
	echo "not ok $count - $1"
	shift
	[ $# -eq 0 ] || printf '# %s\n' "$@"
}

check() { # check NAME COMMAND...: passes when the command succeeds
	local name=$1
	shift
	local out
	if out=$("$@" 2>&1); then ok "$name"; else fail "$name" "command: $*" "$(head -c 2000 <<<"$out")"; fi
}

same() { # same NAME EXPECTED ACTUAL
	if [ "$2" = "$3" ]; then ok "$1"; else fail "$1" "expected: $2" "actual:   $3"; fi
}

preload() { # preload [VAR=VALUE...] COMMAND...: run with the library in the child's environment
	env LD_PRELOAD="$LIB" "$@"
}

finish() {
	echo "1..$count"
	[ "$failures" -eq 0 ]
	exit
}
