#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Long ranges in regions, told late: each report has a line, and it is one at which that region did access the word,
# whatever else it did before and behind. CASES (30) random programs per compiler, from SEED (1) on.
. "$(dirname "$0")/../lib.sh"
src=$TOP/tests/prog/plain

check "what is not watched builds" cc -O1 -c "$src/ranges_book.c" -o book.o
for cc in ${COMPILERS:-gcc clang-14}; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O1 -fno-inline -g "$src/ranges.c" book.o -o ranges -lpthread
	wrong=() none=0
	for ((seed = ${SEED:-1}; seed < ${SEED:-1} + ${CASES:-30}; seed++)); do
		rm -f log
		preload ATOMMON_ATOMIC=fn:step ATOMMON_LOG=log ./ranges $seed >out
		read -r kind lines <out
		told=$(sed -nE "s/^ +[0-9]+ +┃▸ $kind .*ranges.c:([0-9]+)$/\1/p" log)
		if grep -qE "^ +[0-9]+ +┃▸ $kind " log && [ -z "$told" ]; then
			none=$((none + 1))
		elif [ -z "$told" ] || [[ " $lines " != *" $told "* ]]; then
			wrong+=("$seed: $kind at $lines, told at ${told:-nothing}")
		fi
	done
	same "$cc: no wrong line" "" "${wrong[*]-}"
	same "$cc: and hardly any without" 1 $((none * 8 <= ${CASES:-30}))
	echo "# $cc: $none of ${CASES:-30} without a line"
done
finish
