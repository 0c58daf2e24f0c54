#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# CPU seconds of real programs, built with a compiler alone, with `atommon cc`, and with that
# compiler's ThreadSanitizer. usage: tests/bench/instrument.sh BUILD_DIR [COMPILER...]
# Sources come from the Debian archive (deb-src must be enabled) into BUILD_DIR/bench-src, or are put there by
# hand (BUILD_DIR/bench-src/NAME/); what cannot be had or built is left out, with the reason.
# Input: INPUT_MB (6) megabytes of text of this machine, REQUESTS (20000). RUNS (3): of each kind, interleaved;
# the best counts. PROGRAMS: a pattern that selects some. WAYS: some of the columns.
# Every run's output is compared with the plain program's; one that differs is marked with "!".
set -u
build=$(realpath "${1:?usage: instrument.sh BUILD_DIR [COMPILER...]}")
shift
compilers=("${@:-clang-14}")
lib=$build/lib/libatommon.so
src=$build/bench-src
read -ra ways <<<"${WAYS:-plain unwatched dormant sections fn record tsan}"
requests=${REQUESTS:-20000}
mkdir -p "$src"
cd "$src" || exit 2
port=$((20000 + $$ % 12000)) # below the ports that the system hands out

# ---- the programs: Debian's source package, the function that `fn` names, how to build and run ------

package() {
	case $1 in
	xz) echo xz-utils ;;
	zstd) echo libzstd ;;
	libuv) echo libuv1 ;;
	*) echo "$1" ;;
	esac
}

glob() {
	case $1 in
	lbzip2) echo 'do_*' ;;
	pbzip2) echo 'queueAdd' ;;
	pigz) echo 'get_space' ;;
	xz) echo 'threads_*' ;;
	zstd) echo 'POOL_add' ;;
	memcached) echo 'process_*' ;;
	redis) echo 'processCommand' ;;
	leveldb) echo 'leveldb::DBImpl::*' ;;
	libuv) echo 'uv__work_*' ;;
	esac
}

configure() { # configure OPTION...: old sources, so generated files are put in the right order
	sed -i 's/#error "Please port gnulib.*/;/' lib/*.c 2>/dev/null
	touch aclocal.m4 && sleep 1 && find . -name Makefile.in -exec touch {} + && touch configure
	find . -name 'config.h.in' -exec touch {} +
	./configure CC="$cc_" CXX="$cxx_" CFLAGS="-O2 -g $flags" CXXFLAGS="-O2 -g $flags" LDFLAGS="$flags" "$@" && make -j2
}

with_cmake() { # with_cmake OPTION...
	CC=$cc_ CXX=$cxx_ cmake -S . -B build -DCMAKE_BUILD_TYPE=RelWithDebInfo -DCMAKE_C_FLAGS="$flags" \
		-DCMAKE_CXX_FLAGS="$flags" "$@" && cmake --build build -j2
}

build_one() { # in the program's directory, with $cc_, $cxx_ and $flags
	case $1 in
	pigz) make -j2 CC="$cc_ $flags" ;;
	# Old C++: "..."MACRO without a blank.
	pbzip2) make -j2 CXX="$cxx_ $flags" CXXFLAGS="-O2 -g -Wno-reserved-user-defined-literal -pthread" ;;
	zstd) make -j2 -C programs zstd CC="$cc_ $flags" ;;
	redis) make -j2 MALLOC=libc OPTIMIZATION=-O2 CC="$cc_" CFLAGS="$flags" LDFLAGS="$flags" ;;
	leveldb)
		# Its db_bench alone; the others need sources that are not in the package.
		with_cmake -DLEVELDB_BUILD_TESTS=OFF -DLEVELDB_BUILD_BENCHMARKS=OFF -DHAVE_SNAPPY=0 || return
		# shellcheck disable=SC2086
		$cxx_ -O2 -g $flags -fno-rtti -DLEVELDB_PLATFORM_POSIX=1 -I. -Iinclude -Ibuild/include benchmarks/db_bench.cc \
			util/testutil.cc util/histogram.cc build/libleveldb.a -pthread -o db_bench
		;;
	libuv) with_cmake -DLIBUV_BUILD_TESTS=ON ;;
	memcached) configure ;;
	*) configure --disable-shared ;;
	esac
}

# Runs ./$dir's program with the environment given; its output goes to ./out, its CPU seconds are printed.
run() { # run NAME VAR=VALUE...
	local name=$1
	shift
	case $name in
	lbzip2) timed "$@" "$dir/src/lbzip2" -n2 -c input ;;
	pbzip2) timed "$@" "$dir/pbzip2" -p2 -q -c input ;;
	pigz) timed "$@" "$dir/pigz" -p2 -n -T -c input ;;
	xz) timed "$@" "$dir/src/xz/xz" -T2 -1 --block-size=500000 -c input ;;
	zstd) timed "$@" "$dir/programs/zstd" -T2 -9 -B1000000 -q -c input ;;
	memcached)
		served "$@" "$dir/memcached" -u root -t 2 -l 127.0.0.1 -p $port
		;;
	redis)
		# Not with io-threads: they spin, and their time says nothing.
		served "$@" "$dir/src/redis-server" --port $port --bind 127.0.0.1 --save ''
		;;
	leveldb)
		rm -rf bench.db
		timed "$@" "$dir/db_bench" --db=bench.db --num="$requests" --threads=2 \
			--benchmarks=fillrandom,readrandom,overwrite,readseq
		echo finished >out # it prints times
		;;
	libuv)
		timed "$@" "$dir/build/uv_run_tests_a" threadpool_multiple_event_loops
		sed -i 's/[0-9.]* ms//' out
		;;
	esac
}

# ---- measuring ------------------------------------------------------------------------------------

timed() { # timed VAR=VALUE... COMMAND...
	/usr/bin/time -q -o time.out -f '%U %S' env "$@" >out 2>err </dev/null
	awk '{ print $1 + $2 }' time.out
}

load() { # load NAME: against the server at $port, answers to ./out
	case $1 in
	memcached) "$build/tests/prog/kvload" $port 4 "$requests" ;;
	redis) {
		redis-benchmark -h 127.0.0.1 -p $port -n "$requests" -c 8 -P 16 -t set,get,incr,lpush,lpop -q >/dev/null
		redis-cli -p $port get counter:__rand_int__
		redis-cli -p $port dbsize
	} ;;
	esac
}

served() { # served VAR=VALUE... COMMAND...: CPU seconds of a server under its load
	local pid
	env "$@" >/dev/null 2>err </dev/null &
	pid=$!
	until (: >/dev/tcp/127.0.0.1/$port) 2>/dev/null; do
		kill -0 $pid || return
		sleep 0.05
	done
	load "$name" >out
	awk '{ print ($14 + $15) / 100 }' "/proc/$pid/stat"
	kill $pid
	wait $pid 2>/dev/null
}

way() { # way NAME COMPILER WAY: one run; prints the seconds
	local name=$1 dir=./$1.atommon-$2 t
	local -a set
	case $3 in
	plain) dir=./$1.plain-$2 set=(A=) ;;
	unwatched) set=(A=) ;;
	dormant) set=(ATOMMON_ENABLED=0 LD_PRELOAD="$lib") ;;
	sections) set=(ATOMMON_ATOMIC=sections ATOMMON_LOG=none LD_PRELOAD="$lib") ;;
	fn) set=(ATOMMON_ATOMIC="fn:$(glob "$1")" ATOMMON_LOG=none LD_PRELOAD="$lib") ;;
	record) set=(ATOMMON_MODE=record ATOMMON_TRACE="$1.atm" ATOMMON_TRACE_MAX=8G LD_PRELOAD="$lib") ;;
	tsan) dir=./$1.tsan-$2 set=(TSAN_OPTIONS=report_bugs=0) ;;
	esac
	rm -f "$1.atm"
	port=$((port + 1)) # the last one's may not be free yet
	t=$(run "$1" "${set[@]}")
	[ "$3" = plain ] && md5sum <out >want
	[ "$(md5sum <out)" = "$(cat want)" ] && echo "$t" || echo "$t!"
	rm -f "$1.atm"
}

row() { # row NAME COMPILER
	local w dir
	rm -f ./*.times
	for _ in $(seq "${RUNS:-3}"); do
		for w in "${ways[@]}"; do way "$1" "$2" "$w" >>"$w.times"; done
	done
	printf '%-10s %-9s' "$1" "$2"
	for w in "${ways[@]}"; do printf ' %9s' "$(sort -n "$w.times" | head -1)"; done
	[ -e tsan.times ] && for w in sections fn; do
		[ -e $w.times ] && printf ' %9s' "$(awk "BEGIN { printf \"%.2f\", \
			$(sort -n $w.times | head -1 | tr -d '!') / ($(sort -n tsan.times | head -1 | tr -d '!') + 0.0001) }")"
	done
	echo
}

get() { # get NAME: the original source in ./NAME
	local package tar
	package=$(package "$1")
	[ -d "$1" ] && return
	apt-get source -q --download-only "$package" >"$1.get.log" 2>&1
	tar=$(find . -maxdepth 1 -name "${package}_*.orig.tar.*" ! -name '*.asc' | head -1)
	[ -n "$tar" ] && mkdir "$1" && tar xf "$tar" -C "$1" --strip-components=1
}

make_one() { # make_one NAME VARIANT CC CXX FLAGS: builds ./NAME.VARIANT, once
	local dir=$1.$2
	[ -e "$dir/built" ] && return
	rm -rf "$dir"
	cp -rp "$1" "$dir"
	(
		cd "$dir" || exit 1
		cc_=$3 cxx_=$4 flags=$5
		build_one "$1" >build.log 2>&1 && touch built
	)
	[ -e "$dir/built" ]
}

[ -s input ] || find /usr/share/doc /usr/include -type f 2>/dev/null | sort | xargs cat 2>/dev/null |
	head -c "${INPUT_MB:-6}000000" >input
printf '%-10s %-9s' program compiler
printf ' %9s' "${ways[@]}"
printf ' %9s %9s\n' sect/tsan fn/tsan
for name in lbzip2 pbzip2 pigz xz zstd memcached redis leveldb libuv; do
	[[ $name =~ ${PROGRAMS:-.} ]] || continue
	get $name
	[ -d $name ] || {
		echo "# $name: no source: $(grep -m1 '^E:' "$name.get.log" | head -c 200)"
		continue
	}
	for cc in "${compilers[@]}"; do
		cxx=${cc/gcc/g++}
		cxx=${cxx/clang/clang++}
		export ATOMMON_CC=$cc ATOMMON_CXX=$cxx
		if make_one $name "plain-$cc" "$cc" "$cxx" "" &&
			make_one $name "atommon-$cc" "$build/bin/atommon-cc" "$build/bin/atommon-c++" "" &&
			make_one $name "tsan-$cc" "$cc" "$cxx" "-fsanitize=thread"; then
			row $name "$cc"
		else
			echo "# $name does not build with $cc, see $src/$name.*-$cc/build.log"
		fi
	done
done
