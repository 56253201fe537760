#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Loads KUnit modules in a guest of the debug configuration, all of this folder unless
# some are named, and reports what their suites say:
#
#	tests/lab/lab run --config debug tests/kunit/run.sh [MODULE...]
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

# The kernel's messages since module $1 was named in them. Not debugfs: it keeps
# 512 bytes of each case and loses the results of those with many parameters.
said_since() {
	dmesg --notime | sed "1,/^kunit: $1$/d"
}

# Each case of suite $1, and each set of parameters of a case, becomes a result
# here; a suite without cases is a failure, as is one whose own result is
# missing or bad.
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
	lab_true "$1 brings suites" "$(wc -w <<<"$new") > 0"
	said_since "$1" >"$log"
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
