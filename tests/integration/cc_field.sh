#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Mistakes that real programs made, each as a small program without annotations (tests/prog/field): found
# live when the order is forced, predicted from a run in which nothing went wrong, and with -DFIXED
# silent and proved.
. "$(dirname "$0")/../lib.sh"
field=$TOP/tests/prog/field
cc -O1 -c "$field/order.c" -o order.o

build() { # build NAME OUT OPTIONS...
	local source=$field/$1.c wrapper=atommon-cc out=$2
	shift 2
	[ -f "$source" ] || {
		source=${source}c
		wrapper=atommon-c++
	}
	$wrapper -g "$@" "$source" order.o -o "$out" -lpthread
}

reports() { # reports FUNCTION ORDER PROGRAM: how many violations are told
	rm -f log
	# shellcheck disable=SC2086
	preload ATOMMON_ATOMIC="fn:$1" ATOMMON_LOG=log "$3" $2 >out 2>&1
	grep -c 'atomicity violation' log 2>/dev/null || echo 0
}

live() { # live LABEL NAME FUNCTION OPTIONS...
	local label=$1 name=$2 function=$3 n
	shift 3
	check "$label: $name builds" build "$name" wrong "$@"
	n=$(reports "$function" bad ./wrong | head -1)
	if [ "$n" -ge 1 ]; then ok "$label: $name is found"; else fail "$label: $name is found" "$(cat out)"; fi
	same "$label: $name in a good order" 0 "$(reports "$function" good ./wrong | head -1)"
	check "$label: $name, fixed, builds" build "$name" fixed "$@" -DFIXED
	same "$label: $name, fixed" 0 "$(reports "$function" free ./fixed | head -1)"
	same "$label: $name, fixed, in a good order" 0 "$(reports "$function" good ./fixed | head -1)"
}

predict() { # predict NAME FUNCTION STATUS: of the wrong one; the fixed one is proved
	check "$1: builds, symbolic" build "$1" wrong --symbolic -O1
	check "$1: builds, symbolic, fixed" build "$1" fixed --symbolic -O1 -DFIXED
	for p in wrong fixed; do
		rm -f $p.atm
		preload ATOMMON_ATOMIC="fn:$2" ATOMMON_MODE=record ATOMMON_TRACE=$p.atm ./$p good >out 2>&1
	done
	atommon-check wrong.atm >out 2>&1
	same "$1: nothing happened in the recorded run" 0 $?
	atommon-predict wrong.atm >out 2>&1
	same "$1: predicted from it" "$3" $?
	[ "$3" = 0 ] || check "$1: with a witness" grep -q 'predicted (model' out
	atommon-predict fixed.atm >out 2>&1
	same "$1: fixed" 0 $?
	check "$1: all its regions are proved" grep -q '[1-9][0-9]* proved, 0 undecided' out
}

# name:function:status of atommon-predict. In a serial run of those with 0 the second thread does something
# else (it finds what the first one made, or writes elsewhere), so that no schedule of these events breaks.
programs="log_buffer:log_line:0 log_race:log_line:1 binlog_order:change_row:1 rotate:rotate:1
	null_fifo:consume:1 bandwidth:session_init:1 text_frame:paint:1 proc_info:show:1
	string_buffer:append:1 upgrade:raise_limit:1 lazy_init:instance:0 ticket_sem:sell:1
	refcount_atomic:release:1 list_push:push:1 registry:lookup:0 account:audit:1
	conn_pool:pool_get:1 first_context:new_context:1 domain_list:suspend:1 bounded:put:1
	buffer_pin:read_buffer:1"

# Through functions of the C library, which --symbolic does not follow; and one whose second thread chooses
# by what the first one did.
strings="incr:add_delta claim:claim lru:get"

# Each with one compiler, in turn: name:functions:what the report says:status of atommon-predict ("-": not asked).
# "crash": the program may crash of it. "?": only a schedule that cannot be forced shows it.
more='picture_unref:picture_unref:Or use what the operation at step 2 returned:1
slow_work:count_down:Hold pool_mutex, which T2 holds:1
unreferenced:deliver:T2 freed .* and T1 went on to use it:1
resize_cache:resize:T2 read both in between:0
count_fill:snapshot:Hold lock from step:1
save_log:save_log:T2 changed both in between:1
clock_string:update:step [0-9]* of T2 is done without it. take lock:1
own_recursive:leave:Hold main_mutex:1
zone_rules:local_time:T2 freed .* and T1 went on to use it:1
budget:reserve:Or make the check and the update one operation:0
conn_bundle:remove_conn:Hold share from step:0
snapshot_xid:take_snapshot:Hold proc_array, which T2 holds from step:1
set_version:set_version,sections:T1 read .* and went on to:-
copy_on_write:write_page:Hold table_lock from step:1
stack_aba:pop:pop\(\):-
callbacks:run_callback:Region "Customer..run_callback":-
observers:notify:Hold subject.mutex_ from step:1
publish_early:instance:publish it by a single write:1
try_test:set_rate:Hold device, which T2 holds from step:1
bucket_index:table_put,sections:T1 read size .* and went on to buckets:-
io_pending:read_async:Hold queue_lock from step:1
three_hops:compare:through 4 other transactions:1
stopping:enter:T1 read stopping .* and went on to pending:1
expire:expire:Hold lock from step:1
grown_array:set_handler:crash:1
double_fetch:receive:keep the value in a local variable:1
bit_fields:set_dirty:?:1
object_cache:get_or_make:Hold .* from step:0
pool_idle:take:T2 read both in between:1
cow_value:modify:what was checked no longer held:1
peer_address:send_to:Hold peer.lock from step:1
flush_wal:install:Hold mutex from step [0-9]+ to step [0-9]+. the release:1
cancel_list:setup_cancel:cancel_lock, under which step [0-9]+ is done, may be the one:0
last_reference:release_service:Hold registry, which T2 holds at step:0
sample_zero:sample:an exchange, or a compare-and-exchange:1
in_use:reuse_conn:lets other threads in before the region is done. suppress:1
endpoint_ref:release_endpoint:Take it around step [0-9]+ of T2, too:0
host_name:parse_hello:publish it by a single write of session:1'

found() { # found LABEL FUNCTIONS WORDS: by ./wrong in the bad order
	if [ "$3" = crash ]; then
		rm -f wrong.atm
		atommon run --fn "$2" --trace wrong.atm -- ./wrong bad >text 2>&1
		check "$1 is found though it crashes" grep -q 'freed it (step .*, and T1 went on to use it' text
		return
	fi
	[ "$(reports "$2" bad ./wrong | head -1)" -ge 1 ] || : >log
	tr -s ' \n' ' ' <log >text
	if grep -Eq "$3" text; then ok "$1 is found"; else fail "$1 is found" "$(cat out log)"; fi
	case $1 in # accesses that were told late once stood before the region's begin
	*flush_wal | *cancel_list | *host_name)
		same "$1: no step of the cycle stands before the region's begin" '' \
			"$(awk '/^  steps/ {begun = 0} /begin / {begun = 1} /▸/ && !begun' log)" ;;
	esac
}

one_of_more() { # one_of_more COMPILER NAME FUNCTIONS WORDS STATUS
	local cxx=${1/gcc/g++}
	cxx=${cxx/clang/clang++}
	ATOMMON_CC=$1 ATOMMON_CXX=$cxx check "$1: $2 builds" build "$2" wrong -O2
	ATOMMON_CC=$1 ATOMMON_CXX=$cxx check "$1: $2, fixed, builds" build "$2" fixed -O2 -DFIXED
	[ "$4" = "?" ] || found "$1: $2" "$3" "$4"
	same "$1: $2 in a good order" 0 "$(reports "$3" good ./wrong | head -1)"
	same "$1: $2, fixed" 0 "$(reports "$3" 'free 200' ./fixed | head -1)"
	if [ "$5" != - ] && command -v clang-14 >/dev/null; then predict "$2" "$3" "$5"; fi
}

i=0
while IFS=: read -r name functions words status; do
	cc=gcc
	if [ $((i++ % 2)) = 1 ] && command -v clang-14 >/dev/null; then cc=clang-14; fi
	one_of_more $cc "$name" "$functions" "$words" "$status"
done <<<"$more"

# An exchange that fails is tried again: a schedule in which it does breaks nothing, and is not told.
if command -v clang-14 >/dev/null; then
	for form in wrong:1 fixed:0; do
		p=${form%:*}
		rm -f "$p.atm"
		check "stack_aba, $p: builds, symbolic" build stack_aba "$p" --symbolic -O1 "-D${p^^}"
		preload ATOMMON_ATOMIC=fn:pop ATOMMON_MODE=record ATOMMON_TRACE="$p.atm" "./$p" good >out 2>&1
		atommon-predict "$p.atm" >out 2>&1
		same "stack_aba, $p: predicted or not" "${form#*:}" $?
	done
	check "stack_aba, fixed: all its regions are proved" grep -q '[1-9][0-9]* proved, 0 undecided' out
fi

for cc in gcc clang-14; do
	command -v $cc >/dev/null || continue
	cxx=${cc/gcc/g++}
	for program in $programs $strings; do
		IFS=: read -r name function _ <<<"$program"
		ATOMMON_CC=$cc ATOMMON_CXX=${cxx/clang/clang++} live $cc "$name" "$function" -O2
	done
done
if command -v clang-14 >/dev/null; then
	for program in $programs; do
		IFS=: read -r name function status <<<"$program"
		live symbolic "$name" "$function" --symbolic -O1
		predict "$name" "$function" "$status"
	done
fi
finish
