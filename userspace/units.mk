# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
#
# Programs whose compilation takes most of its time for headers of libraries are
# compiled as two translation units, each of which includes half of the sources.
# Included by their Makefiles: unit-0.cpp and unit-1.cpp are written by
#
#	@$(call list,$(call unit,$*,$(sources)))

numbers := 0 1

# unit NUMBER SOURCES: those of that translation unit.
unit = $(shell printf '%s\n' $(2) | awk 'NR % $(words $(numbers)) == $(1)')

# list SOURCES: writes $@, only if the list has changed. Each make uses its own
# temporary file, because suites of `make check` may run a Makefile at the same time.
list = mkdir -p $(@D) && new=$@.$$$$ && \
	printf '\#include "%s"\n' $(1) > $$new && \
	if cmp -s $$new $@; then rm $$new; else mv $$new $@; fi
