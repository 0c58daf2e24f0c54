#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Lock-dense code: what a critical section with 16 read-modify-writes (or reads, or a queue's put or get) costs, CPU in ns of the whole
# process (the monitor's own thread included). Each round runs every variant once, one after the
# other; the least of ROUNDS (5) counts. usage: through scripts/bench; COMPILERS (gcc clang-14)
set -u
build=${ATOMMON_BUILD:?run this through scripts/bench}
top=$(cd "$(dirname "$0")/../.." && pwd)
lib=$build/lib/libatommon.so
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1

once() { # once VARIANT COMPILER CASE THREADS SECTIONS
	local variant=$1 cc=$2
	shift 2
	case $variant in
	native) ./plain.$cc "$@" ;;
	unwatched) ./watched.$cc "$@" ;;
	dormant) ATOMMON_ENABLED=0 LD_PRELOAD=$lib ./watched.$cc "$@" ;;
	sections) ATOMMON_ATOMIC=sections ATOMMON_LOG=none LD_PRELOAD=$lib ./watched.$cc "$@" ;;
	fn) ATOMMON_ATOMIC="fn:*_all" ATOMMON_LOG=none LD_PRELOAD=$lib ./watched.$cc "$@" ;;
	record) ATOMMON_MODE=record ATOMMON_TRACE=x.atm LD_PRELOAD=$lib ./watched.$cc "$1" "$2" $(($3 / 16 + 1)) ;;
	tsan) ./tsan.$cc "$@" ;;
	esac
}

variants=(native unwatched dormant sections fn record tsan)
echo "load average: $(cut -d' ' -f1-3 /proc/loadavg), processors: $(nproc)"
printf '%-9s %-9s' compiler case
printf ' %10s' "${variants[@]}" "tsan/sect." "tsan/fn"
echo
for cc in ${COMPILERS:-gcc clang-14}; do
	command -v "$cc" >/dev/null || continue
	$cc -O2 -g "$top/tests/bench/lockdense.c" -o "plain.$cc" -pthread &&
		$cc -O2 -g -fsanitize=thread "$top/tests/bench/lockdense.c" -o "tsan.$cc" -pthread &&
		ATOMMON_CC=$cc "$build/bin/atommon-cc" -O2 -g "$top/tests/bench/lockdense.c" -o "watched.$cc" \
			-pthread || continue
	for run in "own 1 800000" "own 2 400000" "own 8 200000" "share 2 400000" "share 8 200000" \
		"mutex 2 400000" "spin 2 400000" "sem 2 400000" "rwlock 2 400000" "queue 2 400000"; do # long enough for threads to meet
		rm -f out.*
		for ((i = 0; i < ${ROUNDS:-5}; i++)); do
			for v in "${variants[@]}"; do
				# shellcheck disable=SC2086
				once "$v" "$cc" $run 2>/dev/null | cut -d' ' -f1 >>"out.$v"
			done
		done
		printf '%-9s %-9s' "$cc" "${run% *}"
		for v in "${variants[@]}"; do printf ' %10s' "$(sort -n "out.$v" | head -1)"; done
		for v in sections fn; do
			printf ' %10s' "$(cat <(sort -n out.tsan | head -1) <(sort -n out.$v | head -1) |
				awk '{ v[NR] = $1 } END { printf "%.2f", v[1] / v[2] }')"
		done
		echo
	done
done
