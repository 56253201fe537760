#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Each allocation of an operation on sockets, verbs, connections and the netlink
# family fails once: the operation reports the error or succeeds without it, earlier
# objects are unchanged, and nothing is left over. Arguments choose cases by patterns
# of their names.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/faults.sh"

lab_devices 2
lab_seed
# Programs make doorbells, too.
echo Y > /sys/module/mpa_rnic/parameters/doorbells
faults_anywhere
lab_check "all operations without memory" \
	ip netns exec h1 "$MPA_REPO/build/bin/faults_test" "$@"
