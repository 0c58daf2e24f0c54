#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# CPU seconds of real programs, built with a compiler alone, with `atommon cc`, and with that
# compiler's ThreadSanitizer. usage: tests/bench/instrument.sh BUILD_DIR [COMPILER...]
# Sources come from the Debian archive (deb-src must be enabled) into BUILD_DIR/bench-src; what cannot
# be had is left out. Input: INPUT_MB (6) megabytes of text of this machine, REQUESTS (20000).
set -u
build=$(realpath "${1:?usage: instrument.sh BUILD_DIR [COMPILER...]}")
shift
compilers=("${@:-clang-14}")
lib=$build/lib/libatommon.so
src=$build/bench-src
mkdir -p "$src"
cd "$src" || exit 2
port=$((20000 + $$ % 20000))

get() { # get PACKAGE: its original source in ./PACKAGE
	[ -d "$1" ] && return
	apt-get source -q --download-only "$1" >/dev/null 2>&1
	local tar
	tar=$(ls "$1"_*.orig.tar.* 2>/dev/null | head -1)
	[ -n "$tar" ] && mkdir "$1" && tar xf "$tar" -C "$1" --strip-components=1
}

make_one() { # make_one PACKAGE VARIANT CC CFLAGS: builds ./PACKAGE.VARIANT, once
	local dir=$1.$2
	[ -e "$dir/built" ] && return
	rm -rf "$dir"
	cp -rp "$1" "$dir"
	(
		cd "$dir" || exit 1
		# Old sources: gnulib's test of the C library, and generated files in the right order.
		sed -i 's/#error "Please port gnulib.*/;/' lib/*.c 2>/dev/null
		touch aclocal.m4 && sleep 1 && find . -name Makefile.in -exec touch {} + && touch configure
		find . -name 'config.h.in' -exec touch {} +
		./configure CC="$3" CFLAGS="-O2 -g $4" >configure.log 2>&1 && make -j2 >make.log 2>&1 && touch built
	)
	[ -e "$dir/built" ]
}

input() {
	[ -s input ] || find /usr/share/doc /usr/include -type f 2>/dev/null | sort | xargs cat 2>/dev/null |
		head -c "${INPUT_MB:-6}000000" >input
}

cpu() { # cpu COMMAND...: user and system seconds, output checked against $want
	local t sum
	sum=$({ /usr/bin/time -o time.out -f '%U %S' "$@" | md5sum; } 2>/dev/null)
	t=$(awk '{ print $1 + $2 }' time.out)
	[ "$sum" = "$want" ] && echo "$t" || echo "$t(output differs)"
}

row() { printf '%-10s %-9s %9s %9s %9s %9s %9s %9s\n' "$@"; }

lbzip2_row() { # lbzip2_row COMPILER
	local want
	want=$("./lbzip2.plain-$1/src/lbzip2" -n2 -c input | md5sum)
	bin() { echo "lbzip2.$1-$2/src/lbzip2 -n2 -c input"; }
	# shellcheck disable=SC2046
	row lbzip2 "$1" "$(cpu $(bin plain "$1"))" "$(cpu $(bin atommon "$1"))" \
		"$(cpu env ATOMMON_ENABLED=0 LD_PRELOAD="$lib" $(bin atommon "$1"))" \
		"$(cpu env ATOMMON_ATOMIC=sections ATOMMON_LOG=none LD_PRELOAD="$lib" $(bin atommon "$1"))" \
		"$(cpu env ATOMMON_MODE=record ATOMMON_TRACE=lbzip2.%p.atm LD_PRELOAD="$lib" $(bin atommon "$1"))" \
		"$(cpu $(bin tsan "$1"))"
	rm -f lbzip2.*.atm
}

serve() { # serve PROGRAM VAR=VALUE...: CPU seconds of memcached under the load generator
	local program=$1 pid
	shift
	env "$@" "$program" -u root -t 2 -l 127.0.0.1 -p $port >/dev/null 2>&1 &
	pid=$!
	until (: >/dev/tcp/127.0.0.1/$port) 2>/dev/null; do kill -0 $pid || return; done
	"$build/tests/prog/kvload" $port 4 "${REQUESTS:-20000}" >answers
	awk '{ print ($14 + $15) / 100 }' "/proc/$pid/stat"
	kill $pid
	wait $pid 2>/dev/null
	port=$((port + 1))
}

memcached_row() { # memcached_row COMPILER
	local a=./memcached.atommon-$1/memcached
	row memcached "$1" "$(serve "./memcached.plain-$1/memcached")" "$(serve "$a")" \
		"$(serve "$a" ATOMMON_ENABLED=0 LD_PRELOAD="$lib")" \
		"$(serve "$a" ATOMMON_ATOMIC=sections ATOMMON_LOG=none LD_PRELOAD="$lib")" \
		"$(serve "$a" ATOMMON_MODE=record ATOMMON_TRACE=memcached.%p.atm LD_PRELOAD="$lib")" \
		"$(serve "./memcached.tsan-$1/memcached")"
	rm -f memcached.*.atm
}

input
row program compiler plain unwatched dormant live record tsan
for package in lbzip2 memcached; do
	get $package
	[ -d $package ] || { echo "# no source of $package"; continue; }
	for cc in "${compilers[@]}"; do
		make_one $package "plain-$cc" "$cc" "" &&
			ATOMMON_CC=$cc make_one $package "atommon-$cc" "$build/bin/atommon-cc" "" &&
			make_one $package "tsan-$cc" "$cc" "-fsanitize=thread" || {
			echo "# $package does not build with $cc, see $src/$package.*-$cc/*.log"
			continue
		}
		${package}_row "$cc"
	done
done
