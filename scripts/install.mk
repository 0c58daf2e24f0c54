# SPDX-License-Identifier: MIT
# install and uninstall: one list of pairs, so that uninstall removes exactly what install put there.
# A pair is SOURCE:TARGET:MODE, the target below prefix.
bindir := bin
libdir := lib
man_src := $(call src,doc/man/*.1 doc/man/*.7)

install_list = \
	$(foreach t,$(tools) $(scripts_bin),$(t):bin/$(notdir $(t)):755) \
	$(O)/lib/libatommon.so:lib/libatommon.so:755 \
	$(instrument_install) \
	include/atommon.h:include/atommon.h:644 \
	$(foreach m,$(man_src),$(m):share/man/man$(patsubst .%,%,$(suffix $(m)))/$(notdir $(m)):644) \
	contrib/completion/atommon.bash:share/bash-completion/completions/atommon:644 \
	$(foreach d,README.md CHANGELOG.md LICENSE,$(d):share/doc/atommon/$(d):644)

install: all ## install below prefix (DESTDIR is honoured)
	@set -e; for item in $(install_list); do \
		IFS=: read -r from to mode <<<"$$item"; \
		install -D -m "$$mode" "$$from" "$(DESTDIR)$(prefix)/$$to"; \
	done
	@echo "installed below $(DESTDIR)$(prefix)"

uninstall: ## remove exactly what install put there
	@for item in $(install_list); do \
		IFS=: read -r from to mode <<<"$$item"; \
		rm -f "$(DESTDIR)$(prefix)/$$to"; \
		rmdir -p --ignore-fail-on-non-empty "$$(dirname "$(DESTDIR)$(prefix)/$$to")" 2>/dev/null || true; \
	done

install uninstall: SHELL := /bin/bash
