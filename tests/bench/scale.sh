#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# atommon-predict on a long run: EVENTS (1000000) events, REGIONS (10000) regions, THREADS (8); one
# violation is planted in a serial run (scale_trace.py). Time, memory and what became of the regions, for one and
# two processes. Fails if the planted one is not found or another is. usage: scale.sh BUILD_DIR
set -u
build=$(realpath "$1")
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 2
python3 "$here/scale_trace.py" "${EVENTS:-1000000}" "${REGIONS:-10000}" "${THREADS:-8}" "${SEED:-1}" >run.std || exit 2
status=0
for jobs in 1 2; do
	/usr/bin/time -o cost -f '%e s, %U + %S s of CPU, %M KiB' \
		"$build/bin/atommon-predict" --jobs $jobs run.std >out 2>err
	got=$?
	echo "jobs $jobs: $(head -1 cost | grep -v exited || tail -1 cost)"
	grep -h '^atommon-predict: ' out err | sed 's/^/  /'
	regions=$(sed -n 's/^  Region "\([^"]*\)".*/\1/p' out | sort -u | tr '\n' ' ')
	[ $got = 1 ] && [ "$regions" = "planted " ] || {
		echo "  wrong: status $got, broken: ${regions:-none}"
		status=1
	}
done
exit $status
