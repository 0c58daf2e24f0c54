#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What one thread owns is logged only when another comes: random programs in which memory is private,
# handed over, freed and used again. Atomic steps are never reported, whatever regions are; broken ones
# are; the live checker and its twin agree. SEEDS (2) runs each.
. "$(dirname "$0")/../lib.sh"

run() { # run ATOMIC SEED [open]: "violations disagreements"
	rm -f log # here: who reads the result goes on before this function ends
	preload ATOMMON_ATOMIC="$1" ATOMMON_LOG=log ATOMMON_VERBOSE=1 ATOMMON_VERIFY="$4" \
		./handover "$2" 4 400 $3 >out 2>&1
	echo "$? $(sed -nE 's/.* ([0-9]+) violations? .*/\1/p' log) $(grep -c disagree log)"
}

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	export ATOMMON_CC=$cc
	check "$cc: builds" atommon-cc -O2 -g "$TOP/tests/prog/plain/handover.c" -o handover -lpthread
	for ((seed = 1; seed <= ${SEEDS:-2}; seed++)); do
		for atomic in fn:step sections fn:step,sections; do
			same "$cc, $atomic, seed $seed: nothing is reported" "0 0 0" \
				"$(run $atomic $seed "" $((seed % 2)))"
		done
		read -r status n bad < <(run fn:step $seed open 1)
		if [ "$status" = 0 ] && [ "${n:-0}" -gt 0 ] && [ "$bad" = 0 ]; then
			ok "$cc, seed $seed: steps that are interrupted are"
		else
			fail "$cc, seed $seed: steps that are interrupted are" "status $status, $n violations, $bad disagreements"
		fi
	done
done
finish
