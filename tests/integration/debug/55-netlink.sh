#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The same cases as 70-netlink of the stock configuration, under KASAN, lockdep and
# kmemleak, with fewer connections.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/netlink.sh"

export NETLINK_TEST_CONNECTIONS=400
lab_devices 2
# For memory whose access blocks: this kernel has no userfaultfd.
lab_do modprobe mpa_trap
netlink_cases "$@"
