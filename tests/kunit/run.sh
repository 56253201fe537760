#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Loads KUnit modules in a guest of the debug configuration, by default all of this
# directory, and reports the results of their suites:
#
#	tests/lab/lab run --config debug tests/kunit/run.sh [MODULE...]
#
# The modules are loaded from /lib/modules or from the directory MPA_KUNIT_DIR.
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

# Prints the kernel's messages since run() has written the name of module $1 to them.
# debugfs is not used: it keeps only 512 bytes for each case and loses results of cases
# with many parameters.
messages_since() {
	dmesg --notime | sed "1,/^kunit: $1$/d"
}

# Reports a result for each case of suite $1 and for each parameter set of a case. A
# suite without cases is a failure, and so is one whose own result is missing or bad.
report() {
	local suite=$1 log=$2 results=0 result name
	while read -r result name; do
		results=$((results + 1))
		if [[ $result == ok ]]; then
			lab_ok "$suite: $name"
		else
			lab_not_ok "$suite: $name" "see $log"
		fi
	done < <(sed -n "/^ *# Subtest: $suite\$/,/ok [0-9]* -* *$suite\$/p" "$log" |
		sed -nE -e 's/^ {4,}ok [0-9]+ -? ?(.*)$/ok \1/p' \
			-e 's/^ {4,}not ok [0-9]+ -? ?(.*)$/not_ok \1/p')
	lab_true "$suite has cases" "$results > 0"
	lab_check "$suite passed" grep -qE "^ok [0-9]+ -? ?$suite\$" "$log"
}

run() {
	local before new suite log=$LAB_OUT/$1.log
	before=$(suites)
	echo "kunit: $1" >/dev/kmsg
	lab_check "$1 loads" load "$1"
	new=$(comm -13 <(printf '%s\n' "$before") <(suites))
	lab_true "$1 has suites" "$(wc -w <<<"$new") > 0"
	messages_since "$1" >"$log"
	for suite in $new; do
		report "$suite" "$log"
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
