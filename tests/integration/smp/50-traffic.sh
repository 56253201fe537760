#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Everything that 30 to 33 of the debug configuration exchange, shortened, between
# processors that run at the same time. The stock configuration runs this as well;
# the smp configuration also delays senders.
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"
. "$MPA_REPO/tests/integration/lib/held.sh"

lab_devices 2
list_rping
list_streams
list_perftest
list_death

# A few Markers.
markers_ask on mpa1 mpa2
rping_pair h1 h2 65535 "$list_pings"
markers_ask off mpa1 mpa2

# Cases that the fast paths leave to the slow paths.
fast_paths off mpa1 mpa2
traffic_label=slow
for size in "${list_rping_sizes[@]}"; do
	rping_pair h1 h2 "$size" "$list_pings"
done
stream_pair rstream h1 h2 65536 4 2 bb
for tool in ib_send_bw ib_write_bw ib_read_bw; do
	perf_pair h1 h2 "$tool" 65536 "$list_iterations"
done
traffic_label=
fast_paths on mpa1 mpa2

# The configuration that has the module for delaying senders.
if [[ ${LAB_CONFIG:-stock} == smp ]]; then
	held_all
fi
