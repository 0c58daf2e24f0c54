#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# CPU seconds of real programs, built with a compiler alone, with `atommon cc`, and with that
# compiler's ThreadSanitizer. usage: tests/bench/instrument.sh BUILD_DIR [COMPILER...]
# Sources come from the Debian archive (deb-src must be enabled) into BUILD_DIR/bench-src, or are put there by
# hand (BUILD_DIR/bench-src/NAME/); what cannot be had or built is left out, with the reason.
# Input: INPUT_MB (6) megabytes of text of this machine, REQUESTS (20000). RUNS (2): of each kind, interleaved;
# the best counts. PROGRAMS: a pattern that selects some.
set -u
build=$(realpath "${1:?usage: instrument.sh BUILD_DIR [COMPILER...]}")
shift
compilers=("${@:-clang-14}")
lib=$build/lib/libatommon.so
src=$build/bench-src
mkdir -p "$src"
cd "$src" || exit 2
port=$((20000 + $$ % 20000))

get() { # get NAME [PACKAGE]: the original source in ./NAME
	local package=${2:-$1} tar
	[ -d "$1" ] && return
	apt-get source -q --download-only "$package" >"$1.get.log" 2>&1
	tar=$(find . -maxdepth 1 -name "${package}_*.orig.tar.*" ! -name '*.asc' | head -1)
	[ -n "$tar" ] && mkdir "$1" && tar xf "$tar" -C "$1" --strip-components=1
}

make_one() { # make_one PACKAGE VARIANT CC CXX CFLAGS: builds ./PACKAGE.VARIANT, once
	local dir=$1.$2
	[ -e "$dir/built" ] && return
	rm -rf "$dir"
	cp -rp "$1" "$dir"
	(
		cd "$dir" || exit 1
		if [ ! -e configure ]; then # plain make
			make -j2 CC="$3 $5" CXX="$4 $5" >make.log 2>&1 && touch built
			exit
		fi
		# Old sources: gnulib's test of the C library, and generated files in the right order.
		sed -i 's/#error "Please port gnulib.*/;/' lib/*.c 2>/dev/null
		touch aclocal.m4 && sleep 1 && find . -name Makefile.in -exec touch {} + && touch configure
		find . -name 'config.h.in' -exec touch {} +
		./configure CC="$3" CXX="$4" --disable-shared CFLAGS="-O2 -g $5" >configure.log 2>&1 && make -j2 >make.log 2>&1 && touch built
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

# Where the program is, how it compresses ./input to its output with two threads.
place() {
	case $1 in
	lbzip2) echo src/lbzip2 -n2 -c input ;;
	pbzip2) echo pbzip2 -p2 -q -c input ;;
	pigz) echo pigz -p2 -n -T -c input ;;
	xz) echo src/xz/xz -T2 -1 --block-size=500000 -c input ;;
	esac
}

best() { sort -n | head -1; }

compressor_row() { # compressor_row NAME COMPILER
	local name=$1 cc=$2 want way
	# shellcheck disable=SC2046
	set -- $(place "$name")
	local program=$1
	shift
	want=$("./$name.plain-$cc/$program" "$@" | md5sum)
	rm -f ./*.times
	for _ in $(seq "${RUNS:-2}"); do
		cpu "./$name.plain-$cc/$program" "$@" >>plain.times
		cpu "./$name.atommon-$cc/$program" "$@" >>unwatched.times
		cpu env ATOMMON_ENABLED=0 LD_PRELOAD="$lib" "./$name.atommon-$cc/$program" "$@" >>dormant.times
		cpu env ATOMMON_ATOMIC=sections ATOMMON_LOG=none LD_PRELOAD="$lib" \
			"./$name.atommon-$cc/$program" "$@" >>live.times
		cpu env ATOMMON_MODE=record ATOMMON_TRACE=bench.%p.atm ATOMMON_TRACE_MAX=8G LD_PRELOAD="$lib" \
			"./$name.atommon-$cc/$program" "$@" >>record.times
		rm -f bench.*.atm
		cpu "./$name.tsan-$cc/$program" "$@" >>tsan.times
	done
	# shellcheck disable=SC2046
	row "$name" "$cc" $(for way in plain unwatched dormant live record tsan; do best <$way.times; done)
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
for package in lbzip2 pbzip2 pigz xz memcached; do
	[[ $package =~ ${PROGRAMS:-.} ]] || continue
	case $package in xz) get xz xz-utils ;; *) get $package ;; esac
	[ -d $package ] || {
		echo "# $package: no source: $(grep -m1 '^E:' "$package.get.log" | head -c 200)"
		continue
	}
	for cc in "${compilers[@]}"; do
		cxx=${cc/gcc/g++}
		cxx=${cxx/clang/clang++}
		# Old C++: "..."MACRO without a blank.
		case $package$cc in pbzip2clang*) flags=-Wno-reserved-user-defined-literal ;; *) flags= ;; esac
		ATOMMON_CC=$cc ATOMMON_CXX=$cxx
		export ATOMMON_CC ATOMMON_CXX
		make_one $package "plain-$cc" "$cc" "$cxx" "$flags" &&
			make_one $package "atommon-$cc" "$build/bin/atommon-cc" "$build/bin/atommon-c++" "$flags" &&
			make_one $package "tsan-$cc" "$cc" "$cxx" "$flags -fsanitize=thread" || {
			echo "# $package does not build with $cc, see $src/$package.*-$cc/*.log"
			continue
		}
		case $package in
		memcached) memcached_row "$cc" ;;
		*) compressor_row $package "$cc" ;;
		esac
	done
done
