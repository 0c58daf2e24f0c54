#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The library exports the intercepted functions and atommon_*, exactly as preload/exports.list says.
. "$(dirname "$0")/../lib.sh"

nm -D --defined-only --with-symbol-versions "$LIB" | awk '$2 != "A" { print $3 }' | LC_ALL=C sort -u >found
grep -v '^#' "$TOP/preload/exports.list" | LC_ALL=C sort -u >listed
if cmp -s found listed; then
	ok "exports are those of the list"
else
	fail "exports are those of the list" "$(diff listed found | head -40)"
fi
tls=$(readelf -lW "$LIB" | awk '$1 == "TLS" { print $6 }')
check "thread-local storage is tiny" test $((tls)) -le 512
same "needs nothing but libc and libgcc_s" "" \
	"$(readelf -d "$LIB" | grep NEEDED | grep -vE 'libc\.so\.6|libgcc_s|ld-linux')"
finish
