#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Verbs that User Mode Linux has no machine for: regions of huge pages, queues that are
# resized all the time; what a kernel with other upper layer protocols of TCP refuses;
# and a time namespace.
# 57-verbs has the rest.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/objects.sh"
. "$MPA_REPO/tests/integration/lib/socket.sh"

lab_devices 2
echo 8 > /proc/sys/vm/nr_hugepages
lab_check "all cases" \
	ip netns exec h1 "$MPA_REPO/build/bin/verbs_test" "machine:*"
lab_check "plain connections" \
	ip netns exec h1 "$MPA_REPO/build/bin/verbs_test" "plain: what does not begin*"
socket_cases 'refused: a BPF*'
lab_check "time stamps in a time namespace" \
	ip netns exec h1 unshare --time --monotonic 100000 --fork \
	"$MPA_REPO/build/bin/verbs_test" "time stamps*"
objects_gone "after the cases"
echo 0 > /proc/sys/vm/nr_hugepages
