#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Everything the stock lane exchanges, shortened, under the watchers' eyes.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

lab_devices 2
list_rping
list_streams
list_perftest
list_death

# A few Markers, for the checks on memory rather than for the wire.
markers_ask on mpa1 mpa2
rping_pair h1 h2 65535 "$list_pings"
