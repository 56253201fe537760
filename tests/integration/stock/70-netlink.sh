#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The generic netlink family: refused requests, every setting, dumps of thousands,
# events under a storm of connects, network namespaces. Arguments choose cases by
# patterns of their names.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/netlink.sh"

lab_devices 2
netlink_cases "$@"
