# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Guest promise: what is legal works, however unusual.
. "$(dirname "$0")/common.inc"

for what in altstack contexts clone raw spawner own timer failing handlers undumpable stopped fault realtime; do
	guest "$what" "$PROG/g_odd" "$what"
done
legal "every trace is legal" 'g_odd.*.atm' 13
finish
