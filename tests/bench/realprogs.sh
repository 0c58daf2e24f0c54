#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Real programs under the preload: the same result, how many events, how much slower. Programs that are not
# installed are left out (scripts/setup --bench installs them). Prints a table.
# usage: tests/bench/realprogs.sh [BUILD_DIR]      without it: $ATOMMON_BUILD
#   REALPROGS_MB (100): size of the compressors' input; other loads go with it. REALPROGS_RUNS (3): runs of
#   each kind, interleaved; the table gives medians of CPU time. REALPROGS: a pattern that selects programs.
#   REALPROGS_WAYS: what to run besides native, record and check (both dormant), for the result only.
#   REALPROGS_REPORTS: a directory that keeps what was reported.
set -u
B=$(realpath "${1:-${ATOMMON_BUILD:?usage: realprogs.sh BUILD_DIR}}")
LIB=$B/lib/libatommon.so
MB=${REALPROGS_MB:-100}
RUNS=${REALPROGS_RUNS:-3}
SELF=$(realpath "$0")
W=$(mktemp -d)
trap 'rm -rf "$W"' EXIT
cd "$W" || exit 1
bad=0

# Ways to run: native, with the preload recording, with the preload checking critical sections, with both, with
# the preload doing nothing.
env_of() {
	case $1 in
	native) ;;
	record) echo "LD_PRELOAD=$LIB ATOMMON_MODE=record ATOMMON_TRACE=$W/trace.%e.%p.%n.atm ATOMMON_TRACE_MAX=8G" ;;
	check) echo "LD_PRELOAD=$LIB ATOMMON_MODE=check ATOMMON_ATOMIC=sections ATOMMON_LOG=$W/report.%e.%p" ;;
	both) echo "$(env_of record) ATOMMON_MODE=both ATOMMON_ATOMIC=sections ATOMMON_LOG=none" ;;
	dormant) echo "LD_PRELOAD=$LIB ATOMMON_ENABLED=0" ;;
	esac
}

# The programs. Each function runs one with the environment words in "$@", and leaves its result in
# ./result and its CPU seconds in ./cpu.
run_timed() { # run_timed OUTPUT COMMAND...: result = what it printed and its status
	local out=$1 status
	shift
	TIMEFORMAT='%U %S'
	{ time "$@" >"$out" 2>err; } 2>cpu.raw
	status=$?
	awk '{ print $1 + $2 }' cpu.raw >cpu
	return $status
}

input() {
	[ -f input ] || seq 1 $((MB * 200000)) | head -c $((MB * 1000000)) >input
}

prog_pigz() {
	input
	run_timed out env "$@" pigz -p 2 -c input
	echo "status $?" "$(gzip -dc <out | md5sum)" >result
}

prog_pbzip2() {
	input
	run_timed out env "$@" pbzip2 -p2 -q -c input
	echo "status $?" "$(md5sum <out)" >result
}

prog_xz() {
	input
	head -c 20000000 input >part
	run_timed out env "$@" xz -T2 -1 -k -c part
	echo "status $?" "$(xz -dc <out | md5sum)" >result
}

prog_zstd() {
	input
	run_timed out env "$@" zstd -T2 -q -c input
	echo "status $?" "$(zstd -dc <out | md5sum)" >result
}

# By the clock, for its stressors end with a failure when the operations are used up before all threads are there:
# here the result counts, and the ratio says nothing. On a busy machine they also give up by themselves, without us
# ("aborted early, out of system resources"): then once more, at most twice, and said.
prog_stress-ng() {
	local status try
	for try in 1 2 3; do
		run_timed out env "$@" stress-ng --pthread 1 --pthread-max 64 --mutex 1 --sem 1 -t $((1 + MB / 50)) \
			--temp-path "$W" -q
		status=$?
		[ $status -eq 0 ] && break
		echo "# stress-ng, try $try: status $status: $(head -c 200 err)" >&2
	done
	echo "status $status" >result
}

# C++, std::thread: a pigeonhole puzzle in cubes. Its workers look for a task under the queue's lock, release it, take it again and wait
# without another look (parallel_tactic.cpp, get_task): the wake of a queue that is done can come in between, and z3 waits for ever.
# Then once more, at most twice, and said.
prog_z3() {
	local status try
	if [ ! -f puzzle.smt2 ]; then
		awk -v MB=$MB 'BEGIN { n = 6 + (MB >= 100)
			for (p = 0; p <= n; p++) for (h = 0; h < n; h++) printf "(declare-const x%d_%d Bool)\n", p, h
			for (p = 0; p <= n; p++) { printf "(assert (or"; for (h = 0; h < n; h++) printf " x%d_%d", p, h
				print "))" }
			for (h = 0; h < n; h++) for (p = 0; p <= n; p++) for (q = p + 1; q <= n; q++)
				printf "(assert (not (and x%d_%d x%d_%d)))\n", p, h, q, h
			print "(check-sat)" }' >puzzle.smt2
	fi
	for try in 1 2 3; do
		run_timed out env "$@" timeout 120 z3 parallel.enable=true parallel.threads.max=2 puzzle.smt2
		status=$?
		[ $status -ne 124 ] && break
		echo "# z3, try $try: waits for ever" >&2
	done
	echo "status $status" "$(cat out)" >result
}

prog_c++() {
	run_timed out env "$@" "$B/tests/prog/g_cxx"
	echo "status $?" "$(md5sum <out)" >result
}

prog_python3() {
	cat >threads.py <<-'END'
		import threading, queue, hashlib, sys
		count = int(sys.argv[1])
		q, done = queue.Queue(50), queue.Queue()
		def work():
		    while (n := q.get()) is not None:
		        done.put(int(hashlib.sha256(b'%d' % n).hexdigest()[:8], 16))
		ts = [threading.Thread(target=work) for _ in range(4)]
		for t in ts: t.start()
		for n in range(count): q.put(n)
		for t in ts: q.put(None)
		for t in ts: t.join()
		print(sum(done.get() for _ in range(count)))
	END
	local python=/usr/bin/python3
	[ -x $python ] || python=$(command -v python3)
	run_timed out env "$@" "$python" threads.py $((MB * 600))
	echo "status $?" "$(cat out)" >result
}

# Servers: the load comes from outside; CPU time is the server's own, read before it ends.
cpu_of() { # cpu_of PID
	awk -v hz="$(getconf CLK_TCK)" '{ sub(/.*\) /, ""); print ($12 + $13) / hz }' "/proc/$1/stat"
}
wait_port() {
	for _ in $(seq 200); do
		(exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null && return 0
		read -rt 0.05 <> <(:)
	done
	return 1
}

prog_memcached() {
	local port=31211 pid
	env "$@" memcached -u nobody -l 127.0.0.1 -p $port -t 2 -m 64 2>err &
	pid=$!
	wait_port $port
	"$B/tests/prog/kvload" $port 4 $((MB * 4000)) >out
	echo "client $?" "$(cat out)" >result
	cpu_of $pid >cpu
	kill -TERM $pid
	wait $pid
	echo "status $?" >>result
}

prog_redis-server() {
	local port=31379 pid
	env "$@" redis-server --port $port --bind 127.0.0.1 --save '' --io-threads 3 --io-threads-do-reads yes \
		--daemonize no >log 2>err &
	pid=$!
	wait_port $port
	redis-benchmark -p $port -q -n $((MB * 1000)) -c 20 -P 16 -t set,get,incr,lpush >out 2>&1
	echo "client $?" "$(redis-cli -p $port dbsize)" "$(redis-cli -p $port get counter:__rand_int__)" \
		"$(redis-cli -p $port llen mylist)" >result
	cpu_of $pid >cpu
	redis-cli -p $port shutdown nosave >/dev/null 2>&1
	wait $pid
	echo "status $?" >>result
}

. "$(dirname "$SELF")/realprogs_more.inc"

median() { sort -n | awk '{ v[NR] = $1 } END { print NR % 2 ? v[(NR + 1) / 2] : (v[NR / 2] + v[NR / 2 + 1]) / 2 }'; }

printf '%-14s %-7s %10s %9s %9s %7s %9s %7s %7s\n' program result events native record ratio check ratio reports
for name in pigz pbzip2 xz zstd memcached redis-server stress-ng z3 c++ python3 git sqlite3 x264 ffmpeg ld.lld node java \
	nginx lighttpd haproxy varnishd squid named unbound dnsmasq rsyslogd mariadbd pgbench; do
	[[ $name =~ ${REALPROGS:-.} ]] || continue
	case $name in c++) ;; *) command -v "$name" >/dev/null || continue ;; esac
	rm -f ./*.times ./*.result ./report.*
	same=same
	events=-
	for run in $(seq "$RUNS"); do
		for way in native record check $([ "$run" = 1 ] && echo "${REALPROGS_WAYS-both dormant}"); do
			rm -f trace.* result cpu
			read -ra words <<<"$(env_of "$way")"
			"prog_$name" "${words[@]}"
			[ -s result ] || continue 3 # what it needs is not here
			cat cpu >>"$way.times"
			[ "$run$way" = 1native ] && cp result native.result
			cmp -s native.result result || {
				same=DIFFERS
				bad=1
				echo "# $name, $way: $(tr '\n' ' ' <result) instead of $(tr '\n' ' ' <native.result)" >&2
			}
			if [ "$way" = record ]; then
				events=$("$B/tests/property/stress" legal trace.*.atm 2>&1 |
					awk '{ n += $2 } /NOT LEGAL/ { print > "/dev/stderr" } END { print n }')
			fi
		done
	done
	reports=$(cat report.* 2>/dev/null | grep -ohE '^━━ .*AV-[0-9a-f]{8}' | grep -oE 'AV-.*' | sort -u | wc -l)
	[ "$reports" = 0 ] || [ -z "${REALPROGS_REPORTS:-}" ] ||
		{ mkdir -p "$REALPROGS_REPORTS/$name" && cp report.* "$REALPROGS_REPORTS/$name"; }
	awk -v name="$name" -v same=$same -v events="$events" -v n="$(median <native.times)" -v reports="$reports" \
		-v r="$(median <record.times)" -v c="$(median <check.times)" 'BEGIN {
		printf "%-14s %-7s %10s %8.2fs %8.2fs %7.2f %8.2fs %7.2f %7s\n", name, same, events, n, r, r / (n ? n : 1),
			c, c / (n ? n : 1), reports }'
done
exit $bad
