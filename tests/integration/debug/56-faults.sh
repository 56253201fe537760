#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Each allocation of an operation on sockets, verbs, connections and the netlink
# family fails once: the operation reports the error or succeeds without it, earlier
# objects are unchanged, and nothing is left over. Arguments choose cases by patterns
# of their names.
. "$MPA_REPO/tests/lab/guest/lib.sh"

faults=/sys/kernel/debug
lab_devices 2
lab_seed
# Programs make doorbells, too.
echo Y > /sys/module/mpa_rnic/parameters/doorbells
# Allocations that may sleep fail as well; no stack trace for each.
for kind in failslab fail_page_alloc; do
	echo N > "$faults/$kind/ignore-gfp-wait"
	echo 0 > "$faults/$kind/verbose"
done
echo N > "$faults/fail_page_alloc/ignore-gfp-highmem"
echo 0 > "$faults/fail_page_alloc/min-order"
lab_check "all operations without memory" \
	ip netns exec h1 "$MPA_REPO/build/bin/faults_test" "$@"
