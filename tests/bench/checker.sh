#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The checker's costs: CPU ns per event by threads, entities and length of the run, with plots, and the
# paper's Table 1 on the example programs. usage: tests/bench/checker.sh BUILD_DIR
# Environment: BENCH_QUICK=1 short runs; BENCH_LONG=1 also 10^9 events; BENCH_DOC where plots go (doc/);
# BENCH_LIMIT seconds for the classic graph per run (60).
set -u
build=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 2
out=$build/bench
doc=${BENCH_DOC:-doc}
mkdir -p "$out" "$doc"
bench=$out/checker-bench
${CC:-gcc} -std=gnu17 -O2 -DNDEBUG -D_GNU_SOURCE -Iinclude -I. -o "$bench" tests/bench/checker.c \
	"$build/libtrace.a" "$build/libcore.a" -ldw -lelf -lzstd -ljson-c -llz4 -pthread || exit 2

events=4000000 repeat=3
[ "${BENCH_QUICK:-0}" = 1 ] && events=300000 repeat=1

best() { # best WORKLOAD THREADS ENTITIES EVENTS: the fastest of some runs
	for ((i = 0; i < repeat; i++)); do "$bench" "$@"; done | sort -k6n | head -1
}

echo "checker alone, CPU ns per event, best of $repeat runs of $events events"
printf '%-6s' workload
threads_list="2 4 8 16 32 50 64 128 200"
for k in $threads_list; do printf '%8s' "$k thr"; done
echo "   (10^4 entities)"
: >"$out/threads.tsv"
for w in bank sor star long pipe; do
	printf '%-6s  ' "$w"
	for k in $threads_list; do
		line=$(best "$w" "$k" 10000 "$events")
		read -r _ _ _ _ _ ns _ <<<"$line"
		echo "$w $k $ns" >>"$out/threads.tsv"
		printf '%8s' "$ns"
	done
	echo
done
printf '%-6s' workload
entities_list="100 1000 10000 100000 1000000"
for n in $entities_list; do printf '%9s' "$n"; done
echo "   (entities, 8 threads)"
: >"$out/entities.tsv"
for w in bank sor star long pipe; do
	printf '%-6s  ' "$w"
	for n in $entities_list; do
		line=$(best "$w" 8 "$n" $((events > 2 * n ? events : 2 * n)))
		read -r _ _ _ _ _ ns _ <<<"$line"
		echo "$w $n $ns" >>"$out/entities.tsv"
		printf '%9s' "$ns"
	done
	echo
done
echo
echo "length of the run, 8 threads, 10^4 entities: ns per event, peak memory"
: >"$out/length.tsv"
lengths="100000 1000000 10000000 100000000"
[ "${BENCH_QUICK:-0}" = 1 ] && lengths="100000 1000000"
[ "${BENCH_LONG:-0}" = 1 ] && lengths="$lengths 1000000000"
for w in bank long pipe; do
	for n in $lengths; do
		line=$("$bench" "$w" 8 10000 "$n")
		read -r _ _ _ _ _ ns nodes edges entities bytes cycles <<<"$line"
		echo "$w $n $ns" >>"$out/length.tsv"
		printf '%-6s %12s events %8s ns %10s bytes, at most %s nodes, %s edges, %s entities, %s violations\n' \
			"$w" "$n" "$ns" "$bytes" "$nodes" "$edges" "$entities" "$cycles"
	done
done

plot() { python3 tests/bench/plot.py "$1" "$2" "CPU ns per event" <"$out/$3.tsv" >"$doc/checker-$3.svg"; }
plot "Live checker: cost by threads (10^4 entities)" "threads" threads
plot "Live checker: cost by entities (8 threads)" "entities" entities
plot "Live checker: cost by length of the run (8 threads, 10^4 entities)" "events" length
echo "plots: $doc/checker-{threads,entities,length}.svg"

# ---- Table 1 ----------------------------------------------------------------------------------

echo
echo "Table 1 on our programs: classic conflict graph (CG) against the summarised one (SCG)"
printf '%-10s %-16s %7s %9s %10s %20s %10s %12s %10s %s\n' program size threads entities length "CG (n, e)" "CG time" \
	"SCG (n, e)" "SCG time" violations
limit=${BENCH_LIMIT:-60}
row() { # row PROGRAM SIZE-WORD ARGUMENTS...
	local program=$1 size=$2 trace=$out/$1.atm cg scg
	shift 2
	rm -f "$trace"
	LD_PRELOAD=$build/lib/libatommon.so ATOMMON_MODE=record ATOMMON_TRACE=$trace "$build/tests/prog/$program" "$@" >/dev/null 2>&1
	scg=$("$bench" --trace "$trace" scg) || { echo "$program: no trace"; return; }
	cg=$("$bench" --trace "$trace" full "$limit")
	echo "$scg $cg" | awk -v p="$program" -v z="$size" -v limit="$limit" '{
		s = $6 * $4 / 1e9; c = $17 == "-" ? ">" limit "s" : sprintf("%.3fs", $17 * $15 / 1e9)
		printf "%-10s %-16s %7d %9d %10d %20s %10s %12s %9.3fs %s\n", p, z, $2, $3, $4, $18 ", " $19, c, \
			$7 ", " $8, s, ($11 > 0 ? "yes" : "no") }'
	rm -f "$trace"
}
big=1
[ "${BENCH_QUICK:-0}" = 1 ] && big=0
row sor 60x60 --threads 3 --size 60
if [ $big = 1 ]; then
	row sor 100x100 --threads 3 --size 100
	row sor 100x100 --threads 10 --size 100
	row sor 100x100 --threads 50 --size 100
fi
row lufact 30x30 --threads 3 --size 30
if [ $big = 1 ]; then
	row lufact 100x100 --threads 3 --size 100
	row lufact 100x100 --threads 10 --size 100
	row lufact 100x100 --threads 50 --size 100
fi
row elevator "16 floors" --order bad --threads 2 --size 16
row elevator "100 floors" --order bad --threads 4 --size 100
row tsp "5 cities" --order bad --threads 3 --size 5
row tsp "8 cities" --order bad --threads 5 --size 8
row raytracer 150x150 --order bad --threads 10 --size 150
row raytracer 200x200 --order bad --threads 10 --size 200
