#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# The packets on the wire, without Markers and with them, as tshark sees them: every
# FPDU is good, and every segment begins with one.
# lab run --no-kmemleak
. "$MPA_REPO/tests/lab/guest/lib.sh"
. "$MPA_REPO/tests/integration/lib/lists.sh"

# wire_run NAME WHO SIZES TOOLS [OPTION...]: pings of these sizes and perftest's
# programs in a capture; WHO inserts Markers. OPTIONs are those of check_capture.py. A ping
# has a Read and a Write, too, in one direction, and takes less time than perftest.
wire_run() {
	local name=$1 who=$2 sizes tools size tool
	read -r -a sizes <<< "$3"
	read -r -a tools <<< "$4"
	traffic_label=$name
	capture_start "$name" h2
	for size in "${sizes[@]}"; do
		rping_pair h1 h2 "$size" 5
	done
	for tool in "${tools[@]}"; do
		perf_pair h1 h2 "$tool" 65536 5
	done
	# perftest makes a separate connection to exchange parameters.
	capture_check "$name" --aligned --markers-from "$who" \
		--connections $((${#sizes[@]} + 2 * ${#tools[@]})) "${@:5}"
}

lab_devices 2
capture_real_segments h1 h2
wire_run plain none "64 4096 65535" "ib_write_bw ib_read_bw ib_send_bw"
fast_paths off mpa1 mpa2
wire_run slow none 65535 "" --unaligned 0
markers_ask on mpa1 mpa2
wire_run slow-markers both 65535 ""
markers_ask off mpa1 mpa2
fast_paths on mpa1 mpa2
lab_mtu 9000
wire_run jumbo none 65535 ""
markers_ask on mpa1 mpa2
wire_run jumbo-markers both 65535 ib_write_bw
lab_mtu 1500
wire_run markers both "64 65535" ib_send_bw
# The side that asks for Markers receives them.
markers_ask off mpa2
wire_run markers-to-initiator responder 65535 ""
markers_ask off mpa1
markers_ask on mpa2
wire_run markers-to-responder initiator 65535 ""
