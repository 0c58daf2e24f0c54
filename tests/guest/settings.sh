# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Guest promise: a bad value in any setting, or a setting that does not exist, is one warning and the default;
# it never changes the program's fate. The settings come from the table itself.
. "$(dirname "$0")/common.inc"

table=$(cc -E -dM -I"$TOP/include" -xc - <<<'#include "atommon/options.h"' 2>/dev/null | grep -c AM_OPTIONS)
same "the table is there" 1 "$table"

# NAME TYPE pairs, by the preprocessor: the same table that makes the parser.
mapfile -t settings < <(cc -E -P -I"$TOP/include" -xc - <<'END' | grep -oE 'SETTING [A-Z_]+ [a-z]+' | sort -u
#include "atommon/options.h"
#define X(field, NAME, type, def, values, meaning) SETTING NAME type
AM_OPTIONS(X)
END
)
[ ${#settings[@]} -ge 15 ] && ok "found ${#settings[@]} settings" || fail "found only ${#settings[@]} settings"

"$PROG/g_sync" >native.out 2>native.err
native=$?
attempt() { # attempt NAME EXPECTED_WARNINGS VAR=VALUE
	with ATOMMON_MODE=record "$3" -- "$PROG/g_sync" >guest.out 2>guest.err
	local status=$? warnings
	warnings=$(grep -c '^atommon: ' guest.err)
	grep -v '^atommon: ' guest.err >rest.err
	if [ $status -ne $native ] || ! cmp -s native.out guest.out || ! cmp -s native.err rest.err; then
		fail "$1" "status $status" "$(head -c 400 guest.err)"
	elif [ "$2" != any ] && [ "$warnings" -ne "$2" ]; then
		fail "$1" "$warnings warnings, expected $2" "$(head -c 400 guest.err)"
	else
		ok "$1"
	fi
}
long=$(printf 'x%.0s' {1..5000})
for s in "${settings[@]}"; do
	read -r _ name type <<<"$s"
	[ "$name" = MODE ] && continue
	case $type in
	text) warnings=any ;;
	*) warnings=1 ;;
	esac
	[ "$name" = ATOMIC ] && warnings=1
	attempt "ATOMMON_$name=nonsense" $warnings "ATOMMON_$name=no/such:thing%"
	attempt "ATOMMON_$name with 5,000 letters" any "ATOMMON_$name=$long"
	attempt "ATOMMON_$name empty" any "ATOMMON_$name="
	[ $type = text ] || attempt "ATOMMON_$name=-1" 1 "ATOMMON_$name=-1"
	[ $type = text ] || attempt "ATOMMON_$name beyond 64 bits" 1 "ATOMMON_$name=99999999999999999999999"
done
attempt "a setting that does not exist" 1 ATOMMON_COFFEE=strong
with ATOMMON_MODE=sideways -- "$PROG/g_sync" >guest.out 2>guest.err
same "ATOMMON_MODE=sideways: the program's status" $native $?
same "and one warning" 1 "$(grep -c '^atommon: ' guest.err)"
finish
