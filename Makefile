# SPDX-License-Identifier: MIT
# atommon: one non-recursive Makefile. `make help` lists the targets.
#
# Rooms are found by wildcard: a new .c file in a room is built without a change here.

O      ?= build
V      ?= 0
DEBUG  ?= 0
SAN    ?=
prefix ?= /usr/local
DESTDIR ?=

VERSION := 0.1.0

CC  ?= gcc
CXX ?= g++
LLVM_CONFIG ?= llvm-config-14
PASS_CXX ?= clang++-14
PASS_CC ?= clang-14
FUZZ_CC ?= clang-14

WARN   := -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla -Werror
WARNXX := -Wall -Wextra -Wshadow -Wvla -Werror
OPT    := $(if $(filter 1,$(DEBUG)),-O0 -g3,$(if $(SAN),-O1 -g,-O2 -g -DNDEBUG))
# A sanitiser's own code confuses gcc's flow analysis; the plain build has these warnings.
SANFLAGS := $(if $(SAN),-fsanitize=$(SAN) -fno-omit-frame-pointer -Wno-maybe-uninitialized -Wno-clobbered \
	-fno-sanitize-recover=all $(if $(filter thread,$(SAN)),-Wno-tsan))
CPPFLAGS += -Iinclude -I. -D_GNU_SOURCE -DATOMMON_VERSION='"$(VERSION)"'
CFLAGS_ALL   = -std=gnu17 $(WARN) $(OPT) -fvisibility=hidden -fPIC -pthread $(CFLAGS)
CXXFLAGS_ALL = -std=gnu++17 $(WARNXX) $(OPT) -fvisibility=hidden -fPIC -pthread $(CXXFLAGS)

Q    := $(if $(filter 1,$(V)),,@)
say   = $(if $(filter 1,$(V)),,@printf '  %-6s %s\n' '$(1)' '$(2)')

.DEFAULT_GOAL := all

# ---- rooms ------------------------------------------------------------------------------------

src = $(sort $(wildcard $(1)))
obj = $(patsubst %,$(O)/obj/%.o,$(1))

core_src    := $(call src,analyzer/core/*.c)
trace_src   := $(call src,analyzer/trace/*.c)
report_src  := $(call src,analyzer/report/*.c)
predict_src := $(call src,analyzer/predict/*.c analyzer/predict/*.cc)
litmus_src  := $(call src,analyzer/litmus/*.c)
preload_src := $(call src,preload/*.c preload/*.S)
cmd_src     := $(call src,analyzer/cmd_*.c)

LIBS := $(O)/libcore.a $(O)/libtrace.a $(O)/libreport.a $(O)/libpredict.a $(O)/liblitmus.a
$(O)/libcore.a:    $(call obj,$(core_src))
$(O)/libtrace.a:   $(call obj,$(trace_src))
$(O)/libreport.a:  $(call obj,$(report_src))
$(O)/libpredict.a: $(call obj,$(predict_src))
$(O)/liblitmus.a:  $(call obj,$(litmus_src))

# Tools that need the solver, and those that do not.
solver_tools := predict litmus
trace_libs   := -ldw -lelf -lzstd -ljson-c -l:liblz4.a -lstdc++
solver_libs  := -lcvc5 -lstdc++ -lm

tools := $(patsubst analyzer/cmd_%.c,$(O)/bin/atommon-%,$(cmd_src))
scripts_bin := $(patsubst scripts/bin/%,$(O)/bin/%,$(call src,scripts/bin/*))

all: lib tools instrument ## build everything
	@:
lib: $(if $(preload_src),$(O)/lib/libatommon.so) ## build the preload library
tools: $(tools) $(scripts_bin) ## build the commands

# The monitor's own library is never sanitised into somebody else's process: SAN= applies to its code
# only through the unit tests, which link its objects. So with SAN= its rooms are built twice.
plain := $(O)$(if $(SAN),/plain)
plain_libs := $(plain)/libreport.a $(plain)/libcore.a
ifneq ($(SAN),)
$(O)/plain/libcore.a:   $(patsubst %,$(O)/obj/plain/%.o,$(core_src))
$(O)/plain/libreport.a: $(patsubst %,$(O)/obj/plain/%.o,$(report_src))
$(O)/obj/plain/%.c.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) -MMD -MP -c -o $@ $<
endif
$(O)/lib/libatommon.so: $(call obj,$(preload_src)) $(plain_libs) preload/exports.map
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared -o $@ $(call obj,$(preload_src)) $(plain_libs) \
		-Wl,--version-script=preload/exports.map -Wl,-z,initfirst -Wl,-z,defs -Wl,-z,now \
		-Wl,--no-undefined -Wl,--exclude-libs,ALL -l:liblz4.a -pthread $(LDFLAGS)

$(O)/bin/atommon-%: $(O)/obj/analyzer/cmd_%.c.o $(LIBS)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(if $(filter $*,$(solver_tools)),$(CXX),$(CC)) $(SANFLAGS) -o $@ $< \
		$(if $(filter $*,$(solver_tools)),$(O)/liblitmus.a $(O)/libpredict.a) \
		$(O)/libtrace.a $(O)/libreport.a $(O)/libcore.a $(trace_libs) \
		$(if $(filter $*,$(solver_tools)),$(solver_libs)) -pthread $(LDFLAGS)

$(O)/bin/%: scripts/bin/%
	$(call say,COPY,$@)
	$(Q)install -D -m 755 $< $@

%.a:
	$(call say,AR,$@)
	$(Q)mkdir -p $(@D)
	$(Q)rm -f $@ && $(AR) rcs $@ $(filter %.o,$^)

# Objects of the preload library are built without sanitisers; the rest with SAN=.
preload_flags := -fexceptions -fno-plt -ftls-model=initial-exec -mprfchw
$(O)/obj/preload/%.c.o: preload/%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(preload_flags) -MMD -MP -c -o $@ $<

# Its callers keep what they have in vector registers.
$(O)/obj/preload/ask.c.o $(O)/obj/preload/enter.c.o: preload_flags += -mgeneral-regs-only

$(O)/obj/preload/%.S.o: preload/%.S
	$(call say,AS,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) -fPIC -MMD -MP -c -o $@ $<

$(O)/obj/%.c.o: %.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(SANFLAGS) -MMD -MP -c -o $@ $<

$(O)/obj/%.cc.o: %.cc
	$(call say,CXX,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(CPPFLAGS) $(CXXFLAGS_ALL) $(SANFLAGS) -MMD -MP -c -o $@ $<

# ---- compile-time side ------------------------------------------------------------------------

-include instrument/build.mk
instrument: ## build the compile-time side (stub library, LLVM pass)

# ---- tests ------------------------------------------------------------------------------------

# tests/unit/NAME.c and tests/property/NAME.c are one binary each, linked with every room.
# tests/prog/NAME.{c,cc} are programs under test. tests/{integration,guest,golden}/NAME.sh are
# scripts. All speak TAP; scripts/run-tests adds up.
unit_src := $(call src,tests/unit/*.c)
property_src := $(call src,tests/property/*.c)
prog_src := $(call src,tests/prog/*.c tests/prog/*.cc)
unit_bin := $(patsubst tests/%.c,$(O)/tests/%,$(unit_src) $(property_src))
prog_bin := $(patsubst %,$(O)/%,$(basename $(prog_src)))
test_scripts := $(call src,tests/integration/*.sh tests/guest/*.sh tests/golden/*.sh)

# Criterion does not run under ThreadSanitizer; tests/san has a stand-in.
criterion := $(if $(filter thread,$(SAN)),,-lcriterion)
# Random tests make a part of their cases under a sanitiser (tests/property/cases.h).
cases_divisor := $(if $(filter thread,$(SAN)),8,$(if $(SAN),4,1))
$(O)/obj/tests/property/%: CPPFLAGS += -DAM_CASES_DIVISOR=$(cases_divisor)
$(O)/obj/tests/unit/preload_%: CPPFLAGS += -DAM_TEST_POINTS
$(O)/obj/tests/unit/%: CPPFLAGS := $(if $(filter thread,$(SAN)),-Itests/san) $(CPPFLAGS)

$(O)/tests/unit/%: $(O)/obj/tests/unit/%.c.o $(LIBS)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(SANFLAGS) -o $@ $< $(O)/liblitmus.a $(O)/libpredict.a $(O)/libtrace.a \
		$(O)/libreport.a $(O)/libcore.a $(trace_libs) $(solver_libs) $(criterion) -pthread $(LDFLAGS)

# Tests of the runtime itself: linked with it, hooks left out, built with SAN= like the test.
runtime_src := $(addprefix preload/,access.c area.c blocks.c drain.c pass.c space.c functions.c holes.c init.c intern.c lane.c log.c modules.c name.c \
	insn.c insn_unused.c msg.c path.c process.c real.c ring.c sink_check.c sink_record.c site.c thread.c unwind.c)
runtime_obj := $(patsubst %,$(O)/obj/runtime/%.o,$(runtime_src))
$(O)/obj/runtime/%.c.o: %.c
	$(call say,CC,$< for tests)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(preload_flags) $(SANFLAGS) -UNDEBUG -DAM_TEST_POINTS -MMD -MP -c -o $@ $<

runtime_tests := $(filter $(O)/tests/unit/preload_% $(O)/tests/property/preload_%,$(unit_bin))
$(runtime_tests): $(O)/tests/%: $(O)/obj/tests/%.c.o $(runtime_obj) $(O)/libcore.a
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -o $@ $< $(runtime_obj) $(O)/libcore.a -l:liblz4.a -lunwind $(criterion) \
		-pthread $(LDFLAGS)

# The fast path by hand needs nothing else of the library.
$(O)/tests/property/instrument_ask: $(O)/obj/tests/property/instrument_ask.c.o $(O)/obj/preload/ask_hot.S.o
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ -pthread $(LDFLAGS)

$(O)/tests/property/%: $(O)/obj/tests/property/%.c.o $(LIBS)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) $(SANFLAGS) -o $@ $< $(O)/liblitmus.a $(O)/libpredict.a $(O)/libtrace.a \
		$(O)/libreport.a $(O)/libcore.a $(trace_libs) $(solver_libs) -pthread $(LDFLAGS)

$(O)/tests/prog/%: tests/prog/%.c
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -Iinclude -D_GNU_SOURCE -std=gnu17 -Wall -Wextra -g -O1 -o $@ $< -pthread -ldl -lm

$(O)/tests/prog/%: tests/prog/%.cc
	$(call say,PROG,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CXX) -Iinclude -std=gnu++20 -Wall -Wextra -g -O1 -o $@ $< -pthread -ldl

progs: $(prog_bin) ## build the programs under test
	@:
tests: all $(unit_bin) progs ## build all tests, run none
	@:

setup: ## install missing packages (apt)
	@scripts/setup

# Two jobs unless the caller chose another number.
jobs := $(if $(filter -j%,$(MAKEFLAGS)),,-j2)

test: setup ## install what is missing, build, run every test
	@$(MAKE) $(jobs) --no-print-directory O='$(O)' tests
	@scripts/run-tests '$(O)' $(unit_bin) $(test_scripts)

demo: setup ## build and show the main job on the bank example
	@$(MAKE) $(jobs) --no-print-directory O='$(O)' all progs
	@scripts/demo '$(O)'

bench: ## compare costs, print ratios (scripts/setup --bench first installs peers)
	@$(MAKE) --no-print-directory O='$(O)' tests
	@scripts/bench '$(O)'

bench-table1: all ## rerun Table 1 of Wang et al. on our own programs
	@tests/bench/table1.sh '$(O)'

bench-table2: all ## rerun Table I of Sinha et al. on our own programs
	@tests/bench/table2.sh '$(O)'

soak: ## long stress of the runtime, SIGKILL included
	@$(MAKE) --no-print-directory O='$(O)' tests
	@scripts/soak '$(O)'

fuzz: ## fuzz the readers (FUZZ_SECONDS per target, default 600)
	@scripts/setup --fuzz
	@scripts/fuzz '$(O)'

# ---- install ----------------------------------------------------------------------------------

include scripts/install.mk

clean: ## remove the build directory
	$(Q)rm -rf '$(O)'

help: ## this list
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sort -u | \
		awk -F ':.*## ' '{ printf "  %-14s %s\n", $$1, $$2 }'
	@echo
	@echo "  variables: V=1 full commands; DEBUG=1 no optimisation, asserts; O=DIR build there;"
	@echo "             SAN=address|undefined|thread; prefix=DIR; DESTDIR=DIR"

.PHONY: bench-table1 bench-table2 all lib tools instrument progs tests setup test demo bench soak fuzz clean help install uninstall
.SECONDARY:
-include $(shell [ -d '$(O)/obj' ] && find '$(O)/obj' -name '*.d')
