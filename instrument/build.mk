# SPDX-License-Identifier: MIT
# The compile-time side: compiler wrapper, stub library, LLVM pass. Included by the top Makefile.

inst_cc_src   := instrument/cc.c instrument/cc_look.c instrument/cc_probe.c
inst_as_src   := $(call src,instrument/as*.c)
inst_stub_src := $(call src,instrument/stub_*.c)
inst_link     := $(O)/lib/atommon/link
inst_files    := $(O)/bin/atommon-cc $(O)/bin/atommon-c++ $(O)/lib/libatommon-stub.so \
	$(inst_link)/libtsan.so $(inst_link)/libtsan_preinit.o $(inst_link)/as \
	$(O)/lib/atommon/include/bits/c++config.h

$(O)/bin/atommon-cc: $(call obj,$(inst_cc_src))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(LDFLAGS)

$(O)/bin/atommon-c++: $(O)/bin/atommon-cc
	$(call say,COPY,$@)
	$(Q)install -D -m 755 $< $@

# gcc finds it by -B, as it finds libtsan.so.
$(inst_link)/as: $(call obj,$(inst_as_src))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(LDFLAGS)

# The tests of the assembler are linked with its parts.
inst_as_parts := $(call obj,$(filter-out instrument/as.c,$(inst_as_src)))
$(O)/tests/unit/instrument_as: $(O)/obj/tests/unit/instrument_as.c.o $(inst_as_parts)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ $(criterion) -pthread $(LDFLAGS)

$(O)/tests/property/instrument_values: $(O)/obj/tests/property/instrument_values.c.o $(inst_as_parts)
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(SANFLAGS) -o $@ $^ -ldl $(LDFLAGS)

# Never sanitised: it lives in other programs. 16-byte atomics without a library of locks.
$(O)/obj/instrument/stub_%.c.o: instrument/stub_%.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) $(CPPFLAGS) $(CFLAGS_ALL) $(if $(findstring x86_64,$(shell uname -m)),-mcx16) \
		-fno-plt -MMD -MP -c -o $@ $<

$(O)/lib/libatommon-stub.so: $(call obj,$(inst_stub_src))
	$(call say,LINK,$@)
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -shared -o $@ $^ -Wl,-soname,libatommon-stub.so -Wl,-z,defs -Wl,-z,now

# gcc looks for these two names when it links with -fsanitize=thread.
$(inst_link)/libtsan.so: $(O)/lib/libatommon-stub.so
	$(Q)install -D -m 755 $< $@
$(inst_link)/libtsan_preinit.o:
	$(Q)mkdir -p $(@D)
	$(Q)$(CC) -c -x c /dev/null -o $@

$(O)/lib/atommon/include/%: instrument/include/%
	$(Q)install -D -m 644 $< $@

# The passes, for every LLVM whose headers and compiler are here (14 is in scripts/packages). A plugin must match
# the clang that loads it; the wrapper takes the one of its compiler's version.
inst_llvm := $(sort 14 $(foreach v,15 16 17 18 19,$(if $(and $(wildcard /usr/lib/llvm-$(v)/include/llvm/Passes/PassPlugin.h),$(wildcard /usr/lib/llvm-$(v)/bin/clang++)),$(v))))
inst_pass := $(foreach v,$(inst_llvm),$(O)/lib/atommon/twin-$(v).so) \
	$(foreach v,$(filter 14 15 16,$(inst_llvm)),$(O)/lib/atommon/symbolic-$(v).so)
inst_files += $(inst_pass)

# What the twin pass puts into watched code: bitcode of the oldest of them, which the others read too.
inst_access := $(O)/obj/instrument/pass/access
$(inst_access).bc: instrument/pass/access.c
	$(call say,CC,$<)
	$(Q)mkdir -p $(@D)
	$(Q)$(PASS_CC) -Iinclude -I. -std=gnu17 -Wall -Wextra -Werror -O2 -fPIC -fno-plt -fno-exceptions \
		-fno-stack-protector -fcf-protection=none -fomit-frame-pointer -D_GNU_SOURCE -MMD -MP -MF $(@:.bc=.d) -c -emit-llvm -o $@ $<
$(inst_access).inc: $(inst_access).bc
	$(Q)od -An -v -tu1 $< | sed 's/[0-9][0-9]*/&,/g' >$@.new && mv $@.new $@
$(foreach v,$(inst_llvm),$(O)/lib/atommon/twin-$(v).so): $(inst_access).inc

define inst_pass_rule
$(O)/lib/atommon/%-$(1).so: instrument/pass/%.cc
	$$(call say,PASS,$$@)
	$$(Q)mkdir -p $$(@D) $(O)/obj/instrument/pass
	$$(Q)$(if $(filter 14,$(1)),$(PASS_CXX),clang++-$(1)) -isystem $$(shell $(if $(filter 14,$(1)),$(LLVM_CONFIG),llvm-config-$(1)) --includedir) \
		-Iinclude -I. -I$(dir $(inst_access)) -std=gnu++17 -Wall -Wextra -Werror -O2 -fno-rtti -fno-exceptions -fPIC -shared \
		-D_GNU_SOURCE -D__STDC_CONSTANT_MACROS -D__STDC_FORMAT_MACROS -D__STDC_LIMIT_MACROS \
		-MMD -MP -MF $(O)/obj/instrument/pass/$$*-$(1).d -o $$@ $$<
endef
$(foreach v,$(inst_llvm),$(eval $(call inst_pass_rule,$(v))))

instrument: $(inst_files)

instrument_install := $(foreach f,$(inst_files),$(f):$(patsubst $(O)/%,%,$(f)):755)

# The preload library performs 16-byte atomics too.
$(O)/obj/preload/tsan_atomic.c.o $(O)/obj/preload/symbolic.c.o: preload_flags += $(if $(findstring x86_64,$(shell uname -m)),-mcx16)
