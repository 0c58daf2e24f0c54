#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What a lock/unlock pair, a condition hand-over and a process' start cost: native, dormant, record, check, and peers
# where they are installed. One round runs every variant of a case once, one after the other; the
# median of ROUNDS (7) rounds counts, so that all share the machine's moods, and beside it the least, which
# a busy machine disturbs less. CPU in ns per operation: of the application's threads, then of the whole
# process (with the monitor's own thread).
set -u
build=${ATOMMON_BUILD:?run this through scripts/bench}
top=$(cd "$(dirname "$0")/../.." && pwd)
lib=$build/lib/libatommon.so
work=$(mktemp -d)
lttng_pid=
finish() {
	[ -z "$lttng_pid" ] || lttng destroy atommon-bench >/dev/null 2>&1
	[ -z "$lttng_pid" ] || kill "$lttng_pid" 2>/dev/null
	rm -rf "$work"
}
trap finish EXIT
cd "$work" || exit 1
rounds=${ROUNDS:-7}

gcc -O2 -g "$top/tests/bench/lock.c" -o lock -pthread || exit 1
peers=()
if gcc -O2 -fsanitize=thread "$top/tests/bench/lock.c" -o lock.tsan-gcc -pthread 2>/dev/null &&
	./lock.tsan-gcc pair 1 10 >/dev/null 2>&1; then
	peers+=(tsan-gcc)
fi
if clang-14 -O2 -fsanitize=thread "$top/tests/bench/lock.c" -o lock.tsan-clang -pthread 2>/dev/null &&
	./lock.tsan-clang pair 1 10 >/dev/null 2>&1; then
	peers+=(tsan-clang)
fi
# LTTng-UST with its wrapper of mutexes, recording into small files that are reused; its session daemon
# runs only as long as we do. With a daemon of somebody else we do not meddle.
lttng=$(ldconfig -p | awk '/liblttng-ust-pthread-wrapper/ { print $NF; exit }')
if [ -n "$lttng" ] && command -v lttng-sessiond >/dev/null && ! pgrep -x lttng-sessiond >/dev/null &&
	lttng-sessiond --daemonize --no-kernel --pidfile="$work/lttng.pid" >/dev/null 2>&1; then
	lttng_pid=$(cat "$work/lttng.pid")
	if { lttng --no-sessiond create atommon-bench --output="$work/lttng" &&
		lttng enable-channel -u --tracefile-size=4194304 --tracefile-count=2 c &&
		lttng enable-event -u -c c 'lttng_ust_pthread:*' && lttng start; } >lttng.log 2>&1; then
		peers+=(lttng)
	fi
fi
command -v valgrind >/dev/null && peers+=(helgrind)

# once VARIANT CASE THREADS OPERATIONS: one line of three numbers
once() {
	local variant=$1 n=$4
	shift
	case $variant in
	native) ./lock "$@" ;;
	dormant) LD_PRELOAD=$lib ATOMMON_ENABLED=0 ./lock "$@" ;;
	record) LD_PRELOAD=$lib ATOMMON_MODE=record ATOMMON_TRACE=x.atm ./lock "$@" ;;
	check) LD_PRELOAD=$lib ./lock "$@" ;;
	sections) LD_PRELOAD=$lib ATOMMON_ATOMIC=sections ATOMMON_LOG=none ./lock "$@" ;;
	lttng) LD_PRELOAD=$lttng ./lock "$1" "$2" $((n / 20 + 1)) ;;
	tsan-*) ./lock."$variant" "$1" "$2" $((n / 10 + 1)) ;;
	helgrind) valgrind --tool=helgrind -q ./lock "$1" "$2" $((n / 400 + 1)) 2>/dev/null ;;
	esac
}

least() { sort -n | head -1; }
median() { sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }

# table TITLE CASE THREADS OPERATIONS VARIANT...
table() {
	local title=$1 native='' lowest=''
	local run=("$2" "$3" "$4")
	shift 4
	rm -f out.*
	for ((i = 0; i < rounds; i++)); do
		for v in "$@"; do
			[ "$v" = helgrind ] && [ "$i" -gt 1 ] && continue
			once "$v" "${run[@]}" >>"out.$v" 2>/dev/null
		done
	done
	printf '\n%s\n  %-12s %12s %8s %12s %8s %12s %8s\n' "$title" variant "threads ns" x "process ns" x \
		"least ns" x
	for v in "$@"; do
		local app all low
		low=$(cut -d' ' -f1 "out.$v" | least)
		app=$(cut -d' ' -f1 "out.$v" | median)
		all=$(cut -d' ' -f2 "out.$v" | median)
		[ -n "$app" ] || continue
		[ "$v" = native ] && native=$app && lowest=$low
		awk -v v="$v" -v a="$app" -v p="$all" -v n="$native" -v l="$low" -v m="$lowest" \
			'BEGIN { printf "  %-12s %12.1f %8.2f %12.1f %8.2f %12.1f %8.2f\n", v, a, a / n, p, p / n, l, l / m }'
	done
}

own=(native dormant record check sections)
echo "load average: $(cut -d' ' -f1-3 /proc/loadavg), processors: $(nproc)"
table "lock and unlock, 1 thread" pair 1 3000000 "${own[@]}" "${peers[@]}"
table "lock and unlock, 2 threads, private mutexes" pair 2 3000000 "${own[@]}" "${peers[@]}"
table "lock and unlock, 2 threads, one mutex" share 2 1000000 "${own[@]}" "${peers[@]}"
table "lock and unlock, 8 threads, one mutex" share 8 250000 "${own[@]}" "${peers[@]}"
table "condition ping-pong, 2 threads" ping 2 20000 "${own[@]}" "${peers[@]}"
table "a process that does nothing, start to end" start 1 100 "${own[@]}"

# Is the cost of an event the same with many threads? ns per pair, least of the rounds.
printf '\nlock and unlock, private mutexes: least ns a pair of the threads (of the process)\n  %-8s %10s %18s %8s\n' \
	threads native record x
for threads in 1 2 4 8 16 32 64; do
	rm -f out.*
	for ((i = 0; i < rounds; i++)); do
		for v in native record; do
			once $v pair $threads $((12000000 / threads)) >>"out.$v"
		done
	done
	printf '  %-8s %10s %18s %8s\n' $threads "$(cut -d' ' -f1 out.native | least)" \
		"$(cut -d' ' -f1 out.record | least) ($(cut -d' ' -f2 out.record | least))" \
		"$(awk -v a="$(cut -d' ' -f1 out.native | least)" -v b="$(cut -d' ' -f1 out.record | least)" \
			'BEGIN { printf "%.2f", b / a }')"
done
