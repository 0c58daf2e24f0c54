#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# What the C library's functions read for code built with --symbolic is recorded and fixed to its value: a prediction in which
# strcmp would have found something else is none.
. "$(dirname "$0")/../lib.sh"
command -v clang-14 >/dev/null || { ok "no clang here, skipped"; finish; }

for level in -O0 -O2; do
	for option in -DONLY_THEN -DANYWAY; do
		check "$level $option: builds" atommon-cc --symbolic $level $option -g -I "$TOP/include" \
			"$TOP/tests/prog/symbolic/compared.c" -o compared -lpthread
		check "$level $option: runs by itself" ./compared
		check "$level $option: is recorded" preload ATOMMON_MODE=record ATOMMON_TRACE=c.atm ./compared
		atommon-predict c.atm >predicted 2>&1
		status=$?
		same "$level $option: predicted to break" "$([ $option = -DONLY_THEN ]; echo $?) model ctp" \
			"$status $(grep -o 'model [a-z]*$' predicted)"
		check "$level $option: what strcmp read is in the trace" grep -qE ' T2 pin ' <(atommon-dump --text c.atm)
		rm -f c.atm
	done
done
finish
