#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Runs the list of lists.sh that the name of the link to this script ends with: rping
# (both roles, sizes, families, MTUs, many clients), streams (a file, messages and
# streams over sockets of RDMA), perftest and qperf (their programs, not the figures),
# death (programs and devices end during a transfer).
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

list=${0##*-}
lab_devices 2
"list_${list%.sh}"
