# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Guest promise: other preloaded libraries are kept, in either order; programs built with sanitisers run;
# programs that cannot be watched are left alone.
. "$(dirname "$0")/common.inc"

for other in libjemalloc.so.2 libeatmydata.so; do
	path=$(ldconfig -p | awk -v l="$other" '$1 == l { print $NF; exit }')
	[ -n "$path" ] || path=$(compgen -G "/usr/lib/*/$other*" | head -1)
	if [ -z "$path" ]; then
		skip "beside $other" "not installed"
		continue
	fi
	for PRELOADS in "$LIB $path" "$path $LIB"; do
		case $PRELOADS in "$LIB"*) place="behind us" ;; *) place="before us" ;; esac
		guest "$other $place: threads" "$PROG/g_threads" live 50
		guest "$other $place: C++" "$PROG/g_cxx"
		guest "$other $place: fork" "$PROG/g_fork" thread
	done
	unset PRELOADS
done

# Sanitised programs, built here. gcc's ASan wants to come first; both ways round that are tried.
build() { # build OUT FLAGS...
	local out=$1
	shift
	"${CC:-cc}" -D_GNU_SOURCE -std=gnu17 -g -O1 -I"$TOP/include" "$@" -o "$out" "$TOP/tests/prog/g_threads.c" \
		-pthread 2>"$T/cc.err"
}
if build asan -fsanitize=address && ./asan sequence 5 >/dev/null 2>&1; then
	ASAN_OPTIONS=verify_asan_link_order=0 guest "a program with AddressSanitizer" "$T/asan" live 20
	export ASAN_OPTIONS=verify_asan_link_order=0
	guest "a program with AddressSanitizer, told not to insist on its place" "$T/asan" live 20
	unset ASAN_OPTIONS
	PRELOADS="$(cc -print-file-name=libasan.so) $LIB" guest "AddressSanitizer listed before us" "$T/asan" live 20
else
	skip "a program with AddressSanitizer" "$(head -c 200 cc.err)"
fi
if build tsan -fsanitize=thread && ./tsan sequence 5 >/dev/null 2>&1; then
	guest "a program with ThreadSanitizer" "$T/tsan" live 20
	guest "ThreadSanitizer: a thread exits the process" "$T/tsan" exit
else
	skip "a program with ThreadSanitizer" "it does not run on this machine"
fi
if CC=clang-14 build casan -fsanitize=address && ./casan sequence 5 >/dev/null 2>&1; then
	guest "a program with clang's AddressSanitizer" "$T/casan" live 20
else
	skip "a program with clang's AddressSanitizer" "no clang-14 runtime"
fi
if build ubsan -fsanitize=undefined; then
	guest "a program with UndefinedBehaviorSanitizer" "$T/ubsan" live 20
fi

# Programs that the loader does not let us into.
if build static -static; then
	forget
	guest "a static program" "$T/static" live 20
	same "leaves no trace" "" "$(ls "$T/traces")"
else
	skip "a static program" "no static libc"
fi
if [ "$(id -u)" -eq 0 ] && command -v setpriv >/dev/null; then
	cp "$PROG/g_threads" suid && chown daemon suid && chmod 4755 suid && chmod 755 "$T"
	guest "a setuid program" setpriv --reuid=65534 --clear-groups "$T/suid" live 20
	cp "$PROG/g_threads" suidroot && chmod 4755 suidroot
	guest "a setuid-root program" setpriv --reuid=65534 --clear-groups "$T/suidroot" live 20
else
	skip "a setuid program" "needs root"
fi
finish
