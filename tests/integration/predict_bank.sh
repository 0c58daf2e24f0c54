# SPDX-License-Identifier: MIT
# The bank, end to end: built with expressions, recorded in a run without a violation, predicted. What is
# predicted is then forced by hand-placed waits, and the live checker sees it.
. "$(dirname "$0")/../lib.sh"
src=$TOP/tests/bench/table1

build() { # build NAME SOURCE OPTIONS...
	local out=$1 file=$2
	shift 2
	atommon-cc "$@" -O1 -g -D_GNU_SOURCE -I"$TOP/include" -I"$src" -o "$out" "$src/$file.c" -pthread
}

record() { # record NAME: until a run is serial
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		rm -f "$1.atm"
		preload ATOMMON_MODE=record ATOMMON_TRACE="$T/$1.atm" "./$1" 2 >/dev/null 2>&1
		atommon-check "$1.atm" >/dev/null 2>&1 && return
	done
	echo "# no serial run of $1"
}

feasible() { # feasible NAME MODEL
	atommon-predict --model "$2" --three "$1.atm" 2>/dev/null | sed -n 's/.*of these feasible \([0-9]*\), infeasible \([0-9]*\), undecided \([0-9]*\).*/\1 \2 \3/p'
}

for name in bank-av bank-sav bank-nav; do
	check "$name builds with expressions" build $name $name --symbolic
	record $name
done
same "av: all four candidates are real" "4 0 0" "$(feasible bank-av ctp)"
same "sav: half of them" "2 2 0" "$(feasible bank-sav ctp)"
same "nav: none" "0 4 0" "$(feasible bank-nav ctp)"
same "nav: ignoring data all look real" "4 0 0" "$(feasible bank-nav sync)"
atommon-predict bank-av.atm >av.out 2>&1
same "av is predicted" 1 $?
atommon-predict bank-sav.atm >sav.out 2>&1
same "sav is predicted" 1 $?
check "sav: only the unguarded account" grep -q '1 predicted to break, 2 proved' sav.out
atommon-predict bank-nav.atm >nav.out 2>&1
same "nav is proved" 0 $?

for name in bank-av bank-sav; do
	check "$name builds with its witness forced" build forced-$name $name -DFORCED
	preload ATOMMON_EXITCODE=66 ./forced-$name 2 >out 2>err
	same "$name: the live checker sees the forced schedule" 66 $?
	check "$name: as observed" grep -q 'observed' err
done

# The examples of doc/examples, plain C without any annotation, recorded in serial runs.
for spec in bank:withdraw:2 cache:insert:2 refcount:drop:2 queue:pop:2 close:finish:1; do
	IFS=: read -r name fn regions <<<"$spec"
	ex=$TOP/doc/examples/$name.c
	atommon-cc --symbolic -O1 -g -o "$name" "$ex" -pthread
	atommon-cc --symbolic -DFIXED -O1 -g -o "$name-fixed" "$ex" -pthread
	for p in "$name" "$name-fixed"; do
		atommon run --quiet --fn "$fn" --trace "$p.atm" -- "./$p" >out 2>err
		same "$p: nothing is observed" 0 $?
	done
	atommon predict "$name.atm" >out 2>&1
	same "$name: the lost update is predicted from the good run" 1 $?
	check "$name: under the exact model" grep -q 'predicted (model ctp)' out
	atommon predict "$name-fixed.atm" >out 2>&1
	same "$name: the fixed program is proved" 0 $?
	check "$name: all its regions" grep -q "$regions proved, 0 undecided" out
done
# As in the README: the values are those of the witness, not of the run.
atommon-cc --symbolic -O1 -g -o plain "$TOP/doc/examples/bank.c" -pthread
preload ATOMMON_MODE=record ATOMMON_TRACE=plain.atm ATOMMON_ATOMIC=fn:withdraw ./plain >out 2>&1
same "recorded: both withdraw" "balance 70" "$(cat out)"
atommon-predict plain.atm >out 2>&1
check "the witness reads what is there" grep -q 'read balance = 100' out
check "... also the second customer" grep -q 'write balance = 80' out
check "... and the first writes from what it read" grep -q 'write balance = 90' out
finish
