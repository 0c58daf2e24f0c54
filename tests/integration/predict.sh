# SPDX-License-Identifier: MIT
# atommon-predict as a user calls it: verdicts, exit status, formats, jobs, shards, bad input.
. "$(dirname "$0")/../lib.sh"

# A serial run of a lost update between T1's region and T2's write under the same lock.
cat >lost.std <<'EOF'
T0|fork(T1)|1
T0|fork(T2)|2
T1|begin(withdraw)|10
T1|acq(L)|11
T1|r(balance)|12
T1|rel(L)|13
T1|acq(L)|14
T1|w(balance)|15
T1|rel(L)|16
T1|end(withdraw)|17
T2|acq(L)|24
T2|w(balance)|25
T2|rel(L)|26
T0|join(T1)|3
T0|join(T2)|4
EOF
# The same with one section.
grep -v '|1[34]$' lost.std >fixed.std
# Ordered by join: nothing can move.
cat >joined.std <<'EOF'
T0|fork(T1)|1
T1|w(x)|2
T0|join(T1)|3
T0|begin(m)|4
T0|r(x)|5
T0|w(x)|6
T0|end(m)|7
EOF
# Already broken in the recorded run.
cat >observed.std <<'EOF'
T1|begin(m)|1
T1|r(x)|2
T2|w(x)|3
T1|w(x)|4
T1|end(m)|5
EOF

for engine in auto smt dpor enumerate; do
	atommon-predict --engine $engine lost.std >out 2>&1
	same "a lost update in a serial run is predicted ($engine)" 1 $?
	check "the report says predicted, not observed ($engine)" grep -q 'predicted (model avp)' out
	atommon-predict --engine $engine fixed.std >out 2>&1
	same "its fixed version is proved ($engine)" 0 $?
done
atommon-predict --stats fixed.std >out 2>&1
check "the proof is by locks" grep -q 'locks 1,' out
atommon-predict --stats joined.std >out 2>&1
same "what join orders is proved" 0 $?
check "by must-happen-before" grep -q 'must-happen-before 1,' out
atommon-predict observed.std >out 2>&1
same "what was observed is not predicted again" 0 $?
check "and is said to be observed" grep -q 'broken in the recorded run already' out

atommon-predict --model sync --engine dpor --context-bound 0 lost.std >out 2>&1
same "a context bound that cuts the schedule off leaves it undecided" 3 $?
atommon-predict --region 'deposit*' lost.std >out 2>&1
same "a region filter asks only for those" 0 $?

atommon-predict --json lost.std >out.json 2>err
check "json lines parse and say predicted" python3 -c '
import json
v = [json.loads(l) for l in open("out.json")]
assert any(x.get("status") == "predicted" for x in v), v'
atommon-predict --sarif -o out.sarif lost.std 2>err
check "sarif parses" python3 -c '
import json
d = json.load(open("out.sarif"))
assert d["version"] == "2.1.0" and d["runs"][0]["results"], d'

atommon-predict --witness-dir w lost.std >out 2>&1
check "a schedule file is written" grep -q '^step ' w/AV-*.schedule
id=$(sed -n 's/^id //p' w/AV-*.schedule)
echo "id:$id  known" >supp
atommon-predict --suppressions supp lost.std >out 2>&1
same "a suppressed prediction does not count" 0 $?

# Many regions, one planted violation: results do not depend on jobs and shards.
python3 - >many.std <<'EOF'
import random
random.seed(7)
for t in range(1, 5):
    print(f"T0|fork(T{t})|1")
for i in range(600):
    t, v = random.randint(1, 4), random.randint(0, 7)
    print(f"T{t}|begin(r{v})|10")
    print(f"T{t}|acq(L{v})|11")
    for k in range(3):
        print(f"T{t}|{random.choice('rw')}(x{v})|{12 + k}")
    print(f"T{t}|rel(L{v})|19")
    if i == 300:
        print(f"T{t}|acq(L{v})|20\nT{t}|w(x{v})|21\nT{t}|rel(L{v})|22")
    print(f"T{t}|end(r{v})|23")
EOF
atommon-predict --max-segment 200 --jobs 1 many.std >one 2>&1
same "one planted violation among 600 regions is predicted" 1 $?
atommon-predict --max-segment 200 --jobs 3 many.std >three 2>&1
same "the same output with three jobs" "$(cat one)" "$(cat three)"
for i in 0 1 2; do atommon-predict --max-segment 200 --shard $i/3 --json many.std 2>/dev/null; done | sort >shards
atommon-predict --max-segment 200 --json many.std 2>/dev/null | sort >whole
check "shards add up to the whole" cmp shards whole

atommon-predict --total 1 --engine smt many.std >out 2>&1
same "a total that is too small leaves it undecided" 3 $?
atommon-predict --total 100000000 --max-segment 200 many.std >out 2>&1
same "a large total changes nothing" "$(cat one)" "$(cat out)"

# A longer run with locks, hand-overs and private work, see tests/bench/scale.sh: the planted region and no other.
python3 "$TOP/tests/bench/scale_trace.py" 40000 400 8 3 >scale.std
atommon-predict --stats scale.std >out 2>&1
same "the planted violation of a long run is predicted" 1 $?
check "and all else is proved, by order and locks alone" grep -q '400 regions: 1 predicted to break, 399 proved, 0 undecided' out
check "with one segment searched" grep -q '^  segments 1,' out

atommon-predict --window 5000 --stats --jobs 1 scale.std >one 2>&1
same "it is found in a window, too" 1 $?
check "of several" grep -q '^  windows 1[0-9], which overlap' one
check "regions under locks are proved, the others undecided" grep -q '400 regions: 1 predicted to break, 2[0-9][0-9] proved, 1[0-9][0-9] undecided' one
check "with the reason" grep -q 'nothing breaks it within its window' one
atommon-predict --window 5000 --stats --jobs 3 scale.std >three 2>&1
same "windows do not depend on jobs" "$(grep -v time one)" "$(grep -v time three)"
atommon-predict --window 99 scale.std >out 2>&1
same "a window that is too small is bad usage" 2 $?

# Ctrl-C ends the analysis at once, with what was found so far. A pipe holds the tool back until then.
cat >interrupt.py <<'EOF'
import signal, subprocess, sys
p = subprocess.Popen(["atommon-predict", "--engine", "enumerate", "--no-static", "--no-segments",
                      "--model", "sync", "--budget", "1000000000", "many.std"],
                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
while not [c for c in open(f"/proc/{p.pid}/task/{p.pid}/children").read().split()]:
    if p.poll() is not None:
        sys.exit("ended by itself")
p.send_signal(signal.SIGINT)
out = p.communicate(timeout=60)[0].decode()
sys.exit(0 if "regions:" in out and "stopped before it was its turn" in out else out)
EOF
check "Ctrl-C prints what was found so far" python3 interrupt.py

# Lost events: nothing is predicted across the hole.
atommon-dump --text lost.std | awk '/ begin / { print n + 0 " T0 lost - full count=5 @0" } { print; n = $1 }' >holed.txt
atommon-predict holed.txt >out 2>&1
same "a region behind a hole is undecided" 3 $?
check "and the hole is named" grep -q 'behind a hole of 5 lost events' out

for bad in "--model nonsense" "--shard 3/3" "--jobs 0" "--engine x" "--budget -1" "--total 0" "--no-such-option"; do
	# shellcheck disable=SC2086
	atommon-predict $bad lost.std >out 2>&1
	same "bad usage '$bad' is status 2" 2 $?
done
atommon-predict >out 2>&1
same "no trace is status 2" 2 $?
atommon-predict /nonexistent.atm >out 2>&1
same "a missing file is status 2" 2 $?
check "and is named" grep -q nonexistent out
head -c 3000 /dev/urandom >junk.atm
atommon-predict junk.atm >out 2>&1
same "junk is status 2" 2 $?
: >empty.std
atommon-predict empty.std >out 2>&1
st=$?
[ $st -eq 0 ] || [ $st -eq 2 ]
same "an empty file is no crash" 0 $?
if [ -w /dev/full ]; then
	atommon-predict lost.std >/dev/full 2>err
	same "a full disk is said" 2 $?
fi

# A static variable of C++: whoever finds its guard set comes after the one who made it.
cat >guard.txt <<'EOF'
!atommon-trace 1 features=0x0 clock=0 start=0 pid=1
!string 1 "make"
1 T0 fork T1
2 T0 fork T2
3 T1 thread-begin T1
4 T1 enter 0x10 aux=1
5 T1 read 0x1000 size=1 order=acquire
6 T1 once-begin 0x1000
7 T1 write 0x2000 size=8
8 T1 write 0x2000 size=8
9 T1 once-end 0x1000
10 T1 leave-fn 0x10 aux=1
11 T2 thread-begin T2
12 T2 read 0x1000 size=1 order=acquire
13 T2 read 0x2000 size=8
14 T2 write 0x3000 size=8
EOF
atommon-predict guard.txt >out 2>&1
same "what stands behind a once object that was found done is proved" 0 $?
sed '/once-/d' guard.txt >guard_not.txt
atommon-predict guard_not.txt >out 2>&1
same "and breaks without it" 1 $?

finish
