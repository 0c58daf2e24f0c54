#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The compiler wrapper: everything a build system does with a compiler still works, and what comes
# out runs by itself. With each compiler that is here.
. "$(dirname "$0")/../lib.sh"

cat >add.c <<'END'
int total;
int add(int n) { total += n; return total; }
END
cat >main.c <<'END'
#include <stdio.h>
int add(int n);
int main(void) { add(2); printf("%d\n", add(3)); return 0; }
END
cat >main.cc <<'END'
#include <atomic>
#include <iostream>
#include <stdexcept>
struct base { virtual ~base() = default; virtual int get() { return 1; } };
struct derived : base { int get() override { throw std::runtime_error("x"); } };
std::atomic<int> n;
int main()
{
	base *b = new derived;
	try { n += b->get(); } catch (const std::runtime_error &) { n += 7; }
	delete b;
	std::cout << n << "\n";
}
END
# What a program may call by hand when it sees that it is built for ThreadSanitizer, as libuv does.
cat >byhand.c <<'END'
#include <stdint.h>
#include <stdio.h>
#if !defined(__SANITIZE_THREAD__) && defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif
void __sanitizer_syscall_pre_impl_close(long fd);
void __sanitizer_syscall_post_impl_close(long result, long fd);
void __sanitizer_symbolize_pc(void *pc, const char *format, char *out, size_t room);
uint32_t __sanitizer_unaligned_load32(const void *p);
void __sanitizer_unaligned_store32(void *p, uint32_t v);
int RunningOnValgrind(void);
int main(void)
{
	char bytes[8] = {0}, name[8] = "?";
#ifdef __SANITIZE_THREAD__
	__sanitizer_syscall_pre_impl_close(3);
	__sanitizer_syscall_post_impl_close(0, 3);
	__sanitizer_symbolize_pc(bytes, "%p", name, sizeof name);
	__sanitizer_unaligned_store32(bytes + 1, 7);
	printf("%d%d%s\n", (int)__sanitizer_unaligned_load32(bytes + 1), RunningOnValgrind(), name);
#endif
	return 0;
}
END
printf 'add.c main.c -o from_response "-O1"\n' >args
uses() { nm -u "$1" | grep -q "$2"; }
not() { ! "$@"; }
output() { "$@" 2>/dev/null; }

for cc in gcc clang-14 clang-19; do
	command -v $cc >/dev/null || continue
	case $cc in clang-*) cxx=clang++-${cc#clang-} ;; *) cxx=g++ ;; esac
	command -v $cxx >/dev/null || cxx=
	export ATOMMON_CC=$cc ATOMMON_CXX=$cxx
	rm -f ./*.o ./*.so ./*.a ./*.d prog* from_*

	check "$cc: compiles and links in one step" atommon-cc -Wall -Werror -O2 -g add.c main.c -o prog -lpthread
	same "$cc: the program runs by itself" 5 "$(output ./prog)"
	check "$cc: -c" atommon-cc -c -O2 add.c
	check "$cc: the object has the callbacks" uses add.o __tsan_
	check "$cc: -c with -MD and -o" atommon-cc -MD -MF dep.d -c main.c -o m.o
	check "$cc: the dependency file is there" grep -q main.c dep.d
	check "$cc: links objects, warnings being errors" atommon-cc -Wall -Werror -pedantic m.o add.o -o prog2
	same "$cc: and they run" 5 "$(output ./prog2)"
	check "$cc: links with -flto" atommon-cc -flto -O2 add.c main.c -o prog_lto
	same "$cc: which runs" 5 "$(output ./prog_lto)"
	check "$cc: -S" atommon-cc -S add.c -o add.s
	check "$cc: -E" atommon-cc -E add.c -o add.i
	check "$cc: -M alone" atommon-cc -M add.c
	check "$cc: -fsyntax-only" atommon-cc -fsyntax-only add.c
	check "$cc: source from standard input" sh -c 'atommon-cc -x c - -o prog3 add.o <main.c || atommon-cc -x c - -x none add.o -o prog3 <main.c'
	check "$cc: static library" sh -c 'ar rcs libadd.a add.o && atommon-cc main.c -L. -ladd -o prog4'
	same "$cc: linked with it" 5 "$(output ./prog4)"
	check "$cc: shared library, no symbol left open" atommon-cc -shared -fPIC -Wl,-z,defs add.c -o libadd.so
	check "$cc: a plain compiler links with it" $cc main.c ./libadd.so -o prog5
	same "$cc: and it runs" 5 "$(output ./prog5)"
	check "$cc: plain and instrumented objects mix" sh -c "$cc -c main.c -o plain.o && atommon-cc plain.o add.o -o prog6"
	same "$cc: and run" 5 "$(output ./prog6)"
	check "$cc: not a position independent program" atommon-cc -fno-pie -no-pie -O2 add.c main.c -o prog7
	same "$cc: which runs" 5 "$(output ./prog7)"
	check "$cc: response file" atommon-cc @args
	same "$cc: whose program runs" 5 "$(output ./from_response)"
	check "$cc: relocatable output" atommon-cc -r -nostdlib add.o m.o -o both.o
	check "$cc: --version" atommon-cc --version
	same "$cc: -dumpmachine is the compiler's" "$($cc -dumpmachine)" "$(atommon-cc -dumpmachine)"
	same "$cc: -print-file-name is the compiler's" "$($cc -print-file-name=libc.so)" \
		"$(atommon-cc -print-file-name=libc.so)"
	check "$cc: -v without input" atommon-cc -v
	check "$cc: -### shows the callbacks' option" sh -c 'atommon-cc "-###" -c add.c 2>&1 | grep -q sanitize'
	check "$cc: an error is an error" not atommon-cc -c no_such_file.c
	check "$cc: -static is refused" not atommon-cc -static add.c main.c -o prog8
	same "$cc: and it says why" "atommon-cc: a static program cannot be watched: leave out -static" \
		"$(atommon-cc -static add.c main.c -o prog8 2>&1)"
	same "$cc: another sanitizer is refused" \
		"atommon-cc: '-fsanitize=address' does not go together with watched accesses: leave it out" \
		"$(atommon-cc -fsanitize=address -c add.c 2>&1)"
	same "$cc: also in a list" \
		"atommon-cc: '-fsanitize=address' does not go together with watched accesses: leave it out" \
		"$(atommon-cc -fsanitize=undefined,address -c add.c 2>&1)"
	check "$cc: unless it is taken back" atommon-cc -fsanitize=undefined,address -fno-sanitize=all -c add.c -o plain_add.o
	same "$cc: -static-pie is refused by its name" "atommon-cc: a static program cannot be watched: leave out -static-pie" \
		"$(atommon-cc -static-pie add.c main.c -o prog8 2>&1)"
	check "$cc: calls of the sanitizer's interface" atommon-cc -O2 byhand.c -o prog_hand
	same "$cc: which do what their caller needs" 70 "$(output ./prog_hand)"
	for option in --coverage -fprofile-instr-generate; do
		$cc $option -c add.c -o plain.o 2>/dev/null || continue
		atommon-cc -S -O2 add.c -o without.s
		atommon-cc -S -O2 $option add.c -o with.s
		same "$cc: counters of $option are not watched" "$(grep -oE '__tsan_(read|write|atomic)[a-z0-9_]*' without.s)" \
			"$(grep -oE '__tsan_(read|write|atomic)[a-z0-9_]*' with.s)"
		$cc -O2 $option add.c main.c -o plain_count -pthread 2>/dev/null || continue # without its library
		check "$cc: and the program runs" sh -c "atommon-cc -O2 $option add.c main.c -o prog_count && ./prog_count"
	done
	echo 'int add(int n);' >head.h
	check "$cc: a header is precompiled, by its name" atommon-cc head.h -o head.h.gch
	check "$cc: or by -x" sh -c 'rm head.h.gch && atommon-cc -x c-header head.h -o head.h.gch'
	rm -f head.h.gch
	check "$cc: -static -c is no link" atommon-cc -static -c add.c
	check "$cc: a file can opt out" sh -c 'atommon-cc -fno-sanitize=thread -c add.c -o out.o && ! nm -u out.o | grep -q __tsan_write'
	if [ -n "$cxx" ]; then
		check "$cc: C++" atommon-c++ -std=c++17 -O2 main.cc -o prog9
		same "$cc: C++ runs, exceptions included" 7 "$(output ./prog9)"
	fi
done
unset ATOMMON_CC ATOMMON_CXX

# All of the interface that the real runtime has, but for Java and what only its own tests use.
runtime=$(clang-14 -print-file-name=libclang_rt.tsan-x86_64.so 2>/dev/null)
if [ -f "$runtime" ]; then
	exported() { nm -D --defined-only "$1" | awk '{ print $3 }' | sort -u; }
	interface='^(__tsan_|__sanitizer_|Annotate|WTFAnnotate|RunningOn)'
	own='^__tsan_java_|^__tsan_test|_default_|_on_report$|_symbolize_external|^__sanitizer_(cov_|weak_hook_|malloc_hook|free_hook|on_print|dump_trace)'
	exported "$B/lib/libatommon-stub.so" >here
	same "the stub has the runtime's public interface" "" \
		"$(exported "$runtime" | grep -E "$interface" | grep -vE "$own" | comm -23 - here)"
fi

# A program that is not watched makes no callbacks: a library that only counts them is loaded before the stub,
# beside one that says it is watched.
cat >count.c <<'END'
#include <unistd.h>
__attribute__((used)) static void called(void) { write(1, "!", 1); }
#ifdef ARMED
int __atommon_armed = 1;
#endif
void __tsan_write4(void *p) { (void)p; called(); }
void __tsan_read4(void *p) { (void)p; called(); }
void __tsan_read_write4(void *p) { (void)p; called(); }
/* These keep all registers. */
#define KEEPS(name) \
	".globl " name "\n.type " name ", @function\n" name ":\n" \
	"push %rax\npush %rcx\npush %rdx\npush %rsi\npush %rdi\npush %r8\npush %r9\npush %r10\npush %r11\n" \
	"call called\n" \
	"pop %r11\npop %r10\npop %r9\npop %r8\npop %rdi\npop %rsi\npop %rdx\npop %rcx\npop %rax\nret\n"
__asm__(KEEPS("__atommon_read4") KEEPS("__atommon_write4") KEEPS("__atommon_read_write4"));
END
cat >three.S <<'END'
.globl three
three:	movl $3, %eax
	ret
.section .note.GNU-stack,"",@progbits
END
sed 's/add(3)/add(three())/; s/int add/int three(void); int add/' main.c >main3.c
cc -shared -fPIC count.c -o count.so
cc -shared -fPIC -DARMED count.c -o armed.so
quiet() { # quiet WHAT CC OPTION...
	local what=$1
	export ATOMMON_CC=$2
	shift 2
	rm -f prog_q
	check "$what: builds" atommon-cc "$@" add.c three.S main3.c -o prog_q
	same "$what: runs" 5 "$(output ./prog_q)"
	same "$what: no callback while it is not watched" 5 "$(LD_PRELOAD=./count.so output ./prog_q)"
	check "$what: callbacks while it is" grep -q '!!' <(LD_PRELOAD=./armed.so output ./prog_q)
	unset ATOMMON_CC
}
for options in "-O0" "-O2" "-O2 -g -pipe" "-O2 -flto" "-O1 -fno-plt" "-O2 -fno-pie -no-pie" "-O2 -save-temps" "-g3 -O2 -Wa,--noexecstack"; do
	# shellcheck disable=SC2086
	quiet "gcc $options" gcc $options
done
command -v clang-14 >/dev/null && quiet "clang-14" clang-14 -O2
export ATOMMON_CC=gcc
check "gcc: the assembler's other syntax" atommon-cc -masm=intel add.c main.c -o prog_q
same "gcc: and it runs" 5 "$(output ./prog_q)"
check "gcc: an error in assembler is one, with its line" grep -q '^bad.s:1: Error' <(echo nonsense >bad.s && atommon-cc -c bad.s 2>&1)
check "gcc: -S, assembled by the compiler alone" sh -c 'atommon-cc -O2 -S add.c -o only.s && gcc -c only.s -o only.o && atommon-cc main.c only.o -o prog_q'
same "gcc: and it runs" 5 "$(output ./prog_q)"
check "gcc: the assembler's version" sh -c 'atommon-cc -c -v add.c 2>&1 | grep -q "GNU assembler"'
unset ATOMMON_CC

check "without a choice" atommon-cc add.c main.c -o prog
same "without a choice, it runs" 5 "$(output ./prog)"
check "a compiler of two words" env ATOMMON_CC="env gcc" atommon-cc add.c main.c -o prog
check "a compiler that does not exist fails" not env ATOMMON_CC=no-such-compiler atommon-cc add.c
check "the function a program sees is its own" sh -c 'atommon-cc -O2 -g add.c main.c -o prog && nm prog | grep -q " T add$"'

cat >CMakeLists.txt <<'END'
cmake_minimum_required(VERSION 3.5)
project(p C)
add_library(add STATIC add.c)
add_executable(viacmake main.c)
target_link_libraries(viacmake add)
END
if command -v cmake >/dev/null; then
	check "cmake configures and builds" sh -c "cmake -S . -B cm -DCMAKE_C_COMPILER=atommon-cc && cmake --build cm"
	same "cmake's program runs" 5 "$(output cm/viacmake)"
fi
cat >Makefile <<'END'
viamake: main.o add.o
	$(CC) $(LDFLAGS) -o $@ $^
END
rm -f ./*.o
check "make -j with CC" make -j4 CC="atommon-cc"
same "make's program runs" 5 "$(output ./viamake)"
finish
