# shellcheck shell=bash
# SPDX-License-Identifier: MIT
# Reports as a person sees them, compared with the files beside this script. After a change that is
# meant: GOLDEN_UPDATE=1 TESTS=golden/report make test, and look at the difference.
. "$(dirname "$0")/../lib.sh"
here=$TOP/tests/golden

golden() { # golden FILE VARS... PROGRAM: its stderr, filtered, is FILE
	local file=$here/$1
	shift
	preload "$@" 2>raw >/dev/null
	"$here/filter" <raw >got
	[ -z "${GOLDEN_UPDATE-}" ] || cp got "$file"
	if cmp -s "$file" got; then
		ok "${file##*/}"
	else
		fail "${file##*/}" "$(diff -u "$file" got | head -60)"
	fi
}

golden report_lost.txt LC_ALL=C.UTF-8 "$PROG/report_lost" 3
golden report_lost_ascii.txt LC_ALL=C "$PROG/report_lost"
golden report_sections.txt LC_ALL=C.UTF-8 ATOMMON_ATOMIC=sections "$PROG/report_sections"
golden report_act.txt LC_ALL=C.UTF-8 "$PROG/report_act"
golden report_lost.json ATOMMON_FORMAT=json ATOMMON_VERBOSE=1 "$PROG/report_lost" 3
finish
