#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# make install and uninstall, DESTDIR; the installed tools work from where they are; completion.
. "$(dirname "$0")/../lib.sh"

D=$PWD/root
build=$(dirname "$(dirname "$(command -v atommon)")")
mk() { make --no-print-directory -C "$TOP" O="$build" prefix=/opt/a "$@" >make.log 2>&1; }

check "install" mk DESTDIR="$D" install
for f in bin/atommon bin/atommon-predict bin/atommon-cc lib/libatommon.so include/atommon.h \
	share/man/man1/atommon-predict.1 share/bash-completion/completions/atommon; do
	check "there is $f" test -f "$D/opt/a/$f"
done
cat >lost.c <<'EOF'
#include <atommon.h>
#include <pthread.h>
#include <semaphore.h>
static long balance = 10;
static sem_t is_read, is_written;
static void *disturb(void *arg)
{
	sem_wait(&is_read);
	ATOMMON_STORE(balance, 7);
	sem_post(&is_written);
	return arg;
}
int main(void)
{
	pthread_t t;
	pthread_create(&t, NULL, disturb, NULL);
	ATOMMON_REGION("deposit") {
		const long b = ATOMMON_LOAD(balance);
		sem_post(&is_read);
		sem_wait(&is_written);
		ATOMMON_STORE(balance, b + 1);
	}
	return pthread_join(t, NULL);
}
EOF
check "the installed header" gcc -g -I"$D/opt/a/include" lost.c -o lost -pthread
PATH=$D/opt/a/bin:/usr/bin:/bin
atommon run -o l.atm -- ./lost >out 2>&1
check "the installed launcher reports" grep -q 'Region "deposit" was not atomic' out
check "with source lines of the installed helper" grep -q 'lost.c:' out
check "the installed compiler" atommon cc -g -I"$D/opt/a/include" lost.c -o lost2 -pthread

# complete WORDS...: what completion offers for the last one
complete_() {
	bash -c '. "$1"; shift; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _atommon; printf "%s\n" "${COMPREPLY[@]}"' \
		- "$D/opt/a/share/bash-completion/completions/atommon" "$@"
}
same "completes commands" predict "$(complete_ atommon pr)"
same "completes options" --witness-dir "$(complete_ atommon predict --wit)"
same "completes values" sections "$(complete_ atommon-check --atomic se)"
same "completes traces" l.atm "$(complete_ atommon dump l.)"

check "uninstall" mk DESTDIR="$D" uninstall
same "nothing is left" "" "$(find "$D" -type f)"
finish
