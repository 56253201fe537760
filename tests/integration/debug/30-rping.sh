#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# rping and ucmatose: both roles, sizes, families, MTUs; many clients at once.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

lab_devices 2
list_rping
