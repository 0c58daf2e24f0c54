#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The live checker under load: threads that update accounts under locks in annotated regions, at a set
# rate, for a minute. Twice: with ATOMMON_OVERFLOW=drop a thread that finds its ring full drops events
# and counts them instead of waiting; with block it waits, and the waits are counted. "0 lost" and
# "waited 0 times" both mean that the checker kept up. Then as fast as it goes, where threads do wait for
# the checker: what it can sustain.
# usage: tests/bench/checker_live.sh BUILD_DIR
# Environment: BENCH_SECONDS (60), BENCH_RATE events/s of the first runs (5500000), BENCH_THREADS (8).
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 2
out=$build/bench
mkdir -p "$out"
${CC:-gcc} -std=gnu17 -O2 -g -D_GNU_SOURCE -Iinclude -o "$out/checker-live" tests/bench/checker_live.c -pthread || exit 2
threads=${BENCH_THREADS:-8} seconds=${BENCH_SECONDS:-60} rate=${BENCH_RATE:-5500000}
[ "${BENCH_QUICK:-0}" = 1 ] && seconds=5

run() { # run TITLE OVERFLOW SECONDS RATE
	local log=$out/checker-live.log line
	rm -f "$log"
	line=$(LD_PRELOAD=$build/lib/libatommon.so ATOMMON_LOG=$log ATOMMON_OVERFLOW=$2 ATOMMON_VERBOSE=1 \
		"$out/checker-live" "$threads" "$3" "$4" "$log")
	read -r events behind given_up reported lag <<<"$line"
	echo "$1: $threads threads, $3 s, $(nproc) cores"
	printf '  %s events/s' "$events"
	[ "$4" = 0 ] || printf '; a thread was at most %s ms behind its plan; %s %% of the plan given up' "$behind" "$given_up"
	printf '\n  %s of 8 violations reported, the slowest %s ms after it happened\n' "$reported" "$lag"
	grep -a "events, .* lost" "$log" | sed 's/^/  /'
}
run "at a set rate of $rate events/s, dropping" drop "$seconds" "$rate"
run "at a set rate of $rate events/s, blocking" block "$seconds" "$rate"
run "as fast as it goes (threads wait for the checker)" block $((seconds < 10 ? seconds : 10)) 0
