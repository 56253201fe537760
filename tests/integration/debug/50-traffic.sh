#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# Everything the stock lane exchanges, shortened, under the watchers' eyes. Leaks
# are what 51-removal looks for: with kmemleak this takes about twice as long.
# lab run --no-kmemleak
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
markers_ask off mpa1 mpa2

# What the fast paths leave to others, under the same eyes.
fast_paths off mpa1 mpa2
traffic_label=slow
for size in "${list_rping_sizes[@]}"; do
	rping_pair h1 h2 "$size" "$list_pings"
done
stream_pair rstream h1 h2 65536 4 2 bb
for tool in ib_send_bw ib_write_bw ib_read_bw; do
	perf_pair h1 h2 "$tool" 65536 "$list_iterations"
done
