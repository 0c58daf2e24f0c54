#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The symbolic engine on the bank example: default and direct encoding for 2, 4, 6, 8 tellers, as a
# table. The direct encoding gets SYMBOLIC_LIMIT seconds per instance (default 20).
set -u
B=${ATOMMON_BUILD:?set ATOMMON_BUILD to the build directory}
exec "$B/tests/property/ctp_bank" table "${SYMBOLIC_LIMIT:-20}"
