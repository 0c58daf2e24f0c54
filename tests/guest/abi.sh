# SPDX-License-Identifier: MIT
# shellcheck shell=bash
# Guest promise: both versions of the condition variables; libraries that come and go; DEEPBIND; the
# search path of dlopen's caller; C++ plugins of C programs.
. "$(dirname "$0")/common.inc"

cc() { command cc -D_GNU_SOURCE -O1 -g "$@" -pthread; }

if [ "$(uname -m)" = x86_64 ] && cc -o old_cond "$SRC/old_cond.c" 2>cc.err; then
	guest "condition variables of before glibc 2.3.2" "$T/old_cond"
	legal "their trace is legal" 'old_cond.*.atm'
	trace=$(compgen -G "$T/traces/old_cond.*" | head -1)
	same "their signals were seen" 200 \
		"$(atommon-dump --text "$trace" | awk '$3 == "signal" || $3 == "broadcast"' | wc -l)"
else
	skip "condition variables of before glibc 2.3.2" "not on this machine: $(head -c 200 cc.err)"
fi

cc -shared -fPIC -o libthreadlib.so "$SRC/threadlib.c"
cc -DTHREADS_IN_CONSTRUCTOR -shared -fPIC -o libbusylib.so "$SRC/threadlib.c"
cc -o loader "$SRC/loader.c" -ldl
guest "a threaded library, loaded and unloaded" "$T/loader" "$T/libthreadlib.so" threadlib_run
legal "its trace is legal" 'loader.*.atm'
guest "a library with threads in its constructor" "$T/loader" "$T/libbusylib.so" threadlib_run
forget
guest "a library bound to itself first (DEEPBIND)" "$T/loader" -b "$T/libthreadlib.so" threadlib_run
legal "what was seen of it is legal" 'loader.*.atm'
same "is said when asked" 1 "$(with ATOMMON_VERBOSE=1 -- "$T/loader" -b -n 1 "$T/libthreadlib.so" threadlib_run 2>&1 |
	grep -c '^atommon: .*libthreadlib.so.* RTLD_DEEPBIND')"

# dlopen looks for a library along the search path of the object that calls it.
mkdir -p hidden
cc -shared -fPIC -o hidden/libhidden.so "$SRC/threadlib.c"
cc -o finder "$SRC/loader.c" -Wl,--enable-new-dtags,-rpath,"\$ORIGIN/hidden" -ldl
guest "dlopen keeps its caller's search path" "$T/finder" libhidden.so threadlib_run

c++ -std=c++20 -O1 -g -shared -fPIC -o plugin.so "$SRC/plugin.cc" -pthread
guest "a C++ plugin of a C program" "$T/loader" -n 1 "$T/plugin.so" plugin_run
c++ -std=c++20 -O1 -g -static-libstdc++ -static-libgcc -shared -fPIC -o plugin2.so "$SRC/plugin.cc" -pthread
guest "a C++ plugin that brings its own libstdc++" "$T/loader" -n 1 "$T/plugin2.so" plugin_run

cc -o early "$SRC/early.c"
guest "locks and threads before our constructor and after our destructor" "$T/early"
legal "their trace is legal" 'early.*.atm'
cc -shared -fPIC -Wl,-z,initfirst -o libfirst.so -DTHREADS_IN_CONSTRUCTOR "$SRC/threadlib.c"
cc -o uses_first "$SRC/early.c" -L. -Wl,--no-as-needed -lfirst -Wl,-rpath,"$T"
guest "a library that wants to be initialised first, too" "$T/uses_first"
finish
