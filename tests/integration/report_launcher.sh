# SPDX-License-Identifier: MIT
# The launcher without the library: dispatch, help, usage errors, the doctor's findings.
. "$(dirname "$0")/../lib.sh"

contains() { # contains NAME TEXT PART
	case $2 in
	*"$3"*) ok "$1" ;;
	*) fail "$1" "expected: $3" "actual: $2" ;;
	esac
}

out=$(atommon help env)
for name in $(sed -n 's/^	X([a-z_]*, \([A-Z_]*\),.*/ATOMMON_\1/p' "$TOP/include/atommon/options.h"); do
	contains "help env names $name" "$out" "$name "
done
contains "version" "$(atommon --version)" "atommon "
out=$(atommon nonsense 2>&1)
same "unknown command: status" 2 $?
contains "unknown command is quoted" "$out" "unknown command 'nonsense'"
atommon >/dev/null 2>&1
same "no command: status" 2 $?
atommon run >/dev/null 2>&1
same "run without a program: status" 2 $?
out=$(atommon run --no-such-option -- true 2>&1)
same "unknown option: status" 2 $?
contains "unknown option is quoted" "$out" "'--no-such-option'"
for word in --fnn --tracex; do
	out=$(atommon run $word x -- true 2>&1)
	same "$word is not taken for another: status" 2 $?
	contains "$word is not taken for another" "$out" "unknown option '$word'"
done
for word in --fn --trace -f -o; do
	out=$(atommon run $word -- true 2>&1)
	same "$word without a value: status" 2 $?
	contains "$word without a value" "$out" "no value after '$word'"
done
contains "names that match nothing are told" "$(atommon run --no-trace --fn no_such_name -- true 2>&1)" "'fn:no_such_name'"
contains "noise is neither a trace nor a text" "$(head -c 4096 /dev/zero | atommon dump - 2>&1)$(
	head -c 4096 /dev/zero >zeros
	atommon predict zeros 2>&1
)" "neither a trace nor a text"
check "help of a command" atommon help run
ln -s "$(command -v atommon)" link
check "works through a symbolic link" ./link help env

# the doctor
cat >hello.c <<'END'
int main(void) { return 0; }
END
check "build" gcc -g -o hello hello.c
check "static build" gcc -static -o hello-static hello.c
cp hello hello-plain && chmod -x hello-plain
printf '#!/bin/sh\n:\n' >script && chmod +x script
printf '#!/no/such/interp\n:\n' >lost && chmod +x lost
: >empty && chmod +x empty
head -c 300 hello >damaged && chmod +x damaged
out=$(atommon doctor ./hello)
same "doctor: a good program, status" 0 $?
contains "doctor: debug information is seen" "$out" "reports name source lines"
out=$(atommon doctor ./hello-static)
same "doctor: static, status" 1 $?
contains "doctor: static" "$out" "statically linked"
contains "doctor: missing" "$(atommon doctor ./nothing)" "No such file"
contains "doctor: not in PATH" "$(atommon doctor no-such-program-here)" "not found in PATH"
contains "doctor: directory" "$(atommon doctor /tmp)" "directory"
[ "$(id -u)" = 0 ] || contains "doctor: no execute permission" "$(atommon doctor ./hello-plain)" "may not be executed"
contains "doctor: script" "$(atommon doctor ./script)" "is a script"
contains "doctor: script without interpreter" "$(atommon doctor ./lost)" "'/no/such/interp'"
contains "doctor: empty file" "$(atommon doctor ./empty)" "empty"
out=$(atommon doctor ./damaged)
same "doctor: damaged file, status" 1 $?
# every truncation and some broken bytes: an answer, never a crash
crashes=0
for n in 1 16 20 63 64 65 100 500 1000 4000; do
	head -c "$n" hello >cut-off && chmod +x cut-off
	atommon doctor ./cut-off >/dev/null 2>&1
	[ $? -le 1 ] || crashes=$((crashes + 1))
done
same "doctor: cut files" 0 "$crashes"
cp hello setuid && chmod u+s setuid
if [ "$(id -u)" = 0 ] && chown 1:1 setuid 2>/dev/null && chmod 4755 setuid; then
	contains "doctor: setuid of another user" "$(atommon doctor ./setuid)" "ignores LD_PRELOAD"
fi
if gcc -m32 -o hello32 hello.c 2>/dev/null; then
	contains "doctor: 32-bit" "$(atommon doctor ./hello32)" "32-bit"
else # the class byte alone says it
	cp hello hello32 && printf '\001' | dd of=hello32 bs=1 seek=4 conv=notrunc 2>/dev/null
	contains "doctor: 32-bit" "$(atommon doctor ./hello32)" "32-bit"
fi
sed 's,/lib64/ld-linux-x86-64.so.2,/lib/ld-musl-x86_64.so.1\x00,' hello >musl && chmod +x musl
contains "doctor: musl" "$(atommon doctor ./musl)" "musl"
finish
