# SPDX-License-Identifier: MIT
# atommon-check: verdicts, options, statuses, on small traces in STD form.
. "$(dirname "$0")/../lib.sh"

std() { # std EVENT...: one line each, "T1:r(V1)" as "T1|r(V1)|N"
	local n=0 e
	for e in "$@"; do
		n=$((n + 1))
		echo "${e/:/|}|$n"
	done
}
status() { # status EXPECTED NAME ARGUMENTS...
	local expected=$1 name=$2 got
	shift 2
	atommon-check "$@" >out 2>err
	got=$?
	same "$name" "$expected" "$got"
}

std T1:begin\(m\) T1:r\(V1\) T2:begin\(m\) T2:w\(V1\) T2:end\(m\) T1:w\(V1\) T1:end\(m\) >lost.std
std T1:begin\(m\) T1:acq\(L1\) T1:rel\(L1\) T2:begin\(m\) T2:acq\(L1\) T2:rel\(L1\) T2:end\(m\) T1:acq\(L1\) \
	T1:rel\(L1\) T1:end\(m\) >split.std
std T0:begin\(m\) T0:fork\(T1\) T1:r\(V1\) T0:join\(T1\) T0:end\(m\) >fork.std
std T1:begin\(m\) T1:r\(x\) T2:begin\(m\) T2:w\(x\) T2:r\(z\) T3:begin\(m\) T3:w\(z\) T2:end\(m\) T1:w\(x\) >section3.std

status 1 "a lost update is a violation" lost.std
check "... told with its region" grep -q 'Region "m" was not atomic' out
check "... and counted" grep -q '1 violation in' err
status 1 "the cycle through a completed transaction is found" section3.std
status 1 "the classic graph says the same" --full section3.std
status 1 "both agree" --verify section3.std
check "... without complaint" test -z "$(grep disagree err)"
status 0 "fork and join are no conflict" fork.std
status 1 "without accesses locks conflict" split.std
status 0 "... not by data" --conflicts data split.std
status 1 "... and by both" --conflicts=both split.std
status 0 "a section by itself is atomic" --atomic sections split.std
status 1 "JSON: one object a line" --format json lost.std
check "... that parses" python3 -c 'import json,sys; [json.loads(l) for l in open("out")]'
status 1 "SARIF" --format sarif -o log.sarif lost.std
check "... that parses" python3 -c 'import json; assert json.load(open("log.sarif"))["runs"][0]["results"]'
status 1 "statistics" --stats --quiet lost.std
check "... tell the graph's size" grep -qE '^nodes +2 at most' out
same "quiet is quiet" "" "$(cat err)"
id=$(atommon-check -q lost.std | grep -o 'AV-[0-9a-f]*' | head -1)
echo "id:$id" >known.supp
status 0 "a suppressed violation is none" --suppressions known.supp lost.std
check "... and is counted" grep -q '1 suppressed' err
status 1 "standard input" - <lost.std

status 2 "no such file" nothing.std
status 2 "an unknown region kind" --atomic section lost.std
status 2 "an unknown conflict" --conflicts lock lost.std
status 2 "no trace" --stats
status 2 "a trace that is none" <(echo nonsense)
check "... is no verdict" test -z "$(grep 'no violation' err)"
status 0 "help" --help

std T1:begin\(m\) T1:r\(V1\) T1:end\(m\) | sed 's/$//' >ok.std
atommon-dump ok.std >ok.txt
if grep -q . ok.txt; then
	status 0 "text form" ok.txt
fi

# A run recorded with fn: has its regions without being told again; a file that was cut says so.
cat >twice.c <<'END'
#include <pthread.h>
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
__attribute__((noinline)) void twice(void)
{
	pthread_mutex_lock(&lock);
	pthread_mutex_unlock(&lock);
}
static void *run(void *p)
{
	twice();
	return p;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, 0, run, 0);
	return pthread_join(t, 0);
}
END
cc -g -finstrument-functions twice.c -o twice -lpthread
preload ATOMMON_MODE=record ATOMMON_TRACE=twice.atm ATOMMON_ATOMIC=fn:twice ./twice
status 0 "functions that were regions when recorded" twice.atm
check "... are regions" grep -q ' 1 regions' err
head -c $(($(stat -c %s twice.atm) / 2)) twice.atm >half.atm
status 0 "half a trace" half.atm
check "... is known to be one" grep -q 'the rest of it is missing' err
finish
