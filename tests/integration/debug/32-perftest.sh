#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# perftest's programs: what they transfer, not their figures.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

lab_devices 2
list_perftest
