# SPDX-License-Identifier: MIT
# The example programs: the bad order is reported live and by atommon-check on the recorded trace, the
# good order and the fixed versions are silent, by annotation and with each critical section a region.
. "$(dirname "$0")/../lib.sh"

watch() { # watch VAR=VALUE... PROGRAM ARGUMENTS...: its reports on standard output
	preload ATOMMON_MODE=both ATOMMON_TRACE="$T/run.atm" ATOMMON_VERIFY=1 ATOMMON_FORMAT=json "$@" 2>&1 >/dev/null |
		grep -v '"type":"summary"'
}

bad() { # bad PROGRAM REGION
	local out
	out=$(watch "$PROG/$1" --order bad)
	if grep -q "\"$2\"" <<<"$out"; then ok "$1: '$2' is reported in the bad order"; else
		fail "$1: '$2' is reported in the bad order" "$out"
	fi
	atommon-check --quiet --verify run.atm >check.txt 2>check.err
	same "$1: atommon-check says the same of the trace" 1 $?
	check "$1: ... of the same region" grep -q "Region \"$2\"" check.txt
	atommon-check --quiet --full run.atm >/dev/null 2>&1
	same "$1: ... with the full graph too" 1 $?
}

silent() { # silent NAME VAR=VALUE... PROGRAM ARGUMENTS...
	local name=$1
	shift
	rm -f run.atm
	same "$name: silent" "" "$(watch "$@")"
	atommon-check --quiet --verify run.atm >check.txt 2>&1
	same "$name: atommon-check finds nothing" "0 " "$? $(head -c 300 check.txt)"
}

bad bank withdraw
bad cache get
bad queue "take one"
bad refcount put
bad closeonce "close once"
bad elevator "serve floor"
bad raytracer "add checksum"
bad tsp search

for p in bank cache queue refcount closeonce elevator raytracer tsp; do
	silent "$p in good order" "$PROG/$p" --order good
	silent "$p fixed" "$PROG/$p" --fixed --threads 4
	silent "$p fixed, sections" ATOMMON_ATOMIC=sections "$PROG/$p" --fixed --threads 4
	silent "$p fixed, sections at lock level" ATOMMON_ATOMIC=sections ATOMMON_CONFLICTS=locks "$PROG/$p" --fixed --threads 4
done
for p in "sor --size 20" "lufact --size 16"; do
	# shellcheck disable=SC2086
	set -- "$PROG/"$p
	silent "${p%% *}" "$@"
	silent "${p%% *} fixed, sections" ATOMMON_ATOMIC=sections "$@" --fixed --threads 4
	silent "${p%% *} fixed, sections at lock level" ATOMMON_ATOMIC=sections ATOMMON_CONFLICTS=locks "$@" --fixed --threads 4
done
finish
