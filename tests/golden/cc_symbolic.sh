#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The examples of Wang et al. (Fig. 1 and 6) as plain C, built with --symbolic: the recorded events
# of the two threads on x and c are those that the paper prints (Fig. 3 and 6), at every
# optimisation level.
. "$(dirname "$0")/../lib.sh"
here=$TOP/tests/golden/symbolic
command -v clang-14 >/dev/null || { ok "no clang here, skipped"; finish; }

# Events of the created threads, in each thread's order, without addresses, sites and node numbers.
shown() { # shown TRACE PROGRAM
	local base line
	declare -A name=()
	atommon-dump --text "$1" >dump
	base=$(sed -nE 's/^!module 0 base=(0x[0-9a-f]+).*/\1/p' dump | head -1)
	while read -r line _ symbol; do name[$((base + 0x$line))]=$symbol; done < <(nm "$2" | grep -E ' (x|c)$')
	grep -E '^[0-9]+ T[1-9] (read|write|assume|assert|begin|end|wait|wake|signal) ' dump |
		while read -r _ thread kind rest; do
			case $kind in
			read | write | wait | wake | signal)
				object=${rest%% *}
				[ -n "${name[$((object))]:-}" ] || continue
				rest="${name[$((object))]} ${rest#* }"
				;;
			esac
			sed -E 's/\$[0-9]+//; s/ ?#[0-9]+//; s/ ?@[0-9]+.*//; s/ size=4//; s/ was=[0-9]+//; s/ mutex=.*//' \
				<<<"$thread $kind $rest"
		done | sort -s -k1,1
}

for level in -O0 -O2; do
	for name in fig1a fig1a_ge fig1b fig6; do
		flags=()
		[ $name = fig1a_ge ] && flags=(-DAT_LEAST)
		check "$name $level builds" atommon-cc --symbolic $level -g "${flags[@]}" -I "$TOP/include" \
			"$TOP/tests/prog/symbolic/${name%_ge}.c" -o "$name" -lpthread
		check "$name $level runs by itself" "./$name"
		check "$name $level is recorded" preload ATOMMON_MODE=record ATOMMON_TRACE="$name$level.atm" "./$name"
		# 1: predicted to break, 0: proved serializable; as the paper says of each.
		case $name in fig1a | fig1b) verdict=0 ;; *) verdict=1 ;; esac
		atommon-predict "$name$level.atm" >predicted 2>&1
		same "$name $level: the verdict of the paper" $verdict $?
		same "$name $level: the events of the paper" "$(cat "$here/$name.txt")" \
			"$(shown "$name$level.atm" "$name")"
	done
done
finish
