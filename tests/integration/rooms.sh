# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# The rules of the tree: who includes what, SPDX lines, shell scripts that shellcheck accepts.
. "$(dirname "$0")/../lib.sh"

check "rooms include only what they may" "$TOP/scripts/check-includes"

missing=$(cd "$TOP" && git ls-files '*.c' '*.h' '*.cc' '*.S' '*.sh' 'scripts/*' |
	xargs grep -L 'SPDX-License-Identifier: MIT' | grep -v '^scripts/packages$')
same "every source file has its SPDX line" "" "$missing"

mapfile -t scripts < <(cd "$TOP" && git ls-files scripts tests | xargs grep -lE '^#!.*bash|shellcheck shell' | sort)
cd "$TOP" || exit 1
check "shell scripts pass shellcheck" shellcheck -S warning "${scripts[@]}"
finish
