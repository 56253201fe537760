#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Loads KUnit modules in a guest of the debug lane, all of this folder unless
# some are named, and reports what their suites say:
#
#	tests/lab/lab run --lane debug tests/kunit/run.sh [MODULE...]
#
# The modules come from /lib/modules, or from the folder MPA_KUNIT_DIR.
#
# shellcheck source=tests/lab/guest/lib.sh
. "$MPA_REPO/tests/lab/guest/lib.sh"

results=/sys/kernel/debug/kunit

suites() {
	ls "$results"
}

load() {
	if [[ -n ${MPA_KUNIT_DIR:-} ]]; then
		insmod "$MPA_KUNIT_DIR/$1.ko"
	else
		modprobe "$1"
	fi
}

# Each case of a suite becomes a result here; a suite without cases is a
# failure, as is one whose own verdict is missing or bad.
report() {
	local suite=$1 log="$LAB_OUT/$1.log" cases=0 verdict name
	cp "$results/$suite/results" "$log"
	while read -r verdict name; do
		cases=$((cases + 1))
		if [[ $verdict == ok ]]; then
			lab_ok "$suite: $name"
		else
			lab_not_ok "$suite: $name" "see $log"
		fi
	done < <(sed -nE 's/^ {4}(not )?ok [0-9]+ -? ?(.*)$/\1ok \2/p' "$log" |
		sed 's/^not ok/not_ok/')
	lab_true "$suite has cases" "$cases > 0"
	lab_check "$suite passed" grep -qE "^ok [0-9]+ -? ?$suite\$" "$log"
}

run() {
	local before new suite
	before=$(suites)
	lab_check "$1 loads" load "$1"
	new=$(comm -13 <(printf '%s\n' "$before") <(suites))
	lab_true "$1 brings suites" "$(wc -w <<<"$new") > 0"
	for suite in $new; do
		report "$suite"
	done
	lab_check "$1 unloads" rmmod "$1"
}

modules=("$@")
if [[ $# -eq 0 ]]; then
	for source in "$MPA_REPO"/tests/kunit/*_kunit.c; do
		modules+=("$(basename "$source" .c)")
	done
fi
for module in "${modules[@]}"; do
	run "$module"
done
