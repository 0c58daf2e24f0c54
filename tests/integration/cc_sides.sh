#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The side of a branch that was not taken: which shared variables it may write, and where the sides meet
# (Wang, Chaudhuri, Gupta, Yang, FSE 2009, section 5.1). Each branch of the program says what is expected, in a comment.
. "$(dirname "$0")/../lib.sh"
src=$TOP/tests/prog/symbolic/sides.c

# "line what... merge=LINE" of each condition of the trace, in words as in the comments.
shown() { # shown TRACE
	atommon-dump --text "$1" | python3 -c '
import re, sys
line, words, merge, seen = 0, [], 0, set()
def out():
    global words
    if line and (line, tuple(words)) not in seen:
        seen.add((line, tuple(words)))
        if len(words) > 8:
            words = [w for w in words if w == "unknown"] + [str(len([w for w in words if w != "unknown"]))]
        print(line, *(sorted(words) or "-"), f"merge={merge}")
for text in sys.stdin:
    f = text.split()
    if len(f) < 3 or f[2] not in ("assume", "untaken"):
        continue
    at = int(re.search(r"sides\.c:(\d+)", text).group(1))
    if f[2] == "assume":
        out()
        line, words, merge = at, [], 0
        continue
    size = re.search(r"size=(\d+)", text)
    size = int(size.group(1)) if size else 0
    aux = re.search(r"aux=(\d+)", text)
    merge = int(aux.group(1)) if aux else 0
    name = re.search(r"\[([^]]+)\]", text)
    if name:
        words.append(name.group(1) + ("" if size == 4 else f":{size}"))
    else:
        words += (["unknown"] if size & 1 else []) + (["assert"] if size & 2 else [])
out()'
}

# What the comments say.
expected() {
	grep -nE '/\* [a-z-][a-z0-9+: -]* \*/$' "$src" | sed -E 's|^([0-9]+):.*/\* (.*) \*/|\1 \2|' |
		while read -r line words; do
			# shellcheck disable=SC2086,SC2046
			echo "$line" $(printf '%s\n' ${words/merge/} | sort)
		done
}
merges() { # merges LINE: the source line at which the branch's sides meet
	awk -v n="$1" '$1 == n { sub(/.*merge=/, ""); print; exit }' shown
}
line() { grep -nF "$1" "$src" | head -1 | cut -d: -f1; }

for cc in clang-14 clang-16; do
	[ -f "$B/lib/atommon/symbolic-${cc#clang-}.so" ] && command -v $cc >/dev/null || continue
	for level in -O0 -O2; do
		check "$cc $level: builds" env ATOMMON_CC=$cc atommon-cc --symbolic $level -g -I "$TOP/include" "$src" -o sides
		check "$cc $level: is recorded" preload ATOMMON_MODE=record ATOMMON_TRACE=s.atm ./sides
		shown s.atm >shown
		same "$cc $level: what the sides may write" "$(expected | LC_ALL=C sort)" "$(sed 's/ merge=.*//' shown | LC_ALL=C sort)"
		for pair in "if (seen) { /* y assert|x = 6;" "if (seen) { /* unknown y|x = 7;" "if (seen) /* x */|if (seen) /* z */" \
			"switch (seen) {|int i = 0; i < seen" "if (seen) /* - merge|return 2; }"; do
			same "$cc $level: where '${pair%%|*}' ends" "$(line "${pair#*|}")" "$(merges "$(line "${pair%%|*}")")"
		done
		rm -f s.atm
	done
done
finish
