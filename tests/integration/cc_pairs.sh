#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# gcc's two callbacks of a read-modify-write become one in the assembler, and only where they are for the same address:
# programs made at random say the same accesses with the callbacks as gcc made them and with ours. SEED (1), PROGRAMS (2).
. "$(dirname "$0")/../lib.sh"
export ATOMMON_CC=gcc
src=$TOP/tests/prog/plain/pairs.c

calls() { objdump -dr --no-show-raw-insn "$1" | sed -nE 's/^[0-9a-f]+ <(.*)>:$/\1/; t name; s/.*__tsan_([a-z_]*[a-z])[0-9]*[-@+].*/\1/; T; H; x; s/\n/ /; p; s/ .*//; x; d; :name; h'; }
count() { grep -cE "$1" calls; }

gcc -O1 "$src" -o plain
gcc -O0 -S -fsanitize=thread "$src" -o - | grep -qF 'call	__tsan_read4' || { ok "another machine # SKIP"; finish; }
for options in "-O0 -g" "-O1" "-O2 -g" "-O3 -g -fPIC" "-O2 -fno-pie" "-O0 -fPIC" "-Os -fno-plt" "-O2 -pipe -fverbose-asm -fcf-protection" \
	"-O2 -g -flto -ffat-lto-objects -ffunction-sections"; do
	# shellcheck disable=SC2086
	check "$options: builds" atommon-cc $options -c "$src" -o pairs.o
	calls pairs.o >calls
	same "$options: none where none may be" "" "$(grep '^no_.* read_write$' calls)"
	check "$options: nearly all others, $(count ' read_write$'), are one" [ "$(count ' read_write$')" -ge 18 ]
	same "$options: and make no second callback" "" "$(awk '/^no_|^main/ { next } $2 == "read_write" { rw[$1]++ } $2 == "write" { w[$1]++ }
		END { for (f in w) if (w[f] > 1) print f }' calls)"
	# shellcheck disable=SC2086
	check "$options: links" atommon-cc $options -no-pie "$src" -o pairs
	same "$options: runs by itself" "$(./plain)" "$(./pairs)"
	same "$options: checked" "$(./plain)" "$(preload ATOMMON_ATOMIC='fn:*' ./pairs 2>&1)"
	same "$options: recorded" "$(./plain)" "$(preload ATOMMON_MODE=record ATOMMON_TRACE=p.atm ./pairs 2>&1)"
	case $options in *-g*)
		same "$options: both accesses with their line" "$(grep -n '++; }' "$src" | cut -d: -f1 | head -1 | sed 's/.*/read & write &/')" \
			"$(atommon-dump --text p.atm | sed -nE 's/.* (read|write) 0x.* increment pairs.c:([0-9]+).*/\1 \2/p' | xargs)"
		check "$options: debug information is whole" sh -c '! readelf --debug-dump=loc,decodedline pairs 2>&1 | grep -iE "warn.*(range|view|hole|overlap)|start >"'
		;;
	esac
	rm -f p.atm
done
check "-flto: links" atommon-cc -O2 -flto "$src" -o pairs
check "-flto: one callback" sh -c 'nm -D pairs | grep -q "U __tsan_read_write4"'
same "-flto: runs" "$(./plain)" "$(./pairs)"

# Assembler that gcc has not made keeps its calls.
printf 'f:\n\tpushq\t%%rbx\n\tmovq\t%%rbx, %%rdi\n\tcall\t__tsan_read4\n\tmovq\t%%rbx, %%rdi\n\tcall\t__tsan_write4\n\tpopq\t%%rbx\n\tret\n' >hand.s
check "assembler by hand" atommon-cc -c hand.s
calls hand.o >calls
same "assembler by hand keeps its calls" "f read f write" "$(xargs <calls)"
check "-S shows what gcc makes" sh -c "atommon-cc -O2 -S '$src' -o pairs.s && grep -q __tsan_write4 pairs.s && ! grep -q __tsan_read_write pairs.s"

# Random programs. Callbacks of the test print what they are told, the one for both as two.
cat >tell.c <<'END'
#include <stdint.h>
#include <stdio.h>
extern char pool[];
static char *stack;
static unsigned long both;
int __atommon_armed = 1;
static void tell(const char *what, int n, const void *p)
{
	const long in_pool = (const char *)p - pool;
	const int is_far = in_pool < -(1 << 20) || in_pool > 1 << 20;
	printf("%s %d %s%+ld\n", what, n, is_far ? "stack" : "pool", is_far ? (long)((const char *)p - stack) : in_pool);
}
#define SIZE(n) \
	void __tsan_read##n(void *p) { tell("read", n, p); } \
	void __tsan_write##n(void *p) { tell("write", n, p); } \
	void __tsan_read_write##n(void *p) { both++; tell("read", n, p); tell("write", n, p); } \
	void __tsan_volatile_read##n(void *p) { tell("volatile read", n, p); } \
	void __tsan_volatile_write##n(void *p) { tell("volatile write", n, p); }
SIZE(1) SIZE(2) SIZE(4) SIZE(8) SIZE(16)
void begin(char *base) { stack = base; setvbuf(stdout, 0, _IOFBF, 1 << 16); }
void end(unsigned x) { printf("%u\n", x); fprintf(stderr, "%lu\n", both); }
void __tsan_init(void) {}
void __tsan_func_entry(void *p) { (void)p; }
void __tsan_func_exit(void) {}
void __tsan_read_range(void *p, unsigned long n) { tell("read range", (int)n, p); }
void __tsan_write_range(void *p, unsigned long n) { tell("write range", (int)n, p); }
int __tsan_atomic32_fetch_add(int *p, int v, int mo) { (void)mo; tell("atomic", 4, p); int old = *p; *p += v; return old; }
END
cat >generate.py <<'END'
import random, sys
r = random.Random(int(sys.argv[1]))
types = ["char", "unsigned char", "short", "int", "unsigned", "long", "float", "double", "__int128"]
ops = ["+=", "-=", "*=", "^=", "|=", "&=", "<<=", ">>="]
def place():
    """An lvalue and whether it is a floating one."""
    k = r.randrange(9)
    t = r.choice(types[:8])
    if k == 0: return "g_%s" % r.choice(["c", "s", "i", "l", "d"])
    if k == 1: return "s->%s" % r.choice(["c", "h", "n", "l", "bits", "d", "in.k"])
    if k == 2: return "((%s *)pool)[%s & 31]" % (t, r.choice(["i", "j", "(i + j)", "(i * 3)"]))
    if k == 3: return "*p"
    if k == 4: return "q[%s & 15]" % r.choice("ij")
    if k == 5: return "pp[%s & 3][%s & 7]" % (r.choice("ij"), r.choice("ij"))
    if k == 6: return "*e"
    if k == 7: return "t[i & 3].%s" % r.choice(["c", "h", "n", "l", "d"])
    return "*(%s *)(pool + (j & 15) * 16)" % r.choice(types)
def is_real(l): return "float" in l or "double" in l or l.endswith("d") and not l.endswith("bits")
def value(): return r.choice(["i", "j", "3", "(i + j)", "(x ^ i)", "7", "(j * 5)", "1"])
def statement(depth=0):
    k = r.randrange(20)
    l = place()
    real = is_real(l)
    if k < 7: return "%s %s %s;" % (l, r.choice(ops[:3] if real else ops[:6]), value())
    if k < 9: return "(%s)%s;" % (l, r.choice(["++", "--"]))
    if k == 9 and not real: return "%s %s %s & 3;" % (l, r.choice(ops[6:]), r.choice("ij"))
    if k == 10 and not real: return "%s %s (%s & 7) + 1;" % (l, r.choice(["/=", "%="]), r.choice("ij"))
    if k == 11: return r.choice(["p++;", "p = q + (i & 7);", "q++;", "i += 3;", "j ^= i;", "s = &t[j & 3];", "e = p;", "e = &p[1];", "pp++; pp = rows;",
                                 "p = pp[i & 3];", "change(&e);", "x += i;", "swap = p; p = q; q = swap;"])
    if k == 12: return "%s = %s;" % (l, value())
    if k == 13: return "x += (unsigned)%s;" % l
    if k == 14: return "{ __typeof__(0 + %s) old = %s; %s %s = old + 1; }" % (l, l, r.choice(["", "i++;", "p++;", "s++; s = t;", "e++;", "j = i;", "q += j & 1;"]), place() if r.random() < .2 and not real else l)
    if k == 15: return r.choice(["volatile_int += i;", "__atomic_fetch_add((int *)pool + 9, i, 0);", '__asm__ volatile("" ::: "memory");'])
    if k == 16 and depth < 2: return "if (%s & 1) { %s } else { %s }" % (r.choice(["i", "j", "(int)x"]), statement(depth + 1), statement(depth + 1))
    if k == 17 and depth < 2: return "for (int k = 0; k < 3; k++) { %s i += k; }" % statement(depth + 1)
    if k == 18: return "%s += %s;" % (l, place()) if not real else ";"
    return "x = x * 31 + (unsigned)%s;" % r.choice(["i", "j", l])
print("""char pool[4096] __attribute__((aligned(64)));
#define NOINLINE __attribute__((noinline, noclone))
struct in { int k; };
struct s { char c; short h; int n; long l; unsigned bits : 5; double d; struct in in; };
#define g_c pool[3001]
#define g_s (*(short *)(pool + 3002))
#define g_i (*(int *)(pool + 3004))
#define g_l (*(long *)(pool + 3008))
#define g_d (*(double *)(pool + 3016))
#define volatile_int (*(volatile int *)(pool + 3024))
#define rows ((int **)(pool + 3072))
NOINLINE static void change(int **e) { *e = (int *)pool + ((*e - (int *)pool) + 5) % 64; }
void begin(char *);
void end(unsigned);""")
n = 24
for f in range(n):
    print("NOINLINE static unsigned f%d(int *p, int *q, struct s *s, struct s *t, int i, int j, int **pp)\n{\n\tint *e = q, *swap; unsigned x = 1; (void)swap; (void)p; (void)q; (void)s; (void)t; (void)pp;" % f)
    if f % 3: print("\tchange(&e);")
    for _ in range(r.randint(8, 30)): print("\t" + statement())
    print("\treturn x + (unsigned)(i ^ j);\n}")
print("int main(void)\n{\n\tchar base;\n\tunsigned x = 0;\n\tint *ints = (int *)pool;\n\tstruct s *s = (struct s *)(pool + 2048);\n\tbegin(&base);")
print("\tfor (int i = 0; i < 8; i++)\n\t\trows[i] = ints + 16 * i;\n\tfor (int i = 0; i < 2; i++) {")
for f in range(n):
    print("\t\tx += f%d(ints + %d, ints + %d, s + %d, s, %d + i, %d - i, rows);" % (f, r.randrange(64), r.randrange(64), r.randrange(4), r.randrange(1000), r.randrange(1000)))
print('\t}\n\tfor (int i = 0; i < 3072; i++)\n\t\tx = x * 31 + (unsigned char)pool[i];\n\tend(x);\n\treturn 0;\n}')
END
gcc -O1 -c tell.c -o tell.o
for ((seed = ${SEED:-1}; seed < ${SEED:-1} + ${PROGRAMS:-2}; seed++)); do
	python3 generate.py "$seed" >gen.c
	for options in "-O0" "-O1" "-O2 -g" "-O3 -fno-strict-aliasing -fPIC" "-Os -fno-pie -no-pie"; do
		case $options in *-no-pie) pie=-no-pie ;; *) pie= ;; esac
		check "seed $seed, $options: builds" sh -c "atommon-cc -w -fwrapv $options -S gen.c -o gen.s && gcc -c gen.s -o two.o && atommon-cc -c gen.s -o one.o &&
			gcc $pie two.o tell.o -o two && gcc $pie one.o tell.o -o one"
		./two >two.out 2>two.both
		./one >one.out 2>one.both
		check "seed $seed, $options: the same accesses and values, $(wc -l <one.out) lines" cmp two.out one.out
		same "seed $seed, $options: gcc makes none of them one" 0 "$(<two.both)"
		check "seed $seed, $options: ours $(<one.both)" [ "$(<one.both)" -gt 100 ]
	done
done
finish
