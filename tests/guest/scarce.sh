# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Guest promise: an unwritable directory, a full disk, little memory, few descriptors: the program does not notice.
# We may say so once on stderr; the program's own output and status stay what they are.
. "$(dirname "$0")/common.inc"

# scarce NAME [VAR=VALUE...] -- COMMAND...: in record mode, the same output and status as alone; on stderr at
# most two lines of ours besides the program's own
scarce() {
	local name=$1 native status
	shift
	local -a vars=()
	while [ "$1" != -- ]; do
		vars+=("$1")
		shift
	done
	shift
	alone "$@" >native.out 2>native.err </dev/null
	native=$?
	with ATOMMON_MODE=record ATOMMON_ONLY=g_threads "${vars[@]}" -- "$@" >guest.out 2>guest.err </dev/null
	status=$?
	grep -v '^atommon: ' guest.err >rest.err
	if [ $status -ne $native ] || ! cmp -s native.out guest.out || ! cmp -s native.err rest.err; then
		fail "$name" "status $status, without us $native" "$(diff native.out guest.out | head -5)" \
			"$(head -c 600 guest.err)"
	elif [ "$(grep -c '^atommon: ' guest.err)" -gt 2 ]; then
		fail "$name" "too talkative:" "$(head -c 600 guest.err)"
	else
		ok "$name"
	fi
}

work=("$PROG/g_threads" live 30)
scarce "a directory that does not exist" ATOMMON_TRACE=/nonexistent/dir/x.atm -- "${work[@]}"
scarce "a path that is a directory" ATOMMON_TRACE="$T" -- "${work[@]}"
scarce "a path that is not a file" ATOMMON_TRACE=/dev/full -- "${work[@]}"
scarce "a path on /proc" ATOMMON_TRACE=/proc/self/x.atm -- "${work[@]}"
scarce "a log that cannot be written" ATOMMON_LOG=/nonexistent/log -- "${work[@]}"
mkdir locked && chmod 555 locked
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	chmod 755 "$T"
	cp "$LIB" "$PROG/g_threads" . # where anybody may read: the build may be in a home
	PRELOADS=$T/${LIB##*/} scarce "an unwritable directory" ATOMMON_TRACE="$T/locked/x.atm" -- \
		setpriv --reuid=65534 --clear-groups "$T/g_threads" "${work[@]:1}"
else
	scarce "an unwritable directory" ATOMMON_TRACE="$T/locked/x.atm" -- "${work[@]}"
fi

# Limits. The shell sets them and becomes the program, as a user would.
limited() { # limited ULIMIT... -- COMMAND...
	local -a l=()
	while [ "$1" != -- ]; do
		l+=("$1")
		shift
	done
	shift
	printf '%s\n' "ulimit ${l[*]} && exec \"\$@\""
}
for n in 8 64 1024; do
	scarce "files of at most ${n}k" -- sh -c "$(limited -f "$n" --)" sh "${work[@]}"
done
for kb in 400000 100000 40000; do
	scarce "address space of ${kb}k" -- sh -c "$(limited -v "$kb" --)" sh "$PROG/g_threads" sequence 200
done
for n in 4 5 6 10; do
	scarce "$n descriptors" -- sh -c "$(limited -n "$n" --)" sh "${work[@]}"
done
scarce "little memory of our own" ATOMMON_MEM_MAX=4M -- "$PROG/g_threads" live 200
# Threads that got no ring could tell nothing in their own stream: the trace says so all the same.
with ATOMMON_MODE=record ATOMMON_MEM_MAX=4M ATOMMON_TRACE="$T/short.atm" -- "$PROG/g_threads" live 400 >short.out 2>short.err
check "what was lost for lack of memory is counted" grep -qE '^  lost memory [1-9]' <(atommon-dump --stats "$T/short.atm")
check "and stands in the stream" grep -qE ' lost .* memory' <(atommon-dump --text "$T/short.atm")
scarce "the smallest buffers" ATOMMON_BUFFER=4K -- "${work[@]}"
scarce "buffers that drop" ATOMMON_BUFFER=4K ATOMMON_OVERFLOW=drop -- "$PROG/g_threads" sequence 500
scarce "the smallest trace" ATOMMON_TRACE_MAX=64K -- "$PROG/g_threads" sequence 2000
scarce "standard streams closed" -- sh -c 'exec "$@" <&- >&- 2>&-' sh "${work[@]}"

# A really full disk: a small tmpfs, in a namespace of our own.
if unshare -rm sh -c "mkdir -p '$T/small' && mount -t tmpfs -o size=256k none '$T/small'" 2>/dev/null; then
	cat >full.sh <<-'END'
		mount -t tmpfs -o size="$1" none "$2" || exit 99
		shift 2
		exec "$@"
	END
	for size in 4k 256k 3m; do
		scarce "a disk of $size" ATOMMON_TRACE="$T/small/%p.atm" -- \
			unshare -rm sh "$T/full.sh" $size "$T/small" "$PROG/g_threads" sequence 3000
	done
else
	skip "a full disk" "no namespace or mount allowed here"
fi

# The same on a file system with blocks, holes and large pages; root only. The mount goes with its namespace.
cat >ext4.sh <<-'END'
	mount -o loop "$1" "$2" || exit 99
	shift 2
	exec "$@"
END
mkdir -p small
image() { # image MEGABYTES
	rm -f image && truncate -s "$1M" image && mkfs.ext4 -q -O ^has_journal image
}
if [ "$(id -u)" -eq 0 ] && command -v mkfs.ext4 >/dev/null && image 8 2>/dev/null &&
	unshare -m sh ext4.sh image small true 2>/dev/null; then
	for size in 3 8 12 20 30; do
		image $size
		scarce "a disk of ${size}M, ext4" ATOMMON_TRACE="$T/small/%p.atm" -- \
			unshare -m sh "$T/ext4.sh" "$T/image" "$T/small" "$PROG/g_threads" live 300
	done
else
	skip "a full disk with ext4" "no loop device or mount allowed here"
fi
finish
