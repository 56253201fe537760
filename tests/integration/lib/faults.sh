# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
#
# Allocations that fail.

# faults_anywhere: those that may sleep, and of any size, fail as well when a thread writes to
# its fail-nth, without a stack trace for each. Sets faults_possible if the kernel has this.
faults_anywhere() {
	local kind dir=/sys/kernel/debug
	faults_possible=
	[[ -e $dir/failslab ]] || return 0
	for kind in failslab fail_page_alloc; do
		echo N > "$dir/$kind/ignore-gfp-wait"
		echo 0 > "$dir/$kind/verbose"
	done
	echo N > "$dir/fail_page_alloc/ignore-gfp-highmem"
	echo 0 > "$dir/fail_page_alloc/min-order"
	# shellcheck disable=SC2034 # for the caller
	faults_possible=1
}
